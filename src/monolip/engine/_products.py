"""Products of training, in register tiles: layer outputs, gradients of inputs, gradients of weights.

Every one is C[r, n] = start + sum_k A[r * a_row + k * a_col] * B[k * ldb + n] with other strides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._lane_ops import lane_dot, transpose_square
from monolip.engine._training_layout import LANES
from monolip.engine._vector import tile

__all__ = ["dot_gradient", "input_gradient", "layer_output", "tile_gradient", "transpose"]

FloatArray = NDArray[Any]
# 8 rows by 2 registers: 16 sums hide the latency of the additions, and common widths are multiples of 8
_BIAS_8, _ZERO_8 = (tile(8, 2, fused=True, start=start) for start in ("bias", "zero"))
_BIAS_2, _ZERO_2 = (tile(2, 4, fused=True, start=start) for start in ("bias", "zero"))
_BIAS_1, _ZERO_1 = (tile(1, 4, fused=True, start=start) for start in ("bias", "zero"))
_SUM_82, _SUM_22, _SUM_12 = (tile(r, 2, fused=True, start="named", ways=w) for r, w in ((8, 1), (2, 2), (1, 4)))
_SUM_81, _SUM_21, _SUM_11 = (tile(r, 1, fused=True, start="named", ways=w) for r, w in ((8, 1), (2, 4), (1, 4)))


@compiled(fast=True, inner=True)
def layer_output(
    w: FloatArray, w_at: int, ldw: int, bias_at: int, rows: int, columns: int, x: FloatArray, x_at: int, z_at: int
) -> None:
    """z (rows, lanes) = W x + b; x and z lie in the same flat array of activations."""
    step = 128 // x.itemsize
    whole = rows // 8 * 8
    for n in range(0, LANES, step):
        for k in range(0, whole, 8):
            at, z = w_at + k * ldw, z_at + k * LANES + n
            _BIAS_8(x, z, LANES, w, at, ldw, 1, x, x_at + n, LANES, columns, w, bias_at + k)
    for n in range(0, LANES, 2 * step):
        k = whole
        while k + 2 <= rows:
            at, z = w_at + k * ldw, z_at + k * LANES + n
            _BIAS_2(x, z, LANES, w, at, ldw, 1, x, x_at + n, LANES, columns, w, bias_at + k)
            k += 2
        if k < rows:
            at, z = w_at + k * ldw, z_at + k * LANES + n
            _BIAS_1(x, z, LANES, w, at, ldw, 1, x, x_at + n, LANES, columns, w, bias_at + k)


@compiled(fast=True, inner=True)
def input_gradient(
    w: FloatArray, w_at: int, ldw: int, rows: int, columns: int, d: FloatArray, d_at: int, out: FloatArray, out_at: int
) -> None:
    """out (columns, lanes) = W^T d for d (rows, lanes)."""
    step = 128 // d.itemsize
    whole = columns // 8 * 8
    for n in range(0, LANES, step):
        for k in range(0, whole, 8):
            _ZERO_8(out, out_at + k * LANES + n, LANES, w, w_at + k, 1, ldw, d, d_at + n, LANES, rows, w, 0)
    for n in range(0, LANES, 2 * step):
        k = whole
        while k + 2 <= columns:
            _ZERO_2(out, out_at + k * LANES + n, LANES, w, w_at + k, 1, ldw, d, d_at + n, LANES, rows, w, 0)
            k += 2
        if k < columns:
            _ZERO_1(out, out_at + k * LANES + n, LANES, w, w_at + k, 1, ldw, d, d_at + n, LANES, rows, w, 0)


@compiled(fast=True, inner=True)
def dot_gradient(
    g: FloatArray, g_at: int, stride: int, rows: int, columns: int, d: FloatArray, d_at: int, x: FloatArray, x_at: int
) -> None:
    """g (rows, stride) += d x^T for d (rows, lanes), x (columns, lanes), as dot products: for few rows."""
    for r in range(rows):
        for j in range(columns):
            g[g_at + r * stride + j] += lane_dot(d, d_at + r * LANES, x, x_at + j * LANES)


@compiled(fast=True, inner=True)
def tile_gradient(
    g: FloatArray, g_at: int, ldg: int, rows: int, d: FloatArray, d_at: int, x: FloatArray, x_at: int, ldx: int,
    numbers: NDArray[np.int64],
) -> None:  # fmt: skip
    """g (rows, ldg) += d x for d (rows, lanes) and rows of x (n, ldx) by their numbers; fills the padding of g too."""
    width = 64 // g.itemsize
    n = 0
    while n + 2 * width <= ldg:
        k = 0
        while k + 8 <= rows:
            _SUM_82(g, g_at + k * ldg + n, ldg, d, d_at + k * LANES, LANES, 1, x, x_at + n, ldx, LANES, numbers, 0)
            k += 8
        while k + 2 <= rows:
            _SUM_22(g, g_at + k * ldg + n, ldg, d, d_at + k * LANES, LANES, 1, x, x_at + n, ldx, LANES, numbers, 0)
            k += 2
        if k < rows:
            _SUM_12(g, g_at + k * ldg + n, ldg, d, d_at + k * LANES, LANES, 1, x, x_at + n, ldx, LANES, numbers, 0)
        n += 2 * width
    while n < ldg:
        k = 0
        while k + 8 <= rows:
            _SUM_81(g, g_at + k * ldg + n, ldg, d, d_at + k * LANES, LANES, 1, x, x_at + n, ldx, LANES, numbers, 0)
            k += 8
        while k + 2 <= rows:
            _SUM_21(g, g_at + k * ldg + n, ldg, d, d_at + k * LANES, LANES, 1, x, x_at + n, ldx, LANES, numbers, 0)
            k += 2
        if k < rows:
            _SUM_11(g, g_at + k * ldg + n, ldg, d, d_at + k * LANES, LANES, 1, x, x_at + n, ldx, LANES, numbers, 0)
        n += width


@compiled(fast=True, inner=True)
def transpose(x: FloatArray, x_at: int, rows: int, columns: int, ldx: int, y: FloatArray, y_at: int, ldy: int) -> None:
    """y (columns, rows) = x (rows, columns) transposed; rows and columns are multiples of a register's length."""
    width = 64 // x.itemsize
    for i in range(0, rows, width):
        for j in range(0, columns, width):
            transpose_square(x, x_at + i * ldx + j, ldx, y, y_at + j * ldy + i, ldy)
