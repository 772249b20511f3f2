"""Pairs of inputs for the search: points of many scales, some near a sort tie, and a step upward in one feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled

__all__ = ["draw_below", "near_ties", "random_points", "step_up"]

FloatArray = NDArray[Any]


@compiled(inner=True)
def draw(state: NDArray[np.uint64]) -> np.uint64:
    """The next 64 random bits (xorshift64*): a few instructions, the same on every machine."""
    s = state[0]
    s ^= s >> np.uint64(12)
    s ^= s << np.uint64(25)
    s ^= s >> np.uint64(27)
    state[0] = s
    return np.uint64(s * np.uint64(0x2545F4914F6CDD1D))


@compiled(inner=True)
def draw_below(state: NDArray[np.uint64], n: int) -> Any:
    """A whole number in 0 .. n - 1, n < 2^32, without a division (the bias is below n / 2^32)."""
    return np.int64(((draw(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@compiled(inner=True)
def uniform(state: NDArray[np.uint64]) -> float:
    """A number in [0, 1)."""
    return np.float64(draw(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled(inner=True)
def random_points(state: NDArray[np.uint64], x: FloatArray, n_features: int, lanes: int) -> None:
    """Fill x (features, lanes): each lane from a cube of its own scale, 1e-4 to 1e4; one coordinate in 32 is zero."""
    for lane in range(lanes):
        scale = 10.0 ** (8.0 * uniform(state) - 4.0)
        for j in range(n_features):
            zero = draw(state) >> np.uint64(59) == np.uint64(0)
            x[j * lanes + lane] = 0.0 if zero else scale * (2.0 * uniform(state) - 1.0)


@compiled(inner=True)
def near_ties(
    state: NDArray[np.uint64], params: FloatArray, plan: NDArray[np.int64], x: FloatArray, lanes: int, every: int
) -> None:
    """Move one coordinate of each `every`-th lane so that two neighbours of a first-layer group about tie."""
    out, fan, weight, bias = plan[0, 0], plan[0, 1], plan[0, 2], plan[0, 3]
    if plan[0, 4] < 2:
        return
    for lane in range(0, lanes, every):
        group = draw_below(state, out // plan[0, 4]) * plan[0, 4]
        p = group + draw_below(state, plan[0, 4] - 1)
        gap = np.float64(params[bias + p]) - np.float64(params[bias + p + 1])
        for j in range(fan):
            lean = np.float64(params[weight + p * fan + j]) - np.float64(params[weight + (p + 1) * fan + j])
            gap += lean * np.float64(x[j * lanes + lane])
        chosen = draw_below(state, fan)
        lean = np.float64(params[weight + p * fan + chosen]) - np.float64(params[weight + (p + 1) * fan + chosen])
        if abs(lean) > 1e-6:
            x[chosen * lanes + lane] -= gap / lean


@compiled(inner=True)
def step_up(
    state: NDArray[np.uint64], bits: NDArray[Any], features: NDArray[np.int64], lanes: int, ulp: int, mantissa: int
) -> None:
    """Raise one feature of every lane; bits is the integer view of x (features, lanes).

    Half of the steps are one ulp, the others a power of two of them, up to half an octave (`mantissa` bits make an
    octave). Counted along the number line (negative patterns run backwards), so a step may cross zero. `ulp` is the
    format's unit in the pattern: bfloat16 lives in the upper half of a float32.
    """
    lowest = np.int64(np.iinfo(bits.dtype).min)
    for lane in range(lanes):
        j = features[draw_below(state, features.size)]
        count = np.int64(1)
        if draw(state) >> np.uint64(63) == np.uint64(1):
            count <<= draw_below(state, mantissa)
        pattern = np.int64(bits[j * lanes + lane])
        place = pattern if pattern >= 0 else lowest - pattern
        place += count * ulp
        bits[j * lanes + lane] = place if place >= 0 else lowest - place
