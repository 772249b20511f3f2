"""Forward and backward through all layers for one block of 64 lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._group_lanes import sort_lanes, unsort_lanes
from monolip.engine._lane_ops import lane_sum
from monolip.engine._products import dot_gradient, input_gradient, layer_output, tile_gradient, transpose
from monolip.engine._training_layout import (
    BIAS_AT,
    COLUMN,
    COLUMNS,
    END_BLOCK,
    FEW_ROWS,
    FIRST_BLOCK,
    GROUP_SIZE,
    INPUT_AT,
    INPUT_WIDTH,
    LANES,
    OUTPUT_AT,
    PAD,
    ROW,
    ROWS,
    STRIDE,
    TILED,
    WEIGHT_AT,
    WIDTH,
)

__all__ = ["backward", "forward", "update_means"]

FloatArray = NDArray[Any]
Table = NDArray[np.int64]


@compiled(fast=True, inner=True)
def forward(params: FloatArray, layers: Table, blocks: Table, acts: FloatArray, origin: NDArray[np.int32]) -> None:
    """Fill acts: inputs (d, lanes) are there; each layer adds its outputs, and after them its sorted outputs."""
    for k in range(layers.shape[0]):
        x_at, z_at, bias_at = layers[k, INPUT_AT] * LANES, layers[k, OUTPUT_AT] * LANES, layers[k, BIAS_AT]
        for b in range(layers[k, FIRST_BLOCK], layers[k, END_BLOCK]):
            row, rows, w_at, stride = blocks[b, ROW], blocks[b, ROWS], blocks[b, WEIGHT_AT], blocks[b, STRIDE]
            read_at, write_at = x_at + blocks[b, COLUMN] * LANES, z_at + row * LANES
            layer_output(params, w_at, stride, bias_at + row, rows, blocks[b, COLUMNS], acts, read_at, write_at)
        if k + 1 < layers.shape[0]:
            width, a_at = layers[k, WIDTH], layers[k + 1, INPUT_AT] * LANES
            sort_lanes(acts, z_at, a_at, width, layers[k, GROUP_SIZE], origin[layers[k, OUTPUT_AT] * LANES :])


@compiled(fast=True, inner=True)
def backward(
    params: FloatArray, layers: Table, blocks: Table, acts: FloatArray, origin: NDArray[np.int32],
    rows_in: FloatArray, turned: FloatArray, d: FloatArray, spare: FloatArray, g: FloatArray,
) -> None:  # fmt: skip
    """g += gradient of all parameters; d (outputs, lanes) holds d loss / d outputs and is used up.

    rows_in: the inputs as rows (lanes, features), which is what the first layer's weight gradient reads.
    """
    for k in range(layers.shape[0] - 1, -1, -1):
        width, bias_at, x_at = layers[k, WIDTH], layers[k, BIAS_AT], layers[k, INPUT_AT] * LANES
        for r in range(width):
            g[bias_at + r] += lane_sum(d, r * LANES)
        ldx = -(-layers[k, INPUT_WIDTH] // PAD) * PAD
        flipped = rows_in if k == 0 else turned
        if k > 0 and layers[k, TILED]:
            transpose(acts, x_at, ldx, LANES, LANES, turned, ldx)
        for b in range(layers[k, FIRST_BLOCK], layers[k, END_BLOCK]):
            rows, column, columns = blocks[b, ROWS], blocks[b, COLUMN], blocks[b, COLUMNS]
            d_at, w_at, ldw = blocks[b, ROW] * LANES, blocks[b, WEIGHT_AT], blocks[b, STRIDE]
            if k == 0 or rows > FEW_ROWS:
                tile_gradient(g, w_at, ldw, rows, d, d_at, flipped, column, ldx)
            else:
                dot_gradient(g, w_at, ldw, rows, columns, d, d_at, acts, x_at + column * LANES)
            if k > 0:
                input_gradient(params, w_at, ldw, rows, columns, d, d_at, spare, column * LANES)
        if k > 0:
            z_at = layers[k - 1, OUTPUT_AT] * LANES
            unsort_lanes(acts, z_at, layers[k, INPUT_WIDTH], layers[k - 1, GROUP_SIZE], origin[z_at:], spare, d)


@compiled(fast=True, inner=True)
def update_means(layers: Table, acts: FloatArray, means: FloatArray, share: float) -> None:
    """Move the running mean of every layer input by `share` towards its mean over the block's lanes."""
    part = means.dtype.type(share)
    for k in range(layers.shape[0]):
        at = layers[k, INPUT_AT]
        for j in range(at, at + layers[k, INPUT_WIDTH]):
            means[j] += part * (lane_sum(acts, j * LANES) / means.dtype.type(LANES) - means[j])
