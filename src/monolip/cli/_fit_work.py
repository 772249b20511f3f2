"""The work of `monolip fit`: read, split, fit under a checkpoint, judge, save."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from monolip._version import __version__
from monolip.cli._constraints import Constraints, read_constraints
from monolip.cli._data import file_digest, read_data
from monolip.cli._files import through_links, write_output
from monolip.cli._fit_bar import FitBar
from monolip.cli._identifiers import identifier_remarks
from monolip.cli._looks import require_no_dressed_numbers
from monolip.cli._metrics import judge
from monolip.cli._names import require_columns, split_names
from monolip.cli._notes import in_our_words, is_a_note
from monolip.cli._streams import is_stream
from monolip.cli._target import Rows, read_group_names, read_target, read_weight, split_rows
from monolip.errors import InputError, PromiseWarning
from monolip.estimators._targets import with_name

__all__ = ["Fit", "FitPlan", "Prepared", "carry_out", "estimator_of", "fit_watched", "prepare", "time_remarks"]

_INTERRUPTED = ("fit was interrupted", "fit_stream was interrupted")


@dataclass(frozen=True)
class FitPlan:
    """The options of `monolip fit`, as they were given."""

    data: Path
    target: str
    output: Path
    certificate: Path
    promises: dict[str, Any] = field(default_factory=dict)
    positive: str | None = None
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    weight: str | None = None
    groups: str | None = None
    task: str = "auto"
    settings: dict[str, Any] = field(default_factory=dict)
    split: float = 0.2
    seed: int = 0
    time: float | None = None
    resume: bool = False
    restart: bool = False
    quiet: bool = False
    reading: dict[str, Any] = field(default_factory=dict)

    @property
    def checkpoint(self) -> Path:
        return self.output.with_name(self.output.name + ".checkpoint")


@dataclass(frozen=True)
class Prepared:
    """What is fitted on and judged on. labels: the classes, None for regression."""

    train: Rows
    test: Rows | None
    labels: tuple[Any, ...] | None
    constraints: Constraints
    monotonic_cst: dict[str, Any] | None
    slopes: dict[str, Any] | None = None


@dataclass(frozen=True)
class Fit:
    """What `monolip fit` did."""

    model: Any
    prepared: Prepared
    metrics: dict[str, dict[str, float]] | None
    seconds: float
    resumed: int
    interrupted: bool
    replaced: bool = False
    remarks: tuple[str, ...] = ()
    n_train: int = 0  # rows it learned from; of a stream prepared.train holds some of them


def prepare(plan: FitPlan) -> Prepared:
    """Everything that can be wrong with the table and the constraints is said here, before any work."""
    table = read_data(plan.data, **plan.reading)
    y, labels = read_target(table, plan.target, plan.task)
    weight, groups = read_weight(table, plan.weight), read_group_names(table, plan.groups)
    chosen = split_names(plan.features, table.column_names)
    dropped = split_names(plan.drop, table.column_names)
    require_columns(chosen, table.column_names, "--features")
    require_columns(dropped, table.column_names, "--drop")
    if plan.target in chosen:
        raise InputError(f"the target is no feature; got {plan.target!r} in --features; remove it.")
    if plan.groups is not None and plan.groups in (plan.target, plan.weight):
        raise InputError(f"--groups has a column of its own; got {plan.groups!r}, which is used otherwise; add one.")
    if plan.groups is not None and plan.groups in chosen:
        raise InputError(f"what names groups is no feature; got {plan.groups!r} in --features; remove it.")
    away = {plan.target, plan.weight, plan.groups, *dropped}
    names = [name for name in chosen or table.column_names if name not in away]
    if not names:
        raise InputError("a model needs a feature; got a table with none beside the target; add columns.")
    constraints = read_constraints(names, **plan.promises)
    require_no_dressed_numbers(table, names, {*constraints.categorical, *constraints.ordered})
    monotonic_cst = constraints.monotonic_cst(labels, plan.positive)
    rows = Rows(table.select(names), y, weight, groups)
    train, test = split_rows(rows, plan.split, labels is not None, plan.seed)
    return Prepared(train, test, labels, constraints, monotonic_cst, constraints.slopes_of(labels, plan.positive))


def carry_out(plan: FitPlan) -> Fit:
    """Fit and save. A fit that is killed leaves a checkpoint; one that is interrupted also its best model so far."""
    if not (plan.resume or plan.restart) and any(plan.checkpoint.glob("*.safetensors")):  # before anything is loaded
        raise InputError(
            f"an unfinished fit is kept in {plan.checkpoint}; got neither --resume nor --restart; pass --resume to go "
            "on with it, or --restart to begin again."
        )
    if is_stream(plan.data):
        from monolip.cli._stream_work import carry_out_stream

        return carry_out_stream(plan)
    started = time.perf_counter()
    with FitBar(plan.time, plan.quiet) as bar:
        prepared = prepare(plan)
        model, train = estimator_of(plan, prepared), prepared.train
        checkpoint = _checkpoint(plan, prepared, bar)
        interrupted, told = _fit_table(model, train, plan.target, checkpoint, bar)
        if not model._stopped:
            bar.settle(model)
    replaced, kept = plan.output.exists(), checkpoint.kept + checkpoint.found
    model.save(through_links(plan.output))
    write_output(plan.certificate, (model.certificate_.to_json() + "\n").encode())
    if not (interrupted and kept):
        checkpoint.discard()
    try:
        metrics = None if prepared.test is None else judge(model, prepared.test, train, prepared.labels)
        remarks = (
            *told,
            *time_remarks(model),
            *identifier_remarks(train.X, prepared.constraints),
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted while the fit was judged; {plan.output} is saved, and whole") from None
    seconds = time.perf_counter() - started
    return Fit(model, prepared, metrics, seconds, checkpoint.found, interrupted, replaced, remarks, len(train))


def time_remarks(model: Any) -> list[str]:
    """Return what --time has left out of a fit."""
    from monolip.estimators._progress import SHORT_OF_TIME

    return [SHORT_OF_TIME.format("--time")] if model._stopped == "time" else []


def _fit_table(model: Any, train: Rows, target: str, checkpoint: Any, bar: FitBar) -> tuple[bool, list[str]]:
    """As `fit_watched`."""
    more: dict[str, Any] = {"callbacks": bar.row}
    if train.groups is not None:
        more["groups"] = train.groups
    y = with_name(train.y, target) if model._is_classifier else train.y
    try:
        with checkpoint.watching():
            return fit_watched(lambda: model.fit(train.X, y, sample_weight=train.weight, **more))
    except BaseException as error:
        if not checkpoint.kept and not checkpoint.found:
            checkpoint.discard()  # nothing is lost with it
        if type(error) is InputError:
            raise InputError(in_our_words(str(error))) from None
        raise


def fit_watched(fit: Callable[[], Any]) -> tuple[bool, list[str]]:
    """Whether Ctrl-C ended a fit early (the model is then the best one so far), and notes: on signs and groups.

    Other warnings are passed on.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    cut = [warning for warning in caught if str(warning.message).startswith(_INTERRUPTED)]
    told = [w for w in caught if issubclass(w.category, PromiseWarning) or is_a_note(str(w.message))]
    for warning in caught:
        if warning not in [*cut, *told]:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return bool(cut), [in_our_words(str(warning.message)) for warning in told]


