r"""How far a first-layer unit can fall or rise when raw features move: exact along every path, piece by piece.

    h_ki(t) = sum_j W1[k, j] (phi_j(x_i + t) - phi_j(x_i))        f(x + d) - f(x) = sum_k a_k sum_i h_ki(d_i)

with a convex combination a of units (Theorem 1). h_ki is piecewise linear in t, so its extremes over a reach, and those
of h_ki(t) / |t|, stand at knots and at the end of the reach: only these are looked at.

Rounding: slopes are widened by 2^-36 of their size at the start, which is more than all sums of widened slopes times
lengths can be off by afterwards (fewer than 2^14 terms); a sum of non-negative slopes stays non-negative, so a feature
that can only help keeps its infinite radius.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.certify.robustness_inputs import Movable

__all__ = ["Ball", "Moves", "Reach", "reach_of"]

FloatArray = NDArray[np.float64]

WIDEN = 2.0**-36
TINY = 2.0**-1000


@dataclass(frozen=True)
class Moves:
    """Slopes of units along each movable feature, enclosed: low[i], high[i] of shape (P_i, units)."""

    low: tuple[FloatArray, ...]
    high: tuple[FloatArray, ...]

    @classmethod
    def of(cls, rows: FloatArray, features: Sequence[Movable]) -> Moves:
        """rows: (units, columns), each entry right to a few ulps."""
        pairs = [_slopes(rows[:, f.first : f.first + f.slopes.shape[1]], f.slopes) for f in features]
        return cls(tuple(low for low, _ in pairs), tuple(high for _, high in pairs))

    @classmethod
    def between(cls, lower: FloatArray, upper: FloatArray, features: Sequence[Movable]) -> Moves:
        """Two units, the lowest and the highest slope, where only a box is known; lower, upper: (columns,)."""
        corners = cls.of(np.stack([lower, upper]), features)
        low = tuple(np.repeat(part[:, :1], 2, axis=1) for part in corners.low)
        return cls(low, tuple(np.repeat(part[:, 1:], 2, axis=1) for part in corners.high))

    @property
    def lowest(self) -> FloatArray:
        """The lowest slope of any unit on any stretch, per feature."""
        return np.array([part.min() for part in self.low])

    @property
    def highest(self) -> FloatArray:
        return np.array([part.max() for part in self.high])

    def ends(self, i: int, reach: Reach) -> tuple[FloatArray, FloatArray]:
        """Bounds of h_ki at the far end of every stretch in reach, right ones first: (n, T, units) each."""
        low, high = self.low[i], self.high[i]
        right_low, right_high = reach.right.along(low), reach.right.along(high)
        left_low, left_high = reach.left.along(-high[::-1]), reach.left.along(-low[::-1])
        return np.concatenate([right_low, left_low], axis=1), np.concatenate([right_high, left_high], axis=1)


@dataclass(frozen=True)
class _Side:
    """Stretches within reach from x outwards: their lengths, and their places in the list of stretches; (n, T) each."""

    lengths: FloatArray
    places: NDArray[np.int64]

    @classmethod
    def of(cls, lengths: FloatArray) -> _Side:
        inside = lengths > 0  # one after the other
        first, count = inside.argmax(axis=1), max(1, int(inside.sum(axis=1).max(initial=0)))
        places = np.minimum(first[:, None] + np.arange(count), lengths.shape[1] - 1)
        taken = np.take_along_axis(lengths, places, axis=1)
        repeated = first[:, None] + np.arange(count) >= lengths.shape[1]
        return cls(np.where(repeated, 0.0, taken), places)

    def along(self, slopes: FloatArray) -> FloatArray:
        """The integral of each unit's slope from x to every end; (P, units) -> (n, T, units)."""
        here = slopes[self.places]
        with np.errstate(over="ignore", invalid="ignore"):
            steps = self.lengths[:, :, None] * here
        if not np.isfinite(self.lengths).all():
            steps = np.where(here == 0, 0.0, steps)  # a flat tail is flat however long
        return np.asarray(np.cumsum(steps, axis=1))


@dataclass(frozen=True)
class Reach:
    """What of one feature is within reach, on both sides of x."""

    right: _Side
    left: _Side

    @property
    def distance(self) -> FloatArray:
        """|t| at every end, (n, T)."""
        return np.concatenate([np.cumsum(side.lengths, axis=1) for side in (self.right, self.left)], axis=1)


