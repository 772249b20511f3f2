"""bfloat16, emulated: each operation in float32, then rounded to the nearest bfloat16, ties to even.

A product of two bfloat16 numbers is exact in float32, and float32 is wide enough that rounding a sum twice gives
the correctly rounded bfloat16 sum. So this is bfloat16 arithmetic, on machines that have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._forward import gather
from monolip.engine._layout import PackedNetwork, pack, rows_of
from monolip.engine._sort import sort_groups
from monolip.engine.ordered import run_in_chunks

__all__ = ["evaluate_bfloat16", "to_bfloat16"]

FloatArray = NDArray[Any]


@compiled()
def round_bits(bits: NDArray[np.uint32]) -> None:
    """Round float32 bit patterns to bfloat16 in place (nearest, ties to even); NaN must not occur."""
    for i in range(bits.size):
        u = bits[i]
        bits[i] = (u + np.uint32(0x7FFF) + ((u >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)


def to_bfloat16(x: FloatArray) -> NDArray[np.float32]:
    """The nearest bfloat16 numbers, stored as float32; values in between do not survive. Same shape."""
    rounded = np.array(x, np.float32, order="C")
    round_bits(rounded.reshape(-1).view(np.uint32))
    return rounded


def pack_bfloat16(
    weights: Sequence[FloatArray], biases: Sequence[FloatArray], group_sizes: Sequence[int]
) -> PackedNetwork:
    """A packed network whose numbers are bfloat16: rounding keeps every sign, which is what directions rest on."""
    packed = pack(weights, biases, group_sizes, np.float32)
    return packed._replace(params=to_bfloat16(packed.params))


def evaluate_bfloat16(
    weights: Sequence[FloatArray],
    biases: Sequence[FloatArray],
    group_sizes: Sequence[int],
    x: FloatArray,
    limit: float,
    n_threads: int = 1,
) -> NDArray[np.float32]:
    """`evaluate_ordered` in bfloat16; weights, biases and x are rounded to it first. x (n, d) -> (n, k) as float32."""
    network = pack_bfloat16(weights, biases, group_sizes)
    rows = rows_of(np.clip(x, -limit, limit), network.n_features, np.float32)  # infinities have no bits to spare
    return run_in_chunks(_evaluate, network, rows, limit, n_threads)


@compiled(inner=True)
def forward_bfloat16(
    params: FloatArray, plan: NDArray[np.int64], x: FloatArray, z: FloatArray, product: FloatArray, lanes: int
) -> FloatArray:
    """One block in lanes, as `forward`; product is scratch of `lanes`. Returns the scratch that holds the output."""
    product_bits = product.view(np.uint32)
    for layer in range(plan.shape[0]):
        out, fan, weight, bias = plan[layer, 0], plan[layer, 1], plan[layer, 2], plan[layer, 3]
        for k in range(out):
            unit = z[k * lanes : (k + 1) * lanes]
            unit_bits = unit.view(np.uint32)
            unit[:] = params[bias + k]
            for j in range(fan):
                factor = params[weight + k * fan + j]
                term = x[j * lanes : (j + 1) * lanes]
                for lane in range(lanes):
                    product[lane] = factor * term[lane]
                round_bits(product_bits)
                for lane in range(lanes):
                    unit[lane] += product[lane]
                round_bits(unit_bits)
        if plan[layer, 4] > 1:
            sort_groups(z, out, plan[layer, 4], lanes)
        x, z = z, x
    return x


@compiled()
def _evaluate(
    params: FloatArray, plan: NDArray[np.int64], rows: FloatArray, limit: float, scratch: FloatArray, out: FloatArray
) -> bool:
    n, k = out.shape
    lanes = 64
    product = np.empty(lanes, np.float32)
    good = True
    for start in range(0, n, lanes):
        good &= gather(rows, start, limit, scratch[0], lanes)
        round_bits(scratch[0].view(np.uint32))
        z = forward_bfloat16(params, plan, scratch[0], scratch[1], product, lanes)
        for lane in range(min(lanes, n - start)):
            for output in range(k):
                out[start + lane, output] = z[output * lanes + lane]
    return good
