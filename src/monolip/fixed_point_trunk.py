r"""A trunk in integers: sums of products, a shift that rounds down, group sorts; nothing else.

    z_0 = X            a_l = W_l z_{l-1} + b_l            z_l = sort(clamp(floor(a_l / 2^shift)))
    convex form:  later rows >= 0 with sum exactly 2^shift        f = z_D
    paper form:   hidden rows with sum |w| <= 2^shift             f = z_D + C X,  C the residual

`reach` bounds every partial sum, in any order of summation, so a carrier that holds it gives the exact integers:
int64, int32, or floats whose significand is wide enough. docs/fixed_point.md proves what follows from these rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import StructureError
from .ordered import check_group_size, sort_groups

__all__ = ["CARRIERS", "FixedTrunk", "locked_ints", "shift_down"]

IntArray = NDArray[np.int64]
Array = NDArray[Any]

# Every integer of magnitude below 2^bits, and every sum of such that stays below, is exact in this type.
CARRIERS = {"int64": 63, "float64": 53, "int32": 31, "float32": 24}


@dataclass(frozen=True, eq=False)
class FixedTrunk:
    """Integer layers and the outputs of f they give.

    Args:
        weights, biases: (out, in) and (out,) integers; biases hold the half unit that makes the shift round to nearest.
        group_sizes: sort-group size after each hidden layer.
        outputs: positions of its outputs in f.
        residual: integers (n_outputs, n_features) of paper form; None for convex form.
    """

    weights: tuple[IntArray, ...]
    biases: tuple[IntArray, ...]
    group_sizes: tuple[int, ...]
    outputs: tuple[int, ...]
    residual: IntArray | None = None

    def __post_init__(self) -> None:
        weights = tuple(locked_ints(w) for w in self.weights)
        biases = tuple(locked_ints(b) for b in self.biases)
        if not weights or len(weights) != len(biases) or len(self.group_sizes) != len(weights) - 1:
            raise StructureError(
                f"an integer trunk has a bias per layer and a group size per hidden layer; got {len(weights)} weights, "
                f"{len(biases)} biases and {len(self.group_sizes)} group sizes; pass matching tuples."
            )
        for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            chained = not k or (weight.ndim == 2 and weight.shape[1] == weights[k - 1].shape[0])
            if weight.ndim != 2 or weight.size == 0 or bias.shape != weight.shape[:1] or not chained:
                raise StructureError(
                    f"layers chain: weight (out, in), bias (out,); got {weight.shape} and {bias.shape} in layer {k}; "
                    "check the order and the shapes."
                )
        sizes = tuple(check_group_size(g, len(b)) for g, b in zip(self.group_sizes, biases[:-1], strict=True))
        outputs = tuple(int(k) for k in self.outputs)
        residual = None if self.residual is None else locked_ints(self.residual)
        shape = (weights[-1].shape[0], weights[0].shape[1])
        if len(outputs) != shape[0] or (residual is not None and residual.shape != shape):
            raise StructureError(
                f"a trunk of shape {shape} has as many outputs, and a residual of that shape; got outputs {outputs} "
                f"and residual {None if residual is None else residual.shape}; match them."
            )
        named = {"weights": weights, "biases": biases, "group_sizes": sizes, "outputs": outputs, "residual": residual}
        for name, value in named.items():
            object.__setattr__(self, name, value)

    @property
    def n_features(self) -> int:
        return int(self.weights[0].shape[1])

    def check(self, shift: int) -> None:
        """Refuse rows that break the rules of the form, which the theorem needs."""
        for k, weight in enumerate(self.weights[1:], start=1):
            sums = [sum(map(abs, row)) for row in weight.tolist()]  # Python's integers: no sum can wrap around
            if self.residual is None:
                good = (weight >= 0).all() and all(total == 1 << shift for total in sums)
            else:
                good = k == len(self.weights) - 1 or all(total <= 1 << shift for total in sums)
            if not good:
                rule = ">= 0 with sum exactly" if self.residual is None else "of sum |w| at most"
                raise StructureError(
                    f"integer rows of layer {k} must be {rule} 2^{shift}; got others; compile the network again."
                )

    def reach(self, limits: Sequence[int], shift: int, saturate: int | None) -> tuple[int, list[int], int]:
        """For |X_j| <= limits[j]: a bound of every partial sum, of every output, and of activations before a clamp."""
        z, most, largest = np.array([int(v) for v in limits], dtype=object), 0, 0
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            sums = np.abs(weight.astype(object)) @ z + np.abs(bias.astype(object))
            most = max(most, *sums.tolist())
            z = (sums >> shift) + 1  # rounding down adds at most one to a magnitude
            if k < len(self.group_sizes):
                largest = max(largest, *z.tolist())
                if saturate is not None:
                    z = np.minimum(z, saturate)
                size = self.group_sizes[k]
                z = np.repeat(z.reshape(-1, size).max(axis=1), size)
        if self.residual is not None:
            z = z + np.abs(self.residual.astype(object)) @ np.array([int(v) for v in limits], dtype=object)
        return max(most, *z.tolist()), z.tolist(), largest

    def evaluate(self, x: Array, shift: int, saturate: int | None) -> Array:
        """f in the type of x, which must hold `reach`. Shape (n, d) -> (n, n_outputs)."""
        z = x
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            z = shift_down(z @ weight.T.astype(x.dtype) + bias.astype(x.dtype), shift)
            if k < len(self.group_sizes):
                if saturate is not None:
                    z = np.clip(z, -saturate, saturate)
                z = sort_groups(z, self.group_sizes[k])
        return z if self.residual is None else z + x @ self.residual.T.astype(x.dtype)

    @property
    def largest_weight(self) -> int:
        """The largest magnitude of any weight or residual."""
        parts = [*self.weights, *([] if self.residual is None else [self.residual])]
        return max(max(abs(int(part.min())), abs(int(part.max()))) for part in parts)

    def rows_of(self, row: int, shift: int) -> IntArray:
        """Rows U over 2^shift: from X to X + D the output changes by between floor(min U.D) and ceil(max U.D).

        Convex form: the first layer's rows. Paper form: residual -+ bound; D must not be negative there. Shape (u, d).
        """
        if self.residual is None:
            return self.weights[0]
        one, last = 1 << shift, sum(map(abs, self.weights[-1][row].tolist()))
        largest = [max(map(abs, column)) for column in self.weights[0].T.tolist()]
        per_unit = [-(-v // one) for v in largest]  # the least integer r with |W1| <= r 2^shift
        bound = [r * (last if len(self.weights) > 1 else one) for r in per_unit]
        center = [c * one for c in self.residual[row].tolist()]
        return locked_ints([[c + s * r for c, r in zip(center, bound, strict=True)] for s in (-1, 1)])

    def __reduce__(self) -> tuple[Any, ...]:
        return FixedTrunk, (self.weights, self.biases, self.group_sizes, self.outputs, self.residual)


def shift_down(a: Array, shift: int) -> Array:
    """floor(a / 2^shift), exact for integers and for floats that hold integers: a power of two divides exactly."""
    return a >> shift if a.dtype.kind == "i" else np.floor(a * a.dtype.type(2.0**-shift))


def locked_ints(values: Any) -> IntArray:
    """A copy as int64 that nobody can write to; refuses what is not an integer of at most 62 bits."""
    array = np.asarray(values)  # integers beyond 64 bits become objects here, and are refused
    if array.dtype.kind not in "iu" or (array.size and max(abs(int(array.min())), abs(int(array.max()))) >= 2**62):
        raise StructureError(f"fixed point holds integers below 2^62; got {array.dtype}; compile the network again.")
    plain = np.ascontiguousarray(array, dtype=np.int64)
    return np.frombuffer(plain.tobytes(), dtype=np.int64).reshape(array.shape)
