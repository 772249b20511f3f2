"""Trees over free columns: grown on ranks, judged by their halves, and kept as a FreeForest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from monolip.cached import cached_property
from monolip.engine.extra_trees import Tree, grow_trees, sum_of_trees
from monolip.estimators._free_columns import FreeColumns
from monolip.free_forest import FreeForest

__all__ = ["FreeRows", "Growth", "between", "halves", "joined", "planted"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]
MOST_ROWS, MOST_NUMBERS = 65_536, 2**21  # that a tree grows on
ALIKE = 0.25  # part of the variance that is left among copies


class FreeRows:
    """Training rows as trees need them: their ranks in each column, found once for all trees."""

    def __init__(self, columns: FreeColumns) -> None:
        self.columns = columns

    @cached_property
    def _ranked(self) -> tuple[NDArray[np.int32], FloatArray, NDArray[np.int64]]:
        """Ranks; what lies before each of them, one column after the other; where a column begins."""
        x = self.columns.numbers
        ranks, before = np.empty(x.shape, np.int32), []
        for j in range(x.shape[1]):
            known, ranks[:, j] = np.unique(x[:, j], return_inverse=True)
            before.append(np.concatenate([known[:1], between(known[:-1], known[1:])]))
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

    def forest(self, trees: Sequence[Tree], factor: float) -> FreeForest:
        """The mean of trees that were grown on ranks, times a factor."""
        _, before, starts = self._ranked
        return planted(self.columns, trees, before, starts, factor / len(trees))


def planted(
    columns: FreeColumns, trees: Sequence[Tree], numbers: FloatArray, starts: NDArray[np.int64], factor: float
) -> FreeForest:
    """The sum of trees that were grown on ranks or codes, times a factor.

    numbers: what a threshold of each rank or code stands for, one column after the other; starts: where each begins.
    """
    roots = np.cumsum([0, *(len(tree.feature) for tree in trees)])
    feature = np.concatenate([tree.feature for tree in trees], dtype=np.int64)
    cut, child, value = (np.concatenate(parts) for parts in list(zip(*trees, strict=True))[1:])
    place = np.append(starts[:-1], len(numbers))[feature]  # the last is that of a leaf, whose feature is -1
    place += cut
    children = np.repeat(roots[:-1], np.diff(roots))
    children += child
    children *= feature >= 0
    rest = (feature, np.append(numbers, 0.0)[place], children, value * factor, roots[:-1])
    return FreeForest(columns.places, columns.stands, *rest)


def between(before: FloatArray, after: FloatArray) -> FloatArray:
    """Numbers in the middle of pairs, above the first, which is smaller, and at most the second."""
    middle = before / 2 + after / 2  # a sum could overflow
    return np.where((before < middle) & (middle <= after), middle, after)


def joined(one: FreeForest, share: float, other: FreeForest | None, rest: float) -> FreeForest:
    """share * one + rest * other, the trees of one first; other reads nothing that one does not read."""
    if other is None:
        return replace(one, values=share * one.values)
    return one.joined(share, other, rest)


@dataclass(frozen=True)
class Growth:
    """How a forest grows; of more trees the first are the same."""

    n_trees: int
    min_leaf: int
    n_threads: int
    seed: int

    def trees(self, free: FreeRows, rows: Rows, y: FloatArray, weight: FloatArray, n_trees: int) -> list[Tree]:
        """Over these rows, those that count, to learn y there; thresholds are ranks."""
        counts = weight > 0
        rows, y, weight = (rows, y, weight) if counts.all() else (rows[counts], y[counts], weight[counts])
        seeds = [int(s) for s in np.random.SeedSequence(self.seed).generate_state(n_trees, np.uint64)]
        ranks = np.ascontiguousarray(free.ranks[rows])
        most = min(MOST_ROWS, MOST_NUMBERS // ranks.shape[1])
        return grow_trees(ranks, y, weight / weight.max(), seeds, self.min_leaf, most, self.n_threads)


def halves(trees: Sequence[Tree], ranks: NDArray[np.int32]) -> tuple[FloatArray, FloatArray]:
    """What each half of some trees predicts, its mean; both the same for a single tree. Their mean is that of all but
    an odd tree."""
    x, middle = ranks.astype(np.float64), max(1, len(trees) // 2)
    one = sum_of_trees(trees[:middle], x) / middle
    return one, sum_of_trees(trees[middle : 2 * middle], x) / middle if len(trees) > 1 else one
