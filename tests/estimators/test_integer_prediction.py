"""The compiled pass of a fixed-point network: the integers of FixedPointNetwork, whatever the network and the value."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor
from monolip.estimators._integer_prediction import IntegerPredictor
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_columns import FixedCategory, FixedNumeric
from monolip.fixed_point_format import PRESETS, FixedPointFormat
from monolip.fixed_point_inputs import FixedInputs
from monolip.fixed_point_link import FixedLink
from monolip.fixed_point_map import FixedMap
from monolip.fixed_point_trunk import FixedTrunk

SHIFT = 10
FORMAT = FixedPointFormat("random", SHIFT, 12, 14, 50, 50, saturate=True)
QUICK = {"max_iter": 3, "n_estimators": 2, "random_state": 0}


def random_map(rng):
    knots = np.unique(rng.normal(size=rng.integers(1, 7)).round(1) + 0.0)
    steps = rng.integers(0, 400, len(knots)) * (rng.random(len(knots)) < 0.8)
    return FixedMap(knots, np.cumsum(steps) - int(rng.integers(0, 800)))


def taking_turns(rng):
    """Maps of which one moves at a time, as bins do, touching or with a gap."""
    cuts = np.sort(rng.normal(size=12).round(2)) + 0.01 * np.arange(12)
    return [FixedMap(cuts[2 * i : 2 * i + 3], np.sort(rng.integers(-300, 300, 3))) for i in range(rng.integers(1, 5))]


def random_column(rng, name):
    if rng.random() < 0.3:
        labels = tuple("abcdef"[: rng.integers(1, 7)])
        return FixedCategory(name, labels, rng.integers(-500, 500, (len(labels) + 2, rng.integers(1, 4))))
    maps = [random_map(rng) for _ in range(rng.integers(0, 3))]
    maps = (*maps, *(taking_turns(rng) if rng.random() < 0.7 or not maps else ()))
    if rng.random() < 0.5:
        return FixedNumeric(name, maps)
    has_indicator = bool(rng.random() < 0.5)
    missing = tuple(int(v) for v in rng.integers(-500, 500, len(maps) + has_indicator))
    return FixedNumeric(name, maps, missing, int(rng.integers(-5, 5)) if has_indicator else None)


def random_rows(rng, out, fan):
    """Rows >= 0 with sum 2^SHIFT."""
    return np.array([rng.multinomial(1 << SHIFT, rng.dirichlet(np.full(fan, 0.5))) for _ in range(out)])


def random_trunk(rng, n_model, outputs):
    groups = [(int(rng.integers(1, 5)), int(rng.integers(1, 5))) for _ in range(rng.integers(0, 3))]
    widths = [n * size for n, size in groups] + [len(outputs)]
    weights = [rng.integers(-900, 900, (widths[0], n_model))]
    weights += [random_rows(rng, out, fan) for fan, out in pairwise(widths)]
    biases = [rng.integers(-90000, 90000, width) for width in widths]
    return FixedTrunk(tuple(weights), tuple(biases), tuple(size for _, size in groups), outputs)


def random_network(rng):
    inputs = FixedInputs(tuple(random_column(rng, f"x{i}") for i in range(rng.integers(1, 6))))
    n_model, members = inputs.starts[-1], []
    for _ in range(rng.integers(1, 4)):
        split = [(0, 2), (1,)] if rng.random() < 0.5 else [(1, 2, 0)]
        members.append(tuple(random_trunk(rng, n_model, outputs) for outputs in split))
    shares = random_rows(rng, 1, len(members))[0]
    return FixedPointNetwork(FORMAT, inputs, tuple(members), shares, FixedLink(None, 4, 0, 0))


def random_raw(rng, column, n):
    if isinstance(column, FixedCategory):
        return rng.choice([*column.categories, "never seen", None], n)
    knots = np.concatenate([phi.knots for phi in column.maps])
    near = np.concatenate([knots, np.nextafter(knots, np.inf), np.nextafter(knots, -np.inf), [1e308, -1e308, 0.0]])
    x = np.where(rng.random(n) < 0.4, rng.choice(near, n), rng.normal(size=n))
    return x if column.missing is None else np.where(rng.random(n) < 0.1, np.nan, x)


def in_kernel(network, columns):
    """As estimators call it: categories as row numbers."""
    kinds = zip(network.inputs.columns, columns, strict=True)
    raw = np.stack([k.codes(v).astype(float) if isinstance(k, FixedCategory) else v for k, v in kinds])
    n, found = raw.shape[1], []
    for flat, strides in ((raw.ravel(), (1, n)), (raw.T.ravel(), (len(raw), 1))):
        out = np.full((n, network.n_outputs), -77, dtype=np.int64)
        assert IntegerPredictor(network).evaluate(flat, strides, out)
        found.append(out)
    np.testing.assert_array_equal(*found)
    return found[0]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.sampled_from([1, 31, 32, 33, 100]))
def test_any_network_gives_its_integers(seed, n):
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    assert IntegerPredictor.serves(network)
    columns = [random_raw(rng, column, n) for column in network.inputs.columns]
    np.testing.assert_array_equal(in_kernel(network, columns), network.evaluate_raw(columns, "int64"))


def test_categories_of_very_many_labels_need_no_large_table(monkeypatch):
    rng = np.random.default_rng(1)
    labels = tuple(f"town {i}" for i in range(30_000))
    column = FixedCategory("town", labels, rng.integers(-500, 500, (len(labels) + 2, 5)))
    inputs = FixedInputs((column, FixedNumeric("x", tuple(taking_turns(rng)))))
    trunk = random_trunk(rng, inputs.starts[-1], (0,))
    network = FixedPointNetwork(FORMAT, inputs, ((trunk,),), [1 << SHIFT], FixedLink(None, 4, 0, 0))
    columns = [rng.choice([*labels, "never seen"], 500), rng.normal(size=500)]
    expected = network.evaluate_raw(columns, "int64")
    for most, sized in ((2**30, lambda size: size > len(labels)), (2**16, lambda size: size < 1000)):
        monkeypatch.setattr("monolip.estimators._integer_tables.MOST_NUMBERS", most)
        np.testing.assert_array_equal(in_kernel(network, columns), expected)
        assert sized(IntegerPredictor(network).tables.bases.size)


def test_weights_that_single_precision_cannot_hold():
    rng = np.random.default_rng(0)
    column = FixedNumeric("x", tuple(FixedMap([i, i + 1.0], [0, 2**23]) for i in range(5)))
    weight = rng.integers(-(2**26), 2**26, (4, 5)) | 1
    trunk = FixedTrunk((weight, np.array([[2**23, 2**23, 0, 0]])), (np.arange(4), np.zeros(1, int)), (2,), (0,))
    network = FixedPointNetwork(PRESETS["wide"], FixedInputs((column,)), ((trunk,),), [2**24], FixedLink(None, 0, 0, 0))
    x = rng.uniform(-1, 7, 999)
    np.testing.assert_array_equal(in_kernel(network, [x]), network.evaluate_raw([x], "int64"))


@pytest.mark.parametrize("preset", ["wide", "narrow"])
@pytest.mark.parametrize("bins", [0, 8, 64])
def test_fitted_models_give_their_integers(preset, bins):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 5)).round(2)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.sin(np.nan_to_num(X[:, 1]))
    model = MonotonicRegressor(monotonic_cst=[1, 0, 0, -1, 0], n_bins=bins, **QUICK).fit(X, y)
    fixed = compile_fixed_point(model.frozen_, preset)
    np.testing.assert_array_equal(in_kernel(fixed, list(X.T)), fixed.evaluate_raw(list(X.T), "int64"))


def test_threads_and_batches_change_nothing():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(20_000, 3))
    model = MonotonicClassifier(monotonic_cst=[1, 0, -1], **QUICK).fit(X[:400], X[:400, 0] > X[:400, 2])
    whole = model.predict_proba(X, exact=True)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).predict_proba(X, exact=True), whole)
    np.testing.assert_array_equal(model.predict_proba(X[8190:8200], exact=True), whole[8190:8200])


def test_infinite_values_are_refused_as_ever():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 2))
    model = MonotonicRegressor(monotonic_cst=[1, 0], **QUICK).fit(X, X[:, 0])
    X[7, 1] = np.inf
    with pytest.raises(InputError, match="infin"):
        model.predict(X, exact=True)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_kernel_says_what_it_cannot_take(value):
    rng = np.random.default_rng(6)
    column = FixedNumeric("x", (FixedMap([0.0, 1.0], [0, 9]),))
    network = FixedPointNetwork(
        FORMAT, FixedInputs((column,)), ((random_trunk(rng, 1, (0,)),),), [1 << SHIFT], FixedLink(None, 0, 0, 0)
    )
    x = np.where(np.arange(40) == 35, value, 0.5)
    assert not IntegerPredictor(network).evaluate(x, (1, 40), np.empty((40, 1), np.int64))
