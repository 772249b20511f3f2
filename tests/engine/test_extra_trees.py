"""Extremely randomised trees: against plain Python on the same trees, scikit-learn's on the same rows, and threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesRegressor

from monolip.engine.extra_trees import grow_tree, grow_trees, sum_of_trees


def ranks_of(x):
    return np.stack([np.unique(column, return_inverse=True)[1] for column in x.T], axis=1).astype(np.int32)


def leaf_of(tree, row):
    node = 0
    while tree.feature[node] >= 0:
        node = tree.child[node] + int(row[tree.feature[node]] >= tree.threshold[node])
    return node


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 4), st.integers(1, 6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_leaves_are_means_of_enough_rows(seed, n, d, min_leaf, weighted):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 1 + n // 2, (n, d)).astype(np.int32), rng.normal(size=n)
    weight = rng.uniform(0.1, 3.0, n) if weighted else np.ones(n)
    tree = grow_tree(x.copy(), y.copy(), weight.copy(), seed, min_leaf)
    leaves = np.array([leaf_of(tree, row) for row in x])
    assert (tree.feature[leaves] == -1).all()
    assert set(leaves) == set(np.flatnonzero(tree.feature < 0)), "no leaf is empty"
    for leaf in set(leaves):
        rows = leaves == leaf
        assert rows.sum() >= min(min_leaf, n)
        assert tree.value[leaf] == pytest.approx(np.average(y[rows], weights=weight[rows]), abs=1e-9)
    inner = np.flatnonzero(tree.feature >= 0)
    assert (tree.child[inner] > inner).all()
    np.testing.assert_array_equal(sum_of_trees([tree], x.astype(float)), tree.value[leaves])


def random_of(state):
    state = (state + 0x9E3779B97F4A7C15) % 2**64
    z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return state, (z ^ (z >> 31)) >> 32


def added(values):
    """One after the other; `sum` carries what rounding leaves over."""
    total = 0.0
    for value in values:
        total += value
    return total


def one_by_one(x, y, weight, seed, min_leaf):
    """The same tree, a feature and a row at a time: (feature, threshold, child, value) of every node."""
    rows = [[list(map(int, ranks)), v * w, w] for ranks, v, w in zip(x, y, weight, strict=True)]
    nodes, todo, state = [None], [(0, 0, len(rows))], seed
    while todo:
        node, a, b = todo.pop()
        here, best = rows[a:b], -1
        total, mass = added(row[1] for row in here), added(row[2] for row in here)
        most = total * total / mass
        most += 1e-12 * abs(most)
        for j in range(x.shape[1]) if b - a >= 2 * min_leaf else ():
            state, bits = random_of(state)
            low, width = min(r[0][j] for r in here), max(r[0][j] for r in here) - min(r[0][j] for r in here)
            bar = low + (width > 0) + (bits * width >> 32)
            left = [row for row in here if row[0][j] < bar]
            sums, part = added(row[1] for row in left), added(row[2] for row in left)
            if min(len(left), len(here) - len(left)) < min_leaf or not 0.0 < part < mass:
                continue
            gain = sums * sums / part + (total - sums) * (total - sums) / (mass - part)
            if gain > most:
                best, cut, most, at = j, bar, gain, a + len(left)
        nodes[node] = (best, 0, 0, total / mass) if best < 0 else (best, cut, len(nodes), 0.0)
        if best >= 0:
            wrong = [i for i in range(a, at) if rows[i][0][best] >= cut]
            others = [i for i in reversed(range(at, b)) if rows[i][0][best] < cut]
            for i, k in zip(wrong, others, strict=True):
                rows[i], rows[k] = rows[k], rows[i]
            todo += [(len(nodes) + 1, at, b), (len(nodes), a, at)]
            nodes += [None, None]
    return nodes


@given(st.integers(0, 2**32), st.integers(1, 80), st.integers(1, 19), st.integers(1, 4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_registers_of_features_are_features_one_by_one(seed, n, d, min_leaf, weighted):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 1 + n // 2, (n, d)).astype(np.int32), rng.normal(size=n)
    weight = rng.uniform(0.1, 3.0, n) if weighted else np.ones(n)
    tree = grow_tree(x.copy(), y.copy(), weight.copy(), seed, min_leaf)
    assert list(zip(*(part.tolist() for part in tree), strict=True)) == one_by_one(x, y, weight, seed, min_leaf)


def test_rows_that_cannot_be_told_apart_are_one_leaf(rng):
    tree = grow_tree(np.zeros((50, 3), np.int32), rng.normal(size=50), np.ones(50), 0, 1)
    assert tree.feature.tolist() == [-1]
    same = grow_tree(np.arange(50, dtype=np.int32)[:, None], np.ones(50), np.ones(50), 0, 1)
    assert same.feature.tolist() == [-1], "nothing is gained by a split"


def test_single_rows_are_learned_by_heart(rng):
    x, y = rng.permutation(200).astype(np.int32)[:, None], rng.normal(size=200)
    trees = grow_trees(x, y, np.ones(200), [1, 2, 3], 1, 1000)
    np.testing.assert_allclose(sum_of_trees(trees, x.astype(float)) / 3, y, atol=1e-12)


def test_as_good_as_those_of_scikit_learn(rng):
    x = rng.normal(size=(3000, 6))
    y = np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * rng.normal(size=3000)
    ranks, learn = ranks_of(x), np.arange(3000) < 2000
    trees = grow_trees(ranks[learn], y[learn], np.ones(2000), range(60), 2, 10_000)
    ours = sum_of_trees(trees, ranks[~learn].astype(float)) / 60
    theirs = ExtraTreesRegressor(60, min_samples_leaf=2, random_state=0).fit(ranks[learn], y[learn])
    error = [np.mean((found - y[~learn]) ** 2) for found in (ours, theirs.predict(ranks[~learn]))]
    assert error[0] == pytest.approx(error[1], rel=0.1)
    nodes = [sum(len(t.feature) for t in trees), sum(t.tree_.node_count for t in theirs.estimators_)]
    assert nodes[0] == pytest.approx(nodes[1], rel=0.03)


@pytest.mark.parametrize("most_rows", [300, 10_000])
def test_threads_and_the_order_of_trees_change_nothing(most_rows, rng):
    x, y, weight = ranks_of(rng.normal(size=(1000, 4))), rng.normal(size=1000), rng.uniform(size=1000) + 0.1
    before = x.copy(), y.copy(), weight.copy()
    alone = grow_trees(x, y, weight, [5, 6, 7, 8], 2, most_rows)
    several = grow_trees(x, y, weight, [5, 6, 7, 8], 2, most_rows, 3)
    for one, two in zip(alone, [*several[:2], *grow_trees(x, y, weight, [7, 8], 2, most_rows)], strict=True):
        assert all(a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True))
    assert all((a == b).all() for a, b in zip(before, (x, y, weight), strict=True)), "given arrays stay as they are"
    assert alone[0].feature.tobytes() != alone[1].feature.tobytes()


def test_weights_of_any_size_leave_numbers(rng):
    x, y = ranks_of(rng.normal(size=(400, 3))), rng.normal(size=400)
    weight = 10.0 ** rng.uniform(-30, 0, 400)
    tree = grow_tree(x.copy(), y.copy(), weight, 0, 1)
    assert np.isfinite(tree.value).all()
    assert np.abs(tree.value).max() <= np.abs(y).max() * (1 + 1e-9)


def test_thresholds_are_drawn_evenly(rng):
    x, y = np.arange(101, dtype=np.int32)[:, None], rng.normal(size=101)
    roots = [grow_tree(x.copy(), y.copy(), np.ones(101), seed, 1).threshold[0] for seed in range(4000)]
    count = np.bincount(roots, minlength=101)
    assert count[0] == 0
    assert count[1:].min() > 10
    assert count[1:].max() < 80
