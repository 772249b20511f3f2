r"""Whether an additive start misses bends of a feature that finer bins would follow.

Rows are cut into some stretches along a feature, rows of one value never apart. Where the start fits, what it leaves
over (the slope g of the loss) adds up to about nothing in each of them:

    sum over stretches of (sum g)^2 / sum h,    h = curvature of the loss times its dispersion

is then about the number of stretches, give or take the root of twice as many. What is beyond that, over the number of
rows, is the part of what the start leaves over that finer bins of this feature would explain.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from monolip.engine.additive import Additive, slope_and_curvature
from monolip.engine.problem import Problem
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawTable

__all__ = ["misses_bends"]

FloatArray = NDArray[np.float64]

MAX_ROWS = 4096
STRETCHES, FEWEST = 64, 8  # along a feature, and rows in each
SURE = 5.0  # standard deviations: there may be many features
LEAST = 0.02  # of what the start leaves over: less is not worth finer bins


def misses_bends(start: Additive, problem: Problem, table: RawTable, schema: Schema) -> bool:
    """Whether there is a numeric feature along which the start is off, beyond chance and by more than a little."""
    n = table.n_rows
    places = np.arange(n) if n <= MAX_ROWS else np.linspace(0, n - 1, MAX_ROWS).astype(np.int64)
    if len(places) < 2 * FEWEST:
        return False
    slope, curvature = slope_and_curvature(start, problem, places.astype(np.int32))
    total = float(curvature.sum())
    dispersion = float(np.square(slope[curvature > 0] / np.sqrt(curvature[curvature > 0])).mean()) if total > 0 else 0.0
    if not 0.0 < dispersion < math.inf:
        return False
    rows = problem.rows_kept(places.astype(np.int32))
    columns = (table.columns[j].at(rows) for j, kind in enumerate(schema.categories) if kind is None)
    firsts = np.linspace(0, len(rows), min(STRETCHES, len(rows) // FEWEST), endpoint=False).astype(np.int64)
    return any(_bends(x, slope, curvature * dispersion, firsts) for x in columns)


def _bends(x: FloatArray, slope: FloatArray, spread: FloatArray, firsts: NDArray[np.int64]) -> bool:
    """firsts: where stretches of equally many rows begin."""
    order = np.argsort(x, kind="stable")  # rows without a value are the last stretch
    ascending = x[order]
    found = ascending.searchsorted(ascending[firsts])
    cuts = found[np.concatenate([[True], found[1:] > found[:-1]])]
    sums, sizes = np.add.reduceat(slope[order], cuts), np.add.reduceat(spread[order], cuts)
    statistic = float(np.sum(np.square(sums)[sizes > 0] / sizes[sizes > 0]))
    excess = statistic - len(cuts)
    return excess > SURE * math.sqrt(2 * len(cuts)) and excess > LEAST * len(x)
