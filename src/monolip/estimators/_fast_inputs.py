"""The input transform, compiled: the same bits as `InputTransform.evaluate`, at the speed prediction needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.estimators._tables import RawTable, refuse_labels
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform

__all__ = ["Codes", "FastInputs"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_MAX = float(np.finfo(np.float64).max)
FIRST, N_MAPS, N_KNOTS, KNOTS_AT, ROWS_AT, MISSING_AT = range(6)  # columns of _Numbers.columns


class _Numbers(NamedTuple):
    """All numeric columns, one after the other. columns: (n, 6), see below; of each column its knots, the rows of
    `table`, pieces of PiecewiseLinear, that serve each stretch between them and map, and what it is where missing."""

    columns: IntArray
    knots: FloatArray
    rows: IntArray
    table: FloatArray
    missing: FloatArray
    present: FloatArray  # NaN: no indicator column
    flat: FloatArray  # as rows: what maps that are flat in a stretch are
    moving: IntArray  # as rows: in each stretch those that are not, and -1 after them


class Codes(NamedTuple):
    """A column of categories: its distinct labels' rows in the table of categories, and each row's label."""

    rows: NDArray[np.int64]
    labels: NDArray[np.intp]


class FastInputs:
    """evaluate(table, codes, start, stop) -> (rows, n_model); categories by table, numbers by one search a value."""

    def __init__(self, inputs: InputTransform) -> None:
        self.inputs = inputs
        self.numbers = _numbers(inputs)

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
        x = np.empty((len(self.inputs.numeric), count))
        for at, i in enumerate(self.inputs.numeric):
            refuse_labels(table.columns[i])
            x[at] = table.columns[i].at(rows)
        if len(x):
            fill_numbers(x, *self.numbers, out)
        for i, column in enumerate(self.inputs.columns):
            if isinstance(column, CategoryColumn):
                first, known = int(self.inputs.starts[i]), codes[i].rows[codes[i].labels[rows]]
                out[:, first : first + column.n_model] = column.table.take(known, axis=0)
        return out

    def ends(self, table: RawTable, numeric: Sequence[int]) -> FloatArray:
        """The least and largest value of every model column of some numbers over all rows, (2, n_model); else 0.

        Maps never fall, to the bit: they are those of the least and the largest raw value, and of a missing one.
        """
        raw, out = np.empty((len(numeric), 3)), np.zeros((3, self.inputs.n_model))
        for at, i in enumerate(numeric):
            refuse_labels(table.columns[i])
            values = table.columns[i].values
            least = np.minimum.reduce(values)  # NaN if one is
            if least == least:
                raw[at] = least, np.maximum.reduce(values), least
            else:
                raw[at] = np.fmin.reduce(values), np.fmax.reduce(values), least
        which = [self.inputs.numeric.index(i) for i in numeric]
        known = self.numbers._replace(columns=self.numbers.columns[which], present=self.numbers.present[which])
        fill_numbers(raw, *known, out)
        return np.array([np.minimum.reduce(out), np.maximum.reduce(out)])


def _numbers(inputs: InputTransform) -> _Numbers:
    columns = [inputs.columns[i] for i in inputs.numeric]
    if not columns:
        none = np.empty(0, np.int64)
        nothing = np.empty(0)
        return _Numbers(none.reshape(0, 6), nothing, none, np.empty((0, 5)), nothing, nothing, nothing, none)
    tables = [inputs.tables_of(i) for i in inputs.numeric]
    found, at = [], (0, 0, 0)
    missing: list[float] = []
    present = []
    for i, column, one in zip(inputs.numeric, columns, tables, strict=True):
        assert isinstance(column, NumericColumn)
        found.append((inputs.starts[i], one.rows.shape[1], one.knots.size, *at))
        missing += [np.nan] * column.n_model if column.missing is None else column.missing
        present.append(np.nan if column.present is None else column.present)
        at = at[0] + one.knots.size, at[1] + one.rows.size, len(missing)
    knots, rows = np.concatenate([one.knots for one in tables]), np.concatenate([one.rows.ravel() for one in tables])
    facts, table = np.array(found, np.int64), tables[0].table
    flat, moving = np.empty(len(rows)), np.empty(len(rows), np.int64)
    look_for_flat(facts, rows, table, flat, moving)
    return _Numbers(facts, knots, rows, table, np.array(missing), np.array(present), flat, moving)


@compiled()
def look_for_flat(
    columns: IntArray, rows: IntArray, table: FloatArray, flat: FloatArray, moving: IntArray
) -> None:  # fmt: skip
    """Once for all rows that are ever asked for: the tables may be larger than those."""
    for c in range(len(columns)):
        n_maps = columns[c, N_MAPS]
        for s in range(columns[c, N_KNOTS] + 1):
            at, count = columns[c, ROWS_AT] + s * n_maps, 0
            for m in range(n_maps):
                piece = rows[at + m]
                flat[at + m] = min(max(table[piece, 1], table[piece, 3]), table[piece, 4])
                if table[piece, 2] != 0.0:
                    moving[at + count] = m
                    count += 1
            if count < n_maps:
                moving[at + count] = -1


@compiled()
def fill_numbers(
    x: FloatArray, columns: IntArray, knots: FloatArray, rows: IntArray, table: FloatArray, missing: FloatArray,
    present: FloatArray, flat: FloatArray, moving: IntArray, out: FloatArray,
) -> None:  # fmt: skip
    """out (n, n_model) of raw columns x (columns, n); the rest are _Numbers.

    Clamped pieces in the order of PiecewiseLinear.evaluate: v + (x - k) * s, never fused, between low and high. In most
    stretches all maps but one or two are flat: what they are there is copied.
    """
    for c in range(len(columns)):
        first, n_maps, n_knots = columns[c, FIRST], columns[c, N_MAPS], columns[c, N_KNOTS]
        knots_at, rows_at, missing_at = columns[c, KNOTS_AT], columns[c, ROWS_AT], columns[c, MISSING_AT]
        for row in range(x.shape[1]):
            value = x[c, row]
            if value != value:
                for m in range(n_maps + int(present[c] == present[c])):
                    out[row, first + m] = missing[missing_at + m]
                continue
            value = min(max(value, -_MAX), _MAX)
            low, high = 0, n_knots
            while low < high:  # number of knots <= value
                middle = (low + high) // 2
                if knots[knots_at + middle] <= value:
                    low = middle + 1
                else:
                    high = middle
            at = rows_at + low * n_maps
            for m in range(n_maps):
                out[row, first + m] = flat[at + m]
            for k in range(n_maps):
                m = moving[at + k]
                if m < 0:
                    break
                piece = rows[at + m]
                away = min(max(value - table[piece, 0], -_MAX), _MAX)
                y = table[piece, 1] + away * table[piece, 2]
                out[row, first + m] = min(max(y, table[piece, 3]), table[piece, 4])
            if present[c] == present[c]:
                out[row, first + n_maps] = present[c]
