"""Ordered evaluation: the stated operations, the same bits everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from networks import convex_network, scalar_evaluate

from monolip.engine.bfloat16 import evaluate_bfloat16, to_bfloat16
from monolip.engine.ordered import average_ordered, evaluate_ordered
from monolip.errors import InputError, PrecisionError, StructureError

SHAPES = [
    ((3, 4, 1), (2,)),
    ((5, 6, 9, 12, 2), (3, 9, 4)),
    ((2, 7, 7, 3), (7, 1)),
    ((4, 1), ()),
    ((1, 34, 34, 1), (2, 17)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("sizes", "group_sizes"), SHAPES)
def test_bits_are_those_of_the_scalar_loop(sizes, group_sizes, dtype):
    rng = np.random.default_rng(0)
    network = convex_network(rng, sizes, group_sizes, -1.0, 1.0, dtype)
    x = (rng.normal(size=(131, sizes[0])) * 10.0 ** rng.integers(-3, 4, (131, 1))).astype(dtype)
    x[0, 0], x[1, 0], x[2, 0] = np.inf, -np.inf, 0
    with np.errstate(all="ignore"):
        expected = scalar_evaluate(network, x, 50.0)
    assert np.array_equal(evaluate_ordered(*network, x, 50.0), expected)


@pytest.mark.parametrize("evaluate", [evaluate_ordered, evaluate_bfloat16])
def test_a_row_has_the_same_bits_in_any_batch_at_any_place_on_any_thread(evaluate):
    rng = np.random.default_rng(1)
    network = convex_network(rng, (6, 18, 8, 2), (2, 4), -1.0, 1.0, np.float32)
    x = rng.normal(size=(20_000, 6)).astype(np.float32)
    whole = evaluate(*network, x, 1e3)
    assert np.array_equal(evaluate(*network, x, 1e3, n_threads=3), whole)
    for start, stop in [(0, 1), (63, 65), (7, 300), (8191, 8193), (19_999, 20_000)]:
        assert np.array_equal(evaluate(*network, x[start:stop], 1e3), whole[start:stop])
    order = rng.permutation(len(x))
    assert np.array_equal(evaluate(*network, x[order], 1e3), whole[order])


def test_a_step_of_one_ulp_never_decreases_an_increasing_feature_across_batches():
    rng = np.random.default_rng(2)
    network = convex_network(rng, (4, 16, 16, 1), (2, 2), dtype=np.float32)
    x = (rng.normal(size=(5_000, 4)) * 10.0 ** rng.uniform(-3, 3, (5_000, 1))).astype(np.float32)
    up = x.copy()
    feature = rng.integers(4, size=len(x))
    rows = np.arange(len(x))
    up[rows, feature] = np.nextafter(x[rows, feature], np.float32(np.inf))
    shuffled = rng.permutation(len(x))
    after = np.empty((len(x), 1), np.float32)
    after[shuffled] = evaluate_ordered(*network, up[shuffled], 1e6, n_threads=2)  # another place, another thread
    assert (after >= evaluate_ordered(*network, x, 1e6)).all()


def test_bfloat16_rounds_to_nearest_even_and_every_operation_is_bfloat16():
    assert to_bfloat16(np.array([1.0, 1.00390625, 1.01171875, -1.00390625])).tolist() == [1.0, 1.0, 1.015625, -1.0]
    network = convex_network(np.random.default_rng(3), (2, 2, 1), (2,))
    x = np.array([[0.3, -7.0], [np.inf, 1.0]])
    weights, biases = [to_bfloat16(w) for w in network[0]], [to_bfloat16(b) for b in network[1]]
    for row, got in zip(x, evaluate_bfloat16(*network, x, 16.0), strict=True):
        units = to_bfloat16(np.clip(row, -16.0, 16.0))
        for weight, bias in zip(weights, biases, strict=True):
            z = bias
            for j in range(weight.shape[1]):
                z = to_bfloat16(z + to_bfloat16(weight[:, j] * units[j]))
            units = np.sort(z)
        assert got == units


def test_average_multiplies_and_adds_in_member_order():
    members = [np.array([[0.1]], np.float32), np.array([[0.2]], np.float32), np.array([[0.3]], np.float32)]
    share = np.float32(1 / 3)
    expected = np.float32(0)
    for member in members:
        expected = expected + share * member[0, 0]
    assert average_ordered(members, [1 / 3] * 3)[0, 0] == expected


def test_what_cannot_be_evaluated_is_refused():
    network = convex_network(np.random.default_rng(4), (2, 4, 1), (2,), dtype=np.float32)
    with pytest.raises(InputError, match="got NaN"):
        evaluate_ordered(*network, np.array([[0.0, 1.0], [np.nan, 0.0]]), 10.0)
    with pytest.raises(InputError, match="rows of 2 features"):
        evaluate_ordered(*network, np.zeros((3, 5)), 10.0)
    with pytest.raises(PrecisionError, match="float16"):
        evaluate_ordered(
            *[tuple(a.astype(np.float16) for a in part) for part in network[:2]], (2,), np.zeros((1, 2)), 1.0
        )
    with pytest.raises(StructureError, match="divide"):
        evaluate_ordered(network[0], network[1], (3,), np.zeros((1, 2)), 10.0)
    with pytest.raises(StructureError, match="chain"):
        evaluate_ordered((network[0][0], network[0][0]), network[1], (2,), np.zeros((1, 2)), 10.0)
    with pytest.raises(StructureError, match="group sizes"):
        evaluate_ordered(network[0], network[1], (2, 2), np.zeros((1, 2)), 10.0)
