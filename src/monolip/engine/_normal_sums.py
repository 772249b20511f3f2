"""Loops behind `_normal_equations`: one pass each over rows or columns, where array expressions would take ten."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled

__all__ = ["centre", "find_alike", "is_alike", "scale", "weigh"]

FloatArray = NDArray[np.float64]

ALIKE = 0.6, 1.3  # of curvatures: a step leaves two fifths of the way to go at most
FEW = 0.05  # part of all curvature in rows where it is another one


@compiled(fast=True)
def weigh(
    weights: FloatArray, some: NDArray[np.int64], curve: FloatArray, f: FloatArray, slope: FloatArray,
    sides: NDArray[Any], total: FloatArray, middle: FloatArray, share: NDArray[Any],
) -> None:  # fmt: skip
    """Of some starts: sides[0] = roots of weights * (z - middle) and sides[1] = roots of weights, where weights are
    times curve and z = f - slope / curve; total and middle: sum of weights, and mean of z.

    share[0]: weights of all rows that any of them learns from, as parts of one; share[1]: their roots.
    """
    n, all_rows, dtype = curve.size, 0.0, share.dtype.type
    share[1] = 0.0
    for s in some:
        sum_of_weights, sum_of_z = 0.0, 0.0
        for i in range(n):
            sum_of_weights += weights[s, i] * curve[i]
            sum_of_z += weights[s, i] * (curve[i] * f[s, i] - slope[s, i])
        total[s], middle[s] = sum_of_weights, sum_of_z / sum_of_weights
        for i in range(n):
            root = np.sqrt(weights[s, i] * curve[i])
            sides[0, s, i] = dtype(root * (f[s, i] - slope[s, i] / curve[i] - middle[s]))
            sides[1, s, i] = dtype(root)
            share[1, i] = max(share[1, i], sides[1, s, i])
    for i in range(n):
        all_rows += np.float64(share[1, i]) * np.float64(share[1, i])
    for i in range(n):
        share[0, i] = dtype(np.float64(share[1, i]) * np.float64(share[1, i]) / all_rows)


@compiled(fast=True)
def scale(x: NDArray[Any], share: NDArray[Any], mean: FloatArray, scaled: NDArray[Any]) -> None:
    """mean = x . share[0], and scaled = (x - mean) * share[1]; x, scaled: (d, n), columns of the table."""
    for j in range(x.shape[0]):
        middle = x.dtype.type(0)
        for i in range(x.shape[1]):
            middle += share[0, i] * x[j, i]
        mean[j] = middle
        for i in range(x.shape[1]):
            scaled[j, i] = (x[j, i] - middle) * share[1, i]


@compiled(fast=True)
def is_alike(scaled: NDArray[Any], weight: FloatArray, own: FloatArray, other: FloatArray, parts: NDArray[Any]) -> bool:
    """Whether steps under another curvature come closer, and soon: along every column, and in all rows but few.

    scaled: (d, n), columns times roots of the other curvature.
    """
    apart, total = 0.0, 0.0
    for i in range(own.size):
        ratio = own[i] / other[i]
        if not ALIKE[0] <= ratio <= ALIKE[1]:  # nor where there is none, as of a start without any weight
            apart += weight[i] * max(own[i], other[i])
        total += weight[i] * own[i]
        learned = weight[i] > 0.0
        parts[0, i] = 1.0 if learned else 0.0
        parts[1, i] = ratio if learned else 0.0
    if not apart <= FEW * total:
        return False
    for j in range(scaled.shape[0]):
        there, here = scaled.dtype.type(0), scaled.dtype.type(0)
        for i in range(scaled.shape[1]):
            square = scaled[j, i] * scaled[j, i]
            there += parts[0, i] * square
            here += parts[1, i] * square
        if not ALIKE[0] * there <= here <= ALIKE[1] * there:
            return False
    return True


@compiled(fast=True)
def find_alike(
    scaled: NDArray[Any], weights: FloatArray, curve: FloatArray, parts: NDArray[Any], alike: NDArray[np.bool_]
) -> None:
    """Of every start whether its curvature is like the first one's, see `is_alike`; weights, curve: (starts, n)."""
    alike[0] = True
    for s in range(1, len(curve)):
        alike[s] = is_alike(scaled, weights[s], curve[s], curve[0], parts)


@compiled(fast=True)
def centre(
    gram: NDArray[Any], some: NDArray[np.int64], sums: FloatArray, total: FloatArray, mean: FloatArray,
    moment: FloatArray, own: FloatArray,
) -> None:  # fmt: skip
    """Around the means of each start's own rows instead of all rows'.

    sums: (2, some, d), columns times what is regressed on, and times roots of weights.
    """
    for at in range(some.size):
        s = some[at]
        for j in range(mean.size):
            moment[s, j], own[s, j] = sums[0, at, j], mean[j] + sums[1, at, j] / total[s]
            less = sums[1, at, j] / total[s]
            for k in range(mean.size):
                gram[s, j, k] -= less * sums[1, at, k]
