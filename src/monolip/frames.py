"""Data frames of every kind, and what their columns are called."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from .errors import InputError

__all__ = ["ColumnNames", "as_frame", "as_table", "refuse_repeated"]


class ColumnNames(NamedTuple):
    """What the columns of a table are called.

    names: in messages, tables and files; the user's own where `named`. labels: what keys such as those of
    `monotonic_cst` mean where columns have labels that are not all strings; None where whole numbers are positions.
    """

    names: tuple[str, ...]
    named: bool
    labels: tuple[Hashable, ...] | None = None

    @classmethod
    def of(cls, labels: Sequence[Any]) -> ColumnNames:
        """Return the names of columns with these labels.

        The column labelled 7 is called x7. Other labels that are not strings, and mixtures, cannot be names: such
        columns are called x0, x1, ... by position.

        >>> ColumnNames.of([2, 1]).names, ColumnNames.of(["a", "b"]).names, ColumnNames.of([("a", 1), ("a", 2)]).names
        (('x2', 'x1'), ('a', 'b'), ('x0', 'x1'))
        """
        if all(isinstance(label, str) for label in labels):
            return cls(tuple(labels), True)
        if all(map(_is_whole, labels)):
            numbers = tuple(map(int, labels))
            names = tuple(f"x{number}" for number in numbers)
            return cls(names, False, None if numbers == tuple(range(len(numbers))) else numbers)
        return cls(tuple(f"x{j}" for j in range(len(labels))), False, tuple(labels))


def _is_whole(label: Any) -> bool:
    return isinstance(label, int | np.integer) and not isinstance(label, bool)


def as_table(X: Any) -> Any:
    """Return an Arrow record batch as an Arrow table, and anything else as it is."""
    if type(X).__name__ == "RecordBatch" and type(X).__module__.partition(".")[0] == "pyarrow":
        return sys.modules["pyarrow"].Table.from_batches([X])
    return X


def as_frame(X: Any, allow_series: bool | None = None) -> Any:
    """Return a data frame as narwhals reads it, and anything else as it is; columns of one name are refused."""
    table = as_table(X)
    try:
        return nw.from_native(table, eager_only=True, allow_series=allow_series, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = getattr(table, "column_names", None)  # Arrow, whose .columns are the columns themselves
        refuse_repeated(list(table.columns) if names is None else names)
        raise


def refuse_repeated(labels: Sequence[Any]) -> None:
    """Two columns of one name cannot be told apart by a constraint, nor at predict time."""
    repeated = sorted(str(label) for label, count in Counter(labels).items() if count > 1)
    if repeated:
        raise InputError(
            f"column names are distinct; got {repeated[:5]} more than once; rename or drop one of each."
        ) from None
