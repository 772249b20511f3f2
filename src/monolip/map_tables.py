"""Tables of all maps of an input transform, made at once: there are hundreds, and a fit asks for the pieces of all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
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
    """Of one raw feature. knots: those of all its maps, (n,). slopes: of every stretch between them and map, as floats,
    within 2^-50 of the exact ones, relatively, (n + 1, maps).

    rows: the pieces that serve them by their rows in `table`, (rows, 5), and `nonzero`, (rows,), of all features
    together.
    """

    knots: FloatArray
    slopes: FloatArray
    rows: IntArray
    table: FloatArray
    nonzero: IntArray

    @property
    def at(self) -> IntArray:
        """The piece of every map that serves each stretch, (n + 1, maps)."""
        return np.asarray(self.rows - self.rows[0])

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
        sizes, counts = np.array([phi.knots.size for phi in maps]), np.array([len(feature) for feature in features])
        part = np.arange(len(maps)).repeat(sizes)
        knots = np.concatenate([phi.knots for phi in maps])
        of = np.arange(len(features)).repeat(counts)
        union, place, bounds = _joined(knots, of[part], len(features))
        lasts = (sizes + 1).cumsum()
        table = _pieces(maps, lasts - 1, part, knots)
        ends = [0, *counts.cumsum().tolist()]
        slopes, nonzero = _slopes(maps, lasts, table, ends)
        # map after map its rows at all stretches: one further than before at each of its knots, and where it begins
        stretches = (bounds[1:] - bounds[:-1] + 1)[of]
        begin = stretches.cumsum() - stretches
        one_more = np.zeros(int(begin[-1] + stretches[-1]), dtype=np.int64)
        one_more[begin] = 1
        one_more[(begin + 1 - bounds[:-1][of])[part] + place] = 1
        rows = one_more.cumsum() - 1
        steep = slopes.take(rows)
        for array in (union, table, nonzero):
            array.setflags(write=False)
        found, lows, starts = [], bounds.tolist(), [*begin.tolist(), len(rows)]
        for i, count in enumerate(counts.tolist()):
            mine = slice(starts[ends[i]], starts[ends[i + 1]])
            own, row = steep[mine].reshape(count, -1).T.copy(), rows[mine].reshape(count, -1).T.copy()
            own.setflags(write=False)
            row.setflags(write=False)
            found.append(cls(union[lows[i] : lows[i + 1]], own, row, table, nonzero))
        return found


def _pieces(maps: Sequence[PiecewiseLinear], last: IntArray, part: IntArray, knots: FloatArray) -> FloatArray:
    """PiecewiseLinear.pieces of all maps, one after the other; last: the last row of each; part: each knot's map."""
    values = np.concatenate([phi.values for phi in maps])
    table = np.empty((len(knots) + len(maps), 5))
    row = np.arange(1, len(knots) + 1) + part
    table[row, 0], table[row, 1], table[row, 3], table[row - 1, 4] = knots, values, values, values
    table[row[1:] - 1, 2] = inner_slopes(knots, values)  # from map to map they mean nothing, and are written over
    first = np.zeros_like(last)
    first[1:] = last[:-1] + 1
    table[first, :2] = table[first + 1, :2]
    table[first, 2], table[first, 3] = [phi.left_slope for phi in maps], -_MAX
    table[last, 2], table[last, 4] = [phi.right_slope for phi in maps], _MAX
    return table


def _slopes(
    maps: Sequence[PiecewiseLinear], lasts: IntArray, table: FloatArray, ends: list[int]
) -> tuple[FloatArray, IntArray]:
    """Of all pieces of all maps: exact slopes, rounded, of a feature whose differences are near the smallest floats.

    lasts: where the rows of each map end.
    """
    inner = np.ones(len(table), dtype=bool)
    inner[lasts - 1] = inner[0] = inner[lasts[:-1]] = False
    slopes = table[:, 2].copy()
    with np.errstate(over="ignore"):
        rises = table[:, 4] - table[:, 3]
        runs = table[1:, 0] - table[:-1, 0]
    moving = (slopes != 0.0) | (inner & (rises != 0.0))
    rough = inner & (rises > 0) & (np.minimum(rises, slopes) < _ROUGH)
    rough[:-1] |= inner[:-1] & (rises[:-1] > 0) & (runs < _ROUGH)
    starts = [0, *lasts.tolist()]
    for first, end in pairwise(ends) if rough.any() else ():
        rows = slice(starts[first], starts[end])
        if rough[rows].any():
            slopes[rows] = [float(slope) for phi in maps[first:end] for slope in phi.slopes]
    return slopes, moving.astype(np.int64)


def _joined(knots: FloatArray, feature: IntArray, count: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Distinct knots, feature by feature; the place of each knot among them; where each feature begins."""
    order = np.lexsort((knots, feature))
    ordered, of = knots[order], feature[order]
    new = np.ones(len(knots), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]) | (of[1:] != of[:-1])
    place = np.empty(len(knots), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    return ordered[new], place, of[new].searchsorted(np.arange(count + 1))
