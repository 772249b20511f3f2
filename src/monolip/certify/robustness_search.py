r"""From a bound of how far the margin can drop to a radius: the largest one found for which  drop(radius) < margin.

Each radius that passes is proved by its own bound; the search (doubling, then bisection) only decides which are tried.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from monolip.certify.robustness_drop import Drops
from monolip.certify.robustness_inputs import Movable, Samples
from monolip.certify.robustness_moves import Moves
from monolip.convex import ConvexForm
from monolip.frozen import FrozenNetwork

__all__ = ["linear_radius", "output_slopes", "search_radius"]

FloatArray = NDArray[np.float64]

LARGEST, SMALLEST = 2.0**400, 2.0**-400  # finite radii beyond are not told apart
_CELLS = 60_000  # numbers of one array in the inner loop: stays in cache


def output_slopes(network: FrozenNetwork, features: Sequence[Movable], promised: bool) -> tuple[FloatArray, FloatArray]:
    """The lowest and highest slope of each output in each feature, in raw units; (n_outputs, features) each.

    promised: what the slope intervals allow, instead of what the stored weights can do.
    """
    low = np.full((network.n_outputs, len(features)), np.inf)
    high = -low
    for k in range(network.n_outputs):
        box = network.bounds.for_output(k)
        found = [Moves.between(box.lower, box.upper, features)] if promised else []
        for trunk in (trunk for member in network.members for trunk in member if k in trunk.outputs):
            if not promised and isinstance(trunk.form, ConvexForm):
                found.append(Moves.of(trunk.form.weights[0], features))
            elif not promised:
                found.append(Moves.between(*trunk.slope_range, features))
        low[k] = np.min([moves.lowest for moves in found], axis=0)
        high[k] = np.max([moves.highest for moves in found], axis=0)
    return low, high


def linear_radius(
    slopes: tuple[FloatArray, FloatArray], samples: Samples, signs: FloatArray, margin: FloatArray, scale: FloatArray,
    norm: float,
) -> FloatArray:  # fmt: skip
    """margin / cost, with the cost of each feature from one slope interval; (n,)."""
    plus, minus = np.maximum(signs, 0.0), np.maximum(-signs, 0.0)
    low, high = plus @ slopes[0] - minus @ slopes[1], plus @ slopes[1] - minus @ slopes[0]
    cost = np.maximum(np.maximum(-low, high), 0.0) * scale * ~np.isnan(samples.values)
    cost *= 1 + 2.0**-40
    if norm == 1:
        total = cost.max(axis=1, initial=0.0)
    else:
        total = cost.sum(axis=1) if norm == np.inf else np.hypot.reduce(cost, axis=1) * (1 + 2.0**-40)
    known = np.maximum(margin, 0.0) * (1 - 2.0**-40)
    with np.errstate(over="ignore"):
        ratio = known / np.where(total > 0, total, 1.0)
    return np.where(known > 0, np.where(total > 0, np.minimum(ratio, LARGEST), np.inf), 0.0)


def search_radius(
    drops: Drops, samples: Samples, signs: FloatArray, margin: FloatArray, scale: FloatArray, norm: float, *,
    start: FloatArray, most: FloatArray, steps: int,
) -> FloatArray:  # fmt: skip
    """The largest radius up to `most` that passes. start: (n,), where to begin; steps: of bisection."""
    cells = max((2 * (len(f.knots) + 1) for f in drops.features), default=1) * max(
        (part.moves.low[0].shape[1] for part in drops.parts if part.moves.low), default=1
    )
    rows = max(1, _CELLS // cells)
    found = np.zeros(len(samples))
    for first in range(0, len(samples), rows):
        at = slice(first, first + rows)
        found[at] = _search(
            drops, samples.take(at), signs[at], margin[at], scale, norm, start[at], most[at], steps
        )  # fmt: skip
    return found


def _search(
    drops: Drops, samples: Samples, signs: FloatArray, margin: FloatArray, scale: FloatArray, norm: float,
    start: FloatArray, most: FloatArray, steps: int,
) -> FloatArray:  # fmt: skip
    def passes(radius: FloatArray, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        ok = np.zeros(len(rows), dtype=bool)
        if rows.any():
            drop = drops.drop(samples.take(rows), signs[rows], radius[rows], scale, norm)
            ok[rows] = drop + 2.0**-1000 < margin[rows] * (1 - 2.0**-50)
        return ok

    alive = margin > 0
    whole = passes(most, alive)
    open_ = alive & ~whole
    good, trial = np.zeros(len(margin)), np.clip(np.where(np.isfinite(start), start, LARGEST), SMALLEST, LARGEST)
    bad = most.copy()
    growing = open_.copy()
    for _ in range(40):  # a factor of 4 each: from the linear bound upwards, or (rarely) down until one passes
        if not growing.any():
            break
        ok = passes(trial, growing)
        good = np.where(growing & ok, np.maximum(good, trial), good)
        bad = np.where(growing & ~ok, np.minimum(bad, trial), bad)
        growing &= (ok & (trial < np.minimum(most, LARGEST))) | (~ok & (good == 0) & (trial > SMALLEST))
        growing &= ~(~ok & (good > 0)) & ~(ok & np.isfinite(bad) & (bad <= trial * 4))
        trial = np.clip(np.where(ok, trial * 4, trial / 4), SMALLEST, LARGEST)
    for _ in range(steps):
        middle = np.where(np.isfinite(bad), good + (bad - good) / 2, good)
        rows = open_ & (good > 0) & np.isfinite(bad) & (bad > good)
        ok = passes(middle, rows)
        good, bad = np.where(rows & ok, middle, good), np.where(rows & ~ok, middle, bad)
    return np.where(whole, most, np.minimum(good, most))
