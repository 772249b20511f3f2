"""Networks on merged bins are networks on all bins: the same function, inside the same slope intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monolip.convex import on_simplex
from monolip.engine.trainer import NetworkArrays
from monolip.estimators import MonotonicRegressor
from monolip.estimators._calibration import calibrate
from monolip.estimators._categories import encode
from monolip.estimators._tables import RawColumn
from monolip.estimators.freeze import averaged, freeze
from monolip.estimators.inputs import kinds_of_bins, merge_bins
from monolip.input_transform import InputTransform

LABELS = ("a", "b", "c")


def random_inputs(rng, n_bins):
    """Numbers of several shapes, with missing values of every kind and without, and a category."""
    values = {
        "normal": rng.normal(size=300),
        "tails": rng.standard_cauchy(300) * 10.0 ** rng.integers(-3, 4),
        "counts": rng.poisson(6, 300).astype(float),
        "flag": rng.integers(0, 2, 300).astype(float),
    }
    columns, raw = [], []
    for name, x in values.items():
        for missing in ("state", "lowest", "highest", None):
            x = np.where(rng.random(300) < 0.2, np.nan, values[name]) if missing else values[name]
            columns.append(
                calibrate(f"{name} {missing}", x, style="quantile", n_bins=n_bins, missing=missing or "state")
            )
            raw.append(x)
    labels = np.array([*LABELS, None], object)[rng.integers(0, 4, 300)]
    columns.append(encode(RawColumn("kind", labels), LABELS, ordered=False, target=np.zeros(300)))
    return InputTransform(tuple(columns)), raw, labels


def random_network(rng, n_inputs, widths=(6, 4), lower=-1.0, upper=1.0):
    first = rng.uniform(lower, upper, (widths[0], n_inputs))
    later = [on_simplex(rng.random((out, fan))) for fan, out in zip(widths, (*widths[1:], 1), strict=True)]
    biases = tuple(rng.normal(size=n) for n in (*widths, 1))
    return NetworkArrays((first, *later), biases, (2,) * len(widths), None, None)


def outputs(network, x):
    z = x
    for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        z = z @ weight.T + bias
        if k < len(network.group_sizes):
            z = np.sort(z.reshape(len(z), -1, network.group_sizes[k]), axis=2).reshape(len(z), -1)
    return z[:, 0]


@given(seed=st.integers(0, 10**6), n_bins=st.integers(0, 40), merged_bins=st.sampled_from([None, 0, 1, 2, 3, 8, 16]))
def test_a_network_on_merged_bins_is_the_same_function_on_all_of_them(seed, n_bins, merged_bins):
    rng = np.random.default_rng(seed)
    inputs, raw, labels = random_inputs(rng, n_bins)
    merged = merge_bins(inputs, merged_bins)
    network = random_network(rng, merged.inputs.n_model)
    far = [np.concatenate([x, [np.nan, -np.inf, np.inf, -1e300, 1e300], rng.normal(0, 100, 50)]) for x in raw]
    table = [*far, np.concatenate([labels, np.array(["new", *rng.choice(LABELS, 54)], object)])]
    on_merged, on_all = merged.inputs.evaluate(table), inputs.evaluate(table)
    size = np.abs(on_all).sum(axis=1).max() + np.abs(on_merged).sum(axis=1).max()
    found = outputs(merged.expand(network), on_all)
    np.testing.assert_allclose(found, outputs(network, on_merged), rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("merged_bins", [None, 0, 1, 3, 8])
def test_merging_leaves_at_most_so_many_bins_of_a_feature_and_nothing_else_changes(rng, merged_bins):
    inputs, _, _ = random_inputs(rng, 20)
    merged = merge_bins(inputs, merged_bins).inputs
    assert merged.names == inputs.names
    for before, after in zip(inputs.columns[:-1], merged.columns[:-1], strict=True):
        bins = len(before.maps) - 1
        assert len(after.maps) - 1 == (bins if merged_bins is None else min(bins, merged_bins))
        assert (after.present, after.seen) == (before.present, before.seen)
    assert merged.columns[-1] is inputs.columns[-1]


@given(seed=st.integers(0, 10**6), merged_bins=st.sampled_from([None, 0, 1, 3, 8]))
def test_slopes_inside_the_boxes_of_merged_bins_lie_inside_the_boxes_of_all_bins(seed, merged_bins):
    rng = np.random.default_rng(seed)
    inputs, _, _ = random_inputs(rng, 12)
    merged = merge_bins(inputs, merged_bins)
    lower, upper = -rng.random((1, inputs.n_model)), rng.random((1, inputs.n_model))
    side = rng.integers(0, 3, inputs.n_model)  # of a direction, one end is zero
    lower[0, side == 1], upper[0, side == 2] = 0.0, 0.0
    low, high = merged.merge_boxes(lower, upper)
    first = merged.expand(random_network(rng, merged.inputs.n_model, lower=low[0], upper=high[0])).weights[0]
    assert (lower <= first).all()
    assert (first <= upper).all()


def test_kinds_that_see_the_same_bins_are_one_kind(rng):
    inputs, _, _ = random_inputs(rng, 8)
    widths = [merged.inputs.n_model for merged in kinds_of_bins(inputs, (None, 8, 16, 0))]
    assert widths == [inputs.n_model, merge_bins(inputs, 0).inputs.n_model]
    without, _, _ = random_inputs(rng, 0)
    assert len(kinds_of_bins(without, (None, 8, 0))) == 1


@pytest.mark.parametrize(("linear", "others"), [(1, 1), (3, 2), (1, 4), (4, 0), (0, 3)])
def test_additive_members_merged_into_others_keep_the_average_and_the_boxes(rng, linear, others):
    x = rng.normal(size=(200, 5))
    lower, upper = np.array([-1.0, 0.0, -2.0, 0.0, -0.5]), np.array([1.0, 3.0, 0.0, 0.0, 0.5])
    networks = []
    for _ in range(linear):
        weight = np.where(rng.random(5) < 0.5, rng.choice([0, 1]) * (upper - lower) + lower, rng.uniform(lower, upper))
        networks.append(NetworkArrays((weight[None],), (rng.normal(size=1),), (), None, None))
    networks += [random_network(rng, 5, (6, 4), lower, upper) for _ in range(others)]
    rng.shuffle(networks)
    found = averaged(networks)
    assert len(found) == max(others, 1)
    mean, again = (np.mean([outputs(network, x) for network in some], axis=0) for some in (networks, found))
    np.testing.assert_allclose(again, mean, rtol=0, atol=1e-13 * 200)
    for network in found:
        first = network.weights[0]
        assert (first >= lower - 1e-15).all()  # rounding; freezing puts them exactly inside
        assert (first <= upper + 1e-15).all()


def test_frozen_slopes_are_exactly_inside_the_boxes_where_additive_members_were_merged(rng):
    X = rng.normal(size=(300, 3))
    settings = {"random_state": 0, "max_iter": 5, "n_estimators": 1, "n_bins": 4}
    frozen = MonotonicRegressor(monotonic_cst=[1, -1, 0], **settings).fit(X, X[:, 0] - X[:, 1]).frozen_
    lower, upper = frozen.bounds.lower, frozen.bounds.upper
    networks = [random_network(rng, len(lower), (6, 4), lower, upper) for _ in range(3)]
    for _ in range(4):  # additive models at the ends of their boxes
        ends = np.where(rng.random(len(lower)) < 0.5, lower, upper)
        networks.append(NetworkArrays((ends[None],), (np.zeros(1),), (), None, None))
    network = freeze(networks, frozen.bounds, frozen.raw_promise, frozen.inputs, frozen.link, scale=1.0, shift=0.0)
    for member in network.members:
        for trunk in member:
            assert (trunk.form.weights[0] >= lower).all()
            assert (trunk.form.weights[0] <= upper).all()
    grid = np.sort(rng.normal(size=2000))
    for feature, direction in ((0, 1), (1, -1)):
        rows = np.tile(X[:1], (2000, 1))
        rows[:, feature] = grid
        f = network.evaluate_raw([rows[:, j] for j in range(3)])[:, 0]
        assert (direction * np.diff(f) >= 0).all()
