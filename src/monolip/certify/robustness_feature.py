r"""Certified radii of one feature at a time, in its own raw unit, to each side.

    for every 0 <= t <= up:    decision(x + t e_i) = decision(x)          likewise down, for x - t e_i

Along one feature F, the margin of the decision, is followed from x outwards. Where F can only fall, its value at a
point proves everything before it, and bisection finds the last such point. Elsewhere a step of  F(y) / steepest slope
of the stretch  can never cross zero: steps are repeated until they no longer help. Where F can only rise, nothing ever
crosses: the radius is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.robustness import decisions, network_of
from monolip.certify.robustness_inputs import Samples, held_names, movable_features, read_samples
from monolip.certify.robustness_path import Path, paths_of
from monolip.rounding import digits_down, share_text

__all__ = ["FeatureRadii", "feature_radii"]

FloatArray = NDArray[np.float64]
_FAR = 2.0**400


@dataclass(frozen=True)
class FeatureRadii:
    """up, down: (n, features), how far each feature alone may rise or fall, in its raw unit; NaN where missing."""

    up: FloatArray
    down: FloatArray
    features: tuple[str, ...]
    held: tuple[str, ...]
    decision: NDArray[np.int64]

    @property
    def two_sided(self) -> FloatArray:
        return np.minimum(self.up, self.down)

    def __str__(self) -> str:
        lines = [f"{'feature':20s} {'median up':>10s} {'any up':>9s} {'median down':>12s} {'any down':>9s}"]
        for i, name in enumerate(self.features):
            up, down = (side[~np.isnan(side[:, i]), i] for side in (self.up, self.down))
            cells = [digits_down(float(np.median(side)), 4) if len(side) else np.nan for side in (up, down)]
            sure = [share_text(float(np.isinf(side).mean()) if len(side) else np.nan, 0) for side in (up, down)]
            lines.append(f"{name:20s} {cells[0]:10.4g} {sure[0]:>9} {cells[1]:12.4g} {sure[1]:>9}")
        return "\n".join([*lines, *([f"held fixed: {', '.join(self.held)}"] if self.held else [])])

    __repr__ = __str__


def feature_radii(model: Any, X: Any, *, threshold: float = 0.0, margin: float = 0.0, steps: int = 40) -> FeatureRadii:
    """How far each feature alone may move, up and down, before the decision can change; proved.

    Args:
        model, X, threshold, margin: as in `certified_radius`.
        steps: at most, beside one for each knot, along each path.

    Example: f = max(x, 0) - y; at (2, 1) raising x only helps, and y may rise to just below 2.
        >>> from monolip import ConvexForm, FrozenNetwork, SlopeBounds
        >>> from monolip.frozen import Trunk
        >>> form = ConvexForm(([[1.0, -1.0], [0.0, -1.0]], [[0.0, 1.0]]), ([0.0, 0.0], [0.0]), (2,))
        >>> f = FrozenNetwork(SlopeBounds([0.0, -1.0], [1.0, 0.0], ("x", "y")), ((Trunk(form, (0,)),),))
        >>> radii = feature_radii(f, [[2.0, 1.0]])
        >>> radii.up.round(6), radii.down.round(6)
        (array([[inf,  1.]]), array([[ 1., inf]]))
    """
    network = network_of(model)
    features, samples = movable_features(network), read_samples(network, X)
    decision, contests = decisions(network, samples, threshold, margin)
    up, down = (np.full(samples.values.shape, np.inf) for _ in range(2))
    for signs, room in contests:
        offset = threshold * signs[:, 0] if network.n_outputs == 1 else np.zeros(len(samples))
        taken = offset + (margin if network.n_outputs == 1 else 2 * margin)
        for path in paths_of(network, features):
            for side, out in ((1, up), (-1, down)):
                found = _radius(path.facing(side, signs), samples, signs, room, taken, steps)
                out[:, path.number] = np.minimum(out[:, path.number], found)
    gone = np.isnan(samples.values)
    up[gone] = down[gone] = np.nan
    return FeatureRadii(up, down, tuple(f.name for f in features), held_names(network), decision)


def _radius(
    path: Path, samples: Samples, signs: FloatArray, room: FloatArray, taken: FloatArray, steps: int
) -> FloatArray:
    """One feature, one side, one contest; (n,)."""
    x = samples.values[:, path.number]
    alive = (room > 0) & ~np.isnan(x)
    end = np.where(alive, x, 0.0)  # everything from x to here is proved

    def margin_at(y: FloatArray, rows: NDArray[np.bool_]) -> FloatArray:
        value = np.zeros(len(y))
        if rows.any():
            value[rows] = path.margin_at(samples.take(rows), signs[rows], y[rows]) - taken[rows]
            value[rows] -= 2.0**-50 * np.abs(taken[rows])
        return value

    infinite, falls = alive & path.never_falls(), alive & path.only_falls()
    if falls.any():
        end, sure = _bisect(path, end, falls, margin_at, steps)
        infinite |= sure
    left, walking = np.where(alive, room, 0.0), alive & ~falls & ~infinite
    for _ in range(steps + len(path.feature.knots)):
        if not walking.any():
            break
        cost, knot = path.next_stretch(end)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            step = np.where(cost > 0, left * (1 - 2.0**-40) / np.where(cost > 0, cost, 1.0), np.inf)
            reached = end + path.side * step
            reached = np.where(np.isinf(step), reached, np.nextafter(reached, -path.side * np.inf))
        reached = np.where(path.side * reached >= path.side * knot, knot, reached)
        reached = np.where(
            (cost > 0) & (np.abs(reached) > _FAR), np.where(np.abs(end) < _FAR, path.side * _FAR, end), reached
        )
        infinite |= walking & np.isinf(reached) & (cost == 0)
        with np.errstate(invalid="ignore"):
            useful = path.side * (reached - end) > 2.0**-20 * np.abs(end - x)
        walking &= ~infinite & np.isfinite(reached) & (path.side * reached > path.side * end)
        end = np.where(walking, reached, end)
        left = np.where(walking, margin_at(end, walking), left)
        walking &= useful & (left > 0)
    with np.errstate(invalid="ignore"):
        distance = np.maximum(np.nextafter(np.abs(end - x), -np.inf), 0.0)
    return np.where(alive, np.where(infinite, np.inf, np.where(end == x, 0.0, distance)), 0.0)


def _bisect(
    path: Path, start: FloatArray, rows: NDArray[np.bool_], margin_at: Any, steps: int
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The last point found with a positive margin, where the margin never rises on the way."""
    good, far = start.copy(), path.beyond(start)
    tried = rows & np.isfinite(far)
    sure = tried & (margin_at(np.where(tried, far, start), tried) > 0)
    good = np.where(sure, far, good)
    infinite = sure & path.flat_tail()
    growing = sure & ~infinite
    bad = np.where(rows & ~sure, far, np.nan)
    stride = np.maximum(np.abs(good - start), 1.0)
    for _ in range(60):  # a tail that keeps falling
        if not growing.any():
            break
        trial = np.clip(good + path.side * stride, -_FAR, _FAR)
        ok = margin_at(trial, growing) > 0
        bad = np.where(growing & ~ok, trial, bad)
        good = np.where(growing & ok, trial, good)
        growing &= ok & (np.abs(good) < _FAR)
        stride *= 8
    for _ in range(max(steps, 8)):
        open_ = rows & ~infinite & np.isfinite(bad) & (good != bad)
        if not open_.any():
            break
        middle = np.where(open_, good + (bad - good) / 2, good)
        ok = margin_at(middle, open_) > 0
        good, bad = np.where(open_ & ok, middle, good), np.where(open_ & ~ok, middle, bad)
    return good, infinite
