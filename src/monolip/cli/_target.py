"""The column to predict: numbers or classes, known in every row; and the rows that are held out to judge a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.cli._data import Table, pick
from monolip.errors import InputError
from monolip.estimators._groups import hold_out_groups, read_groups

__all__ = ["Rows", "read_group_names", "read_target", "read_weight", "split_rows"]

FEWEST = 20  # rows of which some can be held out and still say something
MOST_CLASSES = 100


@dataclass(frozen=True)
class Rows:
    """X: a table of features. y: (n,). weight: (n,) or None. groups: (n,) or None; rows of one belong together."""

    X: Table
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    groups: NDArray[np.int64] | None = None

    def take(self, rows: NDArray[np.int64]) -> Rows:
        weight = None if self.weight is None else self.weight[rows]
        return Rows(self.X.take(rows), self.y[rows], weight, None if self.groups is None else self.groups[rows])

    def __len__(self) -> int:
        return len(self.y)


def read_target(table: Table, name: str, task: str) -> tuple[NDArray[Any], tuple[Any, ...] | None]:
    """y, and the class labels in order (None: regression). task "auto": text, booleans and two values are classes."""
    column = pick(table, [name], "--target").column(0)
    if column.type.num_fields or str(column.type).startswith("month_day"):
        raise InputError(f"a target is numbers or classes; {name!r} holds {column.type}; convert it.")
    listed = column.to_pylist()
    values = np.empty(len(listed), dtype=object)
    values[:] = listed
    unknown = np.array([v is None or (isinstance(v, float) and v != v) for v in values.tolist()])
    if unknown.any():
        raise InputError(
            f"the target is known in every row; {name!r} has {int(unknown.sum())} missing values, the first in row "
            f"{int(unknown.argmax())} (counted from 0); remove those rows."
        )
    distinct = set(values.tolist())
    if len(distinct) < 2:
        raise InputError(f"a target has different values; {name!r} is {values[0]!r} in every row; choose another.")
    text = any(isinstance(v, str | bool) for v in distinct)
    if task == "regression" or (task == "auto" and not text and len(distinct) > 2):
        return _numbers(values, name, text), None
    if not text:
        _refuse_continuous(distinct, name)
        values = np.array([int(v) for v in values.tolist()])
    if len(distinct) > MOST_CLASSES:
        raise InputError(
            f"classes are few; {name!r} has {len(distinct)} different values; choose another, or merge rare ones."
        )
    labels = np.array(values.tolist())
    return labels, tuple(np.unique(labels).tolist())


def read_weight(table: Table, name: str | None) -> NDArray[np.float64] | None:
    if name is None:
        return None
    values = pick(table, [name], "--weight").column(0).to_pylist()
    if not all(isinstance(v, int | float) for v in values):
        raise InputError(f"weights are numbers in every row; {name!r} holds others; choose another column.")
    return np.array(values, dtype=np.float64)


def read_group_names(table: Table, name: str | None) -> NDArray[np.int64] | None:
    """The number of its group for each row."""
    if name is None:
        return None
    return read_groups(pick(table, [name], "--groups").column(0).to_pylist(), table.num_rows)


def split_rows(rows: Rows, share: float, classes: bool, seed: int) -> tuple[Rows, Rows | None]:
    """Rows to fit on and rows to judge on; none of the latter where share is 0 or rows are few. Groups stay whole."""
    n = len(rows)
    if share <= 0 or n < FEWEST:
        return rows, None
    if rows.groups is not None:
        held = hold_out_groups(rows.groups, share, seed, rows.y if classes else None)
        where = np.flatnonzero(held)
        return rows.take(np.flatnonzero(~held)), rows.take(where) if len(where) else None
    from sklearn.model_selection import train_test_split

    _, counts = np.unique(rows.y, return_counts=True) if classes else (None, np.array([n]))
    n_test = max(1, round(n * share))
    even = classes and counts.min() >= 2 and len(counts) <= min(n_test, n - n_test)
    train, test = train_test_split(np.arange(n), test_size=n_test, random_state=seed, stratify=rows.y if even else None)
    if classes:  # a class of one or two rows may lie among those held out; a model learns of it only from the others
        unknown = ~np.isin(rows.y[test], rows.y[train])
        train, test = np.concatenate([train, test[unknown]]), test[~unknown]
    return rows.take(np.sort(train)), rows.take(np.sort(test)) if len(test) else None


def _numbers(values: NDArray[Any], name: str, text: bool) -> NDArray[np.float64]:
    if text and not all(isinstance(v, bool) for v in values.tolist()):
        raise InputError(f"regression predicts numbers; {name!r} holds text; pass --task classification.")
    try:
        y = np.array(values.tolist(), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        kind = type(values[0]).__name__
        raise InputError(f"a target is numbers or classes; {name!r} holds {kind}; convert it.") from None
    if np.isinf(y).any():
        raise InputError(f"a target is finite; {name!r} is infinite in row {int(np.isinf(y).argmax())}; remove it.")
    return y


def _refuse_continuous(distinct: set[Any], name: str) -> None:
    odd = [v for v in distinct if not isinstance(v, int | float) or v != v // 1 or abs(v) >= 2**53]
    if odd:
        raise InputError(
            f"classes are text, booleans or small whole numbers; {name!r} holds {odd[0]!r}; pass --task regression."
        )
