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
    groups: Groups, n_folds: int, rng: np.random.Generator, most: int, spare_large: bool = True,
    classes: NDArray[np.int64] | None = None,
) -> NDArray[np.int32] | None:  # fmt: skip
    """Fold of each row: groups whole, about as many rows in each fold; -1 for those of groups that are never held out.

    most: rows that a fold needs at most. spare_large: never hold out a group of more than half of the rows, which would
    leave the smaller part to learn from. classes: of the rows; no fold takes all rows of one. Of few groups there are
    as few folds, and none (None) of a single one: there is nothing to hold out that would tell of others.
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
    return _numbered(fold_of[groups], groups, classes)


def _numbered(folds: NDArray[np.int32], groups: Groups, classes: NDArray[np.int64] | None) -> NDArray[np.int32] | None:
    """Without the groups whose fold would take all rows of a class, and without gaps; None where no fold is left."""
    found, last = np.full(len(folds), -1, np.int32), 0
    for fold in range(int(folds.max()) + 1):
        held = _with_classes_left(folds == fold, groups, classes)
        if held.any():
            found[held], last = last, last + 1
    return found if last else None


def hold_out_groups(
    groups: Groups, share: float, seed: int, classes: NDArray[Any] | None = None, needed: bool = False
) -> NDArray[np.bool_]:
    """Which rows to hold out, about a share of them: groups in random order as long as they fit in, whole.

    classes: of the rows; what is left has rows of all of them. One group at least is left. Of few large groups none or
    only a small one may fit in. needed: hold out one that does not, then, of at most half of the rows.
    """
    _, groups, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    most, order = max(1, round(len(groups) * share)), np.random.default_rng(seed).permutation(len(sizes))
    held, count = np.zeros(len(sizes), dtype=bool), 0
    for group in order[:-1].tolist():
        if count + sizes[group] <= most:
            held[group], count = True, count + int(sizes[group])
    found = _with_classes_left(held[groups], groups, classes)
    if needed and 2 * int(found.sum()) < most:
        for group in order[np.argsort(sizes[order], kind="stable")].tolist():
            large = _with_classes_left(groups == group, groups, classes)
            if most <= 2 * int(large.sum()) and not _is_large(sizes[group], len(groups)):
                return large
    return found


def _with_classes_left(held: NDArray[np.bool_], groups: Groups, classes: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Groups with a class that the others lack are not held out."""
    if classes is None:
        return held
    return held & ~np.isin(groups, groups[held & ~np.isin(classes, classes[~held])])


def hardly_groups(groups: Groups | None) -> tuple[str, ...]:
    """What to tell where one group holds most rows, as a placeholder for missing names would."""
    sizes = np.zeros(1, np.int64) if groups is None else np.unique(groups, return_counts=True)[1]
    n, largest = int(sizes.sum()), int(sizes.max())
    if n and largest == n:
        return (ONE_GROUP,)
    return (LARGE_GROUP.format(largest, n, n - largest),) if _is_large(largest, n) else ()


def _is_large(size: int, n_rows: int) -> bool:
    return 2 * size > n_rows
