"""The compiled loop of the integer search: chains of integer inputs through a fixed-point network, in lanes.

The integers are carried in float64 (see _integer_layers), for networks that list this carrier.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._integer_layers import integer_layers, shift_down
from monolip.engine._pairs import draw, draw_below, uniform

__all__ = ["evaluate_integers", "evaluate_rows", "search_integers"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Arrays = tuple[FloatArray, IntArray, IntArray, IntArray, FloatArray, IntArray]


@compiled()
def evaluate_integers(
    params: FloatArray, plan: IntArray, spans: IntArray, outputs: IntArray, shares: FloatArray, numbers: IntArray,
    x: FloatArray, scratch: FloatArray, out: FloatArray, lanes: int,
) -> None:  # fmt: skip
    """f at integers x (d, lanes), as FixedPointNetwork.evaluate computes it, into out (outputs, lanes)."""
    factor, limit = 2.0 ** -np.float64(numbers[0]), np.float64(numbers[1])
    out[:] = 2.0 ** np.float64(numbers[0] - 1)
    for t in range(spans.shape[0]):
        first, end, position, residual = spans[t]
        z = integer_layers(params, plan[first:end], factor, limit, x, scratch[0], scratch[1], lanes)
        d = plan[first, 1]
        for k in range(plan[end - 1, 0]):
            to = outputs[position + k] * lanes
            for lane in range(lanes):
                value = z[k * lanes + lane]
                if residual >= 0:
                    for j in range(d):
                        value += params[residual + k * d + j] * x[j * lanes + lane]
                out[to + lane] += shares[t] * value
    shift_down(out, out.size, factor, 0.0)


@compiled()
def evaluate_rows(
    network: Arrays, rows: FloatArray, x: FloatArray, scratch: FloatArray, f: FloatArray, out: FloatArray
) -> None:
    """f of rows (n, d) of integers into out (n, outputs), a block of lanes at a time; the last one repeats its row."""
    lanes = x.size // rows.shape[1]
    for start in range(0, rows.shape[0], lanes):
        for lane in range(lanes):
            row = min(start + lane, rows.shape[0] - 1)
            for j in range(rows.shape[1]):
                x[j * lanes + lane] = rows[row, j]
        evaluate_integers(*network, x, scratch, f, lanes)
        for lane in range(min(lanes, rows.shape[0] - start)):
            for k in range(out.shape[1]):
                out[start + lane, k] = f[k * lanes + lane]


@compiled(inner=True)
def integer_points(
    state: NDArray[np.uint64], kind: int, limits: IntArray, pool: FloatArray, x: FloatArray, lanes: int
) -> None:
    """Starts by kind: anywhere inside the limits, small numbers, corners of the limits, or children of the pool."""
    for j in range(limits.size):
        for lane in range(lanes):
            at, most = j * lanes + lane, np.float64(limits[j])
            anywhere = np.rint((2.0 * uniform(state) - 1.0) * most)
            if kind == 0:
                x[at] = anywhere
            elif kind == 1:
                x[at] = np.rint(anywhere / np.float64(np.int64(1) << draw_below(state, 40)))
            elif kind == 2:
                near = np.float64(draw_below(state, 4))
                x[at] = most - near if draw_below(state, 2) == 0 else near - most
            else:
                r = draw_below(state, 16)
                x[at] = pool[at]
                if r == 0:
                    x[at] = pool[j * lanes + draw_below(state, lanes)]
                elif r == 1:
                    x[at] += np.float64(draw_below(state, 129) - 64)
                elif r == 2:
                    x[at] = anywhere
            x[at] = min(max(x[at], -most), most)


@compiled(inner=True)
def step_up(
    state: NDArray[np.uint64], x: FloatArray, limits: IntArray, features: IntArray, moved: IntArray, lanes: int
) -> None:
    """Raise one feature of every lane by one (half of the steps) or by a power of two; moved (lanes,): which one."""
    for lane in range(lanes):
        r = draw(state)  # its parts: which feature, whether one or a power of two, which power
        j = features[np.int64(((r >> np.uint64(40)) * np.uint64(features.size)) >> np.uint64(24))]
        power = np.int64((r >> np.uint64(1)) & np.uint64(15)) if r & np.uint64(1) == np.uint64(1) else np.int64(0)
        step = np.float64(np.int64(1) << power)
        x[j * lanes + lane] = min(x[j * lanes + lane] + step, np.float64(limits[j]))
        moved[lane] = j


@compiled(inner=True)
def smallest_rise(before: FloatArray, after: FloatArray, signs: IntArray, feature: int, lane: int, lanes: int) -> float:
    """Over the outputs that have a direction in the feature moved, in its sense."""
    rise = np.inf
    for k in range(signs.shape[1]):
        if signs[feature, k] != 0:
            rise = min(rise, signs[feature, k] * (after[k * lanes + lane] - before[k * lanes + lane]))
    return rise


@compiled()
def search_integers(
    network: Arrays, limits: IntArray, signs: IntArray, state: NDArray[np.uint64], x: FloatArray, scratch: FloatArray,
    values: FloatArray, blocks: int, chain: int, counts: IntArray, worsts: FloatArray,
) -> None:  # fmt: skip
    """As `search_chains`, in integers: steps up by one mostly, judged by the direction of the feature moved.

    network: the six arrays of PackedIntegers, params and shares as float64; signs (d, outputs); values (2, k * lanes).
    """
    lanes = x.size // limits.size
    features = np.flatnonzero((signs != 0).sum(axis=1))
    pool, start, fitness = np.zeros_like(x), np.zeros_like(x), np.full(lanes, np.inf)
    moved, margin = np.zeros(lanes, np.int64), np.zeros(lanes)
    for block in range(blocks):
        kind = block % 4
        integer_points(state, kind, limits, pool, x, lanes)
        start[:] = x
        margin[:] = np.inf
        evaluate_integers(*network, x, scratch, values[0], lanes)
        for link in range(chain):
            step_up(state, x, limits, features, moved, lanes)
            before, after = values[link % 2], values[(link + 1) % 2]
            evaluate_integers(*network, x, scratch, after, lanes)
            for lane in range(lanes):
                rise = smallest_rise(before, after, signs, moved[lane], lane, lanes)
                margin[lane] = min(margin[lane], rise)
                if not rise >= 0.0:
                    counts[kind] += 1
                    worsts[kind] = max(worsts[kind], -rise)
        if kind == 3:
            for lane in range(lanes):
                if margin[lane] <= fitness[lane]:
                    fitness[lane] = margin[lane]
                    for j in range(limits.size):
                        pool[j * lanes + lane] = start[j * lanes + lane]
        if block % 4096 == 4095:
            fitness[:] = np.inf  # a new generation
