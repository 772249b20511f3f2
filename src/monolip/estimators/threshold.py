"""A threshold on scores for a target rate or recall; what ties do is stated, not hidden."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from monolip.errors import InputError
from monolip.estimators._text import text_table
from monolip.rounding import score_text

__all__ = ["Threshold", "choose_threshold"]


class Threshold(NamedTuple):
    """Accept a row where score >= value. rate: share of all rows accepted; recall: share of the positive ones.

    ties: rows that sit exactly on the threshold: all of them are accepted, or none could be. about: what a high score
    means, in words, such as P(loan = good).
    """

    value: float
    rate: float
    recall: float | None
    ties: int
    about: str | None = None

    def __repr__(self) -> str:
        recall = "-" if self.recall is None else score_text(self.recall)
        score = "decision_function" if self.about is None else f"decision_function (log-odds of {self.about})"
        head = [f"take rows with {score} >=", "rate", "recall", "rows on the threshold"]
        return text_table([head, [repr(self.value), score_text(self.rate), recall, str(self.ties)]])


def choose_threshold(
    scores: Any,
    y: Any = None,
    *,
    rate: float | None = None,
    recall: float | None = None,
    efficiency: float | None = None,
    sample_weight: Any = None,
) -> Threshold:
    """The loosest threshold that accepts at most `rate` of all rows, or the tightest that keeps at least `recall`.

    Args:
        scores: (n,), for example decision_function. y: (n,), true where positive; needed for recall.
        rate, recall, efficiency: exactly one target in [0, 1]; efficiency is the physicists' word for recall.
        sample_weight: (n,), shares are weighted by it.

    Rows with equal scores cannot be told apart: a target rate is undershot, a target recall overshot, by those ties.

    Example: four rows, two of them tied; at most half may pass, but accepting one of the tied means both.
        >>> choose_threshold([0.1, 0.5, 0.5, 0.9], rate=0.5)
        take rows with decision_function >=  rate  recall  rows on the threshold
        0.9                                  0.25  -       1
    """
    given = {"rate": rate, "recall": recall, "efficiency": efficiency}
    asked = {name: value for name, value in given.items() if value is not None}
    if len(asked) != 1 or not 0.0 <= next(iter(asked.values())) <= 1.0:
        raise InputError(f"ask for exactly one of rate, recall or efficiency, in [0, 1]; got {asked}; pass one.")
    goal = next(iter(asked.values()))
    score = np.asarray(scores, dtype=np.float64)
    if score.ndim != 1 or not score.size or np.isnan(score).any():
        raise InputError(f"scores are numbers in one dimension, at least one; got shape {score.shape}; correct them.")
    weight = np.ones(score.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    positive = None if y is None else np.asarray(y, dtype=bool)
    if rate is None and (positive is None or not (weight * positive).any()):
        raise InputError("a target recall needs y with at least one positive row; got none; pass y.")
    levels, place = np.unique(score, return_inverse=True)
    accepted = _share_above(place, weight, len(levels))
    kept = None if positive is None else _share_above(place, weight * positive, len(levels))
    if rate is not None:
        good = np.flatnonzero(accepted <= goal)
        if not good.size:  # even the highest score is tied too often
            return Threshold(float(np.nextafter(levels[-1], np.inf)), 0.0, None if kept is None else 0.0, 0)
        at = int(good[0])
    else:
        assert kept is not None
        at = int(np.flatnonzero(kept >= goal)[-1]) if goal > 0 else len(levels) - 1
    ties = int((place == at).sum())
    return Threshold(float(levels[at]), float(accepted[at]), None if kept is None else float(kept[at]), ties)


def _share_above(place: Any, weight: Any, n_levels: int) -> Any:
    """Share of the weight at or above each level, from the lowest level up; exactly 1 at the lowest."""
    total = np.cumsum(np.bincount(place, weights=weight, minlength=n_levels)[::-1])[::-1]
    return total / total[0] if total[0] else total
