"""Columns as a forest sees them: numbers as they are, categories by their numbers, and what is missing below all."""

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

__all__ = ["FreeColumn", "FreeColumns", "free_places"]

MISSING = -np.inf


def free_places(promises: Promises) -> list[int]:
    """Positions of the features nobody asked anything of: no direction, no interval, no cap."""
    if promises.standard_cap is not None:
        return []
    free = ~promises.directions.any(axis=1) & np.isnan(promises.caps)
    return [int(j) for j in np.flatnonzero(free) if j not in promises.intervals]


@dataclass(frozen=True)
class FreeColumn:
    """labels: their numbers; None: a column of numbers. missing: what a value counts as that is not there.

    Where none was missing in training, that is the middle one, or the most frequent; a label never seen is taken for
    the most frequent one as well (`unknown`).
    """

    labels: dict[Any, int] | None
    missing: float
    unknown: float

    @classmethod
    def learn(cls, column: RawColumn, categories: tuple[Any, ...] | None) -> FreeColumn:
        if categories is None:
            gone = np.isnan(column.values)
            if gone.any():
                return cls(None, MISSING, MISSING)
            return cls(None, float(np.quantile(column.values, 0.5, method="lower")), MISSING)
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
        if self.labels is not None:
            distinct, number = column.factors
            return np.array([self._number(label) for label in distinct], dtype=np.float64)[number]
        refuse_labels(column)
        values = np.maximum(column.values, np.finfo(np.float64).min)  # minus infinity is a number here
        return np.where(np.isnan(values), self.missing, values)

    def _number(self, label: Any) -> float:
        assert self.labels is not None, "the caller has looked"
        return self.missing if is_missing(label) else self.labels.get(plain_label(label), self.unknown)


@dataclass(frozen=True)
class FreeColumns:
    """places: of the columns in the table."""

    places: tuple[int, ...]
    columns: tuple[FreeColumn, ...]

    @classmethod
    def learn(cls, table: RawTable, schema: Schema, places: Sequence[int]) -> FreeColumns:
        return cls(tuple(places), tuple(FreeColumn.learn(table.columns[j], schema.categories[j]) for j in places))

    def encode(self, table: RawTable) -> NDArray[np.float64]:
        """Shape (n, n_free)."""
        found = np.empty((table.n_rows, len(self.places)))
        for k, (j, column) in enumerate(zip(self.places, self.columns, strict=True)):
            found[:, k] = column.encode(table.columns[j])
        return found
