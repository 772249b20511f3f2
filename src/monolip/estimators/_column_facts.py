"""Means, deviations and ends of numeric columns, many at once, with the bits that each alone would have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ColumnFacts", "moments", "spread"]

FloatArray = NDArray[np.float64]
_FAR_FROM_ZERO = (
    2.0**-40
)  # deviation, as a part of the largest value; below, values are centred before they are squared
_SAME = 1e-280  # differences that make no slopes in the range of floats


class ColumnFacts(NamedTuple):
    """Of each column: its values sorted, those missing last; how many are there; and what they are like.

    A column without values is 0 everywhere, with a deviation of 1.
    """

    ordered: FloatArray
    sizes: NDArray[np.int64]
    lows: FloatArray
    medians: FloatArray
    highs: FloatArray
    means: FloatArray
    deviations: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> ColumnFacts:
        """values: (columns, rows), as they came; NaN is missing."""
        ordered, (count, n) = np.sort(values, axis=1), values.shape
        whole = bool(n) and not np.isnan(ordered[:, -1]).any()
        if whole:
            lows, medians, highs = ordered[:, [0, n // 2, -1]].T
            means, deviations = _spreads(values, np.maximum(-lows, highs))
            return cls(ordered, np.full(count, n), lows, medians, highs, means, deviations)
        sizes = n - np.isnan(ordered).sum(axis=1)
        facts = np.zeros((5, count))
        facts[4] = 1.0
        for j in np.flatnonzero(sizes).tolist():
            row, known = ordered[j, : sizes[j]], values[j][~np.isnan(values[j])]
            facts[:3, j] = row[0], row[len(row) // 2], row[-1]
            facts[3:, j] = np.ravel(_spreads(known[None], np.maximum(-row[:1], row[-1:])))
        return cls(ordered, sizes, *facts)


def spread(values: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation of the present values (0 and 1 where there are none, or all are equal)."""
    present = values[~np.isnan(values)]
    if not present.size:
        return 0.0, 1.0
    mean, deviation = _spreads(present[None], np.abs(present).max(keepdims=True))
    return float(mean[0]), float(deviation[0])


def _spreads(rows: FloatArray, largest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of each row; largest: of its absolute values."""
    scale = np.where(largest > 0, largest, 1.0)  # squares of 1e200 overflow
    means, deviations = moments(rows / scale[:, None])
    deviations *= scale
    means *= scale
    for j in np.flatnonzero(deviations <= _FAR_FROM_ZERO * scale).tolist():
        means[j], deviations[j] = _centred_spread(rows[j])
    return means, deviations


def _centred_spread(row: FloatArray) -> tuple[float, float]:
    """Mean and deviation of values that differ little for their size; a deviation of 1 where they do not differ.

    Their differences are floats (Sterbenz: each value is within a factor of two of every other), so that nothing of
    them is lost; the mean is rounded to a float near them.
    """
    centre = float(row.min())
    away = row - centre
    farthest = float(away.max())
    if farthest <= _SAME:
        return centre, 1.0
    means, deviations = moments(away[None] / farthest)
    return centre + float(means[0]) * farthest, float(deviations[0]) * farthest


def moments(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each row, with the bits of numpy's methods for it alone; rows are written to."""
    n = rows.shape[1]
    means = np.add.reduce(rows, axis=1) / n
    rows -= means[:, None]
    np.multiply(rows, rows, out=rows)
    return means, np.sqrt(np.add.reduce(rows, axis=1) / n)
