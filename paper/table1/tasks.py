"""The entries of Table 1: data, splits of both protocols, the paper-sized network and how it is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

from paper.datasets import auto_mpg, blogfeedback, chestxray, compas, heart_disease, lending_club, loan
from paper.datasets.data_set import DataSet
from paper.datasets.files import first_found
from paper.table1.small_network import Small

__all__ = ["TASKS", "Split", "Task", "load", "mini"]

IntArray = NDArray[np.int64]
SEEDS = 3
OPEN = {"averaging": 0.0}  # every iterate, not their average: what the published scripts look at
CALM = {"slope_rate": 0.003, "bias_rate": 0.01, "initial_slope": 0.05, "slope_decay": 0.1}
CALMER = {"slope_rate": 0.003, "bias_rate": 0.003, "initial_slope": 0.02, "slope_decay": 0.5}
LOAN = {"slope_rate": 0.02, "bias_rate": 0.02, "initial_slope": 0.2, "slope_decay": 0.1}
ZERO_ONE = np.log(np.linspace(1e-9, 1 - 1e-9, 50) / (1 - np.linspace(1e-9, 1 - 1e-9, 50)))  # of P: 50 as published


class Split(NamedTuple):
    train: IntArray
    test: IntArray


@dataclass(frozen=True)
class Task:
    """entry: of published.PAPER. metric: accuracy, rmse or mse. thresholds: of the log-odds, as published.

    small: the paper-sized network of the `paper` protocol, its settings chosen by hand, with the test score in sight,
    as the paper's were. grid: the networks of that size among which validation rows choose under `honest`.
    """

    entry: str
    data: Callable[[], DataSet]
    metric: str
    small: Small
    grid: tuple[Small, ...]
    repeats: int
    thresholds: NDArray[np.float64] | None = None
    stated: Callable[[], DataSet] | None = None  # the data of `honest`, where they are not those of `paper`
    keep: int | None = None  # "mini": as many features, chosen on training rows
    signed: bool = False

    def paper_splits(self, data: DataSet) -> list[Split]:
        """One split for each of three seeds: published ones where there are, else 80 to 20 at random."""
        every = np.arange(len(data.y))
        if self.entry == "AutoMPG":
            return [Split(np.setdiff1d(every, test), test) for test in auto_mpg.published_splits(len(every), SEEDS)]
        if data.test is not None:
            return [Split(data.train, data.test)] * SEEDS
        return [_halve(data, every, 0.2, seed) for seed in range(SEEDS)]

    def honest_split(self, data: DataSet, repeat: int) -> Split:
        """80 to 20: groups (patients) stay whole, classes stay balanced. BlogFeedback: the later days are the test."""
        if self.entry.startswith("BlogFeedback"):
            assert data.test is not None
            return Split(data.train, data.test)
        return _halve(data, np.arange(len(data.y)), 0.2, 1000 + repeat)

    def validation(self, data: DataSet, rows: IntArray, repeat: int) -> Split:
        """Training rows again 80 to 20, the same way."""
        return _halve(data, rows, 0.2, 2000 + repeat, by_group=not self.entry.startswith("BlogFeedback"))


def _halve(data: DataSet, rows: IntArray, share: float, seed: int, by_group: bool = True) -> Split:
    groups = None if data.groups is None or not by_group else data.groups[rows]
    kind = GroupShuffleSplit if groups is not None else StratifiedShuffleSplit if data.classes else ShuffleSplit
    labels = data.y[rows] if data.classes else None
    train, test = next(kind(1, test_size=share, random_state=seed).split(rows, labels, groups))
    return Split(rows[train], rows[test])


def mini(data: DataSet, count: int, rows: IntArray, *, signed: bool = False) -> DataSet:
    """The features with the largest Ridge coefficients of min-max scaled inputs, from training rows.

    signed: as published for BlogFeedback, which ranks by value and so never takes a negative coefficient.
    """
    X = data.X.to_numpy()
    low, high = X[rows].min(axis=0), X[rows].max(axis=0)
    coefficients = Ridge().fit((X[rows] - low) / np.where(high > low, high - low, 1.0), data.y[rows]).coef_
    best = np.sort(np.argsort(coefficients if signed else np.abs(coefficients))[-count:])
    names = [str(data.X.columns[i]) for i in best]
    cst = {name: sign for name, sign in data.cst.items() if name in names}
    return DataSet(
        f"{data.name}, {count} features", data.X[names], data.y, cst, data.classes, data.test, data.groups,
        data.substitute,
    )  # fmt: skip


@cache
def load(function: Callable[[], DataSet]) -> DataSet:
    return function()


@cache
def _blog() -> blogfeedback.Blog:
    return blogfeedback.load_blog()


def _loan() -> DataSet:
    """The authors' file where it is here, else real loans of the same kind."""
    return first_found("LoanDefaulter", loan.load_loan, lending_club.load_lending_club)


def _blog_published() -> DataSet:
    return blogfeedback.as_published(_blog())


def _blog_stated() -> DataSet:
    return blogfeedback.stated_task(_blog())


def _grid(
    hidden: tuple[int, ...], slopes: tuple[float, ...], epochs: tuple[int, ...], **more: object
) -> tuple[Small, ...]:
    return tuple(Small(hidden, s, e, **more) for s in slopes for e in epochs)  # type: ignore[arg-type]


_blog_small = Small((8,), 1.5, 40, log=True, options=CALM)
TASKS = (
    Task("COMPAS", compas.load_compas, "accuracy", Small((2, 2), 2.0, 1000, options=OPEN),
         _grid((2, 2), (1.0, 2.0), (30, 100, 300)), 10, ZERO_ONE),
    Task("BlogFeedback", _blog_published, "rmse", _blog_small,
         _grid((8,), (1.5,), (10, 40), log=True, options=CALM), 1, None, _blog_stated),
    Task("BlogFeedback mini", _blog_published, "rmse", _blog_small,
         _grid((8,), (1.5,), (10, 40), log=True, options=CALM), 1, None, _blog_stated, 20, True),
    Task("LoanDefaulter", _loan, "accuracy", Small((16, 16), 1.0, 60, options=LOAN),
         _grid((16, 16), (0.5, 1.0), (10, 30), options=LOAN), 5, ZERO_ONE),
    Task("LoanDefaulter mini", _loan, "accuracy", Small((4,), 1.0, 60, options=LOAN),
         _grid((4,), (0.5, 1.0), (10, 30), options=LOAN), 5, ZERO_ONE, None, 15),
    Task("ChestXRay", chestxray.load_chest, "accuracy", Small((2, 2), 1.0, 60, options=CALMER),
         _grid((2, 2), (1.0,), (5, 20, 60), options=CALMER), 5, ZERO_ONE),
    Task("HeartDisease", heart_disease.load_heart_disease, "accuracy", Small((4, 4), 1.0, 300, 242, options=OPEN),
         _grid((4, 4), (0.25, 0.5, 1.0), (30, 100), batch=64), 20, np.linspace(-1, 1, 100)),
    Task("AutoMPG", auto_mpg.load_auto_mpg, "mse", Small((8, 8), 2.0, 1000, 64, options=OPEN),
         _grid((8, 8), (1.0, 2.0), (100, 300, 1000), batch=64), 20),
)  # fmt: skip
