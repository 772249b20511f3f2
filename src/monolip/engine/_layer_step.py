"""One step of one layer: every row by the rule of its place, every bias by Adam."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._emitter import RATE
from monolip.engine._row_steps import mixing_rows, slope_columns, slope_rows
from monolip.engine._state import Stepped
from monolip.engine._training_layout import (
    BIAS_AT,
    BY_LANES,
    COLUMN,
    COLUMNS,
    END_BLOCK,
    FIRST_BLOCK,
    INPUT_AT,
    ROW,
    ROWS,
    STRIDE,
    WAY,
    WEIGHT_AT,
    WIDTH,
)
from monolip.engine._updates import adam_direction, centre, signed_step, through_cap

__all__ = ["step_biases", "step_weights"]

FloatArray = NDArray[Any]
Table = NDArray[np.int64]


@compiled(fast=True, inner=True)
def step_slopes(layers: Table, blocks: Table, own: Stepped, sums: FloatArray) -> None:
    """Step the first layer's slopes, all but those in bins; biases follow so that mean outputs stay."""
    bias_at, stride = layers[0, BIAS_AT], blocks[0, STRIDE]
    if layers[0, WAY] == BY_LANES:
        slope_rows(
            own.params, own.first_moment, own.second_moment, own.lower, own.upper, own.gradient, 0, own.step,
            own.means, 0, bias_at, layers[0, WIDTH], stride,
        )  # fmt: skip
    else:
        slope_columns(
            own.params, own.first_moment, own.second_moment, own.lower, own.upper, own.gradient, 0, own.step,
            own.means, 0, bias_at, blocks[0, COLUMNS], stride, sums,
        )  # fmt: skip


@compiled(fast=True, inner=True)
def step_rows(b: int, mean_at: int, bias_at: int, blocks: Table, own: Stepped, sums: FloatArray) -> None:
    """Step a block's rows of a later layer by their rule; biases follow so that mean outputs stay."""
    at, rows, stride, columns = blocks[b, WEIGHT_AT], blocks[b, ROWS], blocks[b, STRIDE], blocks[b, COLUMNS]
    if own.raw.size == 0:
        mixing_rows(
            own.params, own.first_moment, own.second_moment, own.gradient, at, own.step, own.means, mean_at, bias_at,
            rows, stride, columns, sums,
        )  # fmt: skip
    else:
        for r in range(rows):
            h, place = own.gradient[bias_at + r], at + r * stride
            moved = _signed_row(place, place + columns, own, own.means[mean_at : mean_at + columns], h)
            own.params[bias_at + r] -= moved


@compiled(fast=True, inner=True)
def _signed_row(at: int, end: int, own: Stepped, mean: FloatArray, h: float) -> Any:
    g, raw, effective = own.gradient[at:end], own.raw[at:end], own.params[at:end]
    centre(g, mean, h)
    through_cap(g, raw, effective)
    adam_direction(g, own.first_moment[at:end], own.second_moment[at:end], own.step)
    return signed_step(raw, effective, g, mean, own.step[RATE])


@compiled(fast=True, inner=True)
def step_weights(k: int, layers: Table, blocks: Table, own: Stepped, sums: FloatArray) -> None:
    """One step of layer k's rows by their rule, all but slopes in bins. sums: room, see `_row_steps`."""
    if k == 0:
        step_slopes(layers, blocks, own, sums)
        return
    for b in range(layers[k, FIRST_BLOCK], layers[k, END_BLOCK]):
        mean_at, bias_at = layers[k, INPUT_AT] + blocks[b, COLUMN], layers[k, BIAS_AT] + blocks[b, ROW]
        step_rows(b, mean_at, bias_at, blocks, own, sums)


@compiled(fast=True, inner=True)
def step_biases(k: int, layers: Table, own: Stepped, rate: float) -> None:
    """One step of layer k's biases by Adam; their gradient is used up, which the weights' steps need."""
    bias_at, bias_end = layers[k, BIAS_AT], layers[k, BIAS_AT] + layers[k, WIDTH]
    g, own.step[RATE] = own.gradient[bias_at:bias_end], rate
    adam_direction(g, own.first_moment[bias_at:bias_end], own.second_moment[bias_at:bias_end], own.step)
    for i in range(bias_at, bias_end):
        own.params[i] -= own.step[RATE] * own.gradient[i]
