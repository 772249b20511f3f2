"""Means, standard errors and paired differences of the honest protocol, from the rows of each split."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from paper.table1.scores import standard_error

__all__ = ["GUARANTEED", "OURS", "Summary", "best_peer", "difference", "summary", "verdict"]

OURS = ("monolip", "monolip, paper's size")
GUARANTEED = (*OURS, "LightGBM", "XGBoost", "HistGradientBoosting")


class Summary(NamedTuple):
    mean: float
    error: float
    n: int


def summary(rows: list[dict[str, Any]]) -> Summary:
    """Over splits; for BlogFeedback, which has one test set, over its days."""
    if "day_errors" in rows[0]:
        errors, counts = (np.array([row[key] for row in rows]).mean(axis=0) for key in ("day_errors", "day_rows"))
        return _by_days(errors, counts)
    scores = [row["score"] for row in rows]
    return Summary(float(np.mean(scores)), standard_error(scores), len(scores))


def _by_days(errors: np.ndarray, counts: np.ndarray) -> Summary:
    """Root mean squared error and its standard error: days are the sampling units of a ratio (delta method)."""
    mean = errors.sum() / counts.sum()
    residual = errors - mean * counts
    days = len(counts)
    spread = np.sqrt(days / (days - 1) * np.sum(residual**2)) / counts.sum()
    root = float(np.sqrt(mean))
    return Summary(root, float(spread / (2 * root)), days)


def difference(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> Summary:
    """Ours minus theirs on the same test rows, with the standard error of that difference."""
    n = min(len(ours), len(theirs))
    if "day_errors" in ours[0]:
        a, b = (np.array([row["day_errors"] for row in rows[:n]]).mean(axis=0) for rows in (ours, theirs))
        counts = np.array(ours[0]["day_rows"], dtype=float)
        gap = (a.sum() - b.sum()) / counts.sum()
        root = float(np.sqrt(a.sum() / counts.sum()) + np.sqrt(b.sum() / counts.sum()))
        residual = (a - b) - gap * counts
        spread = np.sqrt(len(counts) / (len(counts) - 1) * np.sum(residual**2)) / counts.sum()
        return Summary(float(gap / root), float(spread / root), len(counts))
    gaps = [mine["score"] - other["score"] for mine, other in zip(ours[:n], theirs[:n], strict=True)]
    return Summary(float(np.mean(gaps)), standard_error(gaps), n)


def best_peer(honest: dict[str, list[dict[str, Any]]], metric: str) -> str:
    """The best model with a guarantee that is not ours."""
    peers = [name for name in GUARANTEED if name not in OURS and name in honest]
    sign = -1.0 if metric == "accuracy" else 1.0
    return min(peers, key=lambda name: sign * summary(honest[name]).mean)


def verdict(honest: dict[str, list[dict[str, Any]]], metric: str) -> str:
    """Our estimator against the best other monotone model: "best", "within" one standard error of ours, or "missed"."""
    better = 1.0 if metric == "accuracy" else -1.0
    ours = summary(honest["monolip"])
    gap = better * (summary(honest[best_peer(honest, metric)]).mean - ours.mean)
    return "best" if gap <= 0 else "within" if gap <= ours.error else "missed"
