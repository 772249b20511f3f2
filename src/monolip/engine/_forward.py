"""Layers in lanes, in the stated order: z_k = b_k, then z_k = fl(z_k + fl(W[k, j] * x_j)) with j ascending."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._affine import affine_kernel
from monolip.engine._compile import compiled
from monolip.engine._lane_ops import transpose_square
from monolip.engine._sort import sort_groups

__all__ = ["forward", "gather", "ordered_affine"]

_affine = affine_kernel(fused=False, start="bias")


@compiled(inner=True)
def ordered_affine(
    params: NDArray[Any], layer: NDArray[np.int64], x: NDArray[Any], z: NDArray[Any], lanes: int
) -> None:
    """z = W x + b in lanes; x is (in, lanes) and z (out, lanes), both flat; layer is a row of the plan."""
    _affine(params, layer[2], layer[3], layer[0], layer[1], x, z, lanes)


@compiled(inner=True)
def forward(
    params: NDArray[Any], plan: NDArray[np.int64], x: NDArray[Any], z: NDArray[Any], lanes: int
) -> NDArray[Any]:
    """Evaluate one block; x (inputs) and z are scratch of width * lanes, and the one that holds the output returns."""
    for k in range(plan.shape[0]):
        ordered_affine(params, plan[k], x, z, lanes)
        if plan[k, 4] > 1:
            sort_groups(z, plan[k, 0], plan[k, 4], lanes)
        x, z = z, x
    return x


@compiled(inner=True)
def gather(rows: NDArray[Any], start: int, limit: float, x: NDArray[Any], lanes: int) -> bool:
    """Clamp rows to [-limit, limit] into the lanes of x (features, lanes), zeros past the end; False if any is NaN."""
    n, d = rows.shape
    square = 64 // x.itemsize
    done = d // square * square if start + lanes <= n else 0  # columns turned a square at a time
    for column in range(0, done, square):
        for lane in range(0, lanes, square):
            transpose_square(rows, (start + lane) * d + column, d, x, column * lanes + lane, lanes)
    count = min(lanes, n - start)
    for lane in range(count):
        for j in range(done, d):
            x[j * lanes + lane] = rows[start + lane, j]
    for lane in range(count, lanes):
        for j in range(d):
            x[j * lanes + lane] = 0
    return clamp(x[: d * lanes], limit)


@compiled(inner=True)
def clamp(x: NDArray[Any], limit: float) -> bool:
    """x = min(max(x, -limit), limit) in place; False if any number is NaN."""
    low, high = x.dtype.type(-limit), x.dtype.type(limit)
    bad = 0
    for i in range(x.size):
        value = x[i]
        bad += value != value
        value = low if value < low else value
        x[i] = high if value > high else value
    return bad == 0