@dataclass(frozen=True)
class Ball:
    """All changes d with |d / scale|_norm <= radius around each sample: what each feature can reach alone.

    radius: (n,). scale: (features,), 0 holds a feature fixed.
    """

    reaches: tuple[Reach, ...]
    radius: FloatArray
    scale: FloatArray
    norm: float

    @classmethod
    def around(
        cls, features: Sequence[Movable], values: FloatArray, radius: FloatArray, scale: FloatArray, norm: float
    ) -> Ball:
        """values: (n, features), NaN where missing."""
        reaches = []
        for i, feature in enumerate(features):
            rho = np.maximum(radius * scale[i], TINY) if scale[i] else np.zeros_like(radius)
            reaches.append(reach_of(feature, values[:, i], rho, rho))
        return cls(tuple(reaches), radius, scale, norm)

    def extremes(self, moves: Moves) -> tuple[FloatArray, FloatArray]:
        """How far each unit can fall and rise in the ball; (n, units) each, >= 0."""
        falls, rises = [], []
        for i, reach in enumerate(self.reaches):
            low, high = moves.ends(i, reach)
            falls.append(self.summary(i, -low))
            rises.append(self.summary(i, high))
        return self.combine(falls), self.combine(rises)

    def summary(self, i: int, fall: FloatArray) -> FloatArray:
        """Largest fall along feature i, and largest fall per scaled distance; (n, T, units) -> (2, n, units)."""
        most = np.maximum(fall.max(axis=1), 0.0)
        if self.norm == np.inf:
            return np.stack([most, most])
        distance = self.reaches[i].distance[:, :, None]
        moved = distance > 0
        rate = np.where(moved, fall / np.where(moved, distance, 1.0), 0.0)
        rate = np.where(np.isnan(rate), np.inf, rate)  # an infinite fall over an infinite distance
        return np.stack([most, np.maximum(rate.max(axis=1), 0.0) * self.scale[i]])

    def combine(self, parts: list[FloatArray]) -> FloatArray:
        """All features together, in the norm; (features of (2, n, units)) -> (n, units)."""
        falls, rates = np.stack([p[0] for p in parts]), np.stack([p[1] for p in parts])
        total = falls.sum(axis=0)  # every ball lies in the box of its radius
        if self.norm == np.inf:
            return np.asarray(total)
        rate = rates.max(axis=0) if self.norm == 1 else np.hypot.reduce(rates, axis=0)
        whole = np.where(rate == 0, 0.0, rate * self.radius[:, None] * (1 + 2.0**-40))
        return np.asarray(np.fmin(total, whole))


def reach_of(feature: Movable, x: FloatArray, up: FloatArray, down: FloatArray) -> Reach:
    """x, up, down: (n,): from x - down to x + up, rounded outwards by 2^-50. A missing value (NaN) does not move."""
    gone = np.isnan(x)
    at = np.where(gone, 0.0, x)
    right = _lengths(feature.knots, at, np.where(gone, 0.0, up))
    left = _lengths(-feature.knots[::-1], -at, np.where(gone, 0.0, down))
    return Reach(_Side.of(right), _Side.of(left))


def _lengths(knots: FloatArray, x: FloatArray, rho: FloatArray) -> FloatArray:
    """Length of each stretch inside [x, x + rho]; the last one reaches at least as far, never less: (n, P)."""
    far = (rho * (1 + 2.0**-50))[:, None]
    begin = np.maximum(np.concatenate([[-np.inf], knots])[None, :], x[:, None])
    end = np.concatenate([knots, [np.inf]])[None, :]
    with np.errstate(over="ignore", invalid="ignore"):
        start, stop = begin - x[:, None], end - x[:, None]
        length = np.where(stop <= far, end - begin, far - start)
    return np.where((start >= far) | (end <= x[:, None]), 0.0, length)


def _slopes(rows: FloatArray, maps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """sum_j rows[k, j] maps[p, j] from below and from above, (P, units); a sum of one sign keeps it exactly."""
    active = (maps > 0).astype(np.float64)
    value, size = maps @ rows.T, maps @ np.abs(rows).T
    moves = active @ (rows != 0).T.astype(np.float64) > 0
    slack = np.where(moves, WIDEN * size + TINY * (1 + np.abs(rows).max()), 0.0)
    low, high = value - slack, value + slack
    never_falls = active @ (rows < 0).T.astype(np.float64) == 0
    never_rises = active @ (rows > 0).T.astype(np.float64) == 0
    return np.where(never_falls, np.maximum(low, 0.0), low), np.where(never_rises, np.minimum(high, 0.0), high)
