"""Boosted trees: directions hold in every tree, whatever the others do; rows held out end the boosting."""

from __future__ import annotations

import numpy as np
import pytest
from directed import assert_directed
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.engine._boosted_growth import MIN_ROWS, RIDGE
from monolip.engine.boosted_trees import MOST_CODES, Pace, boost
from monolip.engine.extra_trees import sum_of_trees

PACE = Pace(16, 0.1, 60, 20)


def table(rng, n=400, d=4, codes=MOST_CODES):
    x = rng.integers(0, codes, size=(n, d)).astype(np.uint8)
    return x, np.asarray(x, float)


def learn(x, y, directions, is_class=False, pace=PACE, seed=0, weight=None, share=8):
    held = np.arange(0, len(y), share, dtype=np.int32)
    weight = np.ones(len(y)) if weight is None else weight
    return boost(x, np.asarray(y, float), weight, held, np.array(directions, np.int8), is_class, pace, seed)


@pytest.mark.parametrize("is_class", [False, True])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), codes=st.integers(2, MOST_CODES), leaves=st.integers(2, 31))
def test_every_tree_keeps_directions_that_the_data_contradict(is_class, seed, codes, leaves):
    rng = np.random.default_rng(seed)
    x, z = table(rng, 300, 4, codes)
    y = -z[:, 0] + z[:, 1] + np.abs(z[:, 2] - codes / 2) + rng.normal(size=300)  # against what is asked of both
    directions = [1, -1, 0, 1]
    y = y > np.median(y) if is_class else y / y.std()
    found = learn(x, y, directions, is_class, Pace(leaves, 0.3, 30, 30), seed)
    if found is not None:
        assert_directed(found.trees, directions)


@pytest.mark.parametrize("is_class", [False, True])
def test_outputs_are_the_sum_of_the_trees_that_are_kept(is_class, rng):
    x, z = table(rng)
    f = (z[:, 0] - 30) / 10 + (z[:, 1] > 20) * (z[:, 2] > 40)
    y = f > rng.logistic(size=len(f)) if is_class else f
    found = learn(x, y, [1, 0, 0, 0], is_class)
    np.testing.assert_allclose(sum_of_trees(found.trees, z), found.outputs, rtol=0, atol=1e-12)


def test_functions_are_learned_as_well_as_by_a_library(rng):
    from sklearn.ensemble import HistGradientBoostingRegressor

    x, z = table(rng, 4000, 5, 40)

    def truth(z):
        return z[:, 0] / 10 + 2.0 * (z[:, 1] > 20) * (z[:, 2] > 10) + np.sin(z[:, 3] / 5)

    y = truth(z) + 0.1 * rng.normal(size=4000)
    found = learn(x, y, [1, 0, 0, 0, 0], pace=Pace(31, 0.1, 300, 25))
    w = table(rng, 4000, 5, 40)[1]
    peer = HistGradientBoostingRegressor(monotonic_cst=[1, 0, 0, 0, 0], random_state=0).fit(z, y)
    ours, theirs = (np.mean((p - truth(w)) ** 2) for p in (sum_of_trees(found.trees, w), peer.predict(w)))
    assert ours < 1.2 * theirs


def test_noise_ends_early_and_nothing_to_learn_has_no_trees(rng):
    x, _ = table(rng, 600)
    found = learn(x, rng.normal(size=600), [0] * 4, pace=Pace(8, 0.1, 300, 10))
    assert found is None or len(found.trees) < 60
    assert learn(x, np.zeros(600), [0] * 4) is None
    one_code = np.zeros((600, 2), np.uint8)
    assert learn(one_code, rng.normal(size=600), [0, 1], share=2) is None


def test_the_same_seed_gives_the_same_trees_and_no_other_does(rng):
    x, z = table(rng)
    one, two, other = (learn(x, z[:, 0] + z[:, 1], [1, 0, 0, 0], seed=seed) for seed in (3, 3, 4))
    assert one.outputs.tobytes() == two.outputs.tobytes()
    assert one.outputs.tobytes() != other.outputs.tobytes()


@pytest.mark.parametrize("is_class", [False, True])
def test_rows_without_weight_teach_nothing(is_class, rng):
    x, z = table(rng, 800)
    y = z[:, 0] > 32 if is_class else z[:, 0] / 20
    weight = np.where(np.arange(800) % 3 == 1, 0.0, 1.5)
    wrong = np.where(weight == 0.0, ~y if is_class else 99.0, y)
    one, two = (learn(x, target, [1, 0, 0, 0], is_class, weight=weight) for target in (y, wrong))
    assert one.outputs.tobytes() == two.outputs.tobytes()


@pytest.mark.parametrize("rare", [0, 1])
def test_a_class_that_weighs_next_to_nothing_has_finite_log_odds(rare, rng):
    x, z = table(rng)
    y = z[:, 0] > 32
    weight = np.where(y == rare, 1e-18, 1.0)
    found = learn(x, y, [1, 0, 0, 0], is_class=True, weight=weight)
    assert found is None or np.isfinite(found.outputs).all()


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_extreme_targets_stay_finite(scale, rng):
    x, z = table(rng)
    found = learn(x, scale * z[:, 0], [1, 0, 0, 0])
    assert found is None or np.isfinite(found.outputs).all()


def leaf_of(tree, x):
    """The leaf that each row comes to."""
    at = np.zeros(len(x), np.int64)
    while (inner := tree.feature[at] >= 0).any():
        feature, rows = np.maximum(tree.feature[at], 0), np.arange(len(x))
        at = np.where(inner, tree.child[at] + (x[rows, feature] >= tree.threshold[at]), at)
    return at


@pytest.mark.parametrize("codes", [4, MOST_CODES])
def test_no_leaf_has_very_few_rows(rng, codes):
    """One row far away at either end would be a leaf of its own."""
    x, z = table(rng, 400, 3, codes)
    y = z[:, 0] / codes + np.where(z[:, 1] == codes - 1, 5.0, 0.0) - np.where(z[:, 2] == 0, 5.0, 0.0)
    held = np.arange(0, 400, 8)
    learned = np.delete(np.arange(400), held)
    found = learn(x, y, [0, 0, 0])
    counts = [np.bincount(leaf_of(tree, x[learned])) for tree in found.trees]
    assert min(count[count > 0].min() for count in counts) >= MIN_ROWS


@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_a_first_split_is_the_best_there_is(rng, direction):
    """One tree of two leaves over one feature and all rows it sees, against every split tried one by one."""
    x, z = table(rng, 300, 1, 12)
    y = np.sin(z[:, 0] * 0.9) + rng.normal(scale=0.1, size=300)
    found = learn(x, y, [direction], pace=Pace(2, 1.0, 1, 1))
    held = np.arange(0, 300, 8)
    seen = np.delete(np.arange(300), held)  # a tree sees a part of them: sums of all are near, and the best is clear
    rest = y - y[seen].mean()

    def gain(code):
        left, right = (rest[seen][side] for side in (x[seen, 0] < code, x[seen, 0] >= code))
        values = left.sum() / (len(left) + RIDGE), right.sum() / (len(right) + RIDGE)
        if min(len(left), len(right)) < MIN_ROWS or direction * (values[1] - values[0]) < 0:
            return -np.inf
        return left.sum() ** 2 / (len(left) + RIDGE) + right.sum() ** 2 / (len(right) + RIDGE)

    gains = sorted(((gain(code), code) for code in range(1, 12)), reverse=True)
    assert found.trees[0].threshold[0] == gains[0][1]
