"""Layers of a fixed-point network in lanes: sums of integers that float64 carries.

Every sum stays below 2^53, so products, sums and floors are exact in any order, and fused: kernels may take the order
and the instructions that are quickest, where evaluation in floats has to keep to one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from monolip.engine._affine import affine_kernel
from monolip.engine._compile import compiled
from monolip.engine._lane_lookup import LANES, clamped, whole_numbers
from monolip.engine._sort import sort_groups
from monolip.engine._vector import broadcast, data_at, load, store

__all__ = ["add_products", "end_layer", "integer_layers", "shift_down"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_FLOATS = ir.VectorType(ir.DoubleType(), 8)
_affine, _add = (affine_kernel(fused=True, start=start) for start in ("bias", "sum"))


@compiled(inner=True)
def shift_down(z: FloatArray, size: int, factor: float, limit: float) -> None:
    """z = clamp(floor(z * factor)), in place; limit 0: no clamp."""
    for i in range(size):
        z[i] = np.floor(z[i] * factor)
    if limit > 0.0:
        for i in range(size):
            value = -limit if z[i] < -limit else z[i]
            z[i] = limit if value > limit else value


@compiled(inner=True)
def add_products(weight: FloatArray, n_units: int, fan: int, x: FloatArray, z: FloatArray, lanes: int) -> None:
    """z (n_units, lanes) += W x, of W (n_units, fan) and x (fan, lanes), all flat; lanes a multiple of 32."""
    _add(weight, 0, 0, n_units, fan, x, z, lanes)


@intrinsic
def shift_and_sort_pair(typingctx, z, at, factor, limit):  # type: ignore[no-untyped-def]
    """Rows at and at + LANES of z become clamp(floor(z * factor)), sorted lane by lane; limit may be infinite."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = data_at(context, builder, signature.args[0], args[0], args[1])
        factor, high = (broadcast(builder, number, _FLOATS) for number in args[2:])
        low = builder.fneg(high)
        for start in range(0, LANES, _FLOATS.count):
            places = [ir.Constant(args[1].type, start + row) for row in (0, LANES)]
            scaled = (builder.fmul(load(builder, data, place, _FLOATS, 8), factor) for place in places)
            p, q = (clamped(builder, whole_numbers(builder, "floor", x), low, high) for x in scaled)
            swap = builder.fcmp_ordered("<", q, p)
            store(builder, builder.select(swap, q, p), data, places[0], 8)
            store(builder, builder.select(swap, p, q), data, places[1], 8)
        return context.get_dummy_value()

    return types.void(z, types.int64, types.float64, types.float64), codegen


@compiled(inner=True)
def end_layer(z: FloatArray, layer: IntArray, hidden: bool, factor: float, limit: float, lanes: int) -> None:
    """Sums of a layer become activations, in place; those of the last layer are not clamped."""
    width, group_size = layer[0], layer[4]
    if group_size == 2 and hidden and lanes == LANES:
        for k in range(0, width, 2):
            shift_and_sort_pair(z, k * lanes, factor, limit if limit > 0.0 else np.inf)
        return
    shift_down(z, width * lanes, factor, limit if hidden else 0.0)
    if group_size > 1:
        sort_groups(z, width, group_size, lanes)


@compiled(inner=True)
def integer_layers(
    params: FloatArray, plan: IntArray, factor: float, limit: float, x: FloatArray, z: FloatArray, spare: FloatArray,
    lanes: int,
) -> FloatArray:  # fmt: skip
    """The layers of a plan after each other; x (inputs, lanes) is kept, and one of the others returns with the output.

    Of a plan without layers that is x.
    """
    for layer in range(plan.shape[0]):
        n_units, fan, weight_at, bias_at, _ = plan[layer]
        _affine(params, weight_at, bias_at, n_units, fan, x, z, lanes)
        end_layer(z, plan[layer], layer < plan.shape[0] - 1, factor, limit, lanes)
        x, z, spare = z, spare, z
    return x
