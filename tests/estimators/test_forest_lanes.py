"""The compiled sums of a forest are those of FreeForest.evaluate, bit for bit, however many rows pass at once."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.estimators._forest_lanes import ROWS, TOGETHER, forest_sums, forest_tables
from monolip.free_forest import LEAF, FreeForest

from ..forests import COLUMNS, random_forest, raw_columns, raw_rows

EDGES = [1, TOGETHER - 1, TOGETHER, TOGETHER + 1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS + TOGETHER + 3]


def as_numbers(columns: list[np.ndarray]) -> np.ndarray:
    """(n, n_raw): categories by their codes."""
    return np.column_stack(
        [c.codes(v).astype(np.float64) if hasattr(c, "codes") else v for c, v in zip(COLUMNS, columns, strict=True)]
    )


@pytest.mark.parametrize("n", EDGES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_row_reaches_its_leaves(n, order, rng):
    forest, columns = random_forest(rng, n_trees=7, depth=6), raw_columns(raw_rows(rng, n))
    raw = np.asarray(as_numbers(columns), order=order)
    strides = (raw.shape[1], 1) if order == "C" else (1, n)
    found = forest_sums(forest_tables(forest, COLUMNS), raw.ravel(order), strides, n)
    assert found.tobytes() == forest.evaluate(forest.numbers(COLUMNS, columns)).tobytes()


def test_a_tree_may_be_a_leaf_and_rows_none(rng):
    forest = FreeForest((1,), ((0.0, 0.0),), [LEAF, LEAF], [0.0, 0.0], [0, 0], [1.5, -0.25], [0, 1])
    tables, raw = forest_tables(forest, COLUMNS), as_numbers(raw_columns(raw_rows(rng, 5))).ravel()
    assert forest_sums(tables, raw, (len(COLUMNS), 1), 5).tolist() == [1.25] * 5
    assert forest_sums(tables, raw, (len(COLUMNS), 1), 0).shape == (0,)
    assert forest_sums(forest_tables(None, COLUMNS), raw, (len(COLUMNS), 1), 5).shape == (0,)
