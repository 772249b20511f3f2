r"""How additive starts are found: bounded ridge regression, from the strongest penalty to the weakest.

    least squares    one Gram matrix for all strengths; robust losses likewise, of a target whose far values are cut
                     off, with a quantile for a constant
    other losses     Newton steps, each a least-squares problem, whose Gram matrix serves two strengths
    several starts   of the same rows but a few, which each leaves out, have one Gram matrix, that of all rows less that
                     of the few. Newton steps of all of them are made under the first one's curvature, but for those
                     whose own is another one in any row: their steps would lead too far, or nowhere

Each is solved by coordinate descent on the Gram matrix, which keeps every bound exactly, going on from the last. A step
that leads far and would make things worse is halved, and a lone weak penalty is come to from stronger ones: where one
class is rare, a Newton step from a constant goes far beyond.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._descent import descend, descend_all, scale_columns
from monolip.engine._newton import CURVED, Curved, within_reach

__all__ = ["LARGEST", "AdditiveFit"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]
Normal = tuple[NDArray[Any], FloatArray, FloatArray, float]  # Gram matrix, moments, means of the columns, mean of z
Found = list[tuple[FloatArray, float]]  # slopes and constant of each start

FIRST_STEPS = 2  # before the first strength's own
SERVES = 2  # strengths that one Newton step serves: neighbours have nearly the same curvature
STRONGEST, STRIDE = 3000.0, 10.0  # where Newton steps begin, and by how much less the next one may be penalised
NEAR = 2.0  # change of f in any row up to which curvature, and so a Newton step, can be trusted
HALVINGS = 8  # of a step that makes things worse; one that still does is not made
NOISE = 1e-6  # part of the loss that sums in single precision do not tell
ALIKE = 0.6, 1.3  # of curvatures: a step leaves two fifths of the way to go at most
LITTLE = 1e-3  # part of a sum in single precision that a difference keeps four digits of
LARGEST = 5.0  # of a standardised target under a robust loss: the start is a least-squares fit there


class _Start:
    """Where one start stands. without: rows it leaves out, whose weight is zero here."""

    def __init__(
        self, without: Rows, y: FloatArray, weight: FloatArray, offset: FloatArray, w: FloatArray, loss: str
    ) -> None:
        self.without, self.y, self.weight, self.w = without, y, weight, w
        self.kept: slice | Rows = slice(None)
        if len(without):
            self.kept, self.weight = np.delete(np.arange(len(y)), without), weight.copy()
            self.weight[without] = 0.0
        mine = y[self.kept], weight[self.kept], offset[self.kept]
        self.constant = _first_constant(loss, *mine) if loss in CURVED else 0.0
        self.tolerance = 1e-4 * math.sqrt(len(mine[0]))
        if loss in ("absolute", "huber", "pinball"):
            middle = float(np.median(mine[0] - mine[2]))
            self.y = np.clip(y - offset, middle - LARGEST, middle + LARGEST) + offset


class _Curvature(NamedTuple):
    """(n,) weights times curvature; (n,) curvature; (n, d) centred columns times the root of the former; their Gram
    matrix and (d,) means."""

    weight: FloatArray
    curve: FloatArray | float
    scaled: NDArray[Any]
    gram: NDArray[Any]
    mean: FloatArray


class AdditiveFit:
    """Where the iteration stands; each Newton step solves a weighted least-squares problem."""

    def __init__(
        self, x: NDArray[Any], y: FloatArray, weight: FloatArray, offset: FloatArray, lower: FloatArray,
        upper: FloatArray, loss: str, parameter: float, without: Sequence[Rows] = (np.empty(0, np.int64),),
    ) -> None:  # fmt: skip
        """without: rows that each of the starts leaves out."""
        self.x, self.weight, self.offset = x, weight, offset
        # the Gram matrix is made of scaled columns: a second copy only where x is looked at again
        self.scaled = x if loss == "squared" else np.empty_like(x)
        self.lower, self.upper, self.loss, self.parameter = lower, upper, loss, parameter
        flat = np.minimum(np.maximum(lower, 0.0), upper)
        self.starts = [_Start(rows, y, weight, offset, flat.copy(), loss) for rows in without]

    def path(self, strengths: Sequence[float], penalty: FloatArray) -> Iterator[Found]:
        """Of every start, slopes and constant for each strength, going on from those of the one before."""
        curved = CURVED.get(self.loss)
        if curved is None:
            yield from self._least_squares(np.array(strengths), penalty)
            return
        first, self.reach = max(STRONGEST, strengths[0]), np.maximum(self.x.max(axis=0), -self.x.min(axis=0))
        for _ in range(FIRST_STEPS):
            self._steps(curved, self._around(curved), first * penalty)
        while first > STRIDE * strengths[0]:
            first /= STRIDE
            self._steps(curved, self._around(curved), first * penalty)
        for number, strength in enumerate(strengths):
            if number % SERVES == 0:
                normals = self._around(curved)
            self._steps(curved, normals, strength * penalty)
            yield [(start.w.copy(), start.constant) for start in self.starts]

    def _around(self, curved: Curved) -> list[Normal]:
        """The least-squares problems of Newton steps from here."""
        linear = [self._linear(start.w, start.constant) for start in self.starts]
        both = [
            curved.derivatives(f + self.offset, start.y, self.parameter)
            for f, start in zip(linear, self.starts, strict=True)
        ]
        found: list[Normal | None] = [None] * len(both)
        common, curve = self._curvature(self.weight * both[0][1], both[0][1]), both[0][1]
        for at, (start, f, (slope, own)) in enumerate(zip(self.starts, linear, both, strict=True)):
            if at == 0 or _is_alike(own[start.kept], curve[start.kept]):
                found[at] = self._normal(common, start, f - slope / curve)
        for at, (start, f, (slope, own)) in enumerate(zip(self.starts, linear, both, strict=True)):
            if found[at] is None:  # after the others: there is room for one curvature's columns
                found[at] = self._normal(self._curvature(start.weight * own, own), start, f - slope / own)
        return [normal for normal in found if normal is not None]

    def _steps(self, curved: Curved, normals: Sequence[Normal], penalty: FloatArray) -> None:
        for start, normal in zip(self.starts, normals, strict=True):
            self._step(curved, start, normal, penalty)

    def _step(self, curved: Curved, start: _Start, normal: Normal, penalty: FloatArray) -> None:
        """To the solution of a least-squares problem, or only part of the way where things would be worse there."""
        gram, moment, mean, middle = normal
        old, constant = start.w.copy(), start.constant
        descend(gram, moment, penalty, self.lower, self.upper, start.w, start.tolerance)
        start.constant = middle - float(mean @ start.w)
        if np.abs(start.w - old) @ self.reach + abs(start.constant - constant) <= NEAR:
            return
        new, last = start.w.copy(), start.constant
        change = self._linear(new - old, last - constant)
        if max(change.max(), -change.min()) <= NEAR:
            return
        here = self._linear(old, constant)
        before, part = self._cost(curved, start, here, old, penalty), 1.0
        for _ in range(HALVINGS):
            start.w[:] = np.minimum(np.maximum(old + part * (new - old), self.lower), self.upper)
            start.constant = constant + part * (last - constant)
            if self._cost(curved, start, here + part * change, start.w, penalty) <= before + NOISE * abs(before):
                return
            part /= 2
        start.w[:], start.constant = old, constant

    def _cost(self, curved: Curved, start: _Start, f: FloatArray, w: FloatArray, penalty: FloatArray) -> float:
        """What is minimised."""
        losses = curved.values(f + self.offset, start.y, self.parameter)
        return float(start.weight @ losses + (penalty * w) @ w / 2)

    def _least_squares(self, strengths: FloatArray, penalty: FloatArray) -> Iterator[Found]:
        """The Gram matrix is made once; under a robust loss the constant is a quantile of what is left over."""
        common = self._curvature(self.weight, 1.0)
        normals = [self._normal(common, start, start.y - self.offset) for start in self.starts]
        if self.scaled is self.x:
            self.x = self.scaled = self.scaled[:0].copy()  # given back: it was all of it
        del common
        every = np.empty((len(self.starts), len(strengths), len(self.lower)))
        for start, found, (gram, moment, _, _) in zip(self.starts, every, normals, strict=True):
            descend_all(gram, moment, strengths, penalty, self.lower, self.upper, start.w, start.tolerance, found)
        for k in range(len(strengths)):
            pairs = zip(self.starts, normals, every[:, k], strict=True)
            yield [(w, self._constant(start, w, middle - float(mean @ w))) for start, (_, _, mean, middle), w in pairs]

    def _constant(self, start: _Start, w: FloatArray, mean: float) -> float:
        """Of least squares the mean of what slopes leave over, of robust losses a quantile."""
        if self.loss not in ("absolute", "huber", "pinball"):
            return mean
        share = self.parameter if self.loss == "pinball" else 0.5
        rest = start.y - self.offset - (self._linear(w, mean) - mean)
        return float(np.quantile(rest[start.kept], share))

    def _linear(self, w: FloatArray, constant: float) -> FloatArray:
        return np.asarray(self.x @ w.astype(self.x.dtype), np.float64) + constant

    def _curvature(self, weight: FloatArray, curve: FloatArray | float) -> _Curvature:
        """Of all rows, whoever leaves some of them out, or of those of one start."""
        mean, dtype, scaled = self._mean(weight / weight.sum()), self.x.dtype, self.scaled
        scale_columns(self.x, mean.astype(dtype), np.sqrt(weight).astype(dtype), scaled)
        return _Curvature(weight, curve, scaled, scaled.T @ scaled, mean)

    def _normal(self, common: _Curvature, start: _Start, z: FloatArray) -> Normal:
        """Gram matrix and moments of centred columns of a start's rows: (d, d), (d,), means (d,), mean of z."""
        weight, gram, mean, dtype = start.weight * common.curve, common.gram, common.mean, common.scaled.dtype
        total = weight.sum()
        middle = float(weight / total @ z)
        moment = (np.sqrt(weight) * (z - middle)).astype(dtype) @ common.scaled
        if common.weight[start.without].any():  # without them the mean is another one, too
            few = common.scaled[start.without]
            apart = -(np.sqrt(common.weight[start.without]).astype(dtype) @ few).astype(np.float64) / total
            gram, mean = self._less(common, start, few), mean + apart
            gram -= np.outer(apart, total * apart).astype(dtype)
        return gram, moment.astype(np.float64), mean, middle

    @staticmethod
    def _less(common: _Curvature, start: _Start, few: NDArray[Any]) -> NDArray[Any]:
        """The Gram matrix without a few rows. What is little beside theirs is no difference, but a sum of its own."""
        gram: NDArray[Any] = common.gram - few.T @ few
        little = np.flatnonzero(gram.diagonal() < LITTLE * common.gram.diagonal())
        if len(little):
            some = common.scaled[:, little]
            some[start.without] = 0.0
            gram[:, little] = common.scaled.T @ some
            gram[little] = gram[:, little].T
        return gram

    def _mean(self, share: FloatArray) -> FloatArray:
        return np.asarray(share.astype(self.x.dtype) @ self.x, np.float64)


def _is_alike(own: FloatArray, other: FloatArray) -> bool:
    """Curvature, row by row: whether steps under the other one come closer, and soon."""
    ratio = own / other
    return bool(ratio.min() >= ALIKE[0] and ratio.max() <= ALIKE[1])


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
