"""A billion pairs find nothing in convex form (a few million here), and every kind of chain finds what is broken."""

from __future__ import annotations

import numpy as np
import pytest
from networks import convex_network

from monolip.engine.adversarial_search import attack_directions
from monolip.engine.ordered import evaluate_ordered
from monolip.errors import InputError, SlopeError

FORMATS = ["float32", "float64"]
KINDS = ["ulp", "unit", "border", "evolving"]


@pytest.mark.parametrize("number_format", FORMATS)
def test_convex_form_withstands_the_attack(number_format):
    for seed, (sizes, groups) in enumerate([((5, 16, 16, 1), (2, 2)), ((3, 12, 6, 2), (3, 6)), ((4, 8, 1), (8,))]):
        network = convex_network(np.random.default_rng(seed), sizes, groups)
        found = attack_directions(*network, n_pairs=1_000_000, seed=seed, number_format=number_format)
        assert found.pairs >= 1_000_000
        assert (found.decreases, found.worst_drop) == (0, 0.0)
        assert sum(kind.pairs for kind in found.by_kind.values()) == found.pairs


@pytest.mark.slow
@pytest.mark.parametrize("number_format", FORMATS)
def test_convex_form_withstands_a_billion_pairs(number_format):
    network = convex_network(np.random.default_rng(9), (5, 16, 16, 1), (2, 2))
    assert attack_directions(*network, n_pairs=1_000_000_000, number_format=number_format).decreases == 0


@pytest.mark.parametrize("number_format", FORMATS)
def test_every_kind_of_chain_finds_a_negative_weight(number_format):
    network = convex_network(np.random.default_rng(5), (5, 16, 16, 1), (2, 2))
    network[0][0][:, 4] = -0.01
    found = attack_directions(*network, n_pairs=400_000, number_format=number_format)
    assert list(found.by_kind) == KINDS
    assert all(kind.decreases > 0 for kind in found.by_kind.values())
    assert found.decreases == sum(kind.decreases for kind in found.by_kind.values())


@pytest.mark.parametrize("number_format", FORMATS)
def test_paper_form_falls_by_rounding(number_format):
    rng = np.random.default_rng(0)
    weights = [np.clip(rng.normal(0, 1.5, (8, 5)), -1, 1)]
    for shape in [(8, 8), (1, 8)]:
        signed = rng.normal(size=shape)
        weights.append(signed / np.abs(signed).sum(1, keepdims=True))
    biases = [rng.normal(size=8), rng.normal(size=8), np.zeros(1)]
    found = attack_directions(
        weights, biases, (2, 2), n_pairs=400_000, number_format=number_format, center=np.ones(5), radius=np.ones(5)
    )
    assert found.by_kind["ulp"].decreases > 0
    assert found.by_kind["evolving"].decreases > 0


def test_evolution_finds_more_than_chance():
    """Negative slope only beside a rare tie: chains that evolve find it more often than chains from random points."""
    weights = [
        np.array([[1.0, 0.2], [1.0, 0.2 + 1e-3], [0.1, 1.0], [0.3, 0.1]]),
        np.array([[0.5, 0.5 - 1e-4, 0.0, 0.0]]),
    ]
    weights[1][0, 1] = -0.499
    found = attack_directions(weights, [np.zeros(4), np.zeros(1)], (2,), n_pairs=400_000, number_format="float64")
    assert found.by_kind["evolving"].decreases > found.by_kind["ulp"].decreases


def test_directions_are_attacked_in_their_own_sense():
    weights, biases, groups = convex_network(np.random.default_rng(6), (3, 8, 1), (2,))
    weights[0][:, 1] *= -1
    assert attack_directions(weights, biases, groups, n_pairs=200_000, directions=[1, -1, 0]).decreases == 0
    wrong = attack_directions(weights, biases, groups, n_pairs=200_000, directions=[0, 1, 0])
    assert wrong.by_kind["unit"].decreases > 10_000


def test_threads_change_nothing_and_seeds_do():
    network = convex_network(np.random.default_rng(7), (2, 4, 1), (2,))
    network[0][0][0, 0] = -1.0
    first, threaded, other = (
        attack_directions(*network, n_pairs=200_000, seed=seed, n_threads=threads)
        for seed, threads in ((3, 1), (3, 2), (4, 1))
    )
    assert first == threaded
    assert first.decreases != other.decreases


def test_the_drop_reported_is_the_size_of_a_slope():
    """f = -x in unit steps falls by one each time."""
    found = attack_directions([np.array([[-1.0]])], [np.zeros(1)], (), n_pairs=10_000, number_format="float64")
    unit = found.by_kind["unit"]
    assert unit.decreases == unit.pairs
    assert unit.worst_drop == 1.0
    assert evaluate_ordered([np.array([[-1.0]])], [np.zeros(1)], (), np.ones((1, 1)), 1e6)[0, 0] == -1


def test_an_attack_without_a_direction_format_or_pairs_is_refused():
    network = convex_network(np.random.default_rng(8), (2, 4, 1), (2,))
    with pytest.raises(SlopeError, match="at least one not 0"):
        attack_directions(*network, n_pairs=10, directions=[0, 0])
    with pytest.raises(InputError, match="bfloat16"):
        attack_directions(*network, n_pairs=10, number_format="bfloat16")
    with pytest.raises(InputError, match="above 0"):
        attack_directions(*network, n_pairs=0)
