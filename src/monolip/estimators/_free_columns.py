"""Columns as a forest sees them: ranks of numbers and numbers of categories, so that no value is too large for float32.

A split needs an order only, and a rank keeps it whatever the unit is: 1e300 is as good as 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._promises import Promises
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawColumn, RawTable
from monolip.input_columns import is_missing, plain_label

__all__ = ["FreeColumns", "free_places"]

MISSING, UNKNOWN = -2.0, -1.0  # below all ranks and numbers


def free_places(promises: Promises) -> list[int]:
    """Positions of the features nobody asked anything of: no direction, no interval, no cap."""
    if promises.standard_cap is not None:
        return []
    free = ~promises.directions.any(axis=1) & np.isnan(promises.caps)
    return [int(j) for j in np.flatnonzero(free) if j not in promises.intervals]


@dataclass(frozen=True)
class FreeColumns:
    """places: of the columns in the table; values: of each its distinct numbers in order, or its labels' numbers."""

    places: tuple[int, ...]
    values: tuple[NDArray[np.float64] | dict[Any, int], ...]

    @classmethod
    def learn(cls, table: RawTable, schema: Schema, places: Sequence[int]) -> FreeColumns:
        return cls(tuple(places), tuple(_values(table.columns[j], schema.categories[j]) for j in places))

    def encode(self, table: RawTable) -> NDArray[np.float32]:
        """Shape (n, n_free); a number between two that were seen lies halfway, a missing value below all."""
        found = np.empty((table.n_rows, len(self.places)), dtype=np.float32)
        for k, (j, values) in enumerate(zip(self.places, self.values, strict=True)):
            column = table.columns[j]
            found[:, k] = _numbers(column, values) if isinstance(values, dict) else _ranks(column.values, values)
        return found


def _values(column: RawColumn, categories: tuple[Any, ...] | None) -> NDArray[np.float64] | dict[Any, int]:
    if categories is not None:
        return {label: number for number, label in enumerate(categories)}
    numbers = np.unique(column.values)
    return np.asarray(numbers[~np.isnan(numbers)])


def _ranks(x: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]:
    rank = 0.5 * (known.searchsorted(x, "left") + known.searchsorted(x, "right"))
    return np.where(np.isnan(x), MISSING, rank)


def _numbers(column: RawColumn, known: dict[Any, int]) -> NDArray[np.float64]:
    distinct, number = column.factors
    codes = [MISSING if is_missing(label) else known.get(plain_label(label), UNKNOWN) for label in distinct]
    return np.asarray(codes, dtype=np.float64)[number]
