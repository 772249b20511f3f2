"""Which rows members are trained on, and which they are validated on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._groups import deal_groups
from monolip.estimators._targets import Target
from monolip.estimators.fit_options import FitOptions

__all__ = ["FEWEST_ROWS", "every_row", "make_folds", "rows_of_fold"]

Rows = NDArray[np.int32]

FEWEST_ROWS = 16  # with fewer, there are no validation rows


def make_folds(target: Target, options: FitOptions, rng: np.random.Generator) -> NDArray[np.int32] | None:
    """Return the fold of each row, -1 for rows that are always trained on; None with too few rows for folds.

    Folds are random, of equal size, with an equal share of every class; rows of one group share a fold.
    """
    n = len(target.y)
    if n < FEWEST_ROWS:
        return None
    n_folds = max(2, round(min(1 / options.validation_fraction, n)))
    if target.groups is not None:
        return deal_groups(target.groups, n_folds, rng, options.max_validation_rows, classes=target.classes)
    folds = _random_folds(n, n_folds, rng, target.classes)
    if n > n_folds * options.max_validation_rows:
        for fold in range(n_folds):
            rows = rng.permutation(np.flatnonzero(folds == fold))
            folds[rows[options.max_validation_rows :]] = -1
    return folds


def rows_of_fold(folds: NDArray[np.int32], fold: int) -> tuple[Rows, Rows]:
    """Return the rows that a member of this fold is trained on, and those that it is validated on."""
    validated = folds == fold
    return _numbers(~validated), _numbers(validated)


def every_row(n: int) -> Rows:
    """Return the numbers of all rows."""
    return _numbers(np.ones(n, bool))


def _numbers(mask: NDArray[np.bool_]) -> Rows:
    rows = np.flatnonzero(mask).astype(np.int32)
    rows.setflags(write=False)  # a learning problem looks up rows that nobody can change once
    return rows


def _random_folds(n: int, n_folds: int, rng: np.random.Generator, classes: NDArray[np.int64] | None) -> Rows:
    order = rng.permutation(n)
    if classes is not None:
        count = np.bincount(classes)
        rare = count[count > 0].min() < 2 * n_folds  # rows of a rare class go to the first folds
        order = order[np.argsort(count[classes[order]] if rare else classes[order], kind="stable")]
    folds = np.empty(n, dtype=np.int32)
    folds[order] = np.arange(n, dtype=np.int32) % n_folds
    return folds
