"""The compiled prediction has the bits of the numpy reference, whatever the columns look like."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.errors import InputError
from monolip.estimators._fast_inputs import FastInputs
from monolip.estimators._prediction import Predictor
from monolip.estimators._tables import RawColumn, RawTable
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds

from ..make import convex


def random_column(rng, name, n_knots, n_maps, missing):
    knots = np.sort(rng.normal(size=n_knots)) * 10.0 ** rng.integers(-3, 4)
    maps = []
    for _ in range(n_maps):
        some = np.sort(rng.choice(knots, rng.integers(1, n_knots + 1), replace=False))
        maps.append(
            PiecewiseLinear(
                some, np.cumsum(rng.random(some.size) * rng.integers(0, 2, some.size)), *rng.integers(0, 2, 2)
            )
        )
    values = None if missing is None else tuple(rng.normal(size=n_maps + (missing == "indicator")))
    return NumericColumn(name, tuple(maps), values, 0.5 if missing == "indicator" else None)


def random_network(rng, knots=12):
    columns = [
        random_column(rng, "a", knots, 4, "indicator"),
        CategoryColumn("b", ("x", "y"), rng.normal(size=(4, 3))),
        random_column(rng, "c", 1, 1, "value"),
        random_column(rng, "d", knots, 2, None),
    ]
    inputs = InputTransform(tuple(columns))
    box = SlopeBounds(np.full(inputs.n_model, -2.0), np.full(inputs.n_model, 2.0))
    members = tuple(
        (
            Trunk(convex(rng, [inputs.n_model, 6, 4, 1], 2, box), (1,)),
            Trunk(convex(rng, [inputs.n_model, 3, 1], 3, box), (0,)),
        )
        for _ in range(3)
    )
    return FrozenNetwork(box, members, inputs=inputs, link=OutputLink("softmax", ("p", "q")))


def random_table(rng, network, n):
    columns = []
    for i, column in enumerate(network.inputs.columns):
        if isinstance(column, CategoryColumn):
            columns.append(RawColumn(column.name, rng.choice(np.array(["x", "y", "z", None], object), n)))
            continue
        knots = network.inputs.pieces_of(i)[0]
        values = np.where(rng.random(n) < 0.5, rng.choice(knots, n), rng.choice(knots, n) * rng.normal(size=n) * 2)
        values = np.where(rng.random(n) < 0.3, np.nextafter(values, rng.choice([-np.inf, np.inf], n)), values)
        if column.missing is not None:
            values = np.where(rng.random(n) < 0.2, np.nan, values)
        columns.append(RawColumn(column.name, values))
    return RawTable(tuple(columns), True, n)


@pytest.mark.parametrize("knots", [1, 2, 12, 31, 32, 63, 64, 65, 200])
@pytest.mark.parametrize("n", [1, 31, 33, 9000])
def test_compiled_prediction_has_the_bits_of_the_reference(knots, n):
    rng = np.random.default_rng(knots)
    network = random_network(rng, knots)
    table = random_table(rng, network, n)
    expected = network.evaluate_raw([column.values for column in table.columns])
    assert np.array_equal(Predictor(network).evaluate(table), expected)
    assert np.array_equal(Predictor(network).evaluate(table, n_threads=2), expected)
    model_columns = network.inputs.evaluate([column.values for column in table.columns])
    fast = FastInputs(network.inputs)
    assert np.array_equal(fast.evaluate(table, fast.codes(table), 0, n), model_columns)
    ends = fast.ends(table, network.inputs.numeric[1:])
    for i in network.inputs.numeric[1:]:
        own = slice(network.inputs.starts[i], network.inputs.starts[i + 1])
        assert np.array_equal(ends[:, own], [model_columns[:, own].min(axis=0), model_columns[:, own].max(axis=0)])


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 13, 16, 17])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 200])
def test_matrices_of_any_shape_have_the_bits_of_the_reference(columns, n):
    rng = np.random.default_rng(columns)
    kinds = ("indicator", "value", None)
    parts = [random_column(rng, f"c{i}", 1 + 5 * i, 1 + i % 11, kinds[i % 3]) for i in range(columns)]
    inputs = InputTransform(tuple(parts))
    box = SlopeBounds(np.full(inputs.n_model, -2.0), np.full(inputs.n_model, 2.0))
    members = tuple((Trunk(convex(rng, [inputs.n_model, 6, 4, 1], 2, box), (0,)),) for _ in range(2))
    network = FrozenNetwork(box, members, inputs=inputs, link=OutputLink())
    table = random_table(rng, network, n)
    matrix = np.column_stack([column.values for column in table.columns])
    expected = network.evaluate_raw([column.values for column in table.columns])
    whole = RawTable(table.columns, True, n, matrix)
    assert np.array_equal(Predictor(network).evaluate(whole), expected)
    assert np.array_equal(Predictor(network).evaluate(table), expected)
    alone = Predictor(network, 1).evaluate(whole)
    assert np.array_equal(
        alone, FrozenNetwork(box, members[1:], inputs=inputs, link=OutputLink()).evaluate_raw(list(matrix.T))
    )


def test_values_so_large_that_the_network_clamps_them_take_the_careful_path(rng):
    network = random_network(rng)
    table = random_table(rng, network, 100)
    huge = RawColumn("d", np.where(np.arange(100) % 3, 1.7e308, -1.7e308))
    table = RawTable((*table.columns[:3], huge), True, 100)
    expected = network.evaluate_raw([column.values for column in table.columns])
    assert np.array_equal(Predictor(network).evaluate(table), expected)


def test_missing_and_infinite_values_without_a_rule_are_refused(rng):
    network = random_network(rng)
    table = random_table(rng, network, 10)
    for value, words in ((np.nan, "without a rule for missing"), (np.inf, "got infinity in row 0 of column 'd'")):
        bad = RawTable((*table.columns[:3], RawColumn("d", np.full(10, value))), True, 10)
        with pytest.raises(InputError, match=words):
            Predictor(network).evaluate(bad)
