"""The free branch: plain dense layers, evaluated in one order, with activations that survive extreme numbers."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from monolip.errors import StructureError
from monolip.free_branch import FreeBranch


def branch_of(rng, activation):
    return FreeBranch(
        (rng.normal(size=(7, 3)), rng.normal(size=(2, 7))), (rng.normal(size=7), rng.normal(size=2)), (activation,) * 2
    )


REFERENCE = {
    "identity": lambda z: z,
    "relu": lambda z: max(z, 0.0),
    "tanh": math.tanh,
    "silu": lambda z: z / (1 + math.exp(-z)),
}


@pytest.mark.parametrize("activation", REFERENCE)
def test_it_computes_dense_layers(activation, rng):
    branch = branch_of(rng, activation)
    u = rng.normal(size=(11, 3))
    z = u
    for weight, bias in zip(branch.weights, branch.biases, strict=True):
        z = np.vectorize(REFERENCE[activation])(z @ weight.T + bias)
    np.testing.assert_allclose(branch.evaluate(u), z, rtol=1e-12, atol=1e-13)
    assert (branch.n_features, branch.n_outputs) == (3, 2)


@pytest.mark.parametrize("activation", REFERENCE)
def test_the_same_row_gives_the_same_bits_in_any_batch(activation, rng):
    branch = branch_of(rng, activation)
    u = rng.normal(size=(999, 3))
    together = branch.evaluate(u)
    for place in (0, 1, 500, 997, 998):
        assert branch.evaluate(u[place : place + 1]).tobytes() == together[place].tobytes()
    assert branch.evaluate(np.zeros((0, 3))).shape == (0, 2)


@pytest.mark.parametrize("activation", REFERENCE)
def test_activations_survive_extreme_numbers(activation):
    branch = FreeBranch(([[1.0]],), ([0.0],), (activation,))
    low, high = branch.evaluate(np.array([[-1.7e308], [1.7e308]])).ravel()
    assert (low, high) == {
        "identity": (-1.7e308, 1.7e308),
        "relu": (0.0, 1.7e308),
        "tanh": (-1.0, 1.0),
        "silu": (pytest.approx(0.0, abs=1e-300), 1.7e308),
    }[activation]


@pytest.mark.parametrize(
    ("weights", "activations", "message"),
    [
        (([[1.0]],), ("gelu",), r"out of \['identity', 'relu', 'silu', 'tanh'\]; got \['gelu'\]"),
        (([[1.0]],), (), "one activation per layer"),
        (([[1.0]],), ("relu", "relu"), "for 1 layers"),
        (([[1.0]],), "gelu", r"got \['gelu'\]"),
        (([[1.0]],), ([],), "one activation per layer"),
        (([[math.nan]],), ("relu",), "must be finite"),
        (([1.0],), ("relu",), "must have a weight"),
    ],
)
def test_what_is_no_dense_branch_cannot_be_constructed(weights, activations, message):
    with pytest.raises(StructureError, match=message):
        FreeBranch(weights, ([0.0],), activations)


def test_it_cannot_be_changed_and_stays_so_through_pickle_and_deepcopy(rng):
    original = branch_of(rng, "relu")
    for branch in (original, pickle.loads(pickle.dumps(original)), copy.deepcopy(original)):
        for array in (*branch.weights, *branch.biases):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0
