r"""The additive start: the best function sum_j w_j x_j + c with every w_j in its slope interval, found in milliseconds.

    minimise  sum_r a_r loss(x_r . w + c, y_r) + strength / 2 * sum_j penalty_j w_j^2,    lower <= w <= upper

Model columns already bend (they are piecewise-linear maps of the raw features), so this is an additive model of
monotone splines. Training then starts from it instead of from zero, and decays towards it. Newton steps (one for the
squared loss), each solved by coordinate descent on the Gram matrix, which keeps every bound exactly; from the strongest
penalty to the weakest, going on from the last, so that one step serves two strengths. A step that leads far and
would make things worse is halved, and a lone weak penalty is come to from stronger ones: where one class is rare, a
Newton step from a constant goes far beyond.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.engine._descent import descend, descend_all, scale_columns
from monolip.engine._newton import CURVED, Curved, within_reach
from monolip.engine.judging import row_losses
from monolip.engine.problem import Problem

__all__ = ["Additive", "fit_additive", "losses_of", "row_losses_of", "slope_and_curvature"]

FloatArray = NDArray[np.float64]
Normal = tuple[FloatArray, FloatArray, FloatArray, float]  # Gram matrix, moments, means of the columns, mean of z

MAX_COLUMNS, MAX_ROWS, MAX_NEWTON_ROWS = 1024, 16_384, 4096
MAX_CELLS = 2**21  # of rows times columns: the Gram matrix takes this times the number of columns
FEW_ROWS = 256  # unpacked at once
FIRST_STEPS = 2  # before the first strength's own
SERVES = 2  # strengths that one Newton step serves: neighbours have nearly the same curvature
STRONGEST, STRIDE = 3000.0, 10.0  # where Newton steps begin, and by how much less the next one may be penalised
NEAR = 2.0  # change of f in any row up to which curvature, and so a Newton step, can be trusted
HALVINGS = 8  # of a step that makes things worse; one that still does is not made
NOISE = 1e-6  # part of the loss that sums in single precision do not tell
LARGEST = 5.0  # of a standardised target under a robust loss: the start is a least-squares fit there


class Additive(NamedTuple):
    """x . slopes + constant. slopes: (d,), inside the intervals of the problem."""

    slopes: FloatArray
    constant: float

    def evaluate(self, x: NDArray[Any]) -> FloatArray:
        """Shape (n, d) -> (n,)."""
        return np.asarray(x[:, : len(self.slopes)] @ self.slopes.astype(x.dtype), np.float64) + self.constant

    def loss(self, problem: Problem, rows: ArrayLike) -> float:
        """Weighted mean loss over rows of the problem."""
        return losses_of([self], problem, rows)[0]


def losses_of(starts: Sequence[Additive], problem: Problem, rows: ArrayLike) -> list[float]:
    """Weighted mean loss of each start over rows of the problem."""
    every, weight = row_losses_of(starts, problem, rows)
    return [float(loss) for loss in every @ weight / weight.sum()]


def row_losses_of(starts: Sequence[Additive], problem: Problem, rows: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Loss of each start at each row, (starts, rows), and the rows' weights."""
    places, data = problem.places(rows), problem.data
    slopes = np.stack([start.slopes for start in starts], axis=1).astype(problem.dtype)
    known = data.offset[places] if len(data.offset) else problem.dtype.type(0)
    f = problem.rows_at(places) @ slopes + np.array([start.constant for start in starts], problem.dtype) + known
    every = row_losses(problem, np.concatenate([places] * len(starts)), f.T.reshape(-1, 1)).reshape(len(starts), -1)
    return np.asarray(every, np.float64), data.weight[places].astype(np.float64)


def slope_and_curvature(start: Additive, problem: Problem, places: NDArray[np.int32]) -> tuple[FloatArray, FloatArray]:
    """First and second derivative of each row's loss in f, times its weight; as the start was fitted."""
    data = problem.data
    f = problem.linear(start.slopes, places) + start.constant
    f += data.offset[places, 0] if len(data.offset) else 0.0
    y, weight = data.y[places, 0].astype(np.float64), data.weight[places].astype(np.float64)
    curved = CURVED.get(problem.loss.name)
    if curved is None:
        return weight * np.minimum(np.maximum(f - y, -LARGEST), LARGEST), weight
    slope, curvature = curved.derivatives(f, y, problem.parameter)
    return weight * slope, weight * curvature


def fit_additive(
    problem: Problem, rows: ArrayLike | None, penalty: FloatArray, strengths: Sequence[float]
) -> list[Additive]:
    """One start for each strength, strongest first; [] where there is none (several outputs).

    rows: those to learn from (all if None). penalty: (d,), relative; infinite for columns to be left out. Of very many
    columns those that go along with the target most are used.
    """
    if len(problem.lower) != 1 or problem.center is not None:
        return []
    known, data = problem.loss.name in CURVED, problem.data
    places = _some(problem.places(rows), MAX_NEWTON_ROWS if known else MAX_ROWS)
    places = _some(places, max(512, MAX_CELLS // problem.n_features))
    y, weight = data.y[places, 0].astype(np.float64), data.weight[places].astype(np.float64)
    offset = data.offset[places, 0].astype(np.float64) if len(data.offset) else np.zeros(len(y))
    used = _screened(problem, places, y, weight, np.flatnonzero(np.isfinite(penalty)))
    fit = _Fit(
        _columns(problem, places, used), y, weight, offset, problem.lower[0][used], problem.upper[0][used],
        problem.loss.name, problem.parameter,
    )  # fmt: skip
    path = fit.path(sorted(strengths, reverse=True), penalty[used])
    if len(used) == problem.n_features:
        return [Additive(w.copy(), constant) for w, constant in path]
    found, flat = [], np.minimum(np.maximum(problem.lower[0], 0.0), problem.upper[0])
    for w, constant in path:
        slopes = flat.copy()
        slopes[used] = w
        found.append(Additive(slopes, constant))
    return found


def _columns(problem: Problem, places: NDArray[np.int32], used: NDArray[np.int64]) -> NDArray[Any]:
    """Some columns of some rows, (places, used), column by column in memory; rows are unpacked a few at a time."""
    x = np.empty((len(places), len(used)), problem.dtype, order="F")
    for start in range(0, len(places), FEW_ROWS):
        rows = problem.rows_at(places[start : start + FEW_ROWS])
        x[start : start + FEW_ROWS] = rows if len(used) == rows.shape[1] else rows[:, used]
    return x


def _screened(
    problem: Problem, places: NDArray[np.int32], y: FloatArray, weight: FloatArray, used: NDArray[np.int64]
) -> NDArray[np.int64]:
    """At most MAX_COLUMNS of the columns: those with the largest correlation with the target."""
    if len(used) <= MAX_COLUMNS:
        return used
    share, dtype = weight / weight.sum(), problem.dtype
    size = np.abs(y).max() or 1.0  # squares of far outliers overflow
    rest = ((y - share @ y) / size * share).astype(dtype)
    centred = _columns(problem, places, used)
    centred -= share.astype(dtype) @ centred
    spread = np.sqrt(np.square(centred).mean(axis=0, dtype=np.float64))
    score = np.abs(rest @ centred) / np.where(spread > 0, spread, np.inf)
    return np.sort(used[np.argsort(-score, kind="stable")[:MAX_COLUMNS]])


def _some(places: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    """Not more rows than a start needs, from all over the table."""
    return places if len(places) <= most else places[np.linspace(0, len(places) - 1, most).astype(np.int64)]


class _Fit:
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
