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
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cached import cached_property
from .errors import InputError, StructureError

__all__ = ["FINITE", "PiecewiseLinear", "inner_slopes", "proved"]

FloatArray = NDArray[np.float64]

FINITE = 1e290  # differences of values by differences of knots: far from overflowing
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
        if not np.isfinite(self._inner).all():
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
    def _inner(self) -> FloatArray:
        """Slopes between knots as floats, (n - 1,)."""
        return inner_slopes(self.knots, self.values)

    @cached_property
    def pieces(self) -> FloatArray:
        """One row (anchor, value there, slope, lowest, highest) per piece, tails included; shape (n + 1, 5).

        Piece i serves knots[i - 1] <= x < knots[i]. Compiled kernels read this table and repeat `evaluate`.
        """
        table = np.empty((self.knots.size + 1, 5))
        table[1:, 0], table[1:, 1], table[1:, 3], table[:-1, 4] = self.knots, self.values, self.values, self.values
        table[1:-1, 2] = self._inner
        table[0, :4] = self.knots[0], self.values[0], self.left_slope, -_MAX
        table[-1, 2], table[-1, 4] = self.right_slope, _MAX
        table.setflags(write=False)
        return table

    def at(self, x: float) -> float:
        """`evaluate` of one number, with the same bits and without the cost of an array."""
        if math.isnan(x):
            raise InputError("NaN has no place in an order; got NaN; a NumericColumn says what missing values become.")
        if x >= self.knots.item(-1) and not self.right_slope:
            return self.values.item(-1)
        if x < self.knots.item(0) and not self.left_slope:
            return self.values.item(0)
        x, piece = min(max(x, -_MAX), _MAX), bisect_right(self.knots.tolist(), x)
        if piece == 0:
            anchor, value, slope, low, high = self.knots[0], self.values[0], self.left_slope, -_MAX, self.values[0]
        elif piece == self.knots.size:
            anchor, value, slope, low, high = self.knots[-1], self.values[-1], self.right_slope, self.values[-1], _MAX
        else:
            anchor, value, slope = self.knots[piece - 1], self.values[piece - 1], self._inner[piece - 1]
            low, high = value, self.values[piece]
        away = min(max(x - float(anchor), -_MAX), _MAX)
        return float(min(max(float(value) + away * float(slope), low), high))

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

    def cut(self, places: Sequence[int]) -> tuple[PiecewiseLinear, ...]:
        """This map in parts: each follows it between two neighbours of the knots at `places`, and is constant beyond.

        Their values are centred at 0. places: rising numbers of knots, two or more; one part fewer.

        Examples:
            >>> low, high = PiecewiseLinear([0.0, 1.0, 3.0], [0.0, 4.0, 6.0]).cut([0, 1, 2])
            >>> low.values, high.knots, high.values
            (array([-2.,  2.]), array([1., 3.]), array([-1.,  1.]))
        """
        values = self.values.tolist()
        if len(places) < 2 or not all(0 <= first < last < len(values) for first, last in pairwise(places)):
            raise StructureError(
                f"a map is cut at rising numbers of its {len(values)} knots, two or more; got {list(places)[:8]}; sort "
                "them and drop repeated ones."
            )
        least = float((self.knots[1:] - self.knots[:-1]).min())
        if max(1.0, -values[0], values[-1]) < FINITE * least:  # differences and slopes of all parts are finite
            make = proved
        else:
            make = PiecewiseLinear  # says what is wrong, if anything is
        parts = []
        for first, last in pairwise(places):
            inside = slice(first, last + 1)
            heights = self.values[inside] - (values[first] + values[last]) / 2
            heights.setflags(write=False)
            parts.append(make(self.knots[inside], heights))
        return tuple(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return PiecewiseLinear, (np.array(self.knots), np.array(self.values), self.left_slope, self.right_slope)


def inner_slopes(knots: FloatArray, values: FloatArray) -> FloatArray:
    """Slopes from each point to the next, (n - 1,), as `evaluate` multiplies by them."""
    with np.errstate(all="ignore"):  # a slope that is not finite is refused, with a message, by the constructor
        k, v = knots / 2, values / 2  # halves: a difference of floats can overflow
        return np.asarray((v[1:] - v[:-1]) / (k[1:] - k[:-1]))


def proved(knots: FloatArray, values: FloatArray) -> PiecewiseLinear:
    """A map that is constant beyond its knots, without the checks: the caller knows that they would pass.

    knots, values: float64 that nobody writes to.
    """
    phi = object.__new__(PiecewiseLinear)
    vars(phi).update(knots=knots, values=values)  # both tails are 0.0 where nothing else is said
    return phi


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
