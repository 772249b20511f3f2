r"""A monotone piecewise-linear map of one number, evaluated so that it is monotone bit for bit.

    phi(x) = v_i + (x - k_i) * (v_{i+1} - v_i) / (k_{i+1} - k_i)     for k_i <= x <= k_{i+1},  linear tails beyond

Rounded naively such a map falls at 3-4 % of the one-ulp steps across a knot. Here each piece is clamped to its two end
values: inside a piece rounding is monotone, and between pieces the clamp is.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError, StructureError

__all__ = ["PiecewiseLinear", "nearly_slopes_of"]

FloatArray = NDArray[np.float64]

_ROUGH = 1e-290  # differences below are too near the smallest floats to be accurate
_MAX = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """Non-decreasing through (knots, values), with slopes of its own to the left and to the right of all knots.

    Args:
        knots: strictly increasing finite numbers, shape (n,), n >= 1.
        values: non-decreasing finite numbers, shape (n,).
        left_slope, right_slope: >= 0; 0 makes the map constant there (a clip).

    Shape: evaluate keeps the shape of x.

    Examples:
        >>> clip = PiecewiseLinear([-1.0, 1.0], [0.0, 4.0])
        >>> clip.evaluate([-np.inf, -1.0, 0.5, np.inf]), [str(s) for s in clip.slopes]
        (array([0., 0., 3., 4.]), ['0', '2', '0'])
    """

    knots: FloatArray
    values: FloatArray
    left_slope: float = 0.0
    right_slope: float = 0.0

    def __post_init__(self) -> None:
        knots, values = _numbers(self.knots, "knots"), _numbers(self.values, "values")
        tails = [_number(self.left_slope), _number(self.right_slope)]
        if knots.shape != values.shape or knots.size == 0:
            raise StructureError(
                f"a piecewise-linear map has one value per knot; got {knots.size} knots and {values.size} values; "
                "pass as many of each."
            )
        if not (knots[1:] > knots[:-1]).all():
            raise StructureError("knots must be strictly increasing; got others; sort them and drop repeated ones.")
        if (values[1:] < values[:-1]).any() or min(tails) < 0:
            raise StructureError(
                f"a monotone map has non-decreasing values and tail slopes >= 0; got values {values.tolist()[:8]} and "
                f"tails {tails}; turn the direction round by the sign of the weights instead."
            )
        for name, value in (("knots", knots), ("values", values)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "left_slope", tails[0])
        object.__setattr__(self, "right_slope", tails[1])
        if not np.isfinite(self.pieces[:, 2]).all():
            raise StructureError("every piece must have a finite slope; got knots too close together; merge them.")

    @cached_property
    def slopes(self) -> tuple[Fraction, ...]:
        """Exact slope of every piece, tails included: (n + 1,) rational numbers."""
        return tuple(self.slope(piece) for piece in range(self.knots.size + 1))

    def slope(self, piece: int) -> Fraction:
        """Exact slope of one piece; rational arithmetic is slow, and most pieces are never asked for theirs."""
        if piece not in self._exact:
            if 0 < piece < self.knots.size:
                u, v = map(Fraction, self.values[piece - 1 : piece + 1].tolist())
                j, k = map(Fraction, self.knots[piece - 1 : piece + 1].tolist())
                self._exact[piece] = (v - u) / (k - j)
            else:
                self._exact[piece] = Fraction(self.right_slope if piece else self.left_slope)
        return self._exact[piece]

    @cached_property
    def _exact(self) -> dict[int, Fraction]:
        return {}

    @cached_property
    def pieces(self) -> FloatArray:
        """One row (anchor, value there, slope, lowest, highest) per piece, tails included; shape (n + 1, 5).

        Piece i serves knots[i - 1] <= x < knots[i]. Compiled kernels read this table and repeat `evaluate`.
        """
        with np.errstate(all="ignore"):  # a slope that is not finite is refused, with a message, by the constructor
            knots, values = self.knots / 2, self.values / 2  # halves: a difference of floats can overflow
            inner = (values[1:] - values[:-1]) / (knots[1:] - knots[:-1])
        table = np.empty((self.knots.size + 1, 5))
        table[1:, 0], table[1:, 1], table[1:, 3], table[:-1, 4] = self.knots, self.values, self.values, self.values
        table[1:-1, 2] = inner
        table[0, :4] = self.knots[0], self.values[0], self.left_slope, -_MAX
        table[-1, 2], table[-1, 4] = self.right_slope, _MAX
        table.setflags(write=False)
        return table

    def at(self, x: float) -> float:
        """`evaluate` of one number, with the same bits and without the cost of an array."""
        if math.isnan(x):
            raise InputError("NaN has no place in an order; got NaN; a NumericColumn says what missing values become.")
        x = min(max(x, -_MAX), _MAX)
        anchor, value, slope, low, high = self.pieces[bisect_right(self.knots.tolist(), x)].tolist()
        return float(min(max(value + min(max(x - anchor, -_MAX), _MAX) * slope, low), high))

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """phi(x): monotone bit for bit, never overflowing; +-inf counts as the largest float, NaN is refused."""
        try:
            given = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"a piecewise-linear map takes numbers; {error}; convert them first.") from None
        if np.isnan(given).any():
            raise InputError("NaN has no place in an order; got NaN; a NumericColumn says what missing values become.")
        given = np.clip(given, -_MAX, _MAX)
        anchor, value, slope, low, high = np.moveaxis(self.pieces[np.searchsorted(self.knots, given, "right")], -1, 0)
        with np.errstate(over="ignore"):  # an infinite result is clamped to the piece's own end
            away = np.clip(given - anchor, -_MAX, _MAX)  # finite, so that a flat tail gives inf * 0 no chance
            return np.asarray(np.clip(value + away * slope, low, high))

    __call__ = evaluate

    def __reduce__(self) -> tuple[Any, ...]:
        return PiecewiseLinear, (np.array(self.knots), np.array(self.values), self.left_slope, self.right_slope)


def nearly_slopes_of(maps: Sequence[PiecewiseLinear]) -> tuple[FloatArray, NDArray[np.int64]]:
    """Slopes of all pieces of all maps as floats, each within 2^-50 of the exact one, relatively; 1 where not zero.

    One after the other, tails included: shapes (sum of n + 1,). Together, because a fit asks for hundreds of maps.
    """
    table = np.concatenate([phi.pieces for phi in maps])
    ends = np.cumsum([phi.knots.size + 1 for phi in maps])
    inner = np.ones(len(table), dtype=bool)
    inner[ends - 1] = inner[[0, *ends[:-1].tolist()]] = False
    floats = table[:, 2]
    moving = (floats != 0.0) | (inner & (table[:, 4] != table[:, 3]))
    with np.errstate(over="ignore"):
        rises, runs = table[:, 4] - table[:, 3], np.append(table[1:, 0] - table[:-1, 0], 0.0)
    rough = inner & (rises > 0) & ((rises < _ROUGH) | (runs < _ROUGH) | (floats < _ROUGH))
    if rough.any():
        floats = np.array([float(slope) for phi in maps for slope in phi.slopes])
    return np.asarray(floats), moving.astype(np.int64)


def _numbers(given: Any, what: str) -> FloatArray:
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise StructureError(f"{what} must be numbers; {error}; pass an array of floats.") from None
    if array.ndim != 1 or not np.isfinite(array).all():
        raise StructureError(f"{what} must be finite numbers in one dimension; got {given!r}; pass a flat array.")
    array += 0.0  # -0.0 becomes 0.0: equal maps have equal digests
    array.setflags(write=False)
    return array


def _number(given: Any) -> float:
    """A tail slope: one finite number, without the cost of an array where it is a float already."""
    if type(given) is float and math.isfinite(given):
        return given + 0.0
    return float(_numbers([given], "tail slopes")[0])
