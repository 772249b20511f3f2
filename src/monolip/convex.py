r"""Convex form: the simplest statement of the idea, in numpy.

    first layer:   z = W1 x + b1          each unit is an affine function with allowed slopes
    later layers:  z = V sort(z) + b      mixing rows: v >= 0, sum v = 1; sorting and averaging leave no convex set

On every linear region f is a convex combination of first-layer units, so its gradient lies in the convex hull of the
rows of W1 (Theorem 1, docs/theory.md). The slopes a network really has are read off: column minimum and maximum.
If a column is >= 0, the *evaluated* function never falls in that feature, bit for bit (Theorem 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cached import cached_property
from .errors import StructureError
from .floats import locked, to_floats
from .ordered import affine, as_rows, check_group_size, clamp_limit, sort_groups
from .rounding import exact_sum_is

__all__ = ["ConvexForm", "on_simplex"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConvexForm:
    """A network in convex form, immutable; what does not satisfy the form cannot be constructed.

    Args:
        weights: (out, in) matrices; the first is free, later ones are mixing rows: >= 0 with sum *exactly* 1.
        biases: one vector per layer.
        group_sizes: sort-group size after each hidden layer (one fewer than layers).

    Example: |x| = max(x, -x), attained exactly.
        >>> f = ConvexForm(([[1.0], [-1.0]], [[0.0, 1.0]]), ([0.0, 0.0], [0.0]), (2,))
        >>> f.evaluate([[-3.0], [2.0]]).ravel(), f.slope_range
        (array([3., 2.]), (array([-1.]), array([1.])))
    """

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    group_sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        weights, biases = check_layers(self.weights, self.biases)
        if np.shape(self.group_sizes) != (len(weights) - 1,):
            raise StructureError(
                f"there must be one group size per hidden layer; got {self.group_sizes!r} for {len(weights) - 1} "
                "hidden layers; pass a tuple with one each."
            )
        sizes = tuple(check_group_size(g, len(b)) for g, b in zip(self.group_sizes, biases[:-1], strict=True))
        for layer, weight in enumerate(weights[1:], start=1):
            _check_mixing_rows(weight, layer)
        for name, value in (("weights", weights), ("biases", biases), ("group_sizes", sizes)):
            object.__setattr__(self, name, value)
        _ = self.clamp_limit  # refuses weights so large that evaluation could overflow

    @property
    def n_features(self) -> int:
        return int(self.weights[0].shape[1])

    @property
    def n_outputs(self) -> int:
        return int(self.weights[-1].shape[0])

    @property
    def slope_range(self) -> tuple[FloatArray, FloatArray]:
        """Column minimum and maximum of the first layer: an interval that holds every slope, shape (d,) each."""
        return self.weights[0].min(axis=0), self.weights[0].max(axis=0)

    @cached_property
    def clamp_limit(self) -> float:
        """Inputs beyond +-this count as +-this, so that nothing overflows (about 1e300 for ordinary weights)."""
        with np.errstate(over="ignore"):  # infinite sums are refused, with a message, by clamp_limit
            row_sums = np.abs(self.weights[0]).sum(axis=1)
        return clamp_limit(float(row_sums.max()), sum(float(np.abs(b).max()) for b in self.biases))

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """f(x) in float64 and in the fixed order of `monolip.ordered`. Shape (n, d) -> (n, n_outputs)."""
        z = np.clip(as_rows(x, self.n_features), -self.clamp_limit, self.clamp_limit)
        for weight, bias, size in zip(self.weights[:-1], self.biases[:-1], self.group_sizes, strict=True):
            z = sort_groups(affine(z, weight, bias), size)
        return affine(z, self.weights[-1], self.biases[-1])

    def __reduce__(self) -> tuple[Any, ...]:  # numpy forgets "read-only" when pickled; the constructor restores it
        return ConvexForm, (self.weights, self.biases, self.group_sizes)


def on_simplex(rows: ArrayLike) -> FloatArray:
    """The nearest mixing rows whose entries add up to *exactly* 1, as rational numbers.

    Entries become multiples of 2^-53, rounded by largest remainder, so each is an exact float and so is their sum.
    Zeros stay zero; a row that is exact already is returned as it is.

    >>> row = on_simplex([[0.1, 0.2, 0.4]])
    >>> math.fsum([*row[0], -1.0])
    0.0
    """
    try:
        given = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise StructureError(f"mixing rows must be numbers; {error}; pass an array of shape (out, in).") from None
    if given.ndim != 2 or not np.isfinite(given).all() or (given < 0).any() or not (given > 0).any(axis=1).all():
        raise StructureError(
            "mixing rows must be finite, >= 0 and not all zero; got others; pass non-negative weights, shape (out, in)."
        )
    inexact = [k for k, row in enumerate(given.tolist()) if not exact_sum_is(row, 1.0)]
    if inexact:
        given[inexact] = _largest_remainder(given[inexact])
    return given


def _largest_remainder(rows: FloatArray) -> FloatArray:
    rows = np.ldexp(rows, -np.frexp(rows.max(axis=1, keepdims=True))[1])  # the largest of a row is at least 1/2 now:
    rows = rows / np.array([[math.fsum(row)] for row in rows.tolist()])  # no sum can overflow
    scaled = rows * 2.0**53
    units = np.floor(scaled)
    missing = 2**53 - units.astype(np.int64).sum(axis=1)
    positive = rows > 0
    by_remainder = np.where(positive, units - scaled, 1.0).argsort(axis=1, kind="stable")  # zeros last: they stay
    raised = np.minimum(np.maximum(missing, 0), positive.sum(axis=1))
    every = np.arange(len(rows))
    place = np.empty_like(by_remainder)
    place[every[:, None], by_remainder] = np.arange(rows.shape[1])
    units += place < raised[:, None]
    units[every, rows.argmax(axis=1)] += missing - raised  # what is left is a few units of 2^-53, and may be negative
    return units * 2.0**-53


def check_layers(weights: Any, biases: Any) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """Weights (out, in) and biases (out,) as finite read-only float64 arrays whose shapes chain."""
    try:
        W = tuple(locked(to_floats(w)) for w in weights)
        b = tuple(locked(to_floats(v)) for v in biases)
    except (TypeError, ValueError, OverflowError) as error:
        raise StructureError(f"weights and biases must be arrays of numbers; {error}; pass (out, in) arrays.") from None
    if not W or len(W) != len(b):
        raise StructureError(f"a network needs as many biases as weights; got {len(b)} and {len(W)}; pass one each.")
    for k, (weight, bias) in enumerate(zip(W, b, strict=True)):
        if weight.ndim != 2 or weight.size == 0 or bias.shape != weight.shape[:1]:
            raise StructureError(
                f"layer {k} must have a weight (out, in) and a bias (out,), not empty; got {weight.shape} and "
                f"{bias.shape}; check the orientation."
            )
        if k and weight.shape[1] != W[k - 1].shape[0]:
            raise StructureError(
                f"layer {k} must take what layer {k - 1} gives; got {weight.shape[1]} inputs for {W[k - 1].shape[0]} "
                "outputs; check the order of layers."
            )
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise StructureError(f"weights and biases must be finite; layer {k} holds NaN or infinity; retrain.")
    return W, b


def _check_mixing_rows(weight: FloatArray, layer: int) -> None:
    for k, row in enumerate(weight.tolist()):
        if min(row) < 0 or not exact_sum_is(row, 1.0):
            raise StructureError(
                f"a mixing row must be >= 0 with sum exactly 1; row {k} of layer {layer} has minimum {min(row):g} and "
                f"sum {sum(row):.17g}; pass it through on_simplex()."
            )
