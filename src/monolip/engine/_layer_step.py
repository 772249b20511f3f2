"""One step of one layer: every row by the rule of its place, every bias by Adam."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._row_steps import KEEP, LIFT1, LIFT2, RATE, mixing_row, slope_column, slope_row
from monolip.engine._state import Stepped
from monolip.engine._training_layout import (
    BIAS_AT,
    BIN_STRIDE,
    BINS_AT,
    COLUMN,
    COLUMNS,
    END_BLOCK,
    FIRST_BLOCK,
    INPUT_AT,
    ROW,
    ROWS,
    STRIDE,
    WEIGHT_AT,
    WIDTH,
)
from monolip.engine._updates import adam_direction, centre, signed_step, through_cap

__all__ = ["step_layer"]

FloatArray = NDArray[Any]
Table = NDArray[np.int64]


@compiled(fast=True, inner=True)
def step_rows(b: int, mean_at: int, bias_at: int, blocks: Table, own: Stepped, first: bool) -> None:
    """Step a block's rows by the rule of their place; biases follow so that mean outputs stay."""
    stride, columns, step = blocks[b, STRIDE], blocks[b, COLUMNS], own.step
    for r in range(blocks[b, ROWS]):
        at = blocks[b, WEIGHT_AT] + r * stride
        h = own.gradient[bias_at + r]
        if first:
            moved = slope_row(
                own.params, own.gradient, own.first_moment, own.second_moment, own.lower, own.upper, at, step,
                own.means, mean_at, h, stride,
            )  # fmt: skip
        elif own.raw.size > 0:
            moved = _signed_row(at, at + columns, own, own.means[mean_at : mean_at + columns], h)
        else:
            moved = mixing_row(
                own.params, own.gradient, own.first_moment, own.second_moment, at, step, own.means, mean_at, h, columns
            )
        own.params[bias_at + r] -= moved


@compiled(fast=True, inner=True)
def step_bins(layers: Table, own: Stepped) -> None:
    """Step the slopes that lie bin by bin."""
    at, stride, bias_at = layers[0, BINS_AT], layers[0, BIN_STRIDE], layers[0, BIAS_AT]
    for i in range(own.moved.size):
        own.moved[i] = 0
    for k in range(own.bin_means.size):
        slope_column(
            own.params, own.gradient, own.first_moment, own.second_moment, own.lower, own.upper, at + k * stride,
            own.step, own.gradient, own.moved, bias_at, own.bin_means[k], stride,
        )  # fmt: skip
    for r in range(layers[0, WIDTH]):
        own.params[bias_at + r] -= own.moved[r]


@compiled(fast=True, inner=True)
def _signed_row(at: int, end: int, own: Stepped, mean: FloatArray, h: float) -> Any:
    g, raw, effective = own.gradient[at:end], own.raw[at:end], own.params[at:end]
    centre(g, mean, h)
    through_cap(g, raw, effective)
    adam_direction(g, own.first_moment[at:end], own.second_moment[at:end], own.step)
    return signed_step(raw, effective, g, mean, own.step[RATE])


@compiled(fast=True, inner=True)
def step_layer(
    k: int, layers: Table, blocks: Table, own: Stepped, rate: float, bias_rate: float, decay: float, fix1: float,
    fix2: float,
) -> None:  # fmt: skip
    """One step of layer k: rows by their rule, biases by Adam."""
    bias_at, bias_end = layers[k, BIAS_AT], layers[k, BIAS_AT] + layers[k, WIDTH]
    own.step[LIFT1], own.step[LIFT2], own.step[RATE], own.step[KEEP] = fix1, fix2, rate, 1.0 - rate * decay
    for b in range(layers[k, FIRST_BLOCK], layers[k, END_BLOCK]):
        step_rows(b, layers[k, INPUT_AT] + blocks[b, COLUMN], bias_at + blocks[b, ROW], blocks, own, k == 0)
    if k == 0 and own.bin_means.size > 0:
        step_bins(layers, own)
    g, own.step[RATE] = own.gradient[bias_at:bias_end], bias_rate
    adam_direction(g, own.first_moment[bias_at:bias_end], own.second_moment[bias_at:bias_end], own.step)
    for i in range(bias_at, bias_end):
        own.params[i] -= own.step[RATE] * own.gradient[i]
