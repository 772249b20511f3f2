"""Rows that meet every entry of every table of whole numbers in a header, and rows one number of which has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.export.c_network import CNetwork
from monolip.export.c_whole import WholeTable, code_table, whole_table

__all__ = ["BLOCK", "beside_tables", "tables_of", "whole_beside", "whole_rows"]

FloatArray = NDArray[np.float64]

BLOCK = 16  # rows; at least as many as a header takes at once
_FAR = (np.inf, -np.inf, 1e308, -1e308, 2.0**31, -(2.0**32), np.nan)


def tables_of(columns: Sequence[Any] | None, layers: CNetwork) -> list[WholeTable]:
    """The tables of a header; they know their raw column, not their model columns."""
    made = (
        (whole_table if hasattr(column, "maps") else code_table)("", i, 0, column, layers)
        for i, column in enumerate(columns or ())
    )
    return [table for table in made if table is not None]


def _known(table: WholeTable) -> FloatArray:
    """What the table has an entry for."""
    return np.append(np.arange(table.low, table.high + 1), [np.nan] * table.missing)


def whole_rows(tables: list[WholeTable], x: FloatArray) -> FloatArray:
    """Rows x with all numbers that tables know in the columns that have one, NaN among them; none without tables.

    x is repeated until the longest table is met, in whole blocks.
    """
    if not tables:
        return x[:0]
    longest = max(len(_known(table)) for table in tables)
    n = BLOCK * -(-max(len(x), longest) // BLOCK)
    rows = np.resize(x, (n, x.shape[1]))
    for table in tables:
        rows[:, table.i] = np.resize(np.roll(_known(table), 5 * table.i), n)  # not in step with each other
    return rows


def beside_tables(tables: list[WholeTable]) -> list[tuple[int, float]]:
    """(raw column, number): just outside of each table, between its entries, and far away."""
    found = []
    for table in tables:
        low, high = float(table.low), float(table.high)
        steps = [kind(v) for kind in (np.float32, np.float64) for v in (low, high)]
        near = [float(np.nextafter(v, v.dtype.type(end))) for v in steps for end in (-np.inf, np.inf)]
        found += [(table.i, v) for v in (high + 1.0, low - 1.0, high + 0.5, low + 0.5, *near, *_FAR)]
    return found


def whole_beside(whole: FloatArray, beside: list[tuple[int, float]]) -> FloatArray:
    """A block of whole rows for each number beside a table, which every other row has: all else is looked up."""
    blocks = []
    for k, (i, value) in enumerate(beside):
        at = BLOCK * k % len(whole)
        blocks.append(whole[at : at + BLOCK].copy())
        blocks[-1][k % 2 :: 2, i] = value
    return np.concatenate([whole[:0], *blocks])
