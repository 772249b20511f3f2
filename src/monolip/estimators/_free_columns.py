"""Columns as a forest sees them: numbers as they are, categories by their places, and what is missing below all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._promises import Promises
from monolip.estimators._tables import RawColumn, RawTable
from monolip.input_columns import CategoryColumn, NumericColumn

__all__ = ["FreeColumns", "free_places", "steplike_places"]

FloatArray = NDArray[np.float64]
MISSING = float(np.finfo(np.float64).min)  # below all numbers; above them where missing is promised as highest


def free_places(promises: Promises) -> list[int]:
    """Positions of the features nobody asked anything of: no direction, no interval, no cap."""
    return [j for j in steplike_places(promises) if not promises.directions[j].any()]


def steplike_places(promises: Promises) -> list[int]:
    """Positions of the features that may rise or fall in steps: whatever their direction, no interval and no cap was
    asked of them, and they are not to be flat."""
    if promises.standard_cap is not None:
        return []
    may = np.isnan(promises.caps) & (np.abs(promises.directions) <= 1).all(axis=1)
    return [int(j) for j in np.flatnonzero(may) if j not in promises.intervals]


@dataclass(frozen=True)
class FreeColumns:
    """Of a table that was learned from: places of the columns, numbers (n, n_free), and what stands for what they lack.

    Where nothing was missing in training, the middle number, or the most frequent label, stands for what is missing
    (unless it was asked to count as the lowest or highest number); a label never seen counts as the most frequent one.
    """

    places: tuple[int, ...]
    numbers: FloatArray
    stands: tuple[tuple[float, float], ...]

    @classmethod
    def of(
        cls,
        table: RawTable,
        columns: Sequence[NumericColumn | CategoryColumn],
        places: Sequence[int],
        missing: Sequence[str],
    ) -> FreeColumns:
        """columns: of the network, which knows the labels. missing: "state", "lowest" or "highest", of all columns."""
        numbers, stands = np.empty((table.n_rows, len(places))), []
        for k, j in enumerate(places):
            given, column = table.columns[j], columns[j]
            if isinstance(column, CategoryColumn):
                found = _labels(given, column, missing[j])
            else:
                found = _numbers(given, missing[j])
            numbers[:, k] = found[0]
            stands.append(found[1:])
        return cls(tuple(places), numbers, tuple(stands))


def _numbers(given: RawColumn, missing: str) -> tuple[FloatArray, float, float]:
    gone = np.isnan(given.values)
    if gone.any() or missing != "state":
        stand = -MISSING if missing == "highest" else MISSING
        return np.where(gone, stand, given.values), stand, 0.0
    middle = (len(gone) - 1) // 2
    return given.values, float(np.partition(given.values, middle)[middle]), 0.0


def _labels(given: RawColumn, column: CategoryColumn, word: str) -> tuple[FloatArray, float, float]:
    n, codes = len(column.categories), given.codes_in(column)
    counts = np.bincount(codes, minlength=n + 2)
    usual = float(counts[:n].argmax()) if n else 0.0
    beyond = -MISSING if word == "highest" else MISSING  # of ordered categories, the others have a state
    missing = beyond if counts[n + 1] or word != "state" else usual
    return np.append(np.arange(n, dtype=np.float64), [usual, missing])[codes], missing, usual
