"""Forward and backward through all layers for one block of 64 lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._bins import bin_gradient, bin_outputs
from monolip.engine._compile import compiled
from monolip.engine._first_layer import add_unit_sums, plain_gradient, plain_outputs, sort_units, unsort_units
from monolip.engine._group_lanes import sort_lanes, unsort_lanes
from monolip.engine._lane_ops import lane_sum
from monolip.engine._products import (
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
    BY_LANES,
    BY_PAIRS,
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
    WAY,
    WEIGHT_AT,
    WIDTH,
)

__all__ = ["backward", "collect_bins", "forward", "update_means"]

FloatArray = NDArray[Any]
Table = NDArray[np.int64]


@compiled(fast=True, inner=True)
def first_forward(data: Data, params: FloatArray, layers: Table, blocks: Table, lanes: Lanes) -> None:
    """Outputs of the first layer, by units, into lanes.units; what the next layer reads, by lanes, into acts.

    Pairs are sorted by units, into lanes.turned; other groups by lanes. Of a first layer by lanes, what plain columns
    add is there already, and only bins are added.
    """
    stride, bins_at, bias_at, held = layers[0, BIN_STRIDE], layers[0, BINS_AT], layers[0, BIAS_AT], blocks[0, COLUMNS]
    units, width, z_at = lanes.units, -(-layers[0, WIDTH] // PAD) * PAD, layers[0, OUTPUT_AT] * LANES
    if layers[0, WAY] == BY_LANES:
        transpose(lanes.acts, z_at, width, LANES, LANES, units, 0, stride)
    else:
        plain_outputs(params, 0, bias_at, held, data.x, lanes.rows, units, stride)
    bin_outputs(
        params, bins_at, lanes.table, lanes.base, units, stride, data.codes, lanes.rows, data.x, held, lanes.codes,
        lanes.held,
    )  # fmt: skip
    if layers[0, WAY] == BY_PAIRS:
        sort_units(units, lanes.turned, stride)
        transpose(lanes.turned, 0, LANES, width, stride, lanes.acts, layers[1, INPUT_AT] * LANES, LANES)
    else:
        transpose(units, 0, LANES, width, stride, lanes.acts, z_at, LANES)


@compiled(fast=True, inner=True)
def forward(data: Data, params: FloatArray, layers: Table, blocks: Table, lanes: Lanes) -> None:
    """Fill acts: each layer adds its outputs, and after them its sorted outputs.

    The table of the bins (lanes.table) is there: it changes only with the parameters.
    """
    acts, origin, way = lanes.acts, lanes.origin, layers[0, WAY]
    for k in range(layers.shape[0]):
        x_at, z_at, bias_at = layers[k, INPUT_AT] * LANES, layers[k, OUTPUT_AT] * LANES, layers[k, BIAS_AT]
        for b in range(layers[k, FIRST_BLOCK], layers[k, END_BLOCK] if k > 0 or way == BY_LANES else 0):
            row, rows, w_at, stride = blocks[b, ROW], blocks[b, ROWS], blocks[b, WEIGHT_AT], blocks[b, STRIDE]
            read_at, write_at = x_at + blocks[b, COLUMN] * LANES, z_at + row * LANES
            layer_output(params, w_at, stride, bias_at + row, rows, blocks[b, COLUMNS], acts, read_at, write_at)
        if k == 0 and (way != BY_LANES or data.codes.shape[1] > 0):
            first_forward(data, params, layers, blocks, lanes)
        if k + 1 < layers.shape[0] and (k > 0 or way != BY_PAIRS):
            width, a_at = layers[k, WIDTH], layers[k + 1, INPUT_AT] * LANES
            sort_lanes(acts, z_at, a_at, width, layers[k, GROUP_SIZE], origin[layers[k, OUTPUT_AT] * LANES :])


@compiled(fast=True, inner=True)
def backward(data: Data, layers: Table, blocks: Table, own: Stepped, lanes: Lanes) -> None:
    """own.gradient += gradient of all parameters; lanes.d (outputs, lanes) holds d loss / d outputs and is used up.

    What the bins get is added to own.bin_sums.
    """
    params, g, acts, origin = own.params, own.gradient, lanes.acts, lanes.origin
    turned, d, spare, way = lanes.turned, lanes.d, lanes.spare, layers[0, WAY]
    overwritten = False  # lanes.turned, which holds what `first_forward` left there
    for k in range(layers.shape[0] - 1, -1 if way == BY_LANES else 0, -1):
        bias_at, x_at = layers[k, BIAS_AT], layers[k, INPUT_AT] * LANES
        by_units = k == 1 and way == BY_PAIRS
        for r in range(layers[k, WIDTH]):
            g[bias_at + r] += lane_sum(d, r * LANES)
        padded = -(-layers[k, INPUT_WIDTH] // PAD) * PAD
        ldx = layers[0, BIN_STRIDE] if by_units else padded
        x, numbers = turned, lanes.same
        if k == 0:  # inputs are read where they lie in the table
            x, ldx, numbers = data.cells, data.x.shape[1], lanes.rows
        elif layers[k, TILED] and not by_units:
            transpose(acts, x_at, padded, LANES, LANES, turned, 0, ldx)
            overwritten = True
        elif by_units and overwritten:
            sort_units(lanes.units, turned, ldx)
        for b in range(layers[k, FIRST_BLOCK], layers[k, END_BLOCK]):
            rows, column, columns = blocks[b, ROWS], blocks[b, COLUMN], blocks[b, COLUMNS]
            d_at, w_at, ldw = blocks[b, ROW] * LANES, blocks[b, WEIGHT_AT], blocks[b, STRIDE]
            if k == 0 or rows > FEW_ROWS:
                tile_gradient(g, w_at, ldw, rows, d, d_at, x, column, ldx, numbers)
            else:
                dot_gradient(g, w_at, ldw, rows, columns, d, d_at, acts, x_at + column * LANES)
            if k > 0:
                input_gradient(params, w_at, ldw, rows, columns, d, d_at, spare, column * LANES)
        if by_units:
            transpose(spare, 0, padded, LANES, LANES, turned, 0, ldx)
            unsort_units(lanes.units, turned, ldx)
        elif k > 0:
            z_at = layers[k - 1, OUTPUT_AT] * LANES
            unsort_lanes(acts, z_at, layers[k, INPUT_WIDTH], layers[k - 1, GROUP_SIZE], origin[z_at:], spare, d)
    if way != BY_LANES or data.codes.shape[1] > 0:
        first_backward(data, layers, blocks, own, lanes)


@compiled(fast=True, inner=True)
def first_backward(data: Data, layers: Table, blocks: Table, own: Stepped, lanes: Lanes) -> None:
    """The gradient of the first layer, from that of its outputs: by units where pairs were sorted, else in lanes.d.

    By lanes, that of bins alone.
    """
    g, units, stride, way = own.gradient, lanes.units, layers[0, BIN_STRIDE], layers[0, WAY]
    if way != BY_PAIRS:
        transpose(lanes.d, 0, -(-layers[0, WIDTH] // PAD) * PAD, LANES, LANES, units, 0, stride)
    if way != BY_LANES:
        add_unit_sums(units, stride, g, layers[0, BIAS_AT])
        plain_gradient(g, 0, blocks[0, COLUMNS], data.x, lanes.rows, units, stride)
    bin_gradient(g, layers[0, BINS_AT], own.bin_sums, units, stride, data.first_bins, lanes.codes, lanes.held)


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
