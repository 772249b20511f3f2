r"""Raw numbers to integers by maps that are monotone bit for bit and cannot be computed in two ways.

    x' = min(max(x, k_0), k_n)                       the declared range: +-inf and all beyond count as its ends
    i  = number of knots <= x', less one             comparisons
    X  = clamp(V_i + rint((x' - k_i) * rate_i), V_i, V_{i+1})

One subtraction, one multiplication, one rounding to the nearest integer (ties to even), each correctly rounded in
float64. Between the product and the sum stands a rounding, so no compiler can fuse them: C, ONNX and numpy agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cached import cached_property
from .errors import StructureError
from .fixed_point_trunk import locked_ints
from .floats import locked, to_floats

__all__ = ["LARGEST", "WIDEST", "FixedMap"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LARGEST = 2.0**960  # of knots: differences stay finite and rates stay normal numbers
WIDEST = 2**30  # of integers: the product above is then within 2^-20 of the exact one


@dataclass(frozen=True, eq=False)
class FixedMap:
    """Non-decreasing, through (knots, nodes), and flat beyond.

    Args:
        knots: strictly increasing floats, shape (n,), n >= 1.
        nodes: non-decreasing integers, shape (n,).

    Examples:
        >>> FixedMap([0.0, 1.0], [0, 10]).evaluate(np.array([-np.inf, 0.26, 2.0]))
        array([ 0,  3, 10])
    """

    knots: FloatArray
    nodes: IntArray

    def __post_init__(self) -> None:
        knots, nodes = locked(to_floats(self.knots)), locked_ints(self.nodes)
        shaped = knots.ndim == 1 and knots.size and knots.shape == nodes.shape
        if shaped and not (np.abs(knots) <= LARGEST).all():
            raise StructureError("knots are numbers within +-2^960; got larger ones; rescale the column.")
        if not shaped or not (np.diff(knots) > 0).all():
            raise StructureError("a fixed-point map has increasing finite knots, one node each; got others; sort them.")
        if (np.diff(nodes) < 0).any() or np.abs(nodes).max() > WIDEST:
            raise StructureError(f"nodes never fall and stay within +-{WIDEST}; got others; compile again.")
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "nodes", nodes)
        try:
            _ = self.pieces
        except OverflowError:
            raise StructureError(
                "knots must be so far apart that rates are finite; got others; rescale the column, or merge them."
            ) from None

    @cached_property
    def slopes(self) -> tuple[Fraction, ...]:
        """Exact units per raw unit of every piece, 0 beyond the knots: (n + 1,) rational numbers."""
        k, v = [Fraction(a) for a in self.knots.tolist()], self.nodes.tolist()
        inner = [Fraction(v[i + 1] - v[i]) / (k[i + 1] - k[i]) for i in range(len(k) - 1)]
        return (Fraction(0), *inner, Fraction(0))

    @cached_property
    def pieces(self) -> FloatArray:
        """One row (anchor, node there, rate, lowest, highest) per piece, flat ends included; shape (n + 1, 5).

        Piece i serves knots[i - 1] <= x < knots[i]; all but anchor and rate are integers. A rate is the float nearest
        to the slope.
        """
        nodes, rates = self.nodes.astype(np.float64), [float(slope) for slope in self.slopes]
        first, last = (np.concatenate(parts) for parts in ((nodes[:1], nodes), (nodes, nodes[-1:])))
        anchors = np.concatenate([self.knots[:1], self.knots])
        return locked(np.stack([anchors, first, rates, first, last], axis=1))

    def evaluate(self, x: FloatArray) -> IntArray:
        """Integers of numbers, NaN excepted; keeps the shape."""
        inside = np.clip(x, self.knots[0], self.knots[-1])
        at = self.pieces[np.searchsorted(self.knots, inside, "right")]
        anchor, base, rate, low, high = np.moveaxis(at, -1, 0)
        return np.asarray(np.clip(base + np.rint((inside - anchor) * rate), low, high).astype(np.int64))

    def __reduce__(self) -> tuple[Any, ...]:
        return FixedMap, (self.knots, self.nodes)
