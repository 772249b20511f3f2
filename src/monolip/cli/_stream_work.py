"""The work of `monolip fit` on a stream: look at footers and target, fit in constant memory, save, judge."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from monolip.cli._constraints import read_constraints
from monolip.cli._files import through_links, write_output
from monolip.cli._fit_bar import FitBar
from monolip.cli._fit_work import Fit, FitPlan, Prepared, estimator_of, fit_watched, time_remarks
from monolip.cli._identifiers import identifier_remarks
from monolip.cli._looks import require_no_dressed_numbers
from monolip.cli._metrics import judge
from monolip.cli._names import require_columns, split_names
from monolip.cli._notes import in_our_words
from monolip.cli._streams import refuse_csv_options, stream_labels
from monolip.cli._target import FEWEST, Rows
from monolip.errors import CheckpointError, InputError
from monolip.estimators.checkpoint import Checkpoint, remove_checkpoint
from monolip.estimators.stream._batch import Layout
from monolip.estimators.stream.fitting import fit_stream
from monolip.estimators.stream.left_out import JudgedRows, LeftOut, judged_rows
from monolip.estimators.stream.source import Source

__all__ = ["carry_out_stream"]

JUDGED_ROWS = 2**16  # held out at most on average, and as many of the others for the baseline and the remarks
_WORDS = {
    "leave it out by features=": "leave it out by --drop",
    "is of another random_state": "is of another --seed",
    "name the columns in features=": "name the columns by --features",
    "call fit_stream again with the same arguments": "run again with --resume",
}


def carry_out_stream(plan: FitPlan) -> Fit:
    """As `carry_out` does for a table. A fit that is killed leaves a checkpoint; Ctrl-C also the best model so far."""
    started = time.perf_counter()
    with FitBar(plan.time, plan.quiet) as bar:
        try:
            source, names, constraints, labels = _prepare(plan)
            promises = constraints.monotonic_cst(labels, plan.positive), constraints.slopes_of(labels, plan.positive)
            prepared = Prepared(_NONE, None, labels, constraints, *promises)
            model = estimator_of(plan, prepared)
            share = min(plan.split, JUDGED_ROWS / source.n_rows) if source.n_rows >= FEWEST else 0.0
            left = LeftOut(share, plan.seed)
            resumed, interrupted, told = _fit(plan, model, source, names, left, bar)
        except (InputError, CheckpointError) as error:
            raise type(error)(_in_our_words(str(error))) from error.__cause__
        replaced, kept = plan.output.exists(), _kept(plan.checkpoint)
        model.save(through_links(plan.output))
        write_output(plan.certificate, (model.certificate_.to_json() + "\n").encode())
        if not (interrupted and kept):
            remove_checkpoint(plan.checkpoint)
        layout = Layout.of(source, plan.target, names, plan.weight, None, labels is not None, left)
        try:
            test, seen = judged_rows(source, layout, JUDGED_ROWS, lambda k, n: bar.stage("judging", k, n))
            prepared = Prepared(_rows(seen), _known(test, model, labels), labels, constraints, *promises)
            train = prepared.train
            judged = prepared.test if _counts(train) else None
            metrics = None if judged is None else judge(model, judged, train, _classes(model, labels))
            remarks = (
                *told,
                *time_remarks(model),
                *identifier_remarks(train.X, prepared.constraints),
            )
        except KeyboardInterrupt:
            words = f"interrupted while the fit was judged; {plan.output} is saved, and whole"
            raise KeyboardInterrupt(words) from None
    seconds = time.perf_counter() - started
    return Fit(model, prepared, metrics, seconds, resumed, interrupted, replaced, remarks, seen.of)


def _prepare(plan: FitPlan) -> tuple[Source, list[str], Any, tuple[Any, ...] | None]:
    """What can be wrong with footers, names, constraints and target is said here, before any work."""
    refuse_csv_options(plan.reading, plan.data)
    if plan.groups is not None:
        raise InputError(
            f"groups are kept together in a table that is read whole; got --groups for {plan.data}, which is read in "
            "parts; fit one file of fewer rows, or leave --groups out."
        )
    found = Source(plan.data, [])  # of the first file; the rest is compared once it is known what matters
    known, offered = found.columns, found.offered
    chosen, dropped = split_names(plan.features, offered), split_names(plan.drop, known)
    require_columns([plan.target], known, "--target")
    require_columns([] if plan.weight is None else [plan.weight], known, "--weight")
    require_columns(chosen, offered, "--features")
    require_columns(dropped, known, "--drop")
    if plan.target in chosen:
        raise InputError(f"the target is no feature; got {plan.target!r} in --features; remove it.")
    away = {plan.target, plan.weight, *dropped}
    names = [name for name in chosen or known if name not in away]
    if not names:
        raise InputError("a model needs a feature; got a table with none beside the target; add columns.")
    others = [name for name in (plan.target, plan.weight) if name is not None]
    source = Source(plan.data, [*names, *others] if chosen else None, dropped)
    source.require([plan.target], "--target")
    source.require(names, "--features")
    constraints = read_constraints(names, **plan.promises)
    first = next(iter(source.read(source.groups[0], names, 2**10)))
    require_no_dressed_numbers(first, names, {*constraints.categorical, *constraints.ordered})
    return source, names, constraints, stream_labels(source, plan.target, plan.task)


def _fit(
    plan: FitPlan, model: Any, source: Source, names: list[str], left: LeftOut, bar: FitBar
) -> tuple[int, bool, list[str]]:
    """How many files of a checkpoint it went on from, and what `fit_watched` says."""
    folder = plan.checkpoint
    if plan.restart or not Checkpoint.exists(folder):
        remove_checkpoint(folder)
    before = _kept(folder)
    try:
        interrupted, told = fit_watched(
            lambda: fit_stream(
                model, source, plan.target, features=names, sample_weight=plan.weight, checkpoint=folder,
                left_out=left if left.share else None, watcher=bar,
            )
        )  # fmt: skip
    except BaseException:
        if not _kept(folder):
            remove_checkpoint(folder)  # nothing is lost with it
        raise
    if not model._stopped:
        bar.settle(model)
    return before, interrupted, told


def _kept(folder: Path) -> int:
    return len(list(folder.glob("*.safetensors")))


_NONE = Rows(None, np.zeros(0), None)


def _rows(found: JudgedRows) -> Rows:
    return Rows(found.X, found.y, found.weight)


def _known(found: JudgedRows, model: Any, labels: tuple[Any, ...] | None) -> Rows | None:
    """Rows to judge on; a class whose rows were all left out is unknown to the model."""
    rows = _rows(found)
    if labels is not None and len(rows):
        rows = rows.take(np.flatnonzero(np.isin(rows.y, np.asarray(model.classes_))))
    return rows if len(rows) and _counts(rows) else None


def _counts(rows: Rows) -> bool:
    """Whether some row has a positive weight: without one there is no mean to judge by."""
    return rows.weight is None or bool((rows.weight > 0).any())


def _classes(model: Any, labels: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    return None if labels is None else tuple(np.asarray(model.classes_).tolist())


def _in_our_words(line: str) -> str:
    for theirs, ours in _WORDS.items():
        line = line.replace(theirs, ours)
    return in_our_words(line)
