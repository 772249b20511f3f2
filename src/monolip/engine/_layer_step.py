"""One step of one layer: every row by the rule of its place, every bias by Adam."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._batches import Stepped
from monolip.engine._compile import compiled
from monolip.engine._training_layout import (
    BIAS_AT,
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
from monolip.engine._updates import (
    adam_direction,
    centre,
    centre_on_simplex,
    mixing_step,
    signed_step,
    slope_step,
    through_cap,
)

__all__ = ["step_layer"]

FloatArray = NDArray[Any]
Table = NDArray[np.int64]


@compiled(fast=True, inner=True)
def centre_rows(b: int, mean_at: int, bias_at: int, blocks: Table, own: Stepped, first: bool) -> None:
    """Gradients of a block's rows become what the rules step along."""
    stride, columns = blocks[b, STRIDE], blocks[b, STRIDE] if first else blocks[b, COLUMNS]
    mean = own.means[mean_at : mean_at + columns]
    for r in range(blocks[b, ROWS]):
        at = blocks[b, WEIGHT_AT] + r * stride
        w, g = own.params[at : at + columns], own.gradient[at : at + columns]
        h = own.gradient[bias_at + r]
        if first:
            centre(g, mean, h)
        elif own.raw.size > 0:
            centre(g, mean, h)
            through_cap(g, own.raw[at : at + columns], w)
        else:
            centre_on_simplex(g, w, mean, h)


@compiled(fast=True, inner=True)
def step_rows(
    b: int, mean_at: int, bias_at: int, blocks: Table, own: Stepped, first: bool, rate: float, keep: float
) -> None:
    """Step a block's rows along their directions; biases follow so that mean outputs stay."""
    stride, columns = blocks[b, STRIDE], blocks[b, STRIDE] if first else blocks[b, COLUMNS]
    mean = own.means[mean_at : mean_at + columns]
    for r in range(blocks[b, ROWS]):
        at = blocks[b, WEIGHT_AT] + r * stride
        end = at + columns
        w, g = own.params[at:end], own.gradient[at:end]
        if first:
            moved = slope_step(w, g, own.lower[at:end], own.upper[at:end], mean, rate, keep)
        elif own.raw.size > 0:
            moved = signed_step(own.raw[at:end], w, g, mean, rate)
        else:
            moved = mixing_step(w, g, mean, rate)
        own.params[bias_at + r] -= moved


@compiled(fast=True, inner=True)
def step_layer(
    k: int, layers: Table, blocks: Table, own: Stepped, h: FloatArray, rate: float, bias_rate: float, fix1: float,
    fix2: float,
) -> None:  # fmt: skip
    """One step of layer k: directions of all its parameters in one pass, rows by their rule, biases by Adam."""
    bias_at, bias_end = layers[k, BIAS_AT], layers[k, BIAS_AT] + layers[k, WIDTH]
    start = blocks[layers[k, FIRST_BLOCK], WEIGHT_AT]
    for b in range(layers[k, FIRST_BLOCK], layers[k, END_BLOCK]):
        centre_rows(b, layers[k, INPUT_AT] + blocks[b, COLUMN], bias_at + blocks[b, ROW], blocks, own, k == 0)
    g = own.gradient[start:bias_end]
    adam_direction(g, own.first_moment[start:bias_end], own.second_moment[start:bias_end], h, fix1, fix2)
    step = h.dtype.type(bias_rate)
    for i in range(bias_at, bias_end):
        own.params[i] -= step * own.gradient[i]
    keep = 1.0 - rate * h[8]
    for b in range(layers[k, FIRST_BLOCK], layers[k, END_BLOCK]):
        step_rows(b, layers[k, INPUT_AT] + blocks[b, COLUMN], bias_at + blocks[b, ROW], blocks, own, k == 0, rate, keep)
