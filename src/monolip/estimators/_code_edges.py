"""Where the codes of a column begin, and which code a number has: what boosted trees see of it.

A number that many rows have, like a 0 of nine in ten, has a code of its own, and all others share the rest: codes of
equally many rows would leave six of 64 to what is no 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.estimators._sorted_numbers import up_to

__all__ = ["find_edges", "put_codes"]

FloatArray = NDArray[np.float64]

PART = 0.5  # of a code's share of the rows: fewer go along with a number that many have


@compiled()
def find_edges(ordered: FloatArray, most: int, edges: FloatArray, counts: NDArray[np.int64]) -> None:
    """ordered: (columns, rows), each sorted. edges: (columns, most - 1), the first number of each code but that of the
    lowest ones; it lies between numbers that are there. counts: (columns,), how many edges there are."""
    for j in range(len(ordered)):
        row, n_numbers = ordered[j], 1
        for i in range(1, row.size):
            n_numbers += row[i] > row[i - 1]
        counts[j] = _all(row, edges[j]) if n_numbers <= most else _dealt(row, most, edges[j])


@compiled(inner=True)
def _all(row: FloatArray, edges: FloatArray) -> int:
    found = 0
    for i in range(1, row.size):
        if row[i] > row[i - 1]:
            edges[found] = _between(row[i - 1], row[i])
            found += 1
    return found


@compiled(inner=True)
def _dealt(row: FloatArray, most: int, edges: FloatArray) -> int:
    """About as many rows to each code; to those of a number that many have just these."""
    n, share, codes, rest, known = row.size, 0.0, most, row.size, -1
    while codes != known:  # a share of the rows is that of numbers that do not have a code alone
        share, known, codes, rest, start = rest / codes, codes, most, n, 0
        while start < n:
            end = _end(row, start)
            if end - start >= share:
                codes, rest = codes - 1, rest - (end - start)
            start = end
    left, start, end, count, found = share, 0, _end(row, 0), 0, 0
    while end < n and found < edges.size:
        following, many = _end(row, end), end - start >= share
        count += end - start
        rest -= 0 if many else end - start
        if many or count >= left or (following - end >= share and count >= PART * left):
            edges[found] = _between(row[end - 1], row[end])
            found, count = found + 1, 0
            codes -= 0 if many else 1
            left = rest / max(codes, 1)
        start, end = end, following
    return found


@compiled(inner=True)
def _end(row: FloatArray, start: int) -> int:
    """One past the last number that is equal to that at a place."""
    end = start + 1
    while end < row.size and row[end] == row[start]:
        end += 1
    return end


@compiled(inner=True)
def _between(before: float, after: float) -> float:
    """In the middle of two, above the first, which is smaller, and at most the second."""
    middle = before / 2 + after / 2  # a sum could overflow
    return middle if before < middle <= after else after


@compiled()
def put_codes(numbers: FloatArray, edges: FloatArray, counts: NDArray[np.int64], codes: NDArray[np.uint8]) -> None:
    """codes: (rows, columns), how many edges of its column a number has reached."""
    for j in range(counts.size):
        mine: Any = edges[j]
        for i in range(len(numbers)):
            codes[i, j] = up_to(mine, counts[j], numbers[i, j])
