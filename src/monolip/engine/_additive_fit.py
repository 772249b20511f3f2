r"""How an additive start is found: bounded ridge regression, from the strongest penalty to the weakest.

    least squares    one Gram matrix for all strengths; robust losses likewise, of a target whose far values are cut
                     off, with a quantile for a constant
    other losses     Newton steps, each a least-squares problem, whose Gram matrix serves two strengths

Each is solved by coordinate descent on the Gram matrix, which keeps every bound exactly, going on from the last. A step
that leads far and would make things worse is halved, and a lone weak penalty is come to from stronger ones: where one
class is rare, a Newton step from a constant goes far beyond.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._descent import descend, descend_all, scale_columns
from monolip.engine._newton import CURVED, Curved, within_reach

__all__ = ["LARGEST", "AdditiveFit"]

FloatArray = NDArray[np.float64]
Normal = tuple[FloatArray, FloatArray, FloatArray, float]  # Gram matrix, moments, means of the columns, mean of z

FIRST_STEPS = 2  # before the first strength's own
SERVES = 2  # strengths that one Newton step serves: neighbours have nearly the same curvature
STRONGEST, STRIDE = 3000.0, 10.0  # where Newton steps begin, and by how much less the next one may be penalised
NEAR = 2.0  # change of f in any row up to which curvature, and so a Newton step, can be trusted
HALVINGS = 8  # of a step that makes things worse; one that still does is not made
NOISE = 1e-6  # part of the loss that sums in single precision do not tell
LARGEST = 5.0  # of a standardised target under a robust loss: the start is a least-squares fit there


class AdditiveFit:
    """Where the iteration stands; each Newton step solves a weighted least-squares problem."""

    def __init__(
        self, x: NDArray[Any], y: FloatArray, weight: FloatArray, offset: FloatArray, lower: FloatArray,
        upper: FloatArray, loss: str, parameter: float,
    ) -> None:  # fmt: skip
        self.x, self.y, self.weight, self.offset = x, y, weight, offset
        # the Gram matrix is made of scaled columns: a second copy only where x is looked at again
        self.scaled = x if loss == "squared" else np.empty_like(x)
        self.lower, self.upper, self.loss, self.parameter = lower, upper, loss, parameter
        self.w = np.minimum(np.maximum(lower, 0.0), upper)
        self.constant = _first_constant(loss, y, weight, offset) if loss in CURVED else 0.0
        self.tolerance = 1e-4 * math.sqrt(len(y))
        if loss in ("absolute", "huber", "pinball"):
            middle = float(np.median(y - offset))
            self.y = np.clip(y - offset, middle - LARGEST, middle + LARGEST) + offset

    def path(self, strengths: Sequence[float], penalty: FloatArray) -> Iterator[tuple[FloatArray, float]]:
        """Slopes and constant for each strength, going on from those of the one before."""
        curved = CURVED.get(self.loss)
        if curved is None:
            yield from self._least_squares(np.array(strengths), penalty)
            return
        first, self.reach = max(STRONGEST, strengths[0]), np.maximum(self.x.max(axis=0), -self.x.min(axis=0))
        for _ in range(FIRST_STEPS):
            self._step(curved, self._around(curved), first * penalty)
        while first > STRIDE * strengths[0]:
            first /= STRIDE
            self._step(curved, self._around(curved), first * penalty)
        for number, strength in enumerate(strengths):
            if number % SERVES == 0:
                normal = self._around(curved)
            self._step(curved, normal, strength * penalty)
            yield self.w, self.constant

    def _around(self, curved: Curved) -> Normal:
        """The least-squares problem of a Newton step from here."""
        linear = self._linear(self.w, self.constant)
        slope, curve = curved.derivatives(linear + self.offset, self.y, self.parameter)
        return self._normal(self.weight * curve, linear - slope / curve)

    def _step(self, curved: Curved, normal: Normal, penalty: FloatArray) -> None:
        """To the solution of a least-squares problem, or only part of the way where things would be worse there."""
        gram, moment, mean, middle = normal
        old, constant = self.w.copy(), self.constant
        descend(gram, moment, penalty, self.lower, self.upper, self.w, self.tolerance)
        self.constant = middle - float(mean @ self.w)
        if np.abs(self.w - old) @ self.reach + abs(self.constant - constant) <= NEAR:
            return
        new, last = self.w.copy(), self.constant
        change = self._linear(new - old, last - constant)
        if max(change.max(), -change.min()) <= NEAR:
            return
        here = self._linear(old, constant)
        before, part = self._cost(curved, here, old, penalty), 1.0
        for _ in range(HALVINGS):
            self.w[:] = np.minimum(np.maximum(old + part * (new - old), self.lower), self.upper)
            self.constant = constant + part * (last - constant)
            if self._cost(curved, here + part * change, self.w, penalty) <= before + NOISE * abs(before):
                return
            part /= 2
        self.w[:], self.constant = old, constant

    def _cost(self, curved: Curved, f: FloatArray, w: FloatArray, penalty: FloatArray) -> float:
        """What is minimised."""
        losses = curved.values(f + self.offset, self.y, self.parameter)
        return float(self.weight @ losses + (penalty * w) @ w / 2)

    def _least_squares(self, strengths: FloatArray, penalty: FloatArray) -> Iterator[tuple[FloatArray, float]]:
        """The Gram matrix is made once; under a robust loss the constant is a quantile of what is left over."""
        gram, moment, mean, middle = self._normal(self.weight, self.y - self.offset)
        found = np.empty((len(strengths), len(self.w)))
        descend_all(gram, moment, strengths, penalty, self.lower, self.upper, self.w, self.tolerance, found)
        for self.w in found:
            self.constant = middle - float(mean @ self.w)
            if self.loss in ("absolute", "huber", "pinball"):
                share = self.parameter if self.loss == "pinball" else 0.5
                rest = self.y - self.offset - (self._linear(self.w, self.constant) - self.constant)
                self.constant = float(np.quantile(rest, share))
            yield self.w, self.constant

    def _linear(self, w: FloatArray, constant: float) -> FloatArray:
        return np.asarray(self.x @ w.astype(self.x.dtype), np.float64) + constant

    def _normal(self, weight: FloatArray, z: FloatArray) -> Normal:
        """Gram matrix and moments of centred columns: (d, d), (d,), means (d,), mean of z."""
        share = weight / weight.sum()
        mean, middle = np.asarray(share.astype(self.x.dtype) @ self.x, np.float64), float(share @ z)
        root, scaled = np.sqrt(weight), self.scaled
        scale_columns(self.x, mean.astype(self.x.dtype), root.astype(self.x.dtype), scaled)
        moment = (root * (z - middle)).astype(self.x.dtype) @ scaled
        gram = scaled.T @ scaled
        if scaled is self.x:
            self.x = self.scaled = scaled = scaled[:0].copy()  # given back: it was all of it
        return gram.astype(np.float64), moment.astype(np.float64), mean, middle


def _first_constant(loss: str, y: FloatArray, weight: FloatArray, offset: FloatArray) -> float:
    mean = _mean(y, weight)
    if loss == "logistic":
        mean = min(max(mean, 1e-3), 1.0 - 1e-3)
        return float(np.log(mean / (1.0 - mean)) - offset.mean())
    if loss in CURVED:
        exposure = _mean(np.exp(within_reach(offset)), weight)
        return float(np.log(max(mean, 1e-6) / exposure))
    return mean - float(offset.mean())


def _mean(values: FloatArray, weight: FloatArray) -> float:
    """With the bits of np.average, and without what it costs a small array."""
    return float(np.add.reduce(values * weight) / np.add.reduce(weight))
