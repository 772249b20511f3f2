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
from monolip.estimators._tables import RawColumn, RawTable, refuse_labels
from monolip.input_columns import is_missing, plain_label

__all__ = ["FreeColumns", "free_places"]

MISSING = -1.0  # below all ranks and numbers


def free_places(promises: Promises) -> list[int]:
    """Positions of the features nobody asked anything of: no direction, no interval, no cap."""
    if promises.standard_cap is not None:
        return []
    free = ~promises.directions.any(axis=1) & np.isnan(promises.caps)
    return [int(j) for j in np.flatnonzero(free) if j not in promises.intervals]


def _ranks(x: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Among distinct numbers in order; between two of them halfway."""
    return np.asarray(0.5 * (known.searchsorted(x, "left") + known.searchsorted(x, "right")))


@dataclass(frozen=True)
class _Column:
    """known: distinct numbers in order, or the numbers of labels. missing: of a value that is not there.

    Where none was missing in training, that is the middle one, or the most frequent; a label never seen is taken for
    the most frequent one as well.
    """

    known: NDArray[np.float64] | dict[Any, int]
    missing: float
    unknown: float

    @classmethod
    def learn(cls, column: RawColumn, categories: tuple[Any, ...] | None) -> _Column:
        if categories is None:
            gone = np.isnan(column.values)
            known = np.unique(column.values[~gone])
            middle = float(np.median(_ranks(column.values[~gone], known))) if len(known) else MISSING
            return cls(known, MISSING if gone.any() else middle, MISSING)
        labels = {label: number for number, label in enumerate(categories)}
        distinct, number = column.factors
        counts = np.bincount(number, minlength=len(distinct))
        seen = [
            (count, -labels[plain_label(v)]) for v, count in zip(distinct, counts, strict=True) if not is_missing(v)
        ]
        usual = float(-max(seen)[1]) if seen else MISSING
        gone_too = any(is_missing(label) for label in distinct[counts > 0])
        return cls(labels, MISSING if gone_too else usual, usual)

    def encode(self, column: RawColumn) -> NDArray[np.float64]:
        if isinstance(self.known, dict):
            distinct, number = column.factors
            return np.array([self._number(label) for label in distinct], dtype=np.float64)[number]
        refuse_labels(column)
        return np.where(np.isnan(column.values), self.missing, _ranks(column.values, self.known))

    def _number(self, label: Any) -> float:
        assert isinstance(self.known, dict)
        return self.missing if is_missing(label) else self.known.get(plain_label(label), self.unknown)


@dataclass(frozen=True)
class FreeColumns:
    """places: of the columns in the table."""

    places: tuple[int, ...]
    columns: tuple[_Column, ...]

    @classmethod
    def learn(cls, table: RawTable, schema: Schema, places: Sequence[int]) -> FreeColumns:
        return cls(tuple(places), tuple(_Column.learn(table.columns[j], schema.categories[j]) for j in places))

    def encode(self, table: RawTable) -> NDArray[np.float32]:
        """Shape (n, n_free); a number between two that were seen lies halfway."""
        found = np.empty((table.n_rows, len(self.places)), dtype=np.float32)
        for k, (j, column) in enumerate(zip(self.places, self.columns, strict=True)):
            found[:, k] = column.encode(table.columns[j])
        return found
