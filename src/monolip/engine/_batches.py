"""Batches in lanes: which rows come next, and the network's outputs for 64 of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._gradient import forward
from monolip.engine._lane_ops import gather_square
from monolip.engine._pairs import draw
from monolip.engine._state import AHEAD, Data, Lanes
from monolip.engine._training_layout import BY_LANES, LANES, OUTPUT_AT, WAY

__all__ = ["block_forward", "next_rows"]

FloatArray = NDArray[Any]
Table = NDArray[np.int64]


@compiled(fast=True, inner=True)
def shuffle(order: NDArray[np.int32], random: NDArray[np.uint64], run: int) -> None:
    """A new random order of runs of `run` rows (Fisher-Yates); each draw of 64 bits serves two."""
    half = np.uint64(32)
    i = order.size // run - 1
    while i > 0:
        bits = draw(random)
        for part in (bits >> half, bits & np.uint64(0xFFFFFFFF)):
            if i > 0:
                j = (part * np.uint64(i + 1)) >> half
                here, there = np.uint64(i * run), j * np.uint64(run)  # without a sign nobody looks at it
                for k in range(np.uint64(run)):
                    order[here + k], order[there + k] = order[there + k], order[here + k]
                i -= 1


@compiled(fast=True, inner=True)
def next_rows(
    order: NDArray[np.int32], random: NDArray[np.uint64], clock: NDArray[np.int64], rows: NDArray[np.int64], count: int
) -> None:
    """The next `count` rows of the epoch; a new order whenever all have been seen."""
    at, done = clock[1], 0
    while done < count:
        if at == order.size:
            shuffle(order, random, clock[2])
            at = 0
        part = order[at : at + count - done]
        to = rows[done : done + part.size]
        for i in range(part.size):
            to[i] = part[i]
        at, done = at + part.size, done + part.size
    clock[1] = at
    for lane in range(count, LANES):  # unused lanes repeat rows, so that means over lanes stay those of the batch
        rows[lane] = rows[lane % count]
    known = min(AHEAD, order.size - at)  # what probably comes next, fetched into the cache during this block's work
    for lane in range(known):
        rows[LANES + lane] = order[at + lane]
    for lane in range(known, AHEAD):
        rows[LANES + lane] = rows[lane]


@compiled(fast=True, inner=True)
def put_inputs(x: FloatArray, rows: NDArray[np.int64], acts: FloatArray) -> None:
    """Copy 64 rows of x into lanes (width, lanes), for residuals and first layers by lanes; rows has AHEAD more."""
    width, square = x.shape[1], 64 // x.itemsize
    for first in range(0, LANES, square):
        for column in range(0, width, square):
            gather_square(x, rows, first, column, width, acts)


@compiled(fast=True, inner=True)
def put_targets(
    y: FloatArray, weight: FloatArray, rows: NDArray[np.int64], count: int, share: float, y_lanes: FloatArray,
    weight_lanes: FloatArray,
) -> None:  # fmt: skip
    """Targets and weights of 64 rows in lanes; lanes past `count` weigh nothing."""
    scale = weight.dtype.type(share)
    for lane in range(LANES):
        row = np.uint64(rows[lane])  # without a sign nobody looks whether it counts from the end
        weight_lanes[lane] = weight[row] * scale if lane < count else weight.dtype.type(0)
    for k in range(y.shape[1]):
        for lane in range(LANES):
            y_lanes[k * LANES + lane] = y[np.uint64(rows[lane]), k]
    for k in range(LANES, weight_lanes.size):
        weight_lanes[k] = weight_lanes[k - LANES]


@compiled(fast=True, inner=True)
def add_known(
    residual: FloatArray, offset: FloatArray, rows: NDArray[np.int64], acts: FloatArray, outputs: FloatArray
) -> None:
    """f = network + center . x + offset: add what is not learned to the outputs (outputs * lanes)."""
    for k in range(residual.shape[0]):
        for j in range(residual.shape[1]):
            slope = residual[k, j]
            if slope != 0:
                out, x = outputs[k * LANES : (k + 1) * LANES], acts[j * LANES : (j + 1) * LANES]
                for lane in range(LANES):
                    out[lane] += slope * x[lane]
    if offset.shape[0] > 0:
        for k in range(offset.shape[1]):
            for lane in range(LANES):
                outputs[k * LANES + lane] += offset[np.uint64(rows[lane]), k]


@compiled(fast=True, inner=True)
def block_forward(
    data: Data, count: int, share: float, layers: Table, blocks: Table, params: FloatArray, lanes: Lanes
) -> None:
    """Outputs of the 64 rows named in lanes.rows, of which `count` count, into their place in lanes.acts."""
    if data.residual.shape[0] > 0 or layers[0, WAY] == BY_LANES:
        put_inputs(data.x, lanes.rows, lanes.acts)
    put_targets(data.y, data.weight, lanes.rows, count, share, lanes.y, lanes.weight)
    forward(data, params, layers, blocks, lanes)
    out_at = layers[-1, OUTPUT_AT] * LANES
    add_known(data.residual, data.offset, lanes.rows, lanes.acts, lanes.acts[out_at:])
