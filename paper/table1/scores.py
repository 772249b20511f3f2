"""What is measured: accuracy (at a threshold), root mean squared error, mean squared error, area under the curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["accuracy", "best_accuracy", "mse", "rmse", "standard_error"]

FloatArray = NDArray[np.float64]


def accuracy(score: FloatArray, y: FloatArray, threshold: float = 0.0) -> float:
    return float(np.mean((score > threshold) == (y > 0.5)))


def best_accuracy(score: FloatArray, y: FloatArray, thresholds: FloatArray) -> float:
    """The best over thresholds, as the published scripts take it on the test set.

    >>> best_accuracy(np.array([0.1, 0.4, 0.6]), np.array([0.0, 1.0, 1.0]), np.array([0.2, 0.5]))
    1.0
    """
    order = np.argsort(score)
    ones = np.r_[0.0, np.cumsum(y[order])]
    below = np.searchsorted(score[order], thresholds, side="right")
    right = (below - ones[below]) + (ones[-1] - ones[below])
    return float(right.max() / len(y))


def mse(f: FloatArray, y: FloatArray) -> float:
    return float(np.mean((f - y) ** 2))


def rmse(f: FloatArray, y: FloatArray) -> float:
    return float(np.sqrt(mse(f, y)))


def standard_error(values: list[float] | FloatArray) -> float:
    """Of the mean; 0 for a single value."""
    found = np.asarray(values, dtype=float)
    return float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0
