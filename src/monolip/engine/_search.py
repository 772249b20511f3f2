"""The compiled loop of the ulp search, once in a native format and once in bfloat16."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._forward import forward
from monolip.engine._pairs import near_ties, random_points, step_up
from monolip.engine.bfloat16 import forward_bfloat16, round_bits

__all__ = ["search_bfloat16", "search_native"]

FloatArray = NDArray[Any]


@compiled(inner=True)
def clamp_into(points: FloatArray, x: FloatArray, limit: float) -> None:
    low, high = x.dtype.type(-limit), x.dtype.type(limit)
    for i in range(points.size):  # comparisons, not min and max: those look for NaN and signed zeros, one at a time
        value = points[i]
        value = low if value < low else value
        x[i] = high if value > high else value


@compiled(inner=True)
def count_decreases(before: FloatArray, after: FloatArray, signs: FloatArray, lanes: int) -> tuple[int, float]:
    """Lanes where an output moved against the sign of the feature stepped, and the largest such move."""
    count, worst = 0, 0.0
    for lane in range(lanes):
        drop = 0.0
        for k in range(before.size // lanes):
            drop = max(drop, signs[lane] * (np.float64(before[k * lanes + lane]) - np.float64(after[k * lanes + lane])))
        if not drop <= 0.0:
            count += 1
            worst = max(worst, drop)
    return count, worst


@compiled(inner=True)
def signs_of_steps(points: FloatArray, signs: NDArray[np.int64], stepped: FloatArray, lanes: int) -> None:
    """Which direction each lane's step is judged by: that of the one feature that differs."""
    for lane in range(lanes):
        stepped[lane] = 0.0
        for j in range(signs.size):
            if points[0, j * lanes + lane] != points[1, j * lanes + lane]:
                stepped[lane] = signs[j]


@compiled(inner=True)
def evaluate_native(
    params: FloatArray, plan: NDArray[np.int64], residual: FloatArray, x: FloatArray, scratch: FloatArray,
    out: FloatArray, lanes: int, limit: float,
) -> None:  # fmt: skip
    """f at the points x (features, lanes), convex or paper form, into out (outputs, lanes)."""
    clamp_into(x, scratch[0], limit)
    if residual.shape[0] > 0:
        for i in range(x.size):
            scratch[0, i] *= residual[1, i // lanes]
    z = forward(params, plan, scratch[0], scratch[1], lanes)
    if residual.shape[0] == 0:
        out[:] = z[: out.size]
        return
    for i in range(out.size):
        total = out.dtype.type(0)
        for j in range(residual.shape[1]):
            total += residual[0, j] * x[j * lanes + i % lanes]
        out[i] = total + z[i]


@compiled(inner=True)
def evaluate_half(
    params: FloatArray, plan: NDArray[np.int64], residual: FloatArray, x: FloatArray, scratch: FloatArray,
    out: FloatArray, product: FloatArray, lanes: int, limit: float,
) -> None:  # fmt: skip
    """`evaluate_native` with every operation rounded to bfloat16."""
    clamp_into(x, scratch[0], limit)
    if residual.shape[0] > 0:
        for i in range(x.size):
            scratch[0, i] *= residual[1, i // lanes]
    round_bits(scratch[0].view(np.uint32))
    z = forward_bfloat16(params, plan, scratch[0], scratch[1], product, lanes)
    if residual.shape[0] == 0:
        out[:] = z[: out.size]
        return
    for k in range(out.size // lanes):
        unit = out[k * lanes : (k + 1) * lanes]
        unit[:] = 0
        for j in range(residual.shape[1]):
            for lane in range(lanes):
                product[lane] = residual[0, j] * x[j * lanes + lane]
            round_bits(product.view(np.uint32))
            unit += product
            round_bits(unit.view(np.uint32))
        unit += z[k * lanes : (k + 1) * lanes]
        round_bits(unit.view(np.uint32))


@compiled()
def search_native(
    params: FloatArray, plan: NDArray[np.int64], state: NDArray[np.uint64], signs: NDArray[np.int64],
    residual: FloatArray, points: FloatArray, bits: NDArray[Any], scratch: FloatArray, outputs: FloatArray,
    blocks: int, limit: float,
) -> tuple[int, float]:  # fmt: skip
    """`blocks` blocks of pairs: draw, step, evaluate both, compare. points (2, d * lanes), outputs (2, k * lanes)."""
    features = np.flatnonzero(signs)
    lanes = points.shape[1] // signs.size
    stepped = np.zeros(lanes)
    count, worst = 0, 0.0
    for _ in range(blocks):
        random_points(state, points[0], signs.size, lanes)
        near_ties(state, params, plan, points[0], lanes, 4)
        points[1] = points[0]
        step_up(state, bits[1], features, lanes, 1, 23 if points.itemsize == 4 else 52)
        signs_of_steps(points, signs, stepped, lanes)
        for side in range(2):
            evaluate_native(params, plan, residual, points[side], scratch, outputs[side], lanes, limit)
        found, drop = count_decreases(outputs[0], outputs[1], stepped, lanes)
        count += found
        worst = max(worst, drop)
    return count, worst


@compiled()
def search_bfloat16(
    params: FloatArray, plan: NDArray[np.int64], state: NDArray[np.uint64], signs: NDArray[np.int64],
    residual: FloatArray, points: FloatArray, bits: NDArray[Any], scratch: FloatArray, outputs: FloatArray,
    blocks: int, limit: float,
) -> tuple[int, float]:  # fmt: skip
    """`search_native` with points, steps and operations of bfloat16."""
    features = np.flatnonzero(signs)
    lanes = points.shape[1] // signs.size
    product = np.zeros(lanes, np.float32)
    stepped = np.zeros(lanes)
    count, worst = 0, 0.0
    for _ in range(blocks):
        random_points(state, points[0], signs.size, lanes)
        near_ties(state, params, plan, points[0], lanes, 4)
        round_bits(points[0].view(np.uint32))
        points[1] = points[0]
        step_up(state, bits[1], features, lanes, 1 << 16, 7)
        signs_of_steps(points, signs, stepped, lanes)
        for side in range(2):
            evaluate_half(params, plan, residual, points[side], scratch, outputs[side], product, lanes, limit)
        found, drop = count_decreases(outputs[0], outputs[1], stepped, lanes)
        count += found
        worst = max(worst, drop)
    return count, worst
