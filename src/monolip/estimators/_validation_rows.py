"""Validation rows that a user passes to fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from monolip.errors import InputError
from monolip.estimators._schema import Schema, table_like
from monolip.estimators._tables import RawTable, refuse_infinite
from monolip.estimators._targets import Target

__all__ = ["UsersRows", "read_users_rows", "validation_reader"]


class UsersRows(NamedTuple):
    """Arguments of fit that describe validation rows."""

    X: Any
    y: Any
    weight: Any
    offset: Any


def read_users_rows(
    X_val: Any, y_val: Any, weight: Any, offset: Any, *, groups: Any, training_offset: Any, early_stopping: Any
) -> UsersRows | None:
    """Return the user's validation rows, or None without any; incomplete or contradictory arguments are refused."""
    if X_val is None and y_val is None:
        alone = [n for n, v in (("sample_weight_val", weight), ("offset_val", offset)) if v is not None]
        if alone:
            raise InputError(f"{alone[0]} belongs to validation rows; got no X_val and y_val; pass them, too.")
        return None
    if X_val is None or y_val is None:
        given, missing = ("X_val", "y_val") if y_val is None else ("y_val", "X_val")
        raise InputError(f"validation rows need X_val and y_val; got {given} alone; pass {missing} as well.")
    if groups is not None:
        raise InputError(
            "groups say which rows are validated on together; got groups and X_val, which replaces them; pass one "
            "of the two."
        )
    if (offset is None) != (training_offset is None):
        raise InputError(
            "offset and offset_val go together; got only one of them; pass both, or neither (zeros have no effect)."
        )
    if not early_stopping:
        raise InputError(
            "validation rows decide when training stops; got X_val with early_stopping=False; leave one of them out."
        )
    return UsersRows(X_val, y_val, weight, offset)


def validation_reader(
    rows: UsersRows | None, owner: str, target_of: Callable[[UsersRows, int], Target]
) -> Callable[[Schema], tuple[RawTable, Target]] | None:
    """Return a function that reads the rows once the schema of the training rows is known; None without rows."""
    if rows is None:
        return None

    def read(schema: Schema) -> tuple[RawTable, Target]:
        table = table_like(rows.X, schema, owner)
        refuse_infinite(table)
        return table, target_of(rows, table.n_rows)

    return read
