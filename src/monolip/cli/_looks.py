"""Text that a person would read as numbers: amounts with a currency, percentages, decimal commas."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from monolip.cli._data import Table
from monolip.errors import InputError

__all__ = ["require_no_dressed_numbers"]

LOOKED_AT, MOST = 500, 0.95  # values of a column, and the share of them that must look alike
_COMMA = re.compile(r"[+-]?\d+,\d+")
_DRESSED = re.compile(r"[+-]?\s*[$€£¥]?\s*[+-]?\d{1,3}(?:[,' ]?\d{3})*(?:\.\d+)?\s*[$€£¥%]?")
_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+")


def require_no_dressed_numbers(table: Table, names: Sequence[str], categorical: Collection[str]) -> None:
    """No column of text looks like numbers: as categories they would have no order, and no direction.

    names: of the columns to look at; categorical: those that were named as categories, which a person has thought of.
    """
    for name in names:
        column = table.column(name)
        if name in categorical or str(column.type) != "string":
            continue
        values = [value.strip() for value in column.drop_null().slice(0, LOOKED_AT).to_pylist()]
        remedy = _remedy(values)
        if remedy is None:
            continue
        cells = enumerate(column.to_pylist())
        row, odd = next(((k, v) for k, v in cells if v and not _PLAIN.fullmatch(v.strip())), (None, None))
        if odd is not None:
            raise InputError(
                f"numbers are written plainly; {name!r} looks like numbers and is text because of {odd!r} in row {row} "
                f"(counted from 0); {remedy or 'correct such cells'}, or pass --categorical {name} if they are codes."
            )


def _remedy(values: Sequence[str]) -> str | None:
    """What to do about a column ("" where only some cells are odd); None where it does not look like numbers."""
    if not values or len(set(values)) < 3:
        return None

    def share(pattern: re.Pattern[str]) -> float:
        return sum(pattern.fullmatch(value) is not None for value in values) / len(values)

    thousands = share(_THOUSANDS)
    plain = sum(value.lstrip("+-").isdigit() for value in values) / len(values)
    if share(_COMMA) + plain >= MOST and share(_COMMA) > thousands:
        return 'pass --decimal ","'
    if share(_DRESSED) >= MOST and plain < MOST:
        odd = sorted({letter for value in values for letter in value if letter in "$€£¥%,' "})
        return f"remove {' and '.join(repr(letter) for letter in odd)} from the column" if odd else ""
    return None
