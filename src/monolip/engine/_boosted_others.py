"""Columns of which most rows have one code, as of a category taken apart: only its other rows are looked at.

What a leaf's rows have of the usual code is what all of them have less what the others do. Tables of few such columns
are looked at row by row, to the last bit as ever.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._boosted_lanes import MOST_CODES
from monolip.engine._compile import compiled

__all__ = ["FEWEST", "USUAL", "Others", "add_others", "dense_first", "find_others"]

FEWEST = 32  # such columns of a table, at least
USUAL = 0.6  # of the rows, at least: another row costs as much as two and a half that are looked at in order


class Others(NamedTuple):
    """starts: (n + 1,) where the entries of a row begin; columns, codes: of every entry, a code that is not the usual
    one of its column. usual: (d,) that code, -1 of a column that is looked at row by row; no entries where all are."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    codes: NDArray[np.uint8]
    usual: NDArray[np.int16]


def find_others(codes: NDArray[np.uint8]) -> Others:
    """codes: (n, d), below MOST_CODES."""
    n, d = codes.shape
    usual, starts, size = np.full(d, -1, np.int16), np.zeros(n + 1, np.int64), 0
    if n and d >= FEWEST:
        size = _count(codes, int(USUAL * n), usual, starts)
    if size < 0:
        usual[:], size = -1, 0
    columns, found = np.empty(size, np.int32), np.empty(size, np.uint8)
    if (usual < 0).all():
        return Others(starts[:1] * 0, columns, found, usual)
    _put(codes, usual, starts, columns, found)
    return Others(starts, columns, found, usual)


@compiled()
def _count(codes: Any, most: int, usual: Any, starts: Any) -> int:
    """Finds usual codes and where entries begin; how many there are, or -1 where too few columns have a usual code."""
    n, d = codes.shape
    counts, found = np.zeros((d, MOST_CODES), np.int64), 0
    for i in range(n):
        for j in range(d):
            counts[j, codes[i, j]] += 1
    for j in range(d):
        best = 0
        for c in range(1, MOST_CODES):
            best = c if counts[j, c] > counts[j, best] else best
        if counts[j, best] >= most:
            usual[j] = best
            found += 1
    if found < FEWEST:
        return -1
    for i in range(n):
        others = 0
        for j in range(d):
            others += usual[j] >= 0 and codes[i, j] != usual[j]
        starts[i + 1] = starts[i] + others
    return int(starts[n])


@compiled()
def _put(codes: Any, usual: Any, starts: Any, columns: Any, found: Any) -> None:
    for i in range(len(codes)):
        at = starts[i]
        for j in range(codes.shape[1]):
            if usual[j] >= 0 and codes[i, j] != usual[j]:
                columns[at], found[at] = j, codes[i, j]
                at += 1


@compiled(inner=True)
def dense_first(used: Any, n_used: int, usual: Any, place: Any) -> int:
    """Of the features that a tree sees, those come first that are looked at row by row; how many. place: (d,) of the
    others among all that it sees, -1 of every other feature."""
    dense = 0
    for u in range(n_used):
        j = used[u]
        if usual[j] < 0:
            used[u], used[dense] = used[dense], j
            dense += 1
    place[:] = -1
    for u in range(dense, n_used):
        place[used[u]] = u
    return dense


@compiled(inner=True)
def add_others(
    sums: Any, at: int, others: Any, place: Any, rows: Any, a: int, b: int, used: Any, dense: int, n_used: int,
    limits: Any, slopes: Any,
) -> None:  # fmt: skip
    """Sums of the features after the dense ones, by code, of rows a to b; they are zeros before."""
    all_g = all_h = 0.0
    for k in range(a, b):
        i = rows[k]
        g, h = slopes[2 * i], slopes[2 * i + 1]
        all_g += g
        all_h += h
        for entry in range(others.starts[i], others.starts[i + 1]):
            u = place[others.columns[entry]]
            if u >= 0:
                cell = at + 2 * (MOST_CODES * u + others.codes[entry])
                sums[cell] += g
                sums[cell + 1] += h
    for u in range(dense, n_used):
        first, g, h = at + 2 * MOST_CODES * u, all_g, all_h
        for c in range(limits[u] + 1):
            g -= sums[first + 2 * c]
            h -= sums[first + 2 * c + 1]
        usual = first + 2 * others.usual[used[u]]
        sums[usual], sums[usual + 1] = g, h
