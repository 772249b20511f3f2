"""A member on its way through the recipe, the rungs it climbs and the rows it holds out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine.anchored import Anchored
from monolip.engine.trainer import NetworkArrays

__all__ = ["RATE", "Chosen", "Climber", "Hands", "Rung", "Used", "deal_folds", "plainest"]

FloatArray = NDArray[np.float64]

RATE = 0.16  # of slopes
USUAL_STRENGTH = 30.0  # of the ridge penalty of an additive start
SURE = 0.5  # standard errors: less does not tell two strengths apart


@dataclass(frozen=True)
class Rung:
    """Steps, the slope decay they are made under, and the rate of slopes."""

    steps: int
    decay: float
    rate: float = RATE


class Used(NamedTuple):
    """What networks use beside their start: (d,) model columns, those of so many features."""

    columns: NDArray[np.bool_]
    n_features: int

    @classmethod
    def of(cls, features: NDArray[np.bool_], starts: NDArray[np.int64]) -> Used:
        """starts: first column of each feature, and one past the last."""
        return cls(np.repeat(features, np.diff(starts)), int(features.sum()))


@dataclass(frozen=True)
class Chosen:
    """What the recipe settled on: how far to climb (0: the additive start), the start's regulariser, how to finish.

    further: the rung that is climbed on top of it with all rows, where the path was still gaining; None: the best one
    was passed, and is climbed again with all rows instead. learned: whether the first rungs gained much, which limits
    the decay of the later ones. used: by networks, beside their start; None: everything.
    """

    rung: int
    strength: float | None
    steps: int
    further: int | None = None
    learned: bool = False
    used: Used | None = None


@dataclass
class Climber:
    """One member on its way: rows, start, its network after every rung (before the first: None), hold-out losses.

    n_features: that its network uses; None: all.
    """

    member: int
    index: NDArray[np.int32]
    holdout: NDArray[np.int32] | None
    anchored: Anchored
    n_features: int | None = None
    networks: list[NetworkArrays | None] = field(default_factory=lambda: [None])
    losses: list[float] = field(default_factory=list)
    finished: NetworkArrays | None = None  # as trained on all rows in the end; nothing judges it

    @property
    def judged_on(self) -> NDArray[np.int32]:
        assert self.holdout is not None, "only members that hold rows out are judged"
        return self.holdout

    def network(self, rung: int) -> NetworkArrays:
        """The member as it was after a rung."""
        g = self.networks[rung]
        return self.anchored.linear() if g is None else self.anchored.network(g)

    def result(self, rung: int) -> NetworkArrays:
        """What a fit keeps of the member: the finished network, or the one after a rung where there is none."""
        return self.network(rung) if self.finished is None else self.anchored.network(self.finished)


class Hands:
    """Who learns from which rows, as the same arrays whenever asked. folds: (n,) fold of each row; None: all do."""

    def __init__(self, folds: NDArray[np.int32] | None, n_rows: int) -> None:
        self.folds, self.every_row = folds, np.arange(n_rows, dtype=np.int32)
        self.every_row.setflags(write=False)
        self._n_folds = 1 if folds is None else int(folds.max()) + 1
        self._dealt: dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}

    def of(self, fold: int | None) -> tuple[NDArray[np.int32], NDArray[np.int32] | None]:
        """Rows to learn from, and rows that are held out; None is the hand of whom nobody judges."""
        if self.folds is None or fold is None:
            return self.every_row, None
        fold %= self._n_folds
        if fold not in self._dealt:
            held = self.folds == fold
            self._dealt[fold] = _numbers(~held), _numbers(held)
        return self._dealt[fold]


def _numbers(mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    rows = np.flatnonzero(mask).astype(np.int32)
    rows.setflags(write=False)  # all members share them, and a problem looks them up once
    return rows


def deal_folds(n: int, n_folds: int, rng: np.random.Generator, classes: NDArray[np.int64] | None) -> NDArray[np.int32]:
    """Fold of each row: random, equal in size, and with an equal share of every class."""
    order = rng.permutation(n)
    if classes is not None:
        count = np.bincount(classes)
        rare = count[count > 0].min() < 2 * n_folds  # its rows go to the folds that are held out first
        order = order[np.argsort(count[classes[order]] if rare else classes[order], kind="stable")]
    folds = np.empty(n, dtype=np.int32)
    folds[order] = np.arange(n, dtype=np.int32) % n_folds
    return folds


def plainest(every: FloatArray, weight: FloatArray, strengths: Sequence[float]) -> int:
    """Which of the strengths to take: of those that rows held out do not tell from the best, the most usual one.

    every: (strengths, rows), loss at each row held out, by the member that holds it out; weight: of these rows.
    """
    share = weight / weight.sum()
    worse = every - every[int((every @ share).argmin())]
    mean = worse @ share
    error = np.sqrt(np.square(worse - mean[:, None]) @ np.square(share))
    distance = np.abs(np.log(np.asarray(strengths) / USUAL_STRENGTH))
    return int(np.where(mean <= SURE * error, distance, np.inf).argmin())
