"""Forward and backward through all layers for one block of 64 lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._bins import bin_gradient, bin_outputs
from monolip.engine._compile import compiled
from monolip.engine._group_lanes import sort_lanes, unsort_lanes
from monolip.engine._lane_ops import lane_sum
from monolip.engine._products import (
    add_transposed,
    dot_gradient,
    input_gradient,
    layer_output,
    tile_gradient,
    transpose,
)
from monolip.engine._state import Data, Lanes, Stepped
from monolip.engine._training_layout import (
    BIAS_AT,
    BIN_STRIDE,
    BINS_AT,
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

__all__ = ["backward", "collect_bins", "forward", "update_means"]

FloatArray = NDArray[Any]
Table = NDArray[np.int64]


@compiled(fast=True, inner=True)
def forward(data: Data, params: FloatArray, layers: Table, blocks: Table, lanes: Lanes) -> None:
    """Fill acts: inputs (d, lanes) are there; each layer adds its outputs, and after them its sorted outputs.

    The table of the bins (lanes.table) is there too: it changes only with the parameters.
    """
    acts, origin = lanes.acts, lanes.origin
    for k in range(layers.shape[0]):
        x_at, z_at, bias_at = layers[k, INPUT_AT] * LANES, layers[k, OUTPUT_AT] * LANES, layers[k, BIAS_AT]
        for b in range(layers[k, FIRST_BLOCK], layers[k, END_BLOCK]):
            row, rows, w_at, stride = blocks[b, ROW], blocks[b, ROWS], blocks[b, WEIGHT_AT], blocks[b, STRIDE]
            read_at, write_at = x_at + blocks[b, COLUMN] * LANES, z_at + row * LANES
            layer_output(params, w_at, stride, bias_at + row, rows, blocks[b, COLUMNS], acts, read_at, write_at)
        if k == 0 and data.codes.shape[1] > 0:
            stride, width = layers[0, BIN_STRIDE], -(-layers[0, WIDTH] // PAD) * PAD
            at, held = layers[0, BINS_AT], blocks[0, COLUMNS]
            bin_outputs(params, at, lanes.table, lanes.base, lanes.units, stride, data.codes, lanes.rows, data.x, held)
            add_transposed(lanes.units, LANES, width, stride, acts, z_at, LANES)
        if k + 1 < layers.shape[0]:
            width, a_at = layers[k, WIDTH], layers[k + 1, INPUT_AT] * LANES
            sort_lanes(acts, z_at, a_at, width, layers[k, GROUP_SIZE], origin[layers[k, OUTPUT_AT] * LANES :])


@compiled(fast=True, inner=True)
def backward(data: Data, layers: Table, blocks: Table, own: Stepped, lanes: Lanes) -> None:
    """own.gradient += gradient of all parameters; lanes.d (outputs, lanes) holds d loss / d outputs and is used up.

    What the bins get is added to own.bin_sums.
    """
    params, g, acts, origin = own.params, own.gradient, lanes.acts, lanes.origin
    turned, d, spare = lanes.turned, lanes.d, lanes.spare
    for k in range(layers.shape[0] - 1, -1, -1):
        width, bias_at, x_at = layers[k, WIDTH], layers[k, BIAS_AT], layers[k, INPUT_AT] * LANES
        for r in range(width):
            g[bias_at + r] += lane_sum(d, r * LANES)
        ldx = -(-layers[k, INPUT_WIDTH] // PAD) * PAD
        if k > 0 and layers[k, TILED]:
            transpose(acts, x_at, ldx, LANES, LANES, turned, ldx)
        for b in range(layers[k, FIRST_BLOCK], layers[k, END_BLOCK]):
            rows, column, columns = blocks[b, ROWS], blocks[b, COLUMN], blocks[b, COLUMNS]
            d_at, w_at, ldw = blocks[b, ROW] * LANES, blocks[b, WEIGHT_AT], blocks[b, STRIDE]
            if k == 0:
                tile_gradient(g, w_at, ldw, rows, d, d_at, data.cells, column, data.x.shape[1], lanes.rows)
            elif rows > FEW_ROWS:
                tile_gradient(g, w_at, ldw, rows, d, d_at, turned, column, ldx, lanes.same)
            else:
                dot_gradient(g, w_at, ldw, rows, columns, d, d_at, acts, x_at + column * LANES)
            if k > 0:
                input_gradient(params, w_at, ldw, rows, columns, d, d_at, spare, column * LANES)
        if k == 0 and data.codes.shape[1] > 0:
            stride, padded = layers[0, BIN_STRIDE], -(-width // PAD) * PAD
            transpose(d, 0, padded, LANES, LANES, lanes.units, stride)
            at, held = layers[0, BINS_AT], blocks[0, COLUMNS]
            bin_gradient(g, at, own.bin_sums, lanes.units, stride, data.codes, lanes.rows, data.x, held)
        if k > 0:
            z_at = layers[k - 1, OUTPUT_AT] * LANES
            unsort_lanes(acts, z_at, layers[k, INPUT_WIDTH], layers[k - 1, GROUP_SIZE], origin[z_at:], spare, d)


@compiled(fast=True, inner=True)
def update_means(layers: Table, acts: FloatArray, means: FloatArray, share: float) -> None:
    """Move the running mean of every later layer's input by `share` towards its mean over the block's lanes."""
    part = means.dtype.type(share)
    for k in range(1, layers.shape[0]):
        at = layers[k, INPUT_AT]
        for j in range(at, at + layers[k, INPUT_WIDTH]):
            means[j] += part * (lane_sum(acts, j * LANES) / means.dtype.type(LANES) - means[j])


@compiled(fast=True, inner=True)
def collect_bins(data: Data, layers: Table, own: Stepped) -> None:
    """Add to own.gradient what own.bin_sums holds for it; slopes that step do the same on their way, see _bin_steps."""
    at, stride, width, first = layers[0, BINS_AT], layers[0, BIN_STRIDE], layers[0, WIDTH], data.first_bins
    for feature in range(first.size - 1):
        for unit in range(width):
            above, below = own.gradient[layers[0, BIAS_AT] + unit], own.gradient.dtype.type(0)
            for k in range(first[feature], first[feature + 1]):
                here = own.bin_sums[k * stride + unit]
                above -= here
                own.gradient[at + k * stride + unit] += data.bin_ends[1, k] * above + data.bin_ends[0, k] * below
                below += here
