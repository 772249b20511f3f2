"""The input transform, compiled: the same bits as `InputTransform.evaluate`, at the speed prediction needs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.estimators._tables import RawTable, refuse_labels
from monolip.free_forest import FreeForest
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform

__all__ = ["Codes", "FastInputs"]

FloatArray = NDArray[np.float64]
_MAX = float(np.finfo(np.float64).max)


class _Tables(NamedTuple):
    """One numeric column: knots of all its maps, and for each stretch and map a row of PiecewiseLinear.pieces."""

    knots: FloatArray
    pieces: FloatArray  # (stretches, maps, 5)
    missing: FloatArray  # (n_model,)
    present: float  # NaN: no indicator column
    flat: FloatArray  # (stretches, maps): what maps that are flat there are
    moving: NDArray[np.int64]  # (stretches, maps): those that are not, first
    counts: NDArray[np.int64]  # (stretches,): how many these are


class Codes(NamedTuple):
    """A column of categories: its distinct labels' rows in the table of categories, and each row's label."""

    rows: NDArray[np.int64]
    labels: NDArray[np.intp]


class FastInputs:
    """evaluate(table, codes, start, stop) -> (rows, n_model); categories by table, numbers by one search a value."""

    def __init__(self, inputs: InputTransform) -> None:
        self.inputs = inputs
        self.tables = {i: _tables(inputs, i) for i in inputs.numeric}

    def codes(self, table: RawTable) -> dict[int, Codes]:
        """How the labels of each column of categories are read; a label is looked at once, not once a row."""
        categories = [(i, c) for i, c in enumerate(self.inputs.columns) if isinstance(c, CategoryColumn)]
        factors = {i: table.columns[i].factors for i, _ in categories}
        return {i: Codes(column.codes(factors[i][0]), factors[i][1]) for i, column in categories}

    def evaluate(self, table: RawTable, codes: dict[int, Codes], start: int, stop: int) -> FloatArray:
        return self.evaluate_at(table, codes, slice(start, min(stop, table.n_rows)))

    def evaluate_at(self, table: RawTable, codes: dict[int, Codes], rows: NDArray[np.int32] | slice) -> FloatArray:
        """The same for rows by number."""
        count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        out = np.empty((count, self.inputs.n_model))
        for i, column in enumerate(self.inputs.columns):
            first = int(self.inputs.starts[i])
            if isinstance(column, CategoryColumn):
                known = codes[i].rows[codes[i].labels[rows]]
                out[:, first : first + column.n_model] = column.table.take(known, axis=0)
                continue
            refuse_labels(table.columns[i])
            values = table.columns[i].at(rows)
            fill_numeric(np.ascontiguousarray(values, dtype=np.float64), *self.tables[i], out, first)
        if self.inputs.forest is not None:
            out[:, -1] = self._forest(self.inputs.forest, table, codes, rows)
        return out

    def _forest(
        self, forest: FreeForest, table: RawTable, codes: dict[int, Codes], rows: NDArray[np.int32] | slice
    ) -> FloatArray:
        found = []
        for k, j in enumerate(forest.reads):
            column = self.inputs.columns[j]
            if isinstance(column, CategoryColumn):
                found.append(forest.compared(k, codes[j].rows[codes[j].labels[rows]], len(column.categories)))
            else:
                found.append(forest.compared(k, table.columns[j].at(rows), None))
        return np.asarray(forest.evaluate(np.stack(found, axis=1)))

    def ends(self, table: RawTable, i: int) -> FloatArray:
        """The least and largest value of every model column of a number, (2, n_model of it), over all rows.

        Maps never fall, to the bit: they are those of the least and the largest raw value, and of a missing one.
        """
        refuse_labels(table.columns[i])
        values = table.columns[i].values
        least = np.minimum.reduce(values)  # NaN if one is
        if least == least:
            raw = np.array([least, np.maximum.reduce(values)])
        else:
            raw = np.array([np.fmin.reduce(values), np.fmax.reduce(values), least])
        column = np.empty((len(raw), self.inputs.columns[i].n_model))
        fill_numeric(raw, *self.tables[i], column, 0)
        return np.array([np.minimum.reduce(column), np.maximum.reduce(column)])


def _tables(inputs: InputTransform, i: int) -> _Tables:
    column = inputs.columns[i]
    assert isinstance(column, NumericColumn)
    tables = inputs.tables_of(i)
    missing = np.array([np.nan] * column.n_model if column.missing is None else column.missing)
    pieces = tables.pieces
    known = np.empty(pieces.shape[:2]), np.zeros(pieces.shape[:2], np.int64), np.zeros(len(pieces), np.int64)
    _look_for_flat(pieces, *known)
    return _Tables(tables.knots, pieces, missing, np.nan if column.present is None else column.present, *known)


@compiled()
def _look_for_flat(
    pieces: FloatArray, flat: FloatArray, moving: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:  # fmt: skip
    """Once for all rows: the tables may be larger than the rows that are asked for."""
    for s in range(pieces.shape[0]):
        for m in range(pieces.shape[1]):
            flat[s, m] = min(max(pieces[s, m, 1], pieces[s, m, 3]), pieces[s, m, 4])
            if pieces[s, m, 2] != 0.0:
                moving[s, counts[s]] = m
                counts[s] += 1


@compiled()
def fill_numeric(
    x: FloatArray, knots: FloatArray, pieces: FloatArray, missing: FloatArray, present: float, flat: FloatArray,
    moving: NDArray[np.int64], counts: NDArray[np.int64], out: Any, first: int,
) -> None:  # fmt: skip
    """Clamped pieces in the order of PiecewiseLinear.evaluate: v + (x - k) * s, never fused, between low and high.

    In most stretches all maps but one or two are flat: what they are there is copied.
    """
    n_maps = pieces.shape[1]
    for row in range(x.size):
        value = x[row]
        if value != value:
            for m in range(missing.size):
                out[row, first + m] = missing[m]
            continue
        value = min(max(value, -_MAX), _MAX)
        low, high = 0, knots.size
        while low < high:  # number of knots <= value
            middle = (low + high) // 2
            if knots[middle] <= value:
                low = middle + 1
            else:
                high = middle
        for m in range(n_maps):
            out[row, first + m] = flat[low, m]
        for k in range(counts[low]):
            m = moving[low, k]
            away = min(max(value - pieces[low, m, 0], -_MAX), _MAX)
            y = pieces[low, m, 1] + away * pieces[low, m, 2]
            out[row, first + m] = min(max(y, pieces[low, m, 3]), pieces[low, m, 4])
        if present == present:
            out[row, first + n_maps] = present
