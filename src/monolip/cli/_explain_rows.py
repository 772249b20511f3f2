"""The row to explain and the row to compare it with, from a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from monolip.cli._data import Table
from monolip.cli._names import require_columns
from monolip.errors import InputError
from monolip.input_columns import CategoryColumn, is_missing

__all__ = ["chosen_row", "reference_row", "scales", "set_values", "whole_columns"]


def chosen_row(X: Table, number: int, what: str) -> dict[str, Any]:
    """Row by its number, counted from 0."""
    if number >= X.num_rows:
        raise InputError(f"{what} is a row of the table, counted from 0; got {number} of {X.num_rows} rows; lower it.")
    row: dict[str, Any] = X.slice(number, 1).to_pylist()[0]
    return {name: float(value) if isinstance(value, bool) else value for name, value in row.items()}


def reference_row(X: Table, asked: str, model: Any) -> tuple[dict[str, Any], str]:
    """A row by number, or "typical": medians, and the commonest category; and what to call it."""
    if asked.isascii() and asked.isdigit() and len(asked) < 19:
        return chosen_row(X, int(asked), "--reference"), f"row {asked}"
    if asked != "typical":
        raise InputError(f"--reference is a row's number or 'typical'; got {asked!r}; pass one of them.")
    row: dict[str, Any] = {}
    for column in model.frozen_.inputs.columns:
        values = [value for value in X.column(column.name).to_pylist() if not is_missing(value)]
        if not values:
            row[column.name] = None
        elif isinstance(column, CategoryColumn):
            counts = Counter(values)
            row[column.name] = min(counts, key=lambda label: (-counts[label], str(label)))
        else:
            row[column.name] = float(np.quantile(np.array(values, dtype=float), 0.5, method="lower"))
    return row, "the typical row"


def set_values(row: dict[str, Any], changes: Sequence[str], model: Any) -> dict[str, Any]:
    """--set FEATURE=VALUE, as text, a number, or nothing for missing."""
    for text in changes:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--set is FEATURE=VALUE; got {text!r}; write --set age=40 for example.")
        require_columns([name], list(row), "--set")
        column = next(c for c in model.frozen_.inputs.columns if c.name == name)
        known = {str(label): label for label in column.categories} if isinstance(column, CategoryColumn) else {}
        if isinstance(column, CategoryColumn):
            row = {**row, name: known.get(value, value) if value else None}
            continue
        try:
            row = {**row, name: float(value) if value else None}
        except ValueError:
            raise InputError(f"{name!r} is a number; got {value!r} by --set; pass a number.") from None
    return row


def whole_columns(X: Table) -> set[str]:
    """Columns that hold whole numbers."""
    return {
        name
        for name, kind in zip(X.column_names, X.schema.types, strict=True)
        if str(kind).strip("u").startswith("int")
    }


def scales(X: Table, names: Sequence[str]) -> dict[str, float]:
    """Standard deviations of numeric columns: what one unit of change is."""
    found = {}
    for name in names:
        values = [v for v in X.column(name).to_pylist() if not is_missing(v)]
        if values and not any(isinstance(v, str) for v in values):
            numbers = np.array(values, dtype=float)
            largest = float(np.abs(numbers).max()) or 1.0  # squares of large numbers would overflow
            found[name] = float(np.std(numbers / largest)) * largest
    return found
