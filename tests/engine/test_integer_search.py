"""The integer search evaluates what is deployed, finds nothing in it, and finds what is broken."""

from __future__ import annotations

import numpy as np
import pytest
from networks import convex_network

from monolip.certify.fixed_point import compile_fixed_point
from monolip.convex import ConvexForm, on_simplex
from monolip.engine.integer_search import attack_integers, evaluate_carried
from monolip.errors import InputError, SlopeError
from monolip.frozen import FrozenNetwork, Trunk
from monolip.slopes import SlopeBounds

RANGES = [(-3.0, 3.0)] * 4


def compiled_network(preset="wide"):
    """Two members, 4-8-8-1, increasing in the first two features and decreasing in the third."""
    bounds = SlopeBounds([0.0, 0.0, -2.0, -1.0], [2.0, 2.0, 0.0, 1.0])
    members = []
    for seed in range(2):
        weights, biases, groups = convex_network(np.random.default_rng(seed), (4, 8, 8, 1), (2, 4))
        first = bounds.lower + weights[0] / 2 * (bounds.upper - bounds.lower)
        rows = (first, *(on_simplex(w) for w in weights[1:]))
        members.append((Trunk(ConvexForm(rows, biases, groups), (0,)),))
    return compile_fixed_point(FrozenNetwork(bounds, tuple(members)), preset, input_ranges=RANGES)


@pytest.mark.parametrize("preset", ["wide", "narrow"])
def test_the_search_evaluates_the_deployed_integers(preset):
    network = compiled_network(preset)
    most = np.array(network.limits)
    for n in (1, 31, 200):
        x = np.random.default_rng(n).integers(-2 * most, 2 * most + 1, (n, 4))
        np.testing.assert_array_equal(evaluate_carried(network.packed(), network.limits, x), network.evaluate(x))


@pytest.mark.parametrize("preset", ["wide", "narrow"])
def test_fixed_point_withstands_the_attack(preset):
    network = compiled_network(preset)
    found = attack_integers(network.packed(), network.limits, [1, 1, -1, 0], n_pairs=1_000_000)
    assert found.pairs >= 1_000_000
    assert (found.decreases, found.worst_drop) == (0, 0.0)


def test_every_kind_of_chain_finds_a_wrong_direction_and_a_broken_row():
    network = compiled_network()
    wrong = attack_integers(network.packed(), network.limits, [0, 0, 1, 0], n_pairs=100_000)
    assert all(kind.decreases > 0 for kind in wrong.by_kind.values())
    packed = network.packed()
    params = packed.params.copy()
    params[: 8 * 4 : 4] = -5  # the first feature's column in the first member
    params[params.size // 2 : params.size // 2 + 8 * 4 : 4] = -5
    broken = attack_integers(packed._replace(params=params), network.limits, [1, 0, 0, 0], n_pairs=100_000)
    assert broken.decreases > 0


def test_threads_change_nothing_and_nonsense_is_refused():
    network = compiled_network()
    packed, limits = network.packed(), network.limits
    one, two = (attack_integers(packed, limits, [0, 0, 0, 1], n_pairs=50_000, n_threads=n) for n in (1, 2))
    assert one == two
    assert one.decreases > 0
    with pytest.raises(SlopeError, match="at least one"):
        attack_integers(packed, limits, [0, 0, 0, 0], n_pairs=10)
    with pytest.raises(SlopeError, match="4 columns"):
        attack_integers(packed, limits, [1, 1], n_pairs=10)
    with pytest.raises(InputError, match="above 0"):
        attack_integers(packed, limits, [1, 0, 0, 0], n_pairs=0)
