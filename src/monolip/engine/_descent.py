"""Coordinate descent on a Gram matrix: the slopes of an additive start, each kept in its interval exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled

__all__ = ["descend", "descend_all"]

FloatArray = NDArray[np.float64]

SWEEPS = 100
SMALL = 0.5  # part of the tolerance: a step below that is not made, as it costs as much as a large one


@compiled()
def descend(
    gram: FloatArray, moment: FloatArray, penalty: FloatArray, lower: FloatArray, upper: FloatArray, w: FloatArray,
    tolerance: float,
) -> None:  # fmt: skip
    """w becomes the minimiser of w.gram.w / 2 - moment.w + penalty.w^2 / 2 inside the box."""
    rest = moment.copy()
    for j in range(w.size):
        if w[j] != 0.0:
            for k in range(w.size):
                rest[k] -= gram[j, k] * w[j]
    for _ in range(SWEEPS):
        largest = 0.0
        for j in range(w.size):
            curve = gram[j, j] + penalty[j]
            if curve > 0.0:
                new = min(max((rest[j] + gram[j, j] * w[j]) / curve, lower[j]), upper[j])
                change = new - w[j]
                size = abs(change) * np.sqrt(curve)
                if size > SMALL * tolerance:
                    w[j] = new
                    largest = max(largest, size)
                    for k in range(w.size):
                        rest[k] -= gram[j, k] * change
        if largest < tolerance:
            break


@compiled()
def descend_all(
    gram: FloatArray, moment: FloatArray, strengths: FloatArray, penalty: FloatArray, lower: FloatArray,
    upper: FloatArray, w: FloatArray, tolerance: float, found: FloatArray,
) -> None:  # fmt: skip
    """Each row of found becomes the minimiser under one of the strengths; w is where the first begins."""
    for k in range(strengths.size):
        descend(gram, moment, strengths[k] * penalty, lower, upper, w, tolerance)
        found[k] = w
