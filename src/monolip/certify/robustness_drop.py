r"""How far F, the margin of a decision, can drop while the input stays within a radius: proved upper bounds.

    F = sum over trunks of  a (outputs . f_trunk),   F(x + d) - F(x) = sum_trunks a sum_k alpha_k sum_i h_ki(d_i)

Two bounds, of which the smaller counts, both for any set of coefficients alpha (all averages: the hull of first-layer
rows; or the mixture that interval back-propagation leaves on a box):
    by feature   each feature does its worst, alpha chosen anew for each:  sum_i, max_i or the root of squares
    by unit      each unit does its worst, then the worst mixture of units
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from monolip.certify.local_slopes import LocalForm, Mixture
from monolip.certify.robustness_inputs import Movable, Samples
from monolip.certify.robustness_moves import Ball, Moves
from monolip.convex import ConvexForm
from monolip.frozen import FrozenNetwork

__all__ = ["Drops"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class _Part:
    """One trunk: share of its member, its outputs, what its units do, and (convex form) what is possible locally."""

    share: float
    outputs: list[int]
    moves: Moves
    local: LocalForm | None
    last: FloatArray | None


class Drops:
    """Bounds for one network; `method` is "hull" or "local"."""

    def __init__(self, network: FrozenNetwork, features: Sequence[Movable], method: str) -> None:
        self.features, self.parts = tuple(features), []
        assert network.member_weights is not None
        for share, member in zip(network.member_weights.tolist(), network.members, strict=True):
            for trunk in member:
                form = trunk.form
                if isinstance(form, ConvexForm):
                    moves = Moves.of(form.weights[0], features)
                    local = LocalForm(form, features) if method == "local" else None
                    last = form.weights[-1] if len(form.weights) > 1 else np.eye(form.n_outputs)
                else:  # slopes fill a box: no hull, and nothing local
                    moves, local, last = Moves.between(*trunk.slope_range, features), None, None
                self.parts.append(_Part(share, list(trunk.outputs), moves, local, last))

    def drop(
        self, samples: Samples, signs: FloatArray, radius: FloatArray, scale: FloatArray, norm: float
    ) -> FloatArray:
        """Largest possible F(x) - F(x + d) over |d / scale| <= radius; (n,).

        signs: (n, n_outputs), the multiple of each output in F. radius: (n,). scale: (features,), 0 holds fixed.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            ball = Ball.around(self.features, samples.values, radius, scale, norm)
            mixtures = [_mixture(part, samples, signs[:, part.outputs], ball) for part in self.parts]
            best = np.fmin(self._by_feature(mixtures, ball), self._by_unit(mixtures, ball)) * (1 + 2.0**-40)
        return np.where(np.isnan(best), np.inf, best)

    def _by_feature(self, mixtures: list[_Hull], ball: Ball) -> FloatArray:
        gains = []
        for i, reach in enumerate(ball.reaches):
            worst = np.zeros(reach.distance.shape)
            for part, mixture in zip(self.parts, mixtures, strict=True):
                worst = worst + part.share * _least(mixture, *part.moves.ends(i, reach))
            gains.append(ball.summary(i, -worst[:, :, None]))
        return ball.combine(gains)[:, 0]

    def _by_unit(self, mixtures: list[_Hull], ball: Ball) -> FloatArray:
        total = np.zeros(len(ball.radius))
        for part, mixture in zip(self.parts, mixtures, strict=True):
            if part.last is None:  # corners of a box are no units
                return np.full_like(total, np.inf)
            fall, rise = ball.extremes(part.moves)
            total = total - part.share * _least(mixture, -fall[:, None], rise[:, None])[:, 0]
        return total

    def shares(self, signs: FloatArray) -> Iterator[tuple[_Part, FloatArray, FloatArray]]:
        """F = sum of share * (plus * an average of units - minus * an average of units); plus, minus: (n,)."""
        for part in self.parts:
            hull = _hull(part, signs[:, part.outputs])
            yield part, hull.plus, hull.minus


@dataclass(frozen=True)
class _Hull:
    """plus * (some average of units) - minus * (some average of units); (n,) each."""

    plus: FloatArray
    minus: FloatArray
    local: Mixture | None = None


