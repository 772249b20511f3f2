"""Where the adversarial search starts its chains, and how it steps: whole numbers, borders, and a pool that evolves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._pairs import draw, draw_below, near_ties, random_points, uniform

__all__ = ["border_points", "evolve", "step_along", "whole_points"]

FloatArray = NDArray[Any]


@compiled(inner=True)
def whole_points(state: NDArray[np.uint64], x: FloatArray) -> None:
    """Counts, codes and other whole numbers: small ones mostly, up to +-4096."""
    for i in range(x.size):
        size = np.int64(1) << draw_below(state, 13)
        x[i] = draw_below(state, 2 * size + 1) - size


@compiled(inner=True)
def border_points(state: NDArray[np.uint64], x: FloatArray, limit: float, tiny: float) -> None:
    """Numbers where formats and clamps change: zero, powers of two, the smallest number, just inside +-limit."""
    for i in range(x.size):
        kind = draw_below(state, 8)
        sign = 1.0 if draw(state) >> np.uint64(63) == np.uint64(0) else -1.0
        if kind < 4:
            x[i] = sign * 2.0 ** (draw_below(state, 25) - 12)
        elif kind == 4:
            x[i] = 0.0
        elif kind == 5:
            x[i] = sign * tiny
        elif kind == 6:
            x[i] = sign * limit * (1.0 - uniform(state) * 1e-6)
        else:
            x[i] = sign * uniform(state)


@compiled(inner=True)
def evolve(
    state: NDArray[np.uint64], params: FloatArray, plan: NDArray[np.int64], pool: FloatArray, x: FloatArray, lanes: int
) -> None:
    """Children of the pool (features, lanes) into x: a coordinate nudged, taken from another lane, or put near a tie.

    One lane in 64 starts afresh, so that the pool does not die out in one place.
    """
    n_features = x.size // lanes
    random_points(state, x, n_features, lanes)
    for lane in range(lanes):
        if draw_below(state, 64) == 0:
            continue
        for j in range(n_features):
            x[j * lanes + lane] = pool[j * lanes + lane]
        j = draw_below(state, n_features)
        kind = draw_below(state, 3)
        if kind == 0:
            x[j * lanes + lane] = pool[j * lanes + draw_below(state, lanes)]
        elif kind == 1:
            scale = 2.0 ** -np.float64(draw_below(state, 24))
            x[j * lanes + lane] *= x.dtype.type(1.0 + scale * (2.0 * uniform(state) - 1.0))
    near_ties(state, params, plan, x, lanes, 3)


@compiled(inner=True)
def step_along(
    state: NDArray[np.uint64], x: FloatArray, bits: NDArray[Any], features: NDArray[np.int64],
    signs: NDArray[np.int64], lanes: int, mantissa: int, whole: bool,
) -> None:  # fmt: skip
    """Move one feature of every lane in its own direction: by one ulp (half of the steps) or up to half an octave.

    whole: by one unit instead. bits is the integer view of x (features, lanes).
    """
    lowest = np.int64(np.iinfo(bits.dtype).min)
    for lane in range(lanes):
        r = draw(state)
        j = features[np.int64(((r >> np.uint64(40)) * np.uint64(features.size)) >> np.uint64(24))]
        at = j * lanes + lane
        if whole:
            x[at] += x.dtype.type(signs[j])
            continue
        count = np.int64(1)
        if r & np.uint64(1) == np.uint64(1):
            count <<= np.int64((((r >> np.uint64(1)) & np.uint64(0xFFFF)) * np.uint64(mantissa)) >> np.uint64(16))
        pattern = np.int64(bits[at])
        place = (pattern if pattern >= 0 else lowest - pattern) + signs[j] * count
        bits[at] = place if place >= 0 else lowest - place
