"""Predictions of rows that were not learned from, and in words which rows those are.

Whether a finished model has seen given rows cannot be known from the model. So unless the caller says that they were
held out, models with the same settings are fitted again in cross-validation, and the page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.estimators._schema import Schema, table_like
from monolip.report.html_baselines import Contender, Rows, baselines_of, matrix_of, ours
from monolip.report.html_metrics import metrics_of, row_losses
from monolip.report.html_subject import Subject, targets_of

__all__ = ["Judged", "Judgement", "Plan", "judge"]

FloatArray = NDArray[np.float64]
_BARE = "(sample weights and offsets are not used)"  # whether the model had any is not known


@dataclass(frozen=True)
class Plan:
    """How quality is measured: see write_report."""

    baselines: Sequence[str]
    train: tuple[Any, Any] | None
    held_out: bool
    folds: int
    max_rows: int
    radius_rows: int
    seed: int

    @classmethod
    def of(
        cls, baselines: Any, train: Any, held_out: bool, folds: int, max_rows: int, radius_rows: int, seed: int
    ) -> Plan:
        """Checked; baselines: a name, names, or None."""
        if isinstance(folds, bool) or folds < 2 or max_rows < 20 or radius_rows < 1:
            raise InputError(
                "folds are at least 2, max_rows at least 20, radius_rows at least 1; got "
                f"{folds}, {max_rows} and {radius_rows}; correct them."
            )
        names = (baselines,) if isinstance(baselines, str) else tuple(baselines or ())
        return cls(names, train, held_out, folds, max_rows, radius_rows, seed)


@dataclass(frozen=True)
class Judged:
    """One model on the rows: predictions (n,) or (n, classes), the loss of each row, metrics by name."""

    name: str
    words: str
    predictions: FloatArray
    losses: FloatArray
    metrics: dict[str, float]


@dataclass(frozen=True)
class Judgement:
    """rows: positions in the table. main: what curves and groups are drawn of; how: which rows it has not seen.

    compared: models side by side, ours first, all measured alike (`how_compared`); empty without baselines.
    """

    rows: NDArray[np.int64]
    y: NDArray[Any]
    main: Judged
    how: str
    compared: tuple[Judged, ...] = ()
    how_compared: str = ""
    is_unseen: bool = True  # whether the rows were not learned from, as far as anybody said


def judge(subject: Subject, plan: Plan) -> Judgement | None:
    """None where no targets were given."""
    if subject.y is None or subject.table is None:
        return None
    n = len(subject.y)
    rows = np.arange(n, dtype=np.int64)
    if n > plan.max_rows:
        rows = np.sort(np.random.default_rng(plan.seed).choice(n, plan.max_rows, replace=False))
    given = Rows(subject.X, subject.table, subject.y)
    given = given if len(rows) == n else given.take(rows)
    count = f"{len(rows):,} rows" + ("" if len(rows) == n else f" (a random part of {n:,})")
    if plan.train is not None:
        return _with_training_rows(subject, plan, given, rows, count)
    own = _judged(subject, "this model", "the promises above", given.y, _direct(subject, given))
    parts = _parts(subject, plan, given.y)
    rivals = [] if subject.model is None or not parts else [ours(subject), *baselines_of(subject, plan.baselines)]
    if plan.held_out and len(rivals) < 2:
        return Judgement(rows, given.y, own, _held_out_words(count))
    if not rivals:
        why = "Only the network was passed" if subject.model is None else "They are too few to hold some out"
        how = f"on the {count} given {_BARE}. {why}: whether the model was fitted on them is not known here"
        return Judgement(rows, given.y, own, how, is_unseen=False)
    cross = f"by {len(parts)}-fold cross-validation on the {count} given: every model fitted again without the rows "
    cross += f"it is asked about, with its own settings {_BARE}"
    found = tuple(_judged(subject, r.name, r.words, given.y, _crossed(r, given, parts, subject)) for r in rivals)
    if plan.held_out:
        return Judgement(rows, given.y, own, _held_out_words(count), found, cross)
    return Judgement(rows, given.y, found[0], cross, found if len(found) > 1 else (), cross)


def _held_out_words(count: str) -> str:
    return f"on {count} that the writer of this report held out from fitting {_BARE}"


def _with_training_rows(subject: Subject, plan: Plan, given: Rows, rows: NDArray[np.int64], count: str) -> Judgement:
    assert plan.train is not None
    learn = _read_training(subject, plan)
    both = _in_both(subject, learn, given)
    own = _judged(subject, "this model", "the promises above", given.y, _direct(subject, given))
    rivals = [] if subject.model is None else baselines_of(subject, plan.baselines)
    others = [_judged(subject, r.name, r.words, given.y, r.answer(learn, given)) for r in rivals]
    how = _held_out_words(count)
    how = how[:-1] + f"; {both:,} of them have the same features as a training row)" if both else how
    fitted = f"{how}; the others were fitted on the {len(learn):,} training rows in the same way"
    return Judgement(rows, given.y, own, how, (own, *others) if others else (), fitted)


def _read_training(subject: Subject, plan: Plan) -> Rows:
    assert plan.train is not None
    try:
        X, y = plan.train
    except (TypeError, ValueError):
        raise InputError("train is a pair of tables; got something else; pass train=(X_train, y_train).") from None
    assert subject.network.inputs is not None
    schema = Schema.of(subject.network.inputs) if subject.model is None else subject.model._schema
    table = table_like(X, schema, "train")
    return Rows(X, table, targets_of(subject.network, table, y))


def _in_both(subject: Subject, learn: Rows, ask: Rows) -> int:
    """How many of the rows asked about also occur among those learned from, bit for bit."""
    seen = {row.tobytes() for row in matrix_of(subject, learn.table)[0]}
    return sum(row.tobytes() in seen for row in matrix_of(subject, ask.table)[0])


def _direct(subject: Subject, given: Rows) -> FloatArray:
    return subject.predictions(subject.evaluate(given.table))


def _judged(subject: Subject, name: str, words: str, y: NDArray[Any], predictions: FloatArray) -> Judged:
    losses = row_losses(subject, y, predictions)
    return Judged(name, words, predictions, losses, metrics_of(subject, y, predictions))


def _parts(subject: Subject, plan: Plan, y: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Rows of each fold, classes spread evenly; empty where there are too few."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if len(y) < 20:
        return []
    folds = plan.folds if not subject.labels else min(plan.folds, int(np.unique(y, return_counts=True)[1].min()))
    if folds < 2:
        return []
    splitter = (StratifiedKFold if subject.labels else KFold)(folds, shuffle=True, random_state=plan.seed)
    return [np.asarray(test) for _, test in splitter.split(np.zeros(len(y)), y)]


def _crossed(contender: Contender, given: Rows, parts: Sequence[NDArray[np.int64]], subject: Subject) -> FloatArray:
    shape = (len(given), len(subject.labels)) if subject.labels else (len(given),)
    out = np.empty(shape)
    for part in parts:
        rest = np.setdiff1d(np.arange(len(given)), part)
        out[part] = contender.answer(given.take(rest), given.take(part))
    return out
