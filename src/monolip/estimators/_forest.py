"""A forest over free columns, as data: arrays of nodes that anybody can read, and the same bits for any threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from numpy.typing import NDArray

from monolip.engine.extra_trees import Tree, grow_trees, sum_of_trees

__all__ = ["Forest", "FreeRows", "grow"]

FloatArray = NDArray[np.float64]
MOST_ROWS = 65_536  # that a tree grows on
ALIKE = 0.25  # part of the variance that is left among copies


@dataclass(frozen=True)
class Forest:
    """trees: thresholds are numbers as `FreeColumns.encode` gives them, the forest is the sum of all values reached."""

    trees: tuple[Tree, ...]
    n_features: int

    def __repr__(self) -> str:
        return f"Forest({len(self.trees)} trees, {sum(len(tree.value) for tree in self.trees)} nodes)"

    def predict(self, x: FloatArray) -> FloatArray:
        """Shape (n, features) -> (n,); trees are added up in their order."""
        return sum_of_trees(self.trees, np.ascontiguousarray(x))

    def halves(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What each half of its trees alone would predict; both the same for a single tree. Their mean is the forest's
        own prediction but for an odd tree."""
        middle = len(self.trees) // 2
        if not middle:
            return (self.predict(x),) * 2
        one, two = sum_of_trees(self.trees[:middle], x), sum_of_trees(self.trees[middle : 2 * middle], x)
        return one * (len(self.trees) / middle), two * (len(self.trees) / middle)


class FreeRows:
    """Training rows as trees need them: x, (n, d) numbers, and their ranks in each column, found once for all trees."""

    def __init__(self, x: FloatArray) -> None:
        self.x = x

    @cached_property
    def _ranked(self) -> tuple[NDArray[np.int32], FloatArray, NDArray[np.int64]]:
        """Ranks; what lies before each of them, one column after the other; where a column begins."""
        ranks, before = np.empty(self.x.shape, np.int32), []
        for j in range(self.x.shape[1]):
            known, ranks[:, j] = np.unique(self.x[:, j], return_inverse=True)
            before.append(_between(known))
        return ranks, np.concatenate(before), np.cumsum([0, *map(len, before)])

    @property
    def ranks(self) -> NDArray[np.int32]:
        return self._ranked[0]

    def copies(self, f: FloatArray, rest: FloatArray) -> float:
        """Part of the rows that have another one like them: the same here, and for a function f of all features.

        rest: what f leaves over; where rows that look the same differ in it, they are others that only look the same,
        as rows of few values do, and none is a copy.
        """
        rng = np.random.default_rng(0)
        keys = np.ascontiguousarray(f).view(np.uint64).copy()
        for column in self.ranks.T:  # random multiples, modulo 2^64: of 10^5 rows two others meet once in 10^9 times
            keys += column.astype(np.uint64) * np.uint64(rng.integers(1, 2**63))
        _, group, count = np.unique(keys, return_inverse=True, return_counts=True)
        again = count[group] > 1
        if not again.any():
            return 0.0
        largest = float(np.abs(rest).max(initial=0.0)) or 1.0
        part = rest / largest
        within = (part - (np.bincount(group, part) / count)[group])[again]
        if not np.square(within).sum() < ALIKE * np.square(part[again] - part[again].mean()).sum():
            return 0.0
        return float(again.mean())

    def forest(self, trees: Sequence[Tree], unit: float) -> Forest:
        """Of trees that were grown on ranks, and taught what is left over in this unit: their mean."""
        _, before, starts = self._ranked
        found = []
        for tree in trees:
            threshold = np.where(tree.feature < 0, 0.0, before[starts[np.maximum(tree.feature, 0)] + tree.threshold])
            found.append(tree._replace(threshold=threshold, value=tree.value * (unit / len(trees))))
        return Forest(tuple(found), self.x.shape[1])


def _between(known: FloatArray) -> FloatArray:
    """A number between each known one and the one before it, which is smaller; the first has none before it."""
    before, after = known[:-1], known[1:]
    middle = before / 2 + after / 2  # a sum could overflow
    middle = np.where((before < middle) & (middle <= after), middle, after)
    middle[np.isneginf(before)] = np.finfo(np.float64).min  # what is missing is on one side, all numbers on the other
    return np.concatenate([known[:1], middle])


def grow(
    free: FreeRows, rows: NDArray[np.int64], y: FloatArray, weight: FloatArray, n_trees: int, min_leaf: int,
    n_jobs: Any, seed: int,
) -> Forest:  # fmt: skip
    """A forest over these rows of the table that learned y, in any unit; of more trees the first are the same."""
    largest = float(np.abs(y).max(initial=0.0)) or 1.0
    unit = largest * float(np.sqrt(np.mean(np.square(y / largest)))) or 1.0
    seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(n_trees, np.uint64)]
    ranks, threads = np.ascontiguousarray(free.ranks[rows]), effective_n_jobs(n_jobs)
    return free.forest(grow_trees(ranks, y / unit, weight / weight.max(), seeds, min_leaf, MOST_ROWS, threads), unit)
