"""Columns that look like identifiers: a model that learns from a client's number learns nothing about clients."""

from __future__ import annotations

import re
import shlex
from typing import Any

import numpy as np

from monolip.cli._constraints import Constraints
from monolip.cli._data import Table

__all__ = ["identifier_remarks"]

FEWEST = 50  # rows: among fewer, numbers are all different, or in order, by accident
_WORDS = {
    "id",
    "ids",
    "no",
    "nr",
    "num",
    "number",
    "key",
    "pk",
    "uid",
    "guid",
    "uuid",
    "rowid",
    "idx",
    "index",
    "serial",
}
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def identifier_remarks(X: Table, constraints: Constraints) -> list[str]:
    """A sentence for each column of whole numbers, all different, that is named like an identifier or counts the rows.

    X: rows in the order of the file. About a feature that the constraints name a person has thought.
    """
    of_classes = (name for directions in constraints.classes.values() for name in directions)
    given = (constraints.directions, constraints.slopes, constraints.ordered, constraints.categorical, of_classes)
    asked, found = {name for names in given for name in names}, []
    for name in X.column_names:
        why = None if name in asked else _why(name, X.column(name))
        if why is not None:
            found.append(
                f"{name!r} looks like an identifier (whole numbers, all different, {why}); if it is one, it tells "
                f"nothing about new rows: leave it out by --drop {shlex.quote(name)}"
            )
    return found


def _why(name: str, column: Any) -> str | None:
    """What speaks for an identifier, beside numbers that are all different; None where it is none."""
    if len(column) < FEWEST or column.null_count or not re.match(r"u?int|float|double", str(column.type)):
        return None
    values = column.to_numpy()
    if values.dtype.kind == "f" and not (np.isfinite(values).all() and (values == np.floor(values)).all()):
        return None
    if len(np.unique(values)) < len(values):
        return None
    parts = [part.lower() for part in _PARTS.findall(name)]
    if parts and (parts[-1] in _WORDS or parts[0] == "id"):
        return "and its name"
    rising = bool((values[1:] > values[:-1]).all())
    # a table may be sorted by a feature, or by time in seconds: what counts rows has gaps only where rows were removed
    dense = float(values.max()) - float(values.min()) < 4 * len(values)
    return "rising from row to row" if rising and dense else None
