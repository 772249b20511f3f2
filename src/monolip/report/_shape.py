"""What a panel of plot_shapes shows, as numbers: where a feature was seen in training, and f there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._prediction import Predictor
from monolip.estimators._tables import RawColumn, RawTable
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn, NumericColumn

__all__ = ["Shape", "seen_values", "shape_of", "typical_row"]

FloatArray = NDArray[np.float64]
MAX_CATEGORIES = 30
_GRID = 120


@dataclass(frozen=True)
class Shape:
    """f along one feature.

    points: numbers, or labels of categories; is_curve: whether f is drawn between them. curves: (rows, points).
    apex: position of the median among the points. missing: f where the feature is missing, (rows,), or None.
    """

    points: NDArray[Any]
    is_curve: bool
    curves: FloatArray
    apex: int
    missing: FloatArray | None

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self.curves.mean(axis=0))


def shape_of(
    network: FrozenNetwork, table: RawTable, j: int, output: int, span: tuple[float, float] | None = None
) -> Shape:
    """Raw feature j, the others as in the rows of the table; only where training data was, or inside span."""
    assert network.inputs is not None
    column = network.inputs.columns[j]
    if isinstance(column, CategoryColumn):
        points, apex, is_curve = np.array(column.categories[:MAX_CATEGORIES], dtype=object), 0, False
        has_state, gone = not np.array_equal(column.table[-1], column.table[-2]), np.array([None], dtype=object)
    else:
        seen = seen_values(network, table, j, column)
        if span is not None and len(seen) == 3:
            seen = span[0], min(max(seen[1], span[0]), span[1]), span[1]
        is_curve, has_state, gone = len(seen) == 3, column.present is not None, np.array([np.nan])
        points, apex = np.array(seen), 0
        if is_curve:
            knots = network.inputs.pieces_of(j)[0]
            inside = knots[(knots > seen[0]) & (knots < seen[2])]
            points = np.unique(np.concatenate([np.linspace(seen[0], seen[2], _GRID), inside, [seen[1]]]))
            apex = int(np.searchsorted(points, seen[1]))
    missing = _curves(network, table, j, gone, output)[:, 0] if has_state else None
    return Shape(points, is_curve, _curves(network, table, j, points, output), apex, missing)


def typical_row(network: FrozenNetwork) -> RawTable:
    """The median of every number and the first category: needs no data."""
    assert network.inputs is not None
    columns = []
    for j, column in enumerate(network.inputs.columns):
        if isinstance(column, CategoryColumn):
            columns.append(RawColumn(column.name, np.array(column.categories[:1], dtype=object)))
        else:
            seen = seen_values(network, None, j, column)
            columns.append(RawColumn(column.name, np.array([seen[len(seen) // 2]])))
    return RawTable(tuple(columns), True, 1)


def seen_values(network: FrozenNetwork, table: RawTable | None, j: int, column: NumericColumn) -> tuple[float, ...]:
    """One or two values, or lowest, median and highest: of the training data, else of these rows, else of the knots."""
    assert network.inputs is not None
    if column.seen is not None:
        return column.seen
    values = np.zeros(0) if table is None else table.columns[j].values
    values = np.unique(values[~np.isnan(values)])
    if values.size < 2:
        values = network.inputs.pieces_of(j)[0]
    if values.size == 1:
        values = values[0] + np.array([-1.0, 0.0, 1.0])
    return float(values[0]), float(values[values.size // 2]), float(values[-1])


def _curves(network: FrozenNetwork, table: RawTable, j: int, points: NDArray[Any], output: int) -> FloatArray:
    """f at each point for each row of the table, shape (rows, points)."""
    columns = []
    for i, column in enumerate(table.columns):
        values = np.tile(points, table.n_rows) if i == j else np.repeat(column.values, len(points))
        columns.append(RawColumn(column.name, values))
    crossed = RawTable(tuple(columns), table.named, table.n_rows * len(points))
    return Predictor(network).evaluate(crossed)[:, output].reshape(table.n_rows, len(points))
