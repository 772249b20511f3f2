"""Real rows to integer rows: nearest rounding, then the largest remainders repair the sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["apportion", "rounded"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def rounded(values: FloatArray) -> IntArray:
    """The nearest integers."""
    return np.rint(values).astype(np.int64)


def apportion(rows: FloatArray, totals: list[int], *, exact: bool) -> IntArray:
    """Integers near rows >= 0 whose sums are exactly the totals, or (exact=False) at most the totals.

    Rounded towards zero instead, a row of n entries would lose n/2 units. Zeros stay zero where a sum is exact.

    >>> apportion(np.array([[1.4, 1.3, 1.3]]), [4], exact=True).tolist()
    [[2, 1, 1]]
    """
    result = rounded(rows)
    for row, near, total in zip(result, rows, totals, strict=True):
        missing = int(total) - int(row.sum())
        while missing < 0 or (missing > 0 and exact):
            step = 1 if missing > 0 else -1
            able = np.flatnonzero(near > 0) if step > 0 else np.flatnonzero(row > 0)
            order = able[np.argsort(step * (row - near)[able], kind="stable")]
            row[order[: abs(missing)]] += step
            missing = int(total) - int(row.sum())
    return result
