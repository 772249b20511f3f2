"""How much of a forest is worth adding to f: rows decide that neither of them has learned from."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import column_or_1d

from monolip.estimators._forest import Forest, FreeRows, grow
from monolip.estimators._left_out import Part
from monolip.estimators._leftover import Leftover, best_share, is_hopeless, outputs_of
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import read_weights

__all__ = ["Growth", "refits", "worth"]

FloatArray = NDArray[np.float64]
PARTS = 4  # of the rows, where members judge nothing
JUDGES = 10  # trees by which a forest is judged; what more of them would gain is known from its two halves


@dataclass(frozen=True)
class Growth:
    """How a forest grows."""

    n_trees: int
    min_leaf: int
    n_jobs: Any
    seed: int

    def forest(self, free: FreeRows, rows: Any, left: Leftover, f: FloatArray, n_trees: int | None = None) -> Forest:
        """Over some rows of the table, to learn what f leaves over there. left, f: of these rows."""
        counts = left.weight > 0
        if not counts.all():
            rows, left, f = rows[counts], left.at(counts), f[counts]
        count = self.n_trees if n_trees is None else n_trees
        return grow(free, rows, *left.after(f), count, self.min_leaf, self.n_jobs, self.seed)


def refits(
    estimator: Any, cv: Any, X: Any, table: RawTable, y: Any, sample_weight: Any, left: Leftover,
    groups: NDArray[Any] | None, seed: int,
) -> Iterator[Part]:  # fmt: skip
    """The estimator fitted without each part of the rows. cv: as scikit-learn has it, None for a few parts. X: as the
    user gave the table, for splitters that look at it."""
    labels, given = column_or_1d(y), read_weights(sample_weight, table.n_rows)
    for kept, held in left.parts(PARTS if cv is None else cv, X, groups, seed):
        weight = None if given is None else given[kept]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit of all rows has told
            f = clone(estimator).fit(table.take(kept), labels[kept], weight, left.shift[kept])
        if f._interrupted:
            raise KeyboardInterrupt
        f_all = outputs_of(f, table)
        yield Part(kept, held, f_all[kept], f_all[held])


def worth(parts: Iterable[Part], left: Leftover, free: FreeRows, growth: Growth) -> tuple[float, float] | None:
    """(share, gain): a forest is grown without each part, whose rows then say what it is worth; None without parts."""
    asked: list[tuple[Leftover, FloatArray, FloatArray, FloatArray]] = []
    n_trees = min(JUDGES, growth.n_trees)
    more = 1.0 - n_trees / growth.n_trees
    for part in parts:
        forest = growth.forest(free, part.kept, left.at(part.kept, part.weight_kept), part.f_kept, n_trees)
        asked.append((left.at(part.held, part.weight_held), part.f_held, *forest.halves(free.x[part.held])))
        if is_hopeless(*asked[-1], more):
            return 0.0, 0.0
    if not asked:
        return None
    helds, *rest = zip(*asked, strict=True)
    f, one, two = map(np.concatenate, rest)
    return best_share(Leftover.joined(helds), f, one, two, more)
