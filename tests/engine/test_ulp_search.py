"""The ulp search finds nothing in convex form, and finds what is broken."""

from __future__ import annotations

import numpy as np
import pytest
from networks import convex_network

from monolip.engine.ulp_search import search_decreases
from monolip.errors import InputError, SlopeError

FORMATS = ["float32", "float64", "bfloat16"]


@pytest.mark.parametrize("number_format", FORMATS)
def test_convex_form_never_decreases(number_format):
    for seed, (sizes, groups) in enumerate([((5, 16, 16, 1), (2, 2)), ((3, 12, 6, 2), (3, 6)), ((4, 8, 1), (8,))]):
        network = convex_network(np.random.default_rng(seed), sizes, groups)
        result = search_decreases(*network, n_pairs=700_000, seed=seed, number_format=number_format)
        assert result.pairs >= 700_000
        assert (result.decreases, result.worst_drop) == (0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("number_format", FORMATS)
def test_a_hundred_million_steps_of_convex_form_never_decrease(number_format):
    for seed in range(4):
        network = convex_network(np.random.default_rng(100 + seed), (5, 16, 16, 1), (2, 2))
        result = search_decreases(*network, n_pairs=25_000_000, seed=seed, number_format=number_format)
        assert result.decreases == 0


@pytest.mark.parametrize("number_format", FORMATS)
def test_paper_form_of_a_saturated_network_does_decrease(number_format):
    rng = np.random.default_rng(0)
    weights = [np.clip(rng.normal(0, 1.5, (8, 5)), -1, 1)]
    for shape in [(8, 8), (1, 8)]:
        signed = rng.normal(size=shape)
        weights.append(signed / np.abs(signed).sum(1, keepdims=True))
    biases = [rng.normal(size=8), rng.normal(size=8), np.zeros(1)]
    result = search_decreases(
        weights, biases, (2, 2), n_pairs=200_000, number_format=number_format, center=np.ones(5), radius=np.ones(5)
    )
    assert result.decreases > 0
    assert result.worst_drop > 0


@pytest.mark.parametrize("number_format", FORMATS)
def test_a_negative_weight_is_caught(number_format):
    network = convex_network(np.random.default_rng(5), (5, 16, 16, 1), (2, 2))
    network[0][1][3, 4] = -0.3
    assert search_decreases(*network, n_pairs=200_000, number_format=number_format).decreases > 0


def test_directions_are_searched_in_their_own_sense():
    weights, biases, groups = convex_network(np.random.default_rng(6), (3, 8, 1), (2,))
    weights[0][:, 1] *= -1
    assert search_decreases(weights, biases, groups, n_pairs=100_000, directions=[1, -1, 0]).decreases == 0
    assert search_decreases(weights, biases, groups, n_pairs=100_000, directions=[0, 1, 0]).decreases > 50_000


def test_same_seed_same_pairs():
    network = convex_network(np.random.default_rng(7), (2, 4, 1), (2,))
    network[0][0][0, 0] = -1.0
    first, again, other = (search_decreases(*network, n_pairs=50_000, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first.decreases != other.decreases


def test_a_search_without_a_direction_or_format_is_refused():
    network = convex_network(np.random.default_rng(8), (2, 4, 1), (2,))
    with pytest.raises(SlopeError, match="at least one not 0"):
        search_decreases(*network, n_pairs=10, directions=[0, 0])
    with pytest.raises(InputError, match="float8"):
        search_decreases(*network, n_pairs=10, number_format="float8")
