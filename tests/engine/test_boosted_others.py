"""Columns of which most rows have one code: the same sums, and as good trees, as looking at every row."""

from __future__ import annotations

import numpy as np
import pytest
from directed import assert_directed
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.engine._boosted_lanes import MOST_CODES
from monolip.engine._boosted_others import FEWEST, USUAL, Others, add_others, dense_first, find_others
from monolip.engine._compile import compiled
from monolip.engine.boosted_trees import Pace, boost
from monolip.engine.extra_trees import sum_of_trees


@compiled()
def add_them(sums, others, place, rows, used, dense, limits, slopes):
    add_others(sums, 0, others, place, rows, 0, rows.size, used, dense, used.size, limits, slopes)


@compiled()
def put_dense_first(used, n_used, usual, place):
    return dense_first(used, n_used, usual, place)


def sparse_table(rng, n=500, sparse=FEWEST + 3, dense=4, codes=6, part=0.1):
    """Of a sparse column's rows a part has another code than one drawn for all."""
    usual = rng.integers(0, codes, sparse)
    x = np.where(rng.random((n, sparse)) < part, rng.integers(0, codes, (n, sparse)), usual)
    x = np.hstack([x, rng.integers(0, 40, (n, dense))])
    return np.ascontiguousarray(x[:, rng.permutation(sparse + dense)], np.uint8)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(0, 400), st.floats(0.0, 0.3))
def test_sums_are_those_of_every_row(seed, n_used, n_rows, part):
    rng = np.random.default_rng(seed)
    x = sparse_table(rng, dense=30, part=part)
    (n, d), others = x.shape, find_others(x)
    used, place = rng.permutation(d).astype(np.int32), np.empty(d, np.int32)
    dense = put_dense_first(used, n_used, others.usual, place)
    assert (others.usual[used[:dense]] < 0).all()
    assert (others.usual[used[dense:n_used]] >= 0).all()
    rows = rng.permutation(n)[:n_rows].astype(np.int32)
    slopes = rng.integers(-9, 9, 2 * n).astype(float)  # whole numbers: sums are exact in any order
    sums, limits = np.zeros(2 * MOST_CODES * n_used), x.max(axis=0).astype(np.int64)[used[:n_used]]
    add_them(sums, others, place, rows, used[:n_used].copy(), dense, limits, slopes)
    expected = np.zeros((n_used, MOST_CODES, 2))
    for u in range(dense, n_used):
        np.add.at(expected[u], x[rows, used[u]], slopes.reshape(-1, 2)[rows])
    np.testing.assert_array_equal(sums.reshape(expected.shape), expected)


def test_entries_tell_the_codes_again(rng):
    x = sparse_table(rng)
    others = find_others(x)
    again = np.where(others.usual >= 0, others.usual, x)
    for i in range(len(x)):
        entries = slice(others.starts[i], others.starts[i + 1])
        again[i, others.columns[entries]] = others.codes[entries]
    np.testing.assert_array_equal(again, x)
    shares = (x == others.usual).mean(axis=0)
    assert (shares[others.usual >= 0] >= USUAL - 1 / len(x)).all()
    assert np.count_nonzero(others.usual >= 0) == FEWEST + 3


@pytest.mark.parametrize("x", [np.zeros((9, FEWEST - 1)), np.zeros((0, 99)), np.arange(900).reshape(9, 100) % 7])
def test_tables_of_few_such_columns_have_no_entries(x):
    others = find_others(x.astype(np.uint8))
    assert (others.usual < 0).all()
    assert others.starts.size == 1
    assert not len(others.columns)


@pytest.mark.parametrize("is_class", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_are_as_good_and_keep_directions(is_class, weighted, rng):
    x = sparse_table(rng, 3000, part=0.3)
    z, directions = x.astype(float), np.zeros(x.shape[1], np.int8)
    directions[:12] = np.tile([1, -1], 6)
    f = z[:, :10].sum(axis=1) * 0.2 + 2.0 * (z[:, 20] > z[:, 21]) - z[:, 30] * (z[:, 31] > 2)
    y = np.asarray(f > np.median(f) + rng.logistic(size=3000) if is_class else f + rng.normal(size=3000), float)
    weight = rng.gamma(2.0, 0.5, 3000) if weighted else np.ones(3000)
    held, nothing = np.arange(0, 3000, 4, dtype=np.int32), find_others(x[:, :1])
    dense = Others(nothing.starts, nothing.columns, nothing.codes, np.full(x.shape[1], -1, np.int16))
    losses = []
    for others in (None, dense):
        found = boost(x, y, weight, held, directions, is_class, Pace(31, 0.2, 100, 10), 0, others)
        assert_directed(found.trees, directions)
        np.testing.assert_allclose(sum_of_trees(found.trees, z), found.outputs, rtol=0, atol=1e-12)
        error = y[held] - (1 / (1 + np.exp(-found.outputs[held])) if is_class else found.outputs[held])
        losses.append(np.mean(error**2))
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


def test_the_same_seed_gives_the_same_trees(rng):
    x = sparse_table(rng)
    held = np.arange(0, 500, 5, dtype=np.int32)
    y, weight, flat = x[:, :5].sum(axis=1) + rng.normal(size=500), np.ones(500), np.zeros(x.shape[1], np.int8)
    one, two = (boost(x, y, weight, held, flat, False, Pace(8, 0.2, 30, 10), 3) for _ in range(2))
    assert one.outputs.tobytes() == two.outputs.tobytes()
