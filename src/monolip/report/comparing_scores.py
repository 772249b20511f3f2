"""Metrics of predictions against known answers, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["scores_of"]

_LEAST = 1e-15  # a probability of zero would cost infinitely much


def scores_of(
    y: NDArray[Any], found: NDArray[Any], labels: Sequence[Any] | None, weight: NDArray[np.float64] | None = None
) -> dict[str, float]:
    """Regression (labels None; found (n,)): RMSE, MAE, R2. Classes (found (n, classes)): log loss, accuracy and more.

    AUC and the Brier score are of two classes; a metric that the rows do not define (AUC of one class) is NaN.

    Example:
        >>> scores_of(np.array([0.0, 2.0]), np.array([0.0, 1.0]), None)["MAE"]
        0.5
    """
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    if labels is None:
        return _numbers(np.asarray(y, dtype=np.float64), np.asarray(found, dtype=np.float64), w)
    codes = np.searchsorted(np.asarray(labels), y)
    p = np.clip(np.asarray(found, dtype=np.float64), _LEAST, 1.0)
    right = found.argmax(axis=1) == codes
    scores = {
        "log loss": float(np.average(-np.log(p[np.arange(len(y)), codes]), weights=w)),
        "accuracy": float(np.average(right, weights=w)),
    }
    if len(labels) == 2:
        from sklearn.metrics import roc_auc_score

        both = len(np.unique(codes)) == 2
        auc = float(roc_auc_score(codes, found[:, 1], sample_weight=w)) if both else float("nan")
        scores = {"AUC": auc, **scores, "Brier score": float(np.average((found[:, 1] - codes) ** 2, weights=w))}
    return scores


def _numbers(y: NDArray[np.float64], found: NDArray[np.float64], w: NDArray[np.float64]) -> dict[str, float]:
    squared = float(np.average((y - found) ** 2, weights=w))
    spread = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    return {
        "RMSE": squared**0.5,
        "MAE": float(np.average(np.abs(y - found), weights=w)),
        "R2": 1 - squared / spread if spread > 0 else float("nan"),
    }
