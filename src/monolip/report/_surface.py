"""f over two features, as numbers: a grid where both were seen, the other features as in some rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._prediction import Predictor
from monolip.estimators._tables import RawColumn, RawTable
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn
from monolip.report._shape import MAX_CATEGORIES, seen_values

__all__ = ["Surface", "surface_of"]

FloatArray = NDArray[np.float64]
Span = tuple[float, float] | None


@dataclass(frozen=True)
class Surface:
    """x, y: numbers, or labels of categories; values: mean f over the rows, shape (len(y), len(x))."""

    x: NDArray[Any]
    y: NDArray[Any]
    values: FloatArray

    @property
    def interaction(self) -> float:
        """How much of the surface is not a sum of two curves: the standard deviation of what is left."""
        left = self.values - self.values.mean(axis=0) - self.values.mean(axis=1, keepdims=True) + self.values.mean()
        return float(left.std())


def surface_of(
    network: FrozenNetwork, table: RawTable, i: int, j: int, output: int, *, cells: int = 24,
    spans: tuple[Span, Span] = (None, None),
) -> Surface:  # fmt: skip
    """Raw feature i along x, j along y; spans: where, instead of where training data was."""
    assert network.inputs is not None
    x, y = (_places(network, table, k, cells, span) for k, span in ((i, spans[0]), (j, spans[1])))
    grid = [(a, b) for b in y for a in x]
    columns = []
    for k, column in enumerate(table.columns):
        if k in (i, j):
            values = np.array([pair[0 if k == i else 1] for pair in grid], dtype=x.dtype if k == i else y.dtype)
            columns.append(RawColumn(column.name, np.repeat(values, table.n_rows)))
        else:
            own = column.labels if isinstance(network.inputs.columns[k], CategoryColumn) else column.values
            columns.append(RawColumn(column.name, np.tile(own, len(grid))))
    crossed = RawTable(tuple(columns), table.named, table.n_rows * len(grid))
    f = Predictor(network).evaluate(crossed)[:, output].reshape(len(grid), table.n_rows).mean(axis=1)
    return Surface(x, y, f.reshape(len(y), len(x)))


def _places(network: FrozenNetwork, table: RawTable, k: int, cells: int, span: Span) -> NDArray[Any]:
    assert network.inputs is not None
    column = network.inputs.columns[k]
    if isinstance(column, CategoryColumn):
        return np.array(column.categories[:MAX_CATEGORIES], dtype=object)
    seen = seen_values(network, table, k, column)
    return np.linspace(*(span or (seen[0], seen[2])), cells) if len(seen) == 3 else np.array(seen)
