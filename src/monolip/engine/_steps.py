"""The compiled training loop: gradient of a batch, then a step of every row. Python calls it for some steps a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._batches import block_forward, next_rows
from monolip.engine._bin_steps import tabulate_bins
from monolip.engine._bin_turns import gather_units, step_gathered, turn_length
from monolip.engine._compile import compiled
from monolip.engine._emitter import BETA1, BETA2, EPSILON, SHARE
from monolip.engine._gradient import backward, collect_bins, update_means
from monolip.engine._layer_step import step_biases, step_weights
from monolip.engine._pointers import call_gradient, call_value
from monolip.engine._state import GATHERED, Data, Lanes, State
from monolip.engine._training_layout import BIAS_AT, BIN_STRIDE, BINS_AT, LANES, OUTPUT_AT, WIDTH
from monolip.engine._updates import put_rates

__all__ = ["outputs_at", "run_steps", "total_loss"]

FloatArray = NDArray[Any]
Table = NDArray[np.int64]
WARM_STEPS = 20  # running means are plain averages at first, then move by MEAN_SHARE every MEAN_EVERY steps
MEAN_SHARE, MEAN_EVERY = 0.08, 4


@compiled(fast=True, inner=True)
def make_table(data: Data, layers: Table, params: FloatArray, lanes: Lanes) -> None:
    """The table of the bins for these parameters; while they step it is kept up, with the same bits."""
    at, stride = layers[0, BINS_AT], layers[0, BIN_STRIDE]
    tabulate_bins(params, at, params, stride, data.first_bins, data.bin_ends, lanes.table, lanes.base)


@compiled(fast=True, inner=True)
def follow(params: FloatArray, average: FloatArray, start: int, stop: int, share: float) -> None:
    """The average moves by `share` towards the parameters."""
    near, far = average[start:stop], params[start:stop]  # slices: places that count from 0 need no look at their sign
    for i in range(near.size):
        near[i] += share * (far[i] - near[i])


@compiled(fast=True, inner=True)
def clear(array: FloatArray, start: int, stop: int) -> None:
    part = array[start:stop]
    for i in range(part.size):
        part[i] = 0


@compiled(fast=True)
def run_steps(
    data: Data, layers: Table, blocks: Table, state: State, gradient: int, parameter: float,
    h: FloatArray, schedule: FloatArray, steps: int, batch_size: int, centred: bool, learn: bool,
) -> bool:  # fmt: skip
    """Do `steps` steps from where state.clock stands; False as soon as a gradient is not a finite number.

    Without `learn` it stops before the first step, with the batch's gradient in state.stepped.gradient.
    gradient: address of the loss's kernel. h: rates of the first layer, mixing rows, output rows, biases; beta1, beta2,
    eps; averaging; slope decay.
    """
    own, lanes = state.stepped, state.lanes
    out_at = layers[-1, OUTPUT_AT] * LANES
    outputs = lanes.acts[out_at : out_at + lanes.weight.size]
    bins_at, bins_end = layers[0, BINS_AT], layers[0, BIAS_AT]
    one, last, turn = h.dtype.type(1), layers.shape[0] - 1, turn_length(data.bin_ends.shape[1])
    log1, log2, log7 = math.log(h[4]), math.log(h[5]), math.log(h[7])  # exp(t log b) costs a fraction of b ** t
    own.step[BETA1], own.step[BETA2], own.step[EPSILON] = h[4], h[5], h[6]
    if state.clock[GATHERED] == 0 or not learn:  # else bins have not stepped yet by what they got
        clear(own.gradient, bins_at, bins_end)
        clear(own.bin_sums, 0, own.bin_sums.size)
        clear(own.unit_sums, 0, own.unit_sums.size)
        state.clock[GATHERED] = 0
    make_table(data, layers, own.params, lanes)
    for _ in range(steps):
        t = state.clock[0]
        clear(own.gradient, 0, bins_at)  # that of bins becomes zero when they step, see _bin_turns
        clear(own.gradient, bins_end, own.gradient.size)
        for start in range(0, batch_size, LANES):
            count = min(LANES, batch_size - start)
            next_rows(state.order, state.random, state.clock, lanes.rows, count)
            block_forward(data, count, 1.0 / batch_size, layers, blocks, own.params, lanes)
            call_gradient(gradient, outputs, lanes.y, lanes.weight, lanes.d[: lanes.weight.size], parameter)
            backward(data, layers, blocks, own, lanes)
            if centred and start == 0 and (t < WARM_STEPS or t % MEAN_EVERY == 0):
                update_means(layers, lanes.acts, own.means, 1.0 / (t + 1) if t < WARM_STEPS else MEAN_SHARE)
        for k in range(layers[last, WIDTH]):
            if not np.isfinite(own.gradient[layers[last, BIAS_AT] + k]):
                return False
        if not learn:
            collect_bins(data, layers, own)
            return True
        fix1, fix2 = 1.0 / (1.0 - math.exp(log1 * (t + 1))), 1.0 / (1.0 - math.exp(log2 * (t + 1)))
        own.step[SHARE] = (one - h[7]) / (1.0 - math.exp(log7 * (t + 1)))
        for k in range(last + 1):
            rate = h[0] if k == 0 else h[2] if k == last else h[1]
            put_rates(own.step, rate * schedule[t], h[8], fix1, fix2)
            step_weights(k, layers, blocks, own, lanes.spare)
            if k == 0 and bins_end > bins_at:
                gather_units(layers, state)
                if state.clock[GATHERED] == turn or t + 1 == schedule.size:
                    step_gathered(data, layers, state, h, rate * schedule[t], fix1, fix2)
            step_biases(k, layers, own, h[3] * schedule[t])
        if h[7] > 0:
            follow(own.params, state.average, 0, bins_at, own.step[SHARE])  # that of bins follows when they step
            follow(own.params, state.average, bins_end, own.params.size, own.step[SHARE])
        state.clock[0] = t + 1
    return True


@compiled(fast=True, inner=True)
def take_rows(index: NDArray[np.int32], start: int, rows: NDArray[np.int64]) -> int:
    """The next 64 of the rows in `index`, those after them, and how many; where there are fewer they come again."""
    n = index.size
    count = min(LANES, n - start)
    for lane in range(LANES):
        rows[lane] = index[start + lane % count]
        rows[LANES + lane] = index[min(start + LANES + lane, n - 1)]
    return count


@compiled(fast=True)
def outputs_at(
    data: Data, index: NDArray[np.int32], layers: Table, blocks: Table, params: FloatArray, lanes: Lanes,
    out: FloatArray,
) -> None:  # fmt: skip
    """out (rows, outputs) of the rows of data in `index`, in the layout's order of outputs."""
    out_at = layers[-1, OUTPUT_AT] * LANES
    make_table(data, layers, params, lanes)
    for start in range(0, index.size, LANES):
        count = take_rows(index, start, lanes.rows)
        block_forward(data, count, 1.0, layers, blocks, params, lanes)
        for k in range(out.shape[1]):
            for lane in range(count):
                out[start + lane, k] = lanes.acts[out_at + k * LANES + lane]


@compiled(fast=True)
def total_loss(
    data: Data, index: NDArray[np.int32], layers: Table, blocks: Table, params: FloatArray, lanes: Lanes,
    value: int, parameter: float,
) -> float:  # fmt: skip
    """sum weight * loss over the rows of data in `index`."""
    total, n, out_at = 0.0, index.size, layers[-1, OUTPUT_AT] * LANES
    outputs = lanes.acts[out_at : out_at + lanes.weight.size]
    make_table(data, layers, params, lanes)
    for start in range(0, n, LANES):
        count = take_rows(index, start, lanes.rows)
        block_forward(data, count, 1.0, layers, blocks, params, lanes)
        total += call_value(value, outputs, lanes.y, lanes.weight, parameter)
    return total
