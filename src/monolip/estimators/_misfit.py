r"""What an additive start leaves over, and whether finer bins or pairs of features would explain it.

Rows are cut into cells: stretches along a feature, rows of one value never apart, or what a few stretches of two
features have in common. Where the start fits, what it leaves over (the slope g of the loss) adds up to about nothing
in each of them:

    sum over cells of (sum g)^2 / sum h,    h = curvature of the loss times its dispersion

is then about the number of cells, give or take the root of twice as many. What is beyond that, over the number of
rows, is the part of what the start leaves over that the cells would explain.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from monolip.engine.additive import Additive, slope_and_curvature
from monolip.engine.problem import Problem
from monolip.estimators._raw_column import RawColumn
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawTable

__all__ = ["Misfit"]

FloatArray = NDArray[np.float64]
Codes = NDArray[np.intp]

MAX_ROWS = 4096
STRETCHES, FEWEST = 64, 8  # along a feature, and rows in each
QUARTERS = 4  # stretches of a feature, or of its categories, that are crossed with those of another
MOST_FEATURES = 32  # that are crossed with each other
SURE = 5.0  # standard deviations: there may be many features
LEAST = 0.02  # of what the start leaves over: less is not worth finer bins


class Misfit:
    """Slope and spread of the loss at (some of) the rows, with what their features are cut by."""

    def __init__(self, start: Additive, problem: Problem, table: RawTable, schema: Schema) -> None:
        n = table.n_rows
        places = np.arange(n) if n <= MAX_ROWS else np.linspace(0, n - 1, MAX_ROWS).astype(np.int64)
        self.slope, curvature = slope_and_curvature(start, problem, places.astype(np.int32))
        counts = curvature > 0
        size = np.square(self.slope[counts] / np.sqrt(curvature[counts]))
        self.dispersion = float(size.mean()) if len(size) else 0.0
        self.spread = curvature * self.dispersion
        self.rows = problem.rows_kept(places.astype(np.int32))
        self.table, self.schema = table, schema

    @property
    def says_something(self) -> bool:
        return len(self.rows) >= 2 * FEWEST and 0.0 < self.dispersion < math.inf

    def bends(self) -> bool:
        """Whether there is a numeric feature along which the start is off, beyond chance and by more than a little."""
        if not self.says_something:
            return False
        n = len(self.rows)
        columns = (self.table.columns[j].at(self.rows) for j, kind in enumerate(self.schema.categories) if kind is None)
        firsts = np.linspace(0, n, min(STRETCHES, n // FEWEST), endpoint=False).astype(np.int64)
        return any(self._bends(x, firsts) for x in columns)

    def _bends(self, x: FloatArray, firsts: NDArray[np.int64]) -> bool:
        """firsts: where stretches of equally many rows begin."""
        order = np.argsort(x, kind="stable")  # rows without a value are the last stretch
        ascending = x[order]
        found = ascending.searchsorted(ascending[firsts])
        cuts = found[np.concatenate([[True], found[1:] > found[:-1]])]
        sums, sizes = np.add.reduceat(self.slope[order], cuts), np.add.reduceat(self.spread[order], cuts)
        statistic = float(np.sum(np.square(sums)[sizes > 0] / sizes[sizes > 0]))
        excess = statistic - len(cuts)
        return excess > SURE * math.sqrt(2 * len(cuts)) and excess > LEAST * len(x)

    def pairs(self) -> bool:
        """Whether two features together explain some of it, beyond chance; True where there is no telling."""
        if not self.says_something or len(self.table.columns) > MOST_FEATURES:
            return True
        columns = zip(self.table.columns, self.schema.categories, strict=True)
        codes = np.stack([_quarters(column, self.rows, kind is not None) for column, kind in columns])
        cells = (codes[:, None, :] == np.arange(QUARTERS)[:, None]).reshape(-1, len(self.rows)).astype(np.float32)
        scale = max(float(np.abs(self.slope).max()), math.sqrt(float(self.spread.max())))  # squares may overflow
        sums = (cells * (self.slope / scale).astype(np.float32)) @ cells.T
        sizes = (cells * (self.spread / scale / scale).astype(np.float32)) @ cells.T
        filled = sizes > 0
        statistic = np.divide(np.square(sums), sizes, out=np.zeros_like(sums), where=filled)
        pairs = (len(codes), QUARTERS, len(codes), QUARTERS)
        total = statistic.reshape(pairs).sum(axis=(1, 3), dtype=np.float64)
        number = filled.reshape(pairs).sum(axis=(1, 3))
        return bool(np.triu(total - number > SURE * np.sqrt(2.0 * number), 1).any())


def _quarters(column: RawColumn, rows: NDArray[np.int64], is_category: bool) -> Codes:
    """Which quarter of its column a value lies in (values that are equal in the same one, missing ones in the last);
    of categories the three most frequent, and all others."""
    if is_category:
        numbers = column.factors[1][rows]
        rank = np.argsort(np.argsort(-np.bincount(numbers), kind="stable"))
        return np.minimum(rank[numbers], QUARTERS - 1)
    x = column.at(rows)
    ascending = np.sort(x)
    cuts = ascending[np.arange(1, QUARTERS) * len(x) // QUARTERS]
    return np.searchsorted(np.unique(cuts), x, "left")
