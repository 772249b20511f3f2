"""How a category becomes model columns: one-hot, thermometer where ordered, and a target mean where there are many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.input_columns import CategoryColumn

__all__ = ["encode"]

FloatArray = NDArray[np.float64]

MANY = 32  # beyond this, rare categories share their target mean instead of having a column each
_PRIOR = 20.0  # rows of the overall mean that every category's own mean is diluted with


def encode(
    name: str, values: NDArray[Any], categories: tuple[Any, ...], *, ordered: bool, target: FloatArray
) -> CategoryColumn:
    """values: labels of the training rows; target: (n,) standardised, used only for columns with many categories."""
    bare = CategoryColumn(name, categories, np.zeros((len(categories) + 2, 1)), ordered)
    codes = bare.codes(values)
    count = np.bincount(codes, minlength=len(categories) + 2).astype(np.float64)
    if ordered:
        table = _thermometer(len(categories), count)
    else:
        table = _one_hot(len(categories), count, codes, target)
    if count[-1]:  # missing in training: a state of its own
        table = np.hstack([table, np.zeros((len(table), 1))])
        table[-1, -1] = 1.0
    return CategoryColumn(name, categories, table, ordered)


def _thermometer(n: int, count: FloatArray) -> FloatArray:
    """Category c has ones in its first c columns: every step up moves one column up, so a direction is a sign."""
    rows = np.zeros((n + 2, max(n - 1, 1)))
    for c in range(n):
        rows[c, :c] = 1.0
    rows[n:] = _average(rows[:n], count[:n])
    return rows


def _one_hot(n: int, count: FloatArray, codes: NDArray[np.int64], target: FloatArray) -> FloatArray:
    common = np.argsort(-count[:n], kind="stable")[:MANY]
    if n <= 2:
        common = common[:1]
    rows = np.zeros((n + 2, max(len(common), 1)))
    rows[common, np.arange(len(common))] = 1.0
    rows[n:] = _average(rows[:n], count[:n])
    if n <= MANY:
        return rows
    total = np.bincount(codes, weights=target, minlength=n + 2)
    means = (total + _PRIOR * target.mean()) / (count + _PRIOR)
    return np.hstack([rows, (means / (means.std() or 1.0))[:, None]])


def _average(rows: FloatArray, count: FloatArray) -> FloatArray:
    """What an unseen or missing label counts as: the average known one."""
    return np.asarray(np.average(rows, axis=0, weights=count) if count.sum() else rows.sum(axis=0) * 0.0)
