"""Rows that belong together: of one customer, one patient, or copies of each other. They are never torn apart."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.input_columns import is_missing, plain_value

__all__ = ["deal_groups", "hardly_groups", "hold_out_groups", "read_groups"]

Groups = NDArray[np.int64]
ONE_GROUP = (
    "groups: all rows are of one group, so that none can be held out, and a fit that nobody judges is kept simple; "
    "name the rows that belong together, or leave groups out"
)
LARGE_GROUP = (
    "groups: {} of {} rows are of one group, which is never held out; the other {} judge the fit. Where its name "
    "stands for a missing one, give such rows names of their own"
)


def read_groups(groups: Any, n_rows: int) -> Groups | None:
    """The number of its group for each row, or None."""
    if groups is None:
        return None
    whole = np.asarray(groups) if hasattr(groups, "columns") or getattr(groups, "ndim", 1) != 1 else None
    if (
        isinstance(groups, str | bytes | Set | Mapping)
        or not np.iterable(groups)
        or (whole is not None and whole.shape[1:] != (1,))
    ):
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


def deal_groups(
    groups: Groups, n_folds: int, rng: np.random.Generator, most: int, spare_large: bool = True
) -> NDArray[np.int32] | None:
    """Fold of each row: groups whole, about as many rows in each fold; -1 for those of groups that are never held out.

    most: rows that a fold needs at most. spare_large: never hold out a group of more than half of the rows, which would
    leave the smaller part to learn from. Of few groups there are as few folds, and none (None) of a single one: there
    is nothing to hold out that would tell of others.
    """
    _, groups, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        return None
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]  # large ones first, so that small ones can even it out
    if spare_large and _is_large(int(sizes.max()), len(groups)):
        order = order[1:]
    n_folds = min(n_folds, len(order))
    rows, fold_of = np.zeros(n_folds, np.int64), np.full(len(sizes), -1, np.int32)
    for group in order.tolist():
        fold_of[group] = fold = int(rows.argmin())
        rows[fold] += sizes[group]
    for fold in np.flatnonzero(rows > most).tolist():
        mine = rng.permutation(np.flatnonzero(fold_of == fold))
        beyond = np.cumsum(sizes[mine]) > most
        beyond[0] = False
        fold_of[mine[beyond]] = -1
    return fold_of[groups]


def hold_out_groups(groups: Groups, share: float, seed: int, classes: NDArray[Any] | None = None) -> NDArray[np.bool_]:
    """Which rows to hold out, about a share of them: groups in random order as long as they fit in, whole.

    classes: of the rows; what is left has rows of all of them. One group at least is left; of few large ones none may
    fit in.
    """
    _, groups, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    most = max(1, round(len(groups) * share))
    held, count = np.zeros(len(sizes), dtype=bool), 0
    for group in np.random.default_rng(seed).permutation(len(sizes))[:-1].tolist():
        if count + sizes[group] <= most:
            held[group], count = True, count + int(sizes[group])
    test = held[groups]
    if classes is not None:  # groups with a class that the others lack are not held out
        test &= ~np.isin(groups, groups[test & ~np.isin(classes, classes[~test])])
    return test


def hardly_groups(groups: Groups | None) -> tuple[str, ...]:
    """What to tell where one group holds most rows, as a placeholder for missing names would."""
    sizes = np.zeros(1, np.int64) if groups is None else np.unique(groups, return_counts=True)[1]
    n, largest = int(sizes.sum()), int(sizes.max())
    if n and largest == n:
        return (ONE_GROUP,)
    return (LARGE_GROUP.format(largest, n, n - largest),) if _is_large(largest, n) else ()


def _is_large(size: int, n_rows: int) -> bool:
    return 2 * size > n_rows
