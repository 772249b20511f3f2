"""Radii of single features: exact along the whole path, infinite where a feature can only help."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.certify.robustness import certified_radius
from monolip.certify.robustness_feature import feature_radii
from monolip.convex import ConvexForm
from monolip.errors import InputError
from monolip.frozen import FrozenNetwork, Trunk
from monolip.slopes import SlopeBounds

from .robustness_networks import KINDS, exact_decision, moved_positions, network, rows_of

SEEDS = st.integers(0, 10**6)
HUGE = [Fraction(1), Fraction(10**3), Fraction(10**9), Fraction(10**40)]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(seed=SEEDS)
def test_no_step_of_one_feature_within_its_radius_flips_the_decision(kind, seed):
    net, rng = network(kind, seed), np.random.default_rng(seed)
    rows, where = rows_of(net, rng, 3), moved_positions(net)
    found = feature_radii(net, rows)
    for row, ups, downs, decision in zip(rows, found.up, found.down, found.decision, strict=True):
        for at, up, down in zip(where, ups.tolist(), downs.tolist(), strict=True):
            if row[at] != row[at]:
                assert np.isnan(up)
                assert np.isnan(down)
                continue
            for side, radius in ((1, up), (-1, down)):
                if radius == np.inf:
                    steps = HUGE
                else:
                    steps = [Fraction(radius) * Fraction(k, 8) for k in (1, 3, 5, 7)] + [Fraction(radius)]
                for t in steps if radius else ():
                    moved = list(row)
                    moved[at] = Fraction(row[at]) + side * t
                    assert exact_decision(net, moved) == decision


@settings(max_examples=10)
@given(seed=SEEDS, kind=st.sampled_from(["plain", "deep", "ensemble", "paper"]))
def test_a_feature_that_can_only_help_may_move_for_ever(seed, kind):
    net, rng = network(kind, seed), np.random.default_rng(seed)
    found = feature_radii(net, rows_of(net, rng, 4))
    for i, direction in enumerate(net.slopes.directions.tolist()):  # increasing, decreasing, free
        for decision, up, down in zip(found.decision, found.up[:, i], found.down[:, i], strict=True):
            if direction:
                assert (up if (direction > 0) == (decision == 1) else down) == np.inf


@settings(max_examples=10)
@given(seed=SEEDS, kind=st.sampled_from(KINDS))
def test_one_feature_alone_may_move_at_least_as_far_as_all_together(seed, kind):
    net, rng = network(kind, seed), np.random.default_rng(seed)
    rows = rows_of(net, rng, 2)
    together, alone = certified_radius(net, rows, scale=1.0).radius, feature_radii(net, rows).two_sided
    known = ~np.isnan(alone)
    assert (alone * (1 + 1e-3) >= together[:, None])[known].all()


def test_along_a_monotone_feature_the_radius_is_the_exact_distance():
    form = ConvexForm(([[1.0, -1.0], [0.25, -1.0]], [[1.0, 0.0]]), ([0.0, 3.0], [0.0]), (2,))  # min(x, x/4 + 3) - y
    net = FrozenNetwork(SlopeBounds([0.0, -2.0], [1.0, 0.0]), ((Trunk(form, (0,)),),))
    found = feature_radii(net, [[8.0, 1.0], [0.0, 4.0]], steps=60)
    np.testing.assert_allclose(found.down[0], [7.0, np.inf], rtol=1e-9)
    np.testing.assert_allclose(found.up[0], [np.inf, 4.0], rtol=1e-9)
    np.testing.assert_allclose(found.up[1], [4.0, np.inf], rtol=1e-9)
    np.testing.assert_allclose(found.down[1], [np.inf, 4.0], rtol=1e-9)
    assert (found.down[0][0] <= 7.0) & (found.up[1][0] <= 4.0)


def test_a_free_feature_is_walked_to_the_place_where_it_flips():
    form = ConvexForm(([[1.0], [-1.0]], [[0.0, 1.0]]), ([0.0, 0.0], [-1.0]), (2,))  # |x| - 1
    net = FrozenNetwork(SlopeBounds([-1.0], [1.0]), ((Trunk(form, (0,)),),))
    found = feature_radii(net, [[3.0], [0.5], [1.0]])
    np.testing.assert_allclose(found.down[:, 0], [2.0, 1.5, 0.0], rtol=1e-5)
    np.testing.assert_allclose(found.up[1:, 0], [0.5, 0.0], rtol=1e-5)
    assert found.up[0, 0] > 1e6  # it only rises from there, which local values show but slopes alone do not


def test_margins_thresholds_and_refusals():
    net = FrozenNetwork(SlopeBounds([0.0], [2.0]), ((Trunk(ConvexForm(([[2.0]],), ([0.0],), ()), (0,)),),))
    assert feature_radii(net, [[1.0]], threshold=1.0).down[0, 0] == pytest.approx(0.5)
    assert feature_radii(net, [[0.0]], threshold=1.0).up[0, 0] == pytest.approx(0.5)
    assert feature_radii(net, [[1.0]], threshold=1.0, margin=0.5).down[0, 0] == pytest.approx(0.25)
    assert feature_radii(net, [[0.0]], threshold=1.0, margin=0.5).up[0, 0] == pytest.approx(0.25)
    assert feature_radii(net, [[1.0]], margin=2.5).down[0, 0] == 0
    with pytest.raises(InputError):
        feature_radii(net, [[np.nan]])
    with pytest.raises(InputError):
        feature_radii("model", [[1.0]])
    assert "x0" in str(feature_radii(net, [[1.0]]))
