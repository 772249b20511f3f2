r"""The additive start: the best function sum_j w_j x_j + c with every w_j in its slope interval, found in milliseconds.

    minimise  sum_r a_r loss(x_r . w + c, y_r) + strength / 2 * sum_j penalty_j w_j^2,    lower <= w <= upper

Model columns already bend (they are piecewise-linear maps of the raw features), so this is an additive model of
monotone splines. Training then starts from it instead of from zero, and decays towards it. How it is found:
_additive_fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.engine._additive_fit import LARGEST, AdditiveFit
from monolip.engine._newton import CURVED, derivatives, of_loss
from monolip.engine.judging import row_losses
from monolip.engine.problem import Problem

__all__ = ["Additive", "fit_additive", "fit_additives", "losses_of", "row_losses_of", "slope_and_curvature"]

FloatArray = NDArray[np.float64]

MAX_COLUMNS, MAX_ROWS, MAX_NEWTON_ROWS = 1024, 16_384, 4096
FAR_APART = ("poisson", "tweedie")  # losses whose curvature has no bound: under another one's, few steps lead nowhere
MAX_TOGETHER, MAX_GRAMS = 60, 2**24  # starts; entries of their Gram matrices, and of blocks of rows
MAX_CELLS = 2**21  # of rows times columns: the Gram matrix takes this times the number of columns
FEW_ROWS = 256  # unpacked at once


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
    every, weight = row_losses_of([starts], problem, [rows])
    return [float(loss) for loss in every @ weight / weight.sum()]


def row_losses_of(
    starts: Sequence[Sequence[Additive]], problem: Problem, rows: Sequence[ArrayLike]
) -> tuple[FloatArray, FloatArray]:
    """Of several lists of equally many starts, the loss of each list's starts at the rows of its own: (starts, all the
    rows), and the rows' weights."""
    parts, data, n = [problem.places(some) for some in rows], problem.data, len(starts[0])
    places = parts[0] if len(parts) == 1 else np.concatenate(parts)
    slopes = np.array([start.slopes for some in starts for start in some], problem.dtype)
    constants = np.array([start.constant for some in starts for start in some], problem.dtype)
    f = problem.rows_at(places) @ slopes.T
    f += constants
    if len(starts) > 1:  # of each row what its own starts say
        own = np.repeat(np.arange(len(starts)), [len(part) for part in parts])
        f = f.reshape(len(f), len(starts), n)[np.arange(len(f)), own]
    f += data.offset[places] if len(data.offset) else problem.dtype.type(0)
    every = row_losses(problem, np.tile(places, n), f.T.reshape(-1, 1)).reshape(n, -1)
    return np.asarray(every, np.float64), data.weight[places].astype(np.float64)


def slope_and_curvature(start: Additive, problem: Problem, places: NDArray[np.int32]) -> tuple[FloatArray, FloatArray]:
    """First and second derivative of each row's loss in f, times its weight; as the start was fitted."""
    data = problem.data
    f = problem.linear(start.slopes, places) + start.constant
    f += data.offset[places, 0] if len(data.offset) else 0.0
    y, weight = data.y[places, 0].astype(np.float64), data.weight[places].astype(np.float64)
    if problem.loss.name not in CURVED:
        return weight * np.minimum(np.maximum(f - y, -LARGEST), LARGEST), weight
    slope, curvature = np.empty((1, len(f))), np.empty((1, len(f)))
    derivatives(*of_loss(problem.loss.name, problem.parameter), f[None], y, slope, curvature)
    return weight * slope[0], weight * curvature[0]


def fit_additive(
    problem: Problem, rows: ArrayLike | None, penalty: FloatArray, strengths: Sequence[float]
) -> list[Additive]:
    """One start for each strength, strongest first; [] where there is none (several outputs).

    rows: those to learn from (all if None). penalty: (d,), relative; infinite for columns to be left out. Of very many
    columns those that go along with the target most are used.
    """
    return fit_additives(problem, [rows], penalty, strengths)[0]


