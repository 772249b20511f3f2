"""The cross-check: a flip found by MILP and re-checked exactly never lies inside a proved radius."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.certify.milp import smallest_flip
from monolip.certify.milp_model import MilpModel
from monolip.certify.robustness import certified_radius
from monolip.convex import ConvexForm
from monolip.errors import InputError
from monolip.frozen import FrozenNetwork, Trunk
from monolip.slopes import SlopeBounds

from ..make import householder
from .robustness_networks import KINDS, exact_decision, moved_positions, network, rows_of

SEEDS = st.integers(0, 10**6)


def exact_distance(row, witness, where, scale, norm):
    terms = [
        abs(Fraction(witness[at]) - Fraction(row[at])) / Fraction(float(size))
        for at, size in zip(where, scale, strict=True)
        if row[at] == row[at]
    ]
    return sum(terms) if norm == 1 else max(terms)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=3)
@given(seed=SEEDS, norm=st.sampled_from([1, np.inf]))
def test_every_proved_radius_stays_below_every_witness(kind, seed, norm):
    net, rng = network(kind, seed), np.random.default_rng(seed)
    rows, where = rows_of(net, rng, 2), moved_positions(net)
    scale = rng.uniform(0.5, 2.0, len(where))
    proved = {m: certified_radius(net, rows, norm=norm, scale=scale, method=m) for m in ("slopes", "hull", "local")}
    flips = smallest_flip(net, rows, norm=norm, scale=scale, box=4.0, time_limit=0.5)  # a witness need not be the best
    for i, (row, flip) in enumerate(zip(rows, flips, strict=True)):
        if flip.witness is None:
            continue
        assert exact_decision(net, flip.witness) != exact_decision(net, row)
        distance = exact_distance(row, flip.witness, where, scale, norm)
        assert distance <= Fraction(flip.radius)
        for found in proved.values():
            assert Fraction(float(found.radius[i])) < distance


@pytest.mark.parametrize("norm", [1, np.inf])
def test_the_optimum_of_known_functions_is_found(norm):
    slopes = SlopeBounds([-1.0, -1.0], [1.0, 1.0])
    form = ConvexForm(([[1.0, 1.0], [-1.0, -0.5]], [[0.0, 1.0]]), ([0.0, 0.0], [-1.0]), (2,))  # max(x+y, -x-y/2) - 1
    net = FrozenNetwork(slopes, ((Trunk(form, (0,)),),))
    flip = smallest_flip(net, [[2.0, 1.0]], norm=norm, scale=1.0)[0]
    assert flip.optimum == pytest.approx(2.0 if norm == 1 else 1.0, abs=1e-5)
    assert flip.radius == pytest.approx(flip.optimum, abs=1e-4)
    near = certified_radius(net, [[2.0, 1.0]], norm=norm, scale=1.0).radius[0]
    assert near == pytest.approx(flip.optimum, rel=1e-3)


def test_where_no_flip_is_possible_none_is_claimed():
    form = ConvexForm(([[1.0], [0.0]], [[0.0, 1.0]]), ([0.0, 0.0], [1.0]), (2,))  # max(x, 0) + 1
    net = FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(form, (0,)),),))
    flip = smallest_flip(net, [[0.5]], scale=1.0, box=50.0)[0]
    assert flip.witness is None
    assert flip.radius == flip.optimum == np.inf


@settings(max_examples=25)
@given(values=st.lists(st.integers(-4, 4), min_size=2, max_size=4), free=st.integers(0, 3))
def test_a_sorted_group_of_the_program_is_sorted(values, free):
    program = MilpModel()
    at = [program.variable(v - (k == free), v + (k == free)) for k, v in enumerate(values)]
    places = program.sorted_group(at)
    for variable, value in zip(at, values, strict=True):
        program.at_least(variable, value, value)
    found, _, _ = program.minimise(places[0], 10.0)
    assert found is not None
    result = [p.constant + sum(c * found[v] for v, c in p.terms.items()) for p in places]
    np.testing.assert_allclose(result, sorted(values), atol=1e-5)


def test_what_the_program_cannot_express_is_refused(rng):
    slopes = SlopeBounds([-1.0, -1.0], [1.0, 1.0])
    reflecting = FrozenNetwork(slopes, ((Trunk(householder(rng, 2, 2, 2, slopes), (0,)),),))
    with pytest.raises(InputError, match="GroupSort"):
        smallest_flip(reflecting, [[0.0, 1.0]], scale=1.0)
    for wrong in ({"norm": 2}, {"box": 0.0}, {"box": np.inf}):
        with pytest.raises(InputError):
            smallest_flip(network("plain", 1), rows_of(network("plain", 1), rng, 1), **{"scale": 1.0, **wrong})
