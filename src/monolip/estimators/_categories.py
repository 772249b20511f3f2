"""How a category becomes model columns: one-hot, thermometer where ordered, and a target mean where there are many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._tables import RawColumn
from monolip.estimators.fit_options import FitOptions
from monolip.input_columns import CategoryColumn, codes_of

__all__ = ["encode", "first_mean", "out_of_fold", "thermometer_width"]

FloatArray = NDArray[np.float64]

_FOLDS = 8
_PRIOR = 20.0  # rows of the overall mean that every category's own mean is diluted with


def encode(
    raw: RawColumn, categories: tuple[Any, ...], *, ordered: bool, target: FloatArray,
    weight: FloatArray | None = None, missing: str = "state",
    one_hot_levels: int = FitOptions.one_hot_levels,
) -> CategoryColumn:  # fmt: skip
    """raw: the training rows; target: (n,), or (n, classes) of zeros and ones; used only for
    columns with many categories, which are those with more than one_hot_levels.

    missing: "state", or for ordered categories "lowest" or "highest"; an indicator only where values are missing.
    """
    distinct, number = raw.factors
    codes = codes_of(distinct, {label: code for code, label in enumerate(categories)})[number]
    count = np.bincount(codes, minlength=len(categories) + 2).astype(np.float64)
    if ordered:
        table = _thermometer(len(categories), count)
    else:
        table = _one_hot(len(categories), count, one_hot_levels)
        if len(categories) > one_hot_levels and (count[:-2] > 1).mean() > 0.5:  # a mean of one row is that row's target
            means = [_Means.of(codes, column, weight, len(table)) for column in _columns(target)]
            table = np.hstack([table, *[(mean.shrunken() / mean.unit)[:, None] for mean in means]])
    if missing != "state" and categories:  # the end of every column
        table[-1] = table[0 if missing == "lowest" else -3]
    if count[-1]:  # missing in training: a state of its own, or a step beyond the end
        table = np.hstack([table, np.full((len(table), 1), float(missing == "lowest"))])
        table[-1, -1] = float(missing != "lowest")
    return CategoryColumn(raw.name, categories, table, ordered)


def _thermometer(n: int, count: FloatArray) -> FloatArray:
    """Category c has ones in its first c columns: every step up moves one column up, so a direction is a sign."""
    rows = np.zeros((n + 2, max(n - 1, 1)))
    for c in range(n):
        rows[c, :c] = 1.0
    rows[n:] = _average(rows[:n], count[:n])
    return rows


def thermometer_width(column: CategoryColumn) -> int:
    """Model columns of an ordered category, without the one that says "missing"."""
    return max(len(column.categories) - 1, 1)


def _one_hot(n: int, count: FloatArray, most: int) -> FloatArray:
    common = np.argsort(-count[:n], kind="stable")[:most]
    if n <= 2:
        common = common[:1]
    rows = np.zeros((n + 2, max(len(common), 1)))
    rows[common, np.arange(len(common))] = 1.0
    rows[n:] = _average(rows[:n], count[:n])
    return rows


def first_mean(column: CategoryColumn) -> int:
    """The model column where target means begin, after those of single categories; n_model where there are none.

    Read off the column: models of before have more columns of single categories.
    """
    known = column.table[:-2]
    single = ((known == 0.0) | (known == 1.0)).all(axis=0)
    return len(single) if single.all() else int(single.argmin())


def out_of_fold(
    column: CategoryColumn, raw: RawColumn, target: FloatArray, weight: FloatArray | None, rng: np.random.Generator
) -> NDArray[np.float32] | None:
    """Target means for training rows, each of the rows in other folds: (n, goals) for the columns from `first_mean` on.

    With its own target in its mean a row would teach the network to read the answer there, and held-out rows, which
    judge that network, would agree. None where a column has no target means.
    """
    goals = _columns(target)
    if column.ordered or first_mean(column) == column.n_model:
        return None
    codes, size = raw.codes_in(column), len(column.table)
    fold = rng.permutation(len(codes)) % _FOLDS
    found = np.empty((len(codes), len(goals)), np.float32)
    for at, goal in enumerate(goals):
        means = _Means.of(codes, goal, weight, size)
        for k in range(_FOLDS):
            here = fold == k
            part = _Means.of(codes[here], goal[here], None if weight is None else weight[here], size)
            found[here, at] = (means.shrunken(part) / means.unit)[codes[here]]
    return found


def _columns(target: FloatArray) -> list[FloatArray]:
    """What is averaged over a category: the target, or where there are classes whether it is each of them."""
    return [target] if target.ndim == 1 else list(target.T)


@dataclass(frozen=True)
class _Means:
    """Weighted sums of the target and of rows, per category; one row weighs 1 on average."""

    total: FloatArray
    rows: FloatArray
    overall: float
    scale: float  # of weights

    @classmethod
    def of(cls, codes: NDArray[np.int64], target: FloatArray, weight: FloatArray | None, size: int) -> _Means:
        w = np.ones(len(codes)) if weight is None else weight
        total = np.asarray(np.bincount(codes, weights=w * target, minlength=size), dtype=np.float64)
        rows = np.asarray(np.bincount(codes, weights=w, minlength=size), dtype=np.float64)
        return cls(total, rows, float(total.sum() / (rows.sum() or 1.0)), float(w.mean()) if w.size else 1.0)

    def shrunken(self, without: _Means | None = None) -> FloatArray:
        """Means diluted with the overall one, of all rows or of all but some."""
        total = self.total if without is None else self.total - without.total
        rows = self.rows if without is None else self.rows - without.rows
        prior = _PRIOR * self.scale
        return np.asarray((total + prior * self.overall) / (rows + prior))

    @property
    def unit(self) -> float:
        """One standard deviation between categories."""
        return float(self.shrunken().std()) or 1.0


def _average(rows: FloatArray, count: FloatArray) -> FloatArray:
    """What an unseen or missing label counts as: the average known one."""
    total = count.sum()
    return np.asarray((rows * count[:, None]).sum(axis=0) / total if total else rows.sum(axis=0) * 0.0)
