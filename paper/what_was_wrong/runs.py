"""Short trainings shared by the checks: one small network, scored after every epoch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine import NetworkArrays
from paper.table1.scores import accuracy, best_accuracy
from paper.table1.small_network import Small, epochs_of, train_small

__all__ = ["Scored", "classify", "mean_sd", "regress"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Scored(NamedTuple):
    """Test scores: the best epoch and threshold, and the last epoch at threshold one half (or the last error)."""

    best: float
    last: float
    network: NetworkArrays


def classify(small: Small, Z: FloatArray, y: FloatArray, signs: IntArray, train: IntArray, test: IntArray, seed: int,
             thresholds: FloatArray) -> Scored:  # fmt: skip
    result = train_small(small, Z, y, signs, train, True, seed)
    scores = list(epochs_of(result, Z[test]))
    best = max(best_accuracy(f, y[test], thresholds) for f in scores)
    return Scored(100 * best, 100 * accuracy(scores[-1], y[test]), result.network)


def regress(
    small: Small, Z: FloatArray, y: FloatArray, signs: IntArray, train: IntArray, test: IntArray, seed: int
) -> Scored:
    """Root mean squared errors."""
    result = train_small(small, Z, y, signs, train, False, seed)
    errors = [float(np.sqrt(np.mean((f - y[test]) ** 2))) for f in epochs_of(result, Z[test])]
    return Scored(min(errors), errors[-1], result.network)


def mean_sd(values: list[float] | FloatArray, form: str = ".2f") -> str:
    found = np.asarray(values, dtype=float)
    return (
        f"{format(found.mean(), form)} ± {format(found.std(ddof=1), form)}"
        if len(found) > 1
        else format(found[0], form)
    )
