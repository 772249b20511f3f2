"""The compiled loop of the adversarial search: chains of points, each step in a direction's sense, compared bit by bit.

A chain x_0 <= x_1 <= ... <= x_c costs c + 1 evaluations and shows c pairs (and, where none of them falls, every pair
of the chain, because order is transitive; only neighbours are counted).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._pairs import near_ties, random_points
from monolip.engine._search import evaluate_native
from monolip.engine._search_points import border_points, evolve, step_along, whole_points

__all__ = ["KINDS", "search_chains"]

FloatArray = NDArray[Any]
KINDS = ("ulp", "unit", "border", "evolving")


@compiled(inner=True)
def start_points(
    state: NDArray[np.uint64], params: FloatArray, plan: NDArray[np.int64], kind: int, pool: FloatArray,
    x: FloatArray, lanes: int, limit: float, tiny: float,
) -> None:  # fmt: skip
    """The first points of a block's chains, by kind; see KINDS."""
    if kind == 0:
        random_points(state, x, x.size // lanes, lanes)
        near_ties(state, params, plan, x, lanes, 4)
    elif kind == 1:
        whole_points(state, x)
    elif kind == 2:
        border_points(state, x, limit, tiny)
        near_ties(state, params, plan, x, lanes, 2)
    else:
        evolve(state, params, plan, pool, x, lanes)
    for i in range(x.size):  # a tie far away, or a pool that wandered off: chains start from finite numbers
        if not abs(x[i]) <= limit:
            x[i] = limit if x[i] > 0.0 else -limit


@compiled(inner=True)
def some_fall(before: FloatArray, after: FloatArray) -> bool:
    """Whether any output of any lane fell (or is NaN): one pass of vector compares, which nearly always says no."""
    bad = 0
    for i in range(before.size):
        bad += not after[i] >= before[i]
    return bad > 0


@compiled(inner=True)
def compare(before: FloatArray, after: FloatArray, lanes: int, margin: FloatArray) -> tuple[int, float]:
    """Lanes where some output fell, and the largest fall; margin (lanes,): the smallest rise seen, lowered in place."""
    count, worst = 0, 0.0
    for lane in range(lanes):
        rise = np.inf
        for k in range(before.size // lanes):
            at = k * lanes + lane
            rise = min(rise, np.float64(after[at]) - np.float64(before[at]))
            if not after[at] >= before[at]:
                rise = min(rise, -5e-324)  # NaN, too, is no rise
        margin[lane] = min(margin[lane], rise)
        if rise < 0.0:
            count += 1
            worst = max(worst, -rise)
    return count, worst


@compiled(inner=True)
def keep_worst(start: FloatArray, margin: FloatArray, pool: FloatArray, fitness: FloatArray, lanes: int) -> None:
    """A child replaces its parent where it rises no more; equal rises replace, so that the pool keeps wandering."""
    for lane in range(lanes):
        if margin[lane] <= fitness[lane]:
            fitness[lane] = margin[lane]
            for j in range(start.size // lanes):
                pool[j * lanes + lane] = start[j * lanes + lane]


@compiled()
def search_chains(
    params: FloatArray, plan: NDArray[np.int64], state: NDArray[np.uint64], signs: NDArray[np.int64],
    residual: FloatArray, points: FloatArray, bits: NDArray[Any], scratch: FloatArray, outputs: FloatArray,
    blocks: int, chain: int, limit: float, tiny: float, counts: NDArray[np.int64], worsts: NDArray[np.float64],
) -> None:  # fmt: skip
    """`blocks` blocks of lanes; counts, worsts (kinds,) are added to. points (2, d * lanes), outputs (2, k * lanes)."""
    features = np.flatnonzero(signs)
    lanes = points.shape[1] // signs.size
    mantissa = 23 if points.itemsize == 4 else 52
    pool, fitness, margin = np.zeros_like(points[0]), np.full(lanes, np.inf), np.empty(lanes)
    start = np.empty_like(points[0])
    random_points(state, pool, signs.size, lanes)
    x, x_bits = points[0], bits[0]
    for block in range(blocks):
        kind = block % 4
        start_points(state, params, plan, kind, pool, x, lanes, limit, tiny)
        start[:] = x
        margin[:] = np.inf
        evaluate_native(params, plan, residual, x, scratch, outputs[0], lanes, limit)
        for link in range(chain):
            step_along(state, x, x_bits, features, signs, lanes, mantissa, kind == 1)
            evaluate_native(params, plan, residual, x, scratch, outputs[(link + 1) % 2], lanes, limit)
            if kind == 3 or some_fall(outputs[link % 2], outputs[(link + 1) % 2]):
                found, drop = compare(outputs[link % 2], outputs[(link + 1) % 2], lanes, margin)
                counts[kind] += found
                worsts[kind] = max(worsts[kind], drop)
        if kind == 3:
            keep_worst(start, margin, pool, fitness, lanes)
        if block % 4096 == 4095:
            fitness[:] = np.inf  # a new generation