def _checkpoint(plan: FitPlan, prepared: Prepared, bar: FitBar) -> Any:
    from monolip.estimators.checkpoint import Checkpoint, remove_checkpoint

    if plan.restart or not Checkpoint.exists(plan.checkpoint):
        remove_checkpoint(plan.checkpoint)
    return Checkpoint(plan.checkpoint, _facts(plan, prepared), on_progress=bar.update)


def estimator_of(plan: FitPlan, prepared: Prepared) -> Any:
    from monolip import MonotonicClassifier, MonotonicRegressor

    constraints = prepared.constraints
    promises = {
        "monotonic_cst": prepared.monotonic_cst,
        "slopes": prepared.slopes,
        "max_slope": constraints.max_slope,
        "missing": constraints.missing or "state",
        "categorical_features": constraints.categorical_features(),
    }
    kind = MonotonicRegressor if prepared.labels is None else MonotonicClassifier
    settings = {name: value for name, value in plan.settings.items() if value is not None}
    odd = sorted(set(settings) - set(kind._get_param_names()))
    if odd:
        other = "regression" if prepared.labels is not None else "classification"
        raise InputError(f"--{odd[0].replace('_', '-')} is for {other}; got it for another target; leave it out.")
    return kind(**promises, **settings, max_time=plan.time, random_state=plan.seed)


def _facts(plan: FitPlan, prepared: Prepared) -> dict[str, Any]:
    """What a checkpoint is about: everything a bit of the result depends on."""
    settings = {name: value for name, value in plan.settings.items() if name != "n_jobs" and value is not None}
    return {
        "data (sha256)": None if str(plan.data) == "-" else file_digest(plan.data),
        "reading": plan.reading,
        "target": plan.target,
        "features": list(prepared.train.X.column_names),
        "weight": plan.weight,
        "groups": plan.groups,
        "task": "regression" if prepared.labels is None else "classification",
        "constraints": {
            **prepared.constraints.facts(),
            "monotonic_cst": str(prepared.monotonic_cst),
            "slopes": str(prepared.slopes),
        },
        "settings": settings,
        "split": plan.split,
        "seed": plan.seed,
        "versions": {"monolip": __version__, "numpy": version("numpy"), "numba": version("numba")},
        "processor": platform.machine(),
    }
