"""How the arrays of a network lie in memory for the kernels: one flat array and a table of offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError, StructureError

__all__ = ["PackedNetwork", "lanes_of", "pack", "rows_of"]

FloatArray = NDArray[Any]


class PackedNetwork(NamedTuple):
    """A network as the kernels read it: every depth, width and group size goes through the same compiled code.

    params: flat, each layer's (out, in) weight and then its (out,) bias.
    plan:   (layers, 5) integers: out, in, where the weight starts, where the bias starts, group size (1: no sort).
    """

    params: FloatArray
    plan: NDArray[np.int64]

    @property
    def n_features(self) -> int:
        return int(self.plan[0, 1])

    @property
    def n_outputs(self) -> int:
        return int(self.plan[-1, 0])

    @property
    def width(self) -> int:
        """The widest layer, inputs included."""
        return int(self.plan[:, :2].max())


def pack(
    weights: Sequence[FloatArray], biases: Sequence[FloatArray], group_sizes: Sequence[int], dtype: Any
) -> PackedNetwork:
    """Check the shapes and copy the layers into one flat array of `dtype`."""
    _check_shapes(weights, biases, group_sizes)
    plan = np.zeros((len(weights), 5), np.int64)
    pieces, at = [], 0
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        out, fan = weight.shape
        plan[k] = out, fan, at, at + out * fan, group_sizes[k] if k < len(group_sizes) else 1
        pieces += [np.asarray(weight, dtype).ravel(), np.asarray(bias, dtype)]
        at += out * fan + out
    return PackedNetwork(np.concatenate(pieces), plan)


def _check_shapes(weights: Sequence[FloatArray], biases: Sequence[FloatArray], group_sizes: Sequence[int]) -> None:
    if not weights or len(weights) != len(biases) or len(group_sizes) != len(weights) - 1:
        raise StructureError(
            "a network has one bias a layer and one group size a hidden layer;"
            f" got {len(weights)} weights, {len(biases)} biases, {len(group_sizes)} group sizes; pass matching tuples."
        )
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if weight.ndim != 2 or bias.shape != weight.shape[:1] or (k and weight.shape[1] != weights[k - 1].shape[0]):
            raise StructureError(
                "layer shapes must chain: weight (out, in), bias (out,), in = the layer before's out;"
                f" got weight {weight.shape} and bias {bias.shape} in layer {k}; reshape them."
            )
        if k < len(group_sizes) and (group_sizes[k] < 1 or weight.shape[0] % group_sizes[k]):
            raise StructureError(
                "a group size must divide the layer's width;"
                f" got group_size={group_sizes[k]} after width {weight.shape[0]} in layer {k}; change one of them."
            )


def rows_of(x: FloatArray, n_features: int, dtype: Any) -> FloatArray:
    """`x` as (rows, features) of `dtype` in C order, without a copy where it already is; NaN is refused by kernels."""
    if x.ndim != 2 or x.shape[1] != n_features:
        raise InputError(
            f"the network reads rows of {n_features} features; got an array of shape {x.shape};"
            f" pass shape (rows, {n_features})."
        )
    return np.ascontiguousarray(x, dtype)


def lanes_of(dtype: Any) -> int:
    """Rows evaluated side by side: four vector registers of them."""
    return 256 // int(np.dtype(dtype).itemsize)
