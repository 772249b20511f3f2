"""When slopes in bins step: every time, or less often where there are so many of them that this is most of the work.

Of hundreds of bins a batch of 64 rows tells each very little. Gradients are gathered over two or four batches then, and
one step is made of them: less noisy, longer than each of the steps it stands for, shorter than all of them. What
depends on time (decay, moments, the average of iterates) goes on as if there had been a step each time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._bin_steps import step_bins
from monolip.engine._compile import compiled
from monolip.engine._emitter import BETA1, BETA2, SHARE
from monolip.engine._state import GATHERED, Data, State
from monolip.engine._training_layout import BIAS_AT, BIN_STRIDE, BINS_AT, WIDTH
from monolip.engine._updates import put_rates

__all__ = ["gather_units", "step_gathered", "turn_length"]

FloatArray = NDArray[Any]
Table = NDArray[np.int64]
MANY_BINS, VERY_MANY_BINS = 100, 500  # bins of all features: from here on they step every second, every fourth time
LENGTH = 0.8  # of a step, a power of how many batches make it: two make it 1.74 times as long, four 3 times


@compiled(fast=True, inner=True)
def turn_length(n_bins: int) -> int:
    """Batches whose gradients make a step of the bins."""
    return 4 if n_bins >= VERY_MANY_BINS else 2 if n_bins >= MANY_BINS else 1


@compiled(fast=True, inner=True)
def gather_units(layers: Table, state: State) -> None:
    """The batch's gradient of the first layer's outputs joins those since bins stepped last."""
    own, bias_at = state.stepped, layers[0, BIAS_AT]
    near, far = own.unit_sums, own.gradient[bias_at : bias_at + own.unit_sums.size]
    for i in range(near.size):
        near[i] += far[i]
    state.clock[GATHERED] += 1


@compiled(fast=True, inner=True)
def step_gathered(
    data: Data, layers: Table, state: State, h: FloatArray, rate: float, fix1: float, fix2: float
) -> None:
    """Step all slopes in bins by what was gathered; biases follow so that mean outputs stay. rate: of one batch."""
    own, lanes, bins_at, bias_at = state.stepped, state.lanes, layers[0, BINS_AT], layers[0, BIAS_AT]
    turns, one, share = state.clock[GATHERED], h.dtype.type(1), own.step[SHARE]
    if turns > 1:
        longer = np.float64(turns) ** LENGTH
        put_rates(own.step, longer * rate, h[8] * turns / longer, fix1, fix2)
        own.step[BETA1], own.step[BETA2] = h[4] ** turns, h[5] ** turns
        own.step[SHARE] = one - (one - share) ** turns
    step_bins(
        own.params, own.first_moment, own.second_moment, own.lower, own.upper, own.gradient, state.average,
        bins_at, own.step, layers[0, BIN_STRIDE], data.first_bins, data.bin_ends, lanes.table, lanes.base,
        own.bin_sums, own.unit_sums, own.bin_means, own.moved,
    )  # fmt: skip
    own.step[BETA1], own.step[BETA2], own.step[SHARE] = h[4], h[5], share
    for r in range(layers[0, WIDTH]):
        own.params[bias_at + r] -= own.moved[r]
    own.unit_sums[:] = 0
    state.clock[GATHERED] = 0
