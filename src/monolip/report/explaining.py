"""explain: why a row has its score, and what would have to change for another one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from monolip.errors import InputError
from monolip.estimators.slope_table import SlopeTable
from monolip.input_columns import NumericColumn
from monolip.report.explain_changes import Change, Together, changes_of, together_of
from monolip.report.explain_reasons import EXACT_UP_TO, reasons_of
from monolip.report.explain_score import Row, Score, plain_row, same_value
from monolip.report.explain_search import Goal

__all__ = ["Change", "Explanation", "Reason", "Together", "explain"]


@dataclass(frozen=True)
class Reason:
    """One feature's part of the difference. error: standard error where orders were sampled, else 0."""

    feature: str
    value: Any
    reference: Any
    effect: float
    error: float
    promise: str


@dataclass(frozen=True)
class Explanation:
    """reasons: largest effect first; they add up to score - reference_score. goal: the score asked about, or None.

    prediction, reference_prediction: the scores as predictions (regression) or as the probability of `label`, which
    `probability` has in words.
    """

    score: float
    reference_score: float
    prediction: float
    reference_prediction: float
    label: Any
    unit: str
    reasons: tuple[Reason, ...]
    how: str
    goal: float | None = None
    goal_prediction: float | None = None
    changes: tuple[Change, ...] = ()
    together: Together | None = None
    probability: str | None = None

    @property
    def remainder(self) -> float:
        """What rounding leaves: score - reference_score - the sum of effects."""
        return self.score - self.reference_score - sum(reason.effect for reason in self.reasons)


def explain(
    model: Any, row: Row, reference: Row, *, label: Any = None, goal: float | None = None,
    immutable: Collection[str] = (), whole: Collection[str] = (), scale: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Explanation:  # fmt: skip
    """Reason codes of one row against a reference row; with a goal, what would have to change to reach it.

    Effects are Shapley values of exchanging the reference's values for the row's, exact for up to 12 features that
    differ (all mixed rows are scored), else the mean of 512 orders with a standard error; they add up to the difference
    of scores either way. Changes: `at_least` is proved from certified slopes; `to` was found by search and scored.

    Args:
        model: a fitted estimator. row, reference: {feature: value}, None for missing.
        label: the class to explain; None: the one that promises named, else the last. goal: the prediction, or
            probability of the class, to pass: from below it is to be exceeded, from above it is to be reached or
            undercut.
        immutable: features that cannot change. whole: features that are whole numbers.
        scale: what one unit of change is in each numeric feature, to add up changes of several; None: a quarter of the
            range seen in training.

    Example:
        >>> import numpy as np
        >>> from monolip import MonotonicRegressor
        >>> x = np.random.default_rng(0).normal(size=(300, 2))
        >>> model = MonotonicRegressor(monotonic_cst=[1, 0], random_state=0).fit(x, 2 * x[:, 0] + x[:, 1])
        >>> why = explain(model, {"x0": 1.0, "x1": 0.0}, {"x0": 0.0, "x1": 0.0}, goal=0.0)
        >>> [reason.feature for reason in why.reasons], why.reasons[0].effect >= 0, abs(why.remainder) < 1e-12
        (['x0'], True, True)
        >>> all(c.found is None or c.found >= c.at_least for c in why.changes)  # found by search, bounded by proof
        True
    """
    score = Score.of(model, label)
    own, other = plain_row(score, row, "the row"), plain_row(score, reference, "the reference")
    _check_names(score, immutable, "immutable")
    here, there = (float(value) for value in score.of_rows([own, other]))
    effects, errors = reasons_of(score, own, other, seed)
    words = {line.feature: line.promise for line in _promises(score, getattr(model, "_capped", ()))}
    reasons = [Reason(n, own[n], other[n], effects[n], errors[n], words.get(n, "")) for n in effects]
    reasons.sort(key=lambda reason: -abs(reason.effect))
    k = sum(not same_value(own[name], other[name]) for name in score.names)
    how = "Shapley values, all orders" if k <= EXACT_UP_TO else "Shapley values, 512 orders sampled"
    facts: dict[str, Any] = {"probability": score.probability}
    if goal is not None:
        wanted = score.score_for(goal)
        sign = -1 if here > wanted else 1
        aim = Goal(wanted, sign, abs(wanted - here))
        sizes = _scale(score) if scale is None else scale
        facts |= {"goal": wanted, "goal_prediction": goal, "changes": changes_of(score, own, aim, immutable, whole)}
        facts["together"] = together_of(score, own, aim, immutable, whole, sizes)
    predictions = score.prediction(here), score.prediction(there)
    return Explanation(here, there, *predictions, score.label, score.unit, tuple(reasons), how, **facts)


def _check_names(score: Score, names: Collection[str], what: str) -> None:
    unknown = [name for name in names if name not in score.names]
    if unknown:
        raise InputError(
            f"{what} names features of the model, {list(score.names[:8])}; got {unknown[0]!r}; correct it."
        )


def _promises(score: Score, capped: Collection[str]) -> list[Any]:
    """What is promised of the explained score: of the class that f is not about the other way round."""
    rows = list(SlopeTable.of(score.network, capped))
    if score.network.n_outputs > 1:
        return [row for row in rows if row.output == str(score.label)]
    turned = {"increasing": "decreasing", "decreasing": "increasing"}
    if score.sign > 0:
        return rows
    split = [(row, *row.promise.partition(" ")) for row in rows]
    return [row._replace(promise=turned.get(first, first) + gap + rest) for row, first, gap, rest in split]


def _scale(score: Score) -> dict[str, float]:
    assert score.network.inputs is not None
    found = {}
    for column in score.network.inputs.columns:
        if isinstance(column, NumericColumn):
            seen = column.seen or (float(column.maps[0].knots[0]), float(column.maps[0].knots[-1]))
            found[column.name] = (seen[-1] - seen[0]) / 4 or 1.0
    return found