def _mixture(part: _Part, samples: Samples, outputs: FloatArray, ball: Ball) -> _Hull:
    hull = _hull(part, outputs)
    return hull if part.local is None else replace(hull, local=part.local.mixture(samples, outputs, ball))


def _hull(part: _Part, outputs: FloatArray) -> _Hull:
    if part.last is None:
        return _Hull(np.maximum(outputs, 0.0).sum(axis=1), np.maximum(-outputs, 0.0).sum(axis=1))
    mixed = outputs @ part.last  # what two outputs share of a sorted unit cancels
    return _Hull(np.maximum(mixed, 0.0).sum(axis=1), np.maximum(-mixed, 0.0).sum(axis=1))  # far below 2^-36 off


def _least(hull: _Hull, low: FloatArray, high: FloatArray) -> FloatArray:
    """The least sum_k alpha_k h_k with low <= h <= high; (n, T, units) -> (n, T)."""
    plain = -(_times(hull.plus, -low.min(axis=-1)) + _times(hull.minus, high.max(axis=-1)))
    mixture = hull.local
    if mixture is None:
        return plain
    a, b, total = mixture.low[:, None, :], mixture.high[:, None, :], mixture.total[:, None]
    positive = np.asarray((mixture.low >= 0).all(axis=1))
    if (positive | (mixture.high <= 0).all(axis=1)).all():
        h = low if positive.all() else np.where(positive[:, None, None], low, high)
        return np.fmax(_knapsack(a, b, total, h), plain)
    middle = np.median((low + high) / 2, axis=-1, keepdims=True)
    best = np.fmax(_dual(a, b, total, low, high, middle), _dual(a, b, total, low, high, np.zeros_like(middle)))
    return np.fmax(best, plain)


def _times(factor: FloatArray, value: FloatArray) -> FloatArray:
    """factor * value for (n,) and (n, T), where 0 * inf is 0: what has no share cannot move F."""
    return np.where(factor[:, None] == 0, 0.0, factor[:, None] * value)


def _knapsack(a: FloatArray, b: FloatArray, total: FloatArray, h: FloatArray) -> FloatArray:
    """min sum alpha h over a <= alpha <= b, sum alpha = total. Any pivot of the dual is a bound, this one the best."""
    order = np.argsort(h, axis=-1, kind="stable")
    room = np.cumsum(np.take_along_axis(np.broadcast_to(b - a, h.shape), order, axis=-1), axis=-1)
    need = (total - a.sum(axis=-1))[..., None]
    at = np.minimum((room < need).sum(axis=-1), h.shape[-1] - 1)
    chosen = np.take_along_axis(order, at[..., None], axis=-1)
    pivot = np.take_along_axis(h, chosen, axis=-1)
    away, width = h - pivot, np.abs(h) + np.abs(pivot)
    value = total * pivot[..., 0] + np.minimum(a * away, b * away).sum(axis=-1)
    most = np.maximum(np.abs(a), np.abs(b))
    slack = _rounding(a) * (_over_units(most, width) + np.abs(total * pivot[..., 0]))
    return np.asarray(value - slack)


def _over_units(coefficients: FloatArray, h: FloatArray) -> FloatArray:
    """sum_k coefficients_k h_k; (n, 1, units) and (n, T, units) -> (n, T)."""
    return np.asarray((h @ coefficients.transpose(0, 2, 1))[..., 0])


def _dual(
    a: FloatArray, b: FloatArray, total: FloatArray, low: FloatArray, high: FloatArray, pivot: FloatArray
) -> FloatArray:
    """total * c + sum_k min over corners of alpha_k (h_k - c), minus what its rounding can be."""
    below, above = low - pivot, high - pivot
    corners = np.minimum(np.minimum(a * below, a * above), np.minimum(b * below, b * above))
    size = np.maximum(np.abs(low), np.abs(high)) + np.abs(pivot)
    slack = _rounding(a) * ((np.maximum(np.abs(a), np.abs(b)) * size).sum(axis=-1) + np.abs(total * pivot[..., 0]))
    return np.asarray(total * pivot[..., 0] + corners.sum(axis=-1) - slack)


def _rounding(terms: FloatArray) -> float:
    """What a sum over the last axis, with a few operations a term, can be off by, relative to its absolute terms."""
    return 2.0**-52 * float(terms.shape[-1] + 16)