def fit_additives(
    problem: Problem, rows: Sequence[ArrayLike | None], penalty: FloatArray, strengths: Sequence[float]
) -> list[list[Additive]]:
    """`fit_additive` for several sets of distinct rows; quicker than one by one where they have most in common."""
    if not rows or len(problem.lower) != 1 or problem.center is not None:
        return [[] for _ in rows]
    used = np.flatnonzero(np.isfinite(penalty))
    parts = [problem.places(some) for some in rows]
    most = min(MAX_NEWTON_ROWS if problem.loss.name in CURVED else MAX_ROWS, _most_rows(problem))
    if len(parts) == 1:
        places = _some(parts[0], most)
        return _fitted(problem, places, used, penalty, sorted(strengths, reverse=True), np.ones((1, len(places)), bool))
    together = None if problem.loss.name in FAR_APART else _in_blocks(parts, most, len(used))
    if together is None:
        return [fit_additives(problem, [some], penalty, strengths)[0] for some in rows]
    return _fitted(problem, together[0], used, penalty, sorted(strengths, reverse=True), together[1])


def _in_blocks(
    parts: Sequence[NDArray[np.int32]], most: int, n_used: int
) -> tuple[NDArray[np.int32], NDArray[np.bool_]] | None:
    """All rows there are, those in the same parts together; and (parts, rows) which are in which. None: too many, or
    too many Gram matrices."""
    if len(parts) > MAX_TOGETHER or n_used > MAX_COLUMNS:
        return None
    codes = np.zeros(max(int(part.max(initial=0)) for part in parts) + 1, np.int64)
    for number, part in enumerate(parts):
        codes[part] |= 1 << number
    every = np.flatnonzero(codes).astype(np.int32)
    every = every[np.argsort(codes[every], kind="stable")]
    mine = codes[every]
    n_blocks = 1 + np.count_nonzero(np.diff(mine))
    if len(every) > most or (len(parts) + n_blocks) * n_used**2 > MAX_GRAMS:
        return None
    return every, mine >> np.arange(len(parts))[:, None] & 1 > 0


def _fitted(
    problem: Problem, places: NDArray[np.int32], used: NDArray[np.int64], penalty: FloatArray,
    strengths: Sequence[float], learns: NDArray[np.bool_],
) -> list[list[Additive]]:  # fmt: skip
    """learns: (starts, places), which of them each start learns from."""
    data = problem.data
    y, weight = data.y[places, 0].astype(np.float64), data.weight[places].astype(np.float64)
    offset = data.offset[places, 0].astype(np.float64) if len(data.offset) else np.zeros(len(y))
    used = _screened(problem, places, y, weight, used)
    fit = AdditiveFit(
        _columns(problem, places, used), y, weight, offset, problem.lower[0][used], problem.upper[0][used],
        problem.loss.name, problem.parameter, learns,
    )  # fmt: skip
    flat = np.minimum(np.maximum(problem.lower[0], 0.0), problem.upper[0])
    slopes = np.tile(flat, (len(learns), len(strengths), 1))
    found: list[list[Additive]] = [[] for _ in learns]
    for k, (every, constants) in enumerate(fit.path(strengths, penalty[used])):
        slopes[:, k, used] = every
        for mine, its, constant in zip(found, slopes, constants.tolist(), strict=True):
            mine.append(Additive(its[k], constant))
    return found


def _most_rows(problem: Problem) -> int:
    return max(512, MAX_CELLS // problem.n_features)


def _columns(problem: Problem, places: NDArray[np.int32], used: NDArray[np.int64]) -> NDArray[Any]:
    """Some columns of some rows, (used, places); rows are unpacked a few at a time."""
    x = np.empty((len(used), len(places)), problem.dtype)
    for start in range(0, len(places), FEW_ROWS):
        rows = problem.rows_at(places[start : start + FEW_ROWS])
        x[:, start : start + FEW_ROWS] = (rows if len(used) == rows.shape[1] else rows[:, used]).T
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
    centred -= (centred @ share.astype(dtype))[:, None]
    spread = np.sqrt(np.square(centred).mean(axis=1, dtype=np.float64))
    score = np.abs(centred @ rest) / np.where(spread > 0, spread, np.inf)
    return np.sort(used[np.argsort(-score, kind="stable")[:MAX_COLUMNS]])


def _some(places: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    """Not more rows than a start needs, from all over the table."""
    return places if len(places) <= most else places[np.linspace(0, len(places) - 1, most).astype(np.int64)]
