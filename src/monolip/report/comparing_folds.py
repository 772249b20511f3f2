"""Folds of a comparison: rows at random, an equal share of every class in each, rows that belong together in one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.estimators._groups import deal_groups

__all__ = ["Fold", "folds_of"]

Rows = NDArray[np.int64]
Fold = tuple[Rows, Rows]  # to learn from, to be judged on


def folds_of(target: NDArray[Any], has_classes: bool, n_folds: int, seed: int, groups: Rows | None) -> list[Fold]:
    """target: numbers, or codes of classes. groups: the number of its group for each row."""
    from sklearn.model_selection import KFold, StratifiedKFold

    most = int(np.bincount(target).min()) if has_classes else len(target) // 10
    if not 2 <= n_folds <= most:
        what = "rows of every class" if has_classes else "times ten rows"
        raise InputError(
            f"folds are at least 2, and at most as many as {what}; got {n_folds} folds for {most}; change it."
        )
    if groups is not None:
        return _whole_groups(target, has_classes, n_folds, seed, groups)
    kind = StratifiedKFold if has_classes else KFold
    return list(kind(n_folds, shuffle=True, random_state=seed).split(target, target))


def _whole_groups(target: NDArray[Any], has_classes: bool, n_folds: int, seed: int, groups: Rows) -> list[Fold]:
    from sklearn.model_selection import StratifiedGroupKFold

    found = len(np.unique(groups))
    if found < n_folds:
        raise InputError(f"a fold holds a group at least; got {n_folds} folds for {found} groups; use fewer folds.")
    if has_classes:
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
        folds = list(splitter.split(target, target, groups))
    else:
        dealt = deal_groups(groups, n_folds, np.random.default_rng(seed), len(target), spare_large=False)
        assert dealt is not None, "there are as many groups as folds"
        folds = [(np.flatnonzero(dealt != k), np.flatnonzero(dealt == k)) for k in range(n_folds)]
    for train, test in folds:
        if not len(test) or (has_classes and len(np.unique(target[train])) < len(np.unique(target))):
            raise InputError(
                f"every fold has rows to be judged, and leaves rows of every class to learn from; {n_folds} folds of "
                f"{found} groups do not; use fewer folds, or smaller groups."
            )
    return folds
