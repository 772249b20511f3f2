"""Bins of the maps of numeric columns, and what a missing value becomes: all columns in one compiled pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.estimators._quantile_knots import CUTS, KNOTS
from monolip.estimators._sorted_numbers import up_to
from monolip.piecewise_linear import FINITE

__all__ = ["find_values"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_MAX = float(np.finfo(np.float64).max)


@compiled()
def find_values(
    stand_in: FloatArray, counts: IntArray, knots: FloatArray, cuts: IntArray, values: FloatArray, bins: FloatArray,
    missing: FloatArray,
) -> bool:  # fmt: skip
    """counts, knots, cuts: as `find_knots` found them. values: of u at the knots; made to never fall. stand_in: of each
    column, the number that a missing value counts as.

    What is found, of all columns one after the other: values of all bins at the knots each goes over, and of every map
    at stand_in. Says whether knots rise, and differences and slopes are surely finite.
    """
    good = True
    first = cut = bin_at = map_at = 0
    for j in range(len(counts)):
        end, least = first + counts[j, KNOTS], np.inf
        if end == first:
            continue
        for i in range(first, end):
            if i > first:
                values[i] = max(values[i], values[i - 1])
                least = min(least, knots[i] - knots[i - 1])
            values[i] += 0.0  # -0.0 is no other value than 0.0
        good = good and max(1.0, -values[first], values[end - 1]) < FINITE * least
        missing[map_at] = _at(knots, first, values, first, end - first, stand_in[j])
        map_at += 1
        for c in range(cut, cut + counts[j, CUTS] - 1):
            low, size = first + cuts[c], cuts[c + 1] - cuts[c] + 1
            middle = (values[low] + values[low + size - 1]) / 2
            for i in range(size):
                bins[bin_at + i] = values[low + i] - middle
            missing[map_at] = _at(knots, low, bins, bin_at, size, stand_in[j])
            map_at += 1
            bin_at += size
        first, cut = end, cut + counts[j, CUTS]
    return good


@compiled(inner=True)
def _at(knots: FloatArray, first: int, values: FloatArray, begin: int, size: int, x: float) -> float:
    """`PiecewiseLinear.at` of a map that is constant beyond its knots: those from first on, and values from begin."""
    place = up_to(knots[first : first + size], size, x)
    if place == 0 or place == size:
        return float(values[begin + max(place - 1, 0)])
    k, j = knots[first + place], knots[first + place - 1]
    low, high = values[begin + place - 1], values[begin + place]
    slope = (high / 2 - low / 2) / (k / 2 - j / 2)
    away = min(max(x - j, -_MAX), _MAX)
    return float(min(max(low + away * slope, low), high))
