"""Where codes begin: apart, in order, and as many as there are where one number is most of a column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.estimators._boosting import columns_that_count
from monolip.estimators._code_edges import find_edges, put_codes


def edges_of(numbers, most=64):
    edges, counts = np.empty((1, most - 1)), np.empty(1, np.int64)
    find_edges(np.sort(numbers)[None], most, edges, counts)
    return edges[0, : counts[0]]


def codes_of(numbers, most=64):
    edges, counts = np.empty((1, most - 1)), np.empty(1, np.int64)
    find_edges(np.sort(numbers)[None], most, edges, counts)
    codes = np.empty((len(numbers), 1), np.uint8)
    put_codes(numbers[:, None].copy(), edges, counts, codes)
    return codes[:, 0]


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(st.floats(-1e308, 1e308), st.integers(1, 40)), min_size=1, max_size=40),
    st.integers(2, 12),
)
def test_every_code_has_rows_and_lies_between_numbers(pairs, most):
    numbers = np.repeat([number for number, _ in pairs], [count for _, count in pairs])
    edges, known = edges_of(numbers, most), np.unique(numbers)
    assert len(edges) == len(known) - 1 if len(known) <= most else 0 < len(edges) < most
    assert (np.diff(edges) > 0).all()
    after = known.searchsorted(edges)  # the first number that is not below
    assert (after > 0).all()
    assert (np.diff(after) > 0).all()
    assert ((known[after - 1] < edges) & (edges <= known[after])).all()
    codes = codes_of(numbers, most)
    assert np.array_equal(codes, edges.searchsorted(numbers, side="right"))
    assert len(np.unique(codes)) == len(edges) + 1


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.99), st.sampled_from(["lowest", "highest", "middle"]))
def test_what_one_number_does_not_have_is_told_apart_as_finely_as_can_be(seed, part, where):
    rng, n = np.random.default_rng(seed), 6000
    numbers, same = rng.normal(size=n), {"lowest": -9.0, "highest": 9.0, "middle": 0.0}[where]
    numbers[rng.random(n) < part] = same
    codes = codes_of(numbers)
    assert len(np.unique(codes)) >= 60
    shares = np.bincount(codes[numbers != same], minlength=64) / np.count_nonzero(numbers != same)
    assert shares.max() < 2.5 / 62
    if part > 0.1:  # it has a code alone, but for fewer others than half a code's
        assert shares[codes[numbers == same][0]] <= 0.6 / 62


def test_several_numbers_that_many_have_each_have_a_code(rng):
    many = np.repeat(np.arange(20.0), 200)
    numbers = np.concatenate([many, rng.uniform(0.25, 19.75, 1000)])
    codes = codes_of(numbers)
    assert len(np.unique(codes[:4000])) == 20
    assert len(np.unique(codes)) > 50


@pytest.mark.parametrize("numbers", [[-1.7e308, 1.7e308], [0.0, 5e-324], [1.0, np.nextafter(1.0, 2.0)]])
def test_edges_part_numbers_that_have_none_between(numbers):
    (edge,) = edges_of(np.array(numbers))
    assert numbers[0] < edge <= numbers[1]


def test_columns_of_which_most_rows_have_one_number_count_by_the_others_only(rng):
    dense = rng.normal(size=(3000, 40))
    ones = (rng.random((3000, 100)) < 0.05).astype(float)
    assert columns_that_count(dense) == 40
    assert columns_that_count(ones[:, :20]) == 20
    assert 40 + 9 <= columns_that_count(np.hstack([dense, ones])) <= 40 + 18
    assert columns_that_count(np.zeros((50, 60))) == 0
