"""Tables of all maps of an input transform, made at once: there are hundreds, and a fit asks for the pieces of all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .piecewise_linear import PiecewiseLinear, inner_slopes

__all__ = ["MapTables"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_ROUGH = 1e-290  # differences below are too near the smallest floats to be accurate
_MAX = float(np.finfo(np.float64).max)


class MapTables(NamedTuple):
    """Of one raw feature. knots: those of all its maps, (n,). Of every stretch between them and map, (n + 1, maps):
    at, the piece that serves it; slopes as floats, within 2^-50 of the exact ones, relatively.

    rows: the same pieces by their rows in `table`, (rows, 5), and `nonzero`, (rows,), of all features together.
    """

    knots: FloatArray
    at: IntArray
    slopes: FloatArray
    rows: IntArray
    table: FloatArray
    nonzero: IntArray

    @property
    def pieces(self) -> FloatArray:
        """PiecewiseLinear.pieces of every stretch and map, (n + 1, maps, 5)."""
        return np.asarray(self.table[self.rows])

    @property
    def moving(self) -> IntArray:
        """1 where a map is not constant, (n + 1, maps)."""
        return np.asarray(self.nonzero[self.rows])

    @classmethod
    def of(cls, features: Sequence[Sequence[PiecewiseLinear]]) -> list[MapTables]:
        """Tables of each feature, from its maps."""
        maps = [phi for feature in features for phi in feature]
        sizes = [phi.knots.size for phi in maps]
        part = np.repeat(np.arange(len(maps)), sizes)
        knots = np.concatenate([phi.knots for phi in maps])
        table, ends = _pieces(maps, part, knots), [0, *accumulate(len(feature) for feature in features)]
        slopes, nonzero = _slopes(maps, sizes, table, ends)
        feature = np.repeat(np.arange(len(features)), np.diff(ends))[part]
        union, place, bounds = _joined(knots, feature, len(features))
        firsts = np.array([0, *accumulate(sizes)], dtype=np.int64)
        found = []
        for i in range(len(features)):
            first, end, low, high = ends[i], ends[i + 1], bounds[i], bounds[i + 1]
            at = np.zeros((high - low + 1, end - first), dtype=np.int64)
            mine = slice(firsts[first], firsts[end])
            at[place[mine] - low + 1, part[mine] - first] = 1  # from here on one more knot of a map lies to the left
            at.cumsum(axis=0, out=at)
            row = at + (firsts[first:end] + np.arange(first, end))
            tables = cls(union[low:high], at, slopes[row], row, table, nonzero)
            for array in tables[:4]:
                array.setflags(write=False)
            found.append(tables)
        for array in (table, nonzero):
            array.setflags(write=False)
        return found


def _pieces(maps: Sequence[PiecewiseLinear], part: IntArray, knots: FloatArray) -> FloatArray:
    """PiecewiseLinear.pieces of all maps, one after the other; part: the number of each knot's map."""
    values = np.concatenate([phi.values for phi in maps])
    table = np.empty((len(knots) + len(maps), 5))
    row = np.arange(1, len(knots) + 1) + part
    table[row, 0], table[row, 1], table[row, 3], table[row - 1, 4] = knots, values, values, values
    table[row[1:] - 1, 2] = inner_slopes(knots, values)  # from map to map they mean nothing, and are written over
    last = np.array([phi.knots.size + 1 for phi in maps]).cumsum() - 1
    first = np.concatenate([[0], last[:-1] + 1])
    table[first, :2] = table[first + 1, :2]
    table[first, 2], table[first, 3] = [phi.left_slope for phi in maps], -_MAX
    table[last, 2], table[last, 4] = [phi.right_slope for phi in maps], _MAX
    return table


def _slopes(
    maps: Sequence[PiecewiseLinear], sizes: list[int], table: FloatArray, ends: list[int]
) -> tuple[FloatArray, IntArray]:
    """Of all pieces of all maps: exact slopes, rounded, of a feature whose differences are near the smallest floats."""
    tails = np.cumsum(np.array(sizes) + 1)
    inner = np.ones(len(table), dtype=bool)
    inner[tails - 1] = inner[0] = inner[tails[:-1]] = False
    slopes = table[:, 2].copy()
    with np.errstate(over="ignore"):
        rises, runs = table[:, 4] - table[:, 3], np.append(table[1:, 0] - table[:-1, 0], 0.0)
    moving = (slopes != 0.0) | (inner & (rises != 0.0))
    rough = inner & (rises > 0) & ((rises < _ROUGH) | (runs < _ROUGH) | (slopes < _ROUGH))
    starts = [0, *tails.tolist()]
    for first, end in pairwise(ends) if rough.any() else ():
        rows = slice(starts[first], starts[end])
        if rough[rows].any():
            slopes[rows] = [float(slope) for phi in maps[first:end] for slope in phi.slopes]
    return slopes, moving.astype(np.int64)


def _joined(knots: FloatArray, feature: IntArray, count: int) -> tuple[FloatArray, IntArray, list[int]]:
    """Distinct knots, feature by feature; the place of each knot among them; where each feature begins."""
    order = np.lexsort((knots, feature))
    ordered, of = knots[order], feature[order]
    new = np.ones(len(knots), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]) | (of[1:] != of[:-1])
    place = np.empty(len(knots), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    return ordered[new], place, of[new].searchsorted(np.arange(count + 1)).tolist()
