"""fit_stream: a fit of files larger than memory, in constant memory, that survives being killed."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from monolip.errors import InputError, MonolipError, PromiseWarning
from monolip.estimators._against_data import contradicted
from monolip.estimators._facts import Facts
from monolip.estimators._held_out import HeldOut
from monolip.estimators._progress import SHORT_OF_TIME, Display
from monolip.estimators._promises import read_promises
from monolip.estimators._schema import learn_schema
from monolip.estimators._warn import warn_caller
from monolip.estimators._watching import Silence, watched_by
from monolip.estimators.checkpoint import Checkpoint
from monolip.estimators.fit import Settings
from monolip.estimators.freeze import freeze
from monolip.estimators.stream import _state
from monolip.estimators.stream._arrow import LABEL
from monolip.estimators.stream._batch import Layout, _naming, column_list
from monolip.estimators.stream._buffers import Buffers
from monolip.estimators.stream._first_look import refuse_arguments, wanted_categories
from monolip.estimators.stream._fit_facts import fit_facts
from monolip.estimators.stream._members import pack_standing, unpack_standing
from monolip.estimators.stream._plan import Plan
from monolip.estimators.stream._refining import Refiner, Standing
from monolip.estimators.stream._sample_fit import Columns, SampleFit, fit_sample
from monolip.estimators.stream._schedule import in_order, prefetched, read_stretches
from monolip.estimators.stream._stream_target import StreamTarget, kinds_of, require_rows, sampled_cells
from monolip.estimators.stream._whole_fit import fit_whole
from monolip.estimators.stream.left_out import LeftOut
from monolip.estimators.stream.sample import Sample
from monolip.estimators.stream.source import Source

__all__ = ["fit_stream"]

PAUSE_SECONDS = 30.0  # between two writings of the state
_PASS, _STRETCH = "pass.safetensors", "stretch.safetensors"


class StreamWatcher(Protocol):
    """Sees how far a fit of a stream is; what it raises ends the fit."""

    def update(self, job: Any, standing: Any) -> None:
        """A training on the sample goes on; called by every training thread, where there is a checkpoint."""

    def row(self, row: dict[str, Any]) -> None:
        """A row of the history of the sample is known."""

    def stage(self, what: str, done: int, of: int, loss: float | None = None) -> None:
        """A pass over the stream goes on."""


def fit_stream(
    model: Any, source: Any, target: str, *, features: Sequence[str] | None = None, sample_weight: str | None = None,
    offset: str | None = None, checkpoint: str | PathLike[str] | None = None, left_out: LeftOut | None = None,
    watcher: StreamWatcher | None = None,
) -> Any:  # fmt: skip
    """`model.fit_stream(...)`: source is files, target and the others are names of columns.

    left_out: rows that are not learned from, so that `judged_rows` can fetch them. watcher: is told how far it is.

    Example:
        >>> import tempfile, numpy as np, pyarrow, pyarrow.parquet
        >>> from monolip import MonotonicRegressor
        >>> folder, x = tempfile.mkdtemp(), np.linspace(0, 1, 300)
        >>> pyarrow.parquet.write_table(pyarrow.table({"x": x, "y": np.sqrt(x)}), f"{folder}/a.parquet")
        >>> model = MonotonicRegressor(monotonic_cst={"x": 1}, random_state=0).fit_stream(folder, target="y")
        >>> model.slopes_["x"][0] >= 0
        True
    """
    if model.warm_start:
        raise InputError("a stream is fitted as a whole; got warm_start=True; set it to False.")
    if checkpoint is not None and model.random_state is None:
        raise InputError("a checkpoint continues the same fit, so it needs a seed; got random_state=None; set it.")
    features = None if features is None else column_list("features=", features)
    named = [n for n in (target, sample_weight, offset) if n is not None]
    files = source if isinstance(source, Source) else Source(source, None if features is None else [*features, *named])
    layout = Layout.of(files, target, features, sample_weight, offset, model._is_classifier, left_out)
    settings = model._settings()
    plan = Plan.of(files, len(layout.features), settings)
    is_long = files.n_rows > plan.capacity
    if is_long:
        refuse_arguments(model, files, layout.features)
    with Display(model.verbose, quiet=watcher is not None) as display:
        kept = None
        if checkpoint is not None:
            told = display.update if watcher is None else watcher.update
            kept = Checkpoint(checkpoint, fit_facts(model, files, layout, plan, settings.seed), on_progress=told)
        try:
            if is_long:
                return _StreamFit(model, files, layout, settings, plan, kept, display, watcher).run()
            with nullcontext() if kept is None else kept.watching():
                return fit_whole(model, files, layout, None if watcher is None else watcher.row)
        except BaseException:
            if kept is not None:
                kept.withdraw(empty=True)  # nothing is lost with it
            raise


class _StreamFit:
    """One fit: the pass, the fit of its sample, training on the stream, freezing."""

    def __init__(
        self, model: Any, files: Source, layout: Layout, settings: Settings, plan: Plan, kept: Checkpoint | None,
        display: Display, watcher: StreamWatcher | None,
    ) -> None:  # fmt: skip
        self.model, self.files, self.layout, self.settings, self.plan = model, files, layout, settings, plan
        self.kept, self.display, self.watcher = kept, display, watcher
        self.folder: Path | None = None if kept is None else kept.folder
        self.started = self.written = time.perf_counter()
        self.loss = None if model._is_classifier else model.loss

    def run(self) -> Any:
        sample, declared = self._pass()
        columns = Columns.of(sample, self.layout.features, declared)
        cells, extra = sampled_cells(sample)
        table, model = columns.table(cells), self.model
        try:
            target = self._target(cells, extra, sample)
            schema = learn_schema(columns.every_label(table, sample), model.categorical_features)
            promises = read_promises(
                schema, model.monotonic_cst, model.slopes, model.max_slope, model.missing, target.labels,
                target.positive,
            )  # fmt: skip
        except MonolipError:
            if self.kept is not None:
                self.kept.withdraw()  # of this pass with these arguments nothing can come
            raise
        if text := contradicted(table, schema, promises, target.sampled):
            warn_caller(text, PromiseWarning)
        left = None if self.settings.max_time is None else max(1e-3, self.settings.max_time - self._seconds())
        told = (self.display.row, *(() if self.watcher is None else (self.watcher.row,)))
        settings = replace(self.settings, max_time=left, callbacks=told)
        self.display.say(f"fit_stream: fitting a sample of {len(cells):,} rows")
        with nullcontext() if self.kept is None else self.kept.watching():
            fit = fit_sample(
                table, cells, columns, sample, schema, promises, target.sampled, settings, self.display.update
            )  # fmt: skip
        del table, cells
        made = Buffers(
            self.files, self.layout, self.plan, sample, fit, target, columns, settings.options.hidden_layer_sizes,
            settings.seed,
        )  # fmt: skip
        self._finish(made, schema, promises, *self._refine(made, fit))
        return model

    def _seconds(self) -> float:
        return time.perf_counter() - self.started

    def _pass(self) -> tuple[Sample, tuple[tuple[Any, ...] | None, ...]]:
        """One pass over all rows, or the rest of it."""
        labelled, declared = self._kinds()
        is_class = self.layout.is_class
        sample = Sample(labelled, self.plan.capacity, self.plan.held_out, self.settings.seed, is_class)
        state = self._read(_PASS)
        done = 0 if state is None else _state.unpack_sample(sample, state)
        pieces = in_order(self.files, self.plan.batch_rows)
        batches = read_stretches(self.files, self.layout, pieces[done:], self.plan.batch_rows)
        for number, batch in enumerate(prefetched(batches, 4), done + 1):
            with _naming(self.files.path(self.files.groups[pieces[number - 1].group])):
                sample.add(batch, kinds_of(batch.target, self.loss))
            self._tell("pass", number, len(pieces))
            if self._due() and number < len(pieces):
                self._write(_PASS, _state.pack_sample(sample, number))
        if done < len(pieces):
            self._write(_PASS, _state.pack_sample(sample, len(pieces)))
        require_rows(sample, self.loss)
        return sample, declared

    def _kinds(self) -> tuple[tuple[bool, ...], tuple[tuple[Any, ...] | None, ...]]:
        """Of each feature whether its values are labels, and what its type says of categories."""
        names, arrow = self.layout.features, self.files.arrow
        rows = next(iter(self.files.read(self.files.groups[0], list(names), self.plan.batch_rows)))
        wanted = wanted_categories(self.model, names)
        labelled = tuple(self.files.kinds[name] == LABEL or j in wanted for j, name in enumerate(names))
        declared = tuple(() if arrow.types.is_dictionary(rows.column(name).type) else None for name in names)
        return labelled, declared

    def _target(self, cells: Any, extra: Any, sample: Sample) -> StreamTarget:
        if self.layout.is_class:
            return StreamTarget.of_classes(cells, extra, sample, self.model, self.layout)
        has = (self.layout.weight is not None, self.layout.offset is not None)
        return StreamTarget.of_numbers(cells, extra, self.model.loss, self.model.loss_parameter, *has)

    def _refine(self, made: Buffers, fit: SampleFit) -> tuple[Refiner, Standing]:
        held = made.sample.held_out_rows()
        n_buffers = self.plan.n_buffers * self.plan.n_passes
        refiner = Refiner(
            fit,
            made.problem(held) if len(held) else None,
            n_buffers,
            self.settings.seed,
            self.settings.n_threads,
            None if self.settings.max_time is None else self.started + self.settings.max_time,
        )
        state = self._read(_STRETCH)
        standing = Standing(fit.networks, fit.networks) if state is None else unpack_standing(state)
        if fit.stopped == "interrupted":
            refiner.interrupted = standing.finished = True
            return refiner, standing

        def keep(now: Standing, judged: bool) -> None:
            self._tell("training", now.done, n_buffers, now.losses)
            if judged or self._due():
                self._write(_STRETCH, pack_standing(now))

        with watched_by(Silence()):  # a buffer's training is kept as the networks it leads to
            refiner.run(standing, made.problems, keep)
        if not refiner.cut_short:
            self._write(_STRETCH, pack_standing(standing))
        return refiner, standing

    def _finish(self, made: Buffers, schema: Any, promises: Any, refiner: Refiner, standing: Standing) -> None:
        from monolip.estimators._base import _capped

        model, fit, target = self.model, made.fit, made.fit.target
        members = refiner.whole(standing.best)
        network = freeze(
            members, fit.boxes.model, fit.boxes.raw, fit.inputs, target.link, scale=target.scale,
            shift=target.shift,
        )  # fmt: skip
        if refiner.interrupted:
            warn_caller("fit_stream was interrupted; the model is the best one so far")
        late = fit.stopped == "time" or (refiner.cut_short and not refiner.interrupted)
        model._stopped = "interrupted" if refiner.interrupted else "time" if late else ""
        if late and model.verbose:
            print(f"fit_stream: {SHORT_OF_TIME.format(f'max_time={model.max_time}')}", file=sys.stderr)
        model._fitted, model._fitted_on = None, {}
        model._adopt(network, schema)
        calibration = None
        if target.classes is not None and refiner.held_out is not None:
            problem = refiner.held_out
            codes = problem.rows_kept(np.arange(len(problem.data.y), dtype=np.int32))
            cells = made.sample.held_out_rows()[codes]
            weight = cells[:, -3] if self.layout.weight is not None else np.ones(len(cells))
            known = made.target.codes[cells[:, -4].astype(np.int64)]
            calibration = HeldOut(refiner.outputs(standing.best), known, weight).calibration(target.link)
        history = [*fit.history, *_entries(standing)]
        passes = round(standing.done / self.plan.n_buffers)
        model._know(Facts(history, max(1, passes), _capped(schema, promises), calibration))
        if made.target.labels is not None:
            model.classes_ = made.target.labels

    def _due(self) -> bool:
        return self.folder is not None and time.perf_counter() - self.written >= PAUSE_SECONDS

    def _read(self, name: str) -> Any:
        return None if self.kept is None else _state.read_state(self.kept.folder / name, self.kept.identity)

    def _write(self, name: str, state: tuple[Any, Any]) -> None:
        if self.folder is not None and self.kept is not None:
            _state.write_state(self.folder / name, state[0], state[1] | {"fit": self.kept.identity})
            self.written = time.perf_counter()

    def _tell(self, what: str, done: int, of: int, losses: Sequence[float] = ()) -> None:
        for who in (self.display, *([] if self.watcher is None else [self.watcher])):
            who.stage(what, done, of, min(losses) if losses else None)


def _entries(standing: Standing) -> list[dict[str, Any]]:
    pairs = zip(standing.rows, standing.losses, strict=True)
    return [{"stream_rows": rows, "validation_loss": loss} for rows, loss in pairs]
