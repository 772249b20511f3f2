"""Coordinate descent on a Gram matrix: the slopes of an additive start, each kept in its interval exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled

__all__ = ["descend", "descend_all"]

FloatArray = NDArray[np.float64]

SWEEPS = 100
SMALL = 0.5  # part of the tolerance: a step below that is not made, as it costs as much as a large one


@compiled(inner=True)
def descend(
    s: int, gram: NDArray[Any], moment: FloatArray, strength: float, penalty: FloatArray, lower: FloatArray,
    upper: FloatArray, w: FloatArray, tolerance: float, rest: FloatArray,
) -> None:  # fmt: skip
    """w becomes the minimiser of w.gram[s].w / 2 - moment[s].w + strength * penalty.w^2 / 2 inside the box."""
    for k in range(w.size):
        rest[k] = moment[s, k]
    for j in range(w.size):
        if w[j] != 0.0:
            for k in range(w.size):
                rest[k] -= gram[s, j, k] * w[j]
    for _ in range(SWEEPS):
        largest = 0.0
        for j in range(w.size):
            curve = gram[s, j, j] + strength * penalty[j]
            if curve > 0.0:
                new = min(max((rest[j] + gram[s, j, j] * w[j]) / curve, lower[j]), upper[j])
                change = new - w[j]
                size = abs(change) * math.sqrt(curve)
                if size > SMALL * tolerance:
                    w[j] = new
                    largest = max(largest, size)
                    for k in range(w.size):
                        rest[k] -= gram[s, j, k] * change
        if largest < tolerance:
            break


@compiled()
def descend_all(
    gram: NDArray[Any], moment: FloatArray, strengths: FloatArray, penalty: FloatArray, lower: FloatArray,
    upper: FloatArray, tolerance: FloatArray, found: FloatArray, rest: FloatArray,
) -> None:  # fmt: skip
    """found: (starts, strengths, d), the minimisers of every start, each going on from the one before.

    The first of each begins where it is. rest: (d,) room.
    """
    for s in range(len(gram)):
        for k in range(strengths.size):
            for j in range(rest.size if k > 0 else 0):
                found[s, k, j] = found[s, k - 1, j]
            descend(s, gram, moment, strengths[k], penalty, lower, upper, found[s, k], tolerance[s], rest)
