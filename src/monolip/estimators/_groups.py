"""Rows that belong together: of one customer, one patient, or copies of each other. They are never torn apart."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.input_columns import is_missing, plain_value

__all__ = ["deal_groups", "read_groups"]

Groups = NDArray[np.int64]


def read_groups(groups: Any, n_rows: int) -> Groups | None:
    """The number of its group for each row, or None."""
    if groups is None:
        return None
    whole = np.asarray(groups) if hasattr(groups, "columns") or getattr(groups, "ndim", 1) != 1 else None
    if isinstance(groups, str | bytes) or not np.iterable(groups) or (whole is not None and whole.shape[1:] != (1,)):
        raise InputError(f"groups are one column, a name for each row; got {reprlib.repr(groups)}; pass one column.")
    labels = [plain_value(label) for label in (groups if whole is None else whole[:, 0])]
    if len(labels) != n_rows:
        raise InputError(f"groups have a name for each row; got {len(labels)} for {n_rows} rows; match them.")
    gone = next((row for row, label in enumerate(labels) if is_missing(label)), None)
    if gone is not None:
        raise InputError(f"groups have a name for each row; got none for row {gone}; give it a name of its own.")
    try:
        known = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    except TypeError as error:
        raise InputError(f"groups have a name for each row, a string or a number; got {error}; name them.") from None
    return np.array([known[label] for label in labels], dtype=np.int64)


def deal_groups(groups: Groups, n_folds: int, rng: np.random.Generator, most: int) -> NDArray[np.int32] | None:
    """Fold of each row: groups whole, about as many rows in each fold; -1 for those of groups that are never held out.

    most: rows that a fold needs at most. Of few groups there are as few folds, and none (None) of a single one: there
    is nothing to hold out that would tell of others.
    """
    _, groups, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        return None
    n_folds = min(n_folds, len(sizes))
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]  # large ones first, so that small ones can even it out
    rows, fold_of = np.zeros(n_folds, np.int64), np.empty(len(sizes), np.int32)
    for group in order.tolist():
        fold_of[group] = fold = int(rows.argmin())
        rows[fold] += sizes[group]
    for fold in np.flatnonzero(rows > most).tolist():
        mine = rng.permutation(np.flatnonzero(fold_of == fold))
        beyond = np.cumsum(sizes[mine]) > most
        beyond[0] = False
        fold_of[mine[beyond]] = -1
    return fold_of[groups]
