"""Certified radii, attacked: nothing inside a radius flips the decision, in exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monolip.certify.robustness import certified_radius
from monolip.certify.robustness_enclosure import output_enclosure
from monolip.certify.robustness_exact import exact_output
from monolip.certify.robustness_inputs import read_samples
from monolip.convex import ConvexForm
from monolip.errors import InputError
from monolip.frozen import FrozenNetwork, Trunk
from monolip.slopes import SlopeBounds

from ..make import frozen_networks
from .robustness_networks import KINDS, exact_decision, exact_value, moved_positions, network, rows_of

SEEDS = st.integers(0, 10**6)
METHODS = ("promise", "slopes", "hull", "local")
NEARLY = Fraction(999999, 1000000)


def affine(weights, bias=0.0):
    weights = np.atleast_2d(np.asarray(weights, dtype=float))
    slopes = SlopeBounds(weights.min(axis=0) - 0.5, weights.max(axis=0) + 0.5)
    form = ConvexForm((weights,), (np.broadcast_to(np.asarray(bias, float), len(weights)),), ())
    return FrozenNetwork(slopes, ((Trunk(form, tuple(range(len(weights)))),),))


def directions(rng, count, norm, worst):
    """Points of the unit sphere of a norm: corners, axes, random ones and the direction that looks worst."""
    found = [rng.choice([-1.0, 1.0], count) for _ in range(3)]
    found += [rng.normal(size=count) for _ in range(2)]
    axis = np.zeros(count)
    axis[rng.integers(count)] = rng.choice([-1.0, 1.0])
    found += [axis, np.sign(worst) + (worst == 0), -np.sign(worst) + (worst == 0)]
    steepest = np.zeros(count)
    steepest[np.argmax(np.abs(worst))] = -np.sign(worst[np.argmax(np.abs(worst))]) or 1.0
    for d in (*found, steepest, -steepest):
        exact = [Fraction(float(v)) for v in d]
        if norm == np.inf:
            size = max(map(abs, exact))
        elif norm == 1:
            size = sum(map(abs, exact))
        else:  # a rational number just above the root
            size = Fraction(float(np.sqrt(float(sum(v * v for v in exact)))) * (1 + 1e-12))
        yield [v / size for v in exact]


def step(row, where, d, radius, scale):
    moved = list(row)
    for at, part, size in zip(where, d, scale, strict=True):
        moved[at] = moved[at] if moved[at] != moved[at] else Fraction(moved[at]) + part * radius * Fraction(float(size))
    return moved


def slope_guess(net, row, where, scale):
    """Finite differences of the margin, in floats."""
    base = np.array([float(v) for v in exact_value(net, row)])
    best = int(base.argmax())
    guess = []
    for at, size in zip(where, scale, strict=True):
        near = list(row)
        near[at] = near[at] + 1e-3 * size
        change = np.array([float(v) for v in exact_value(net, near)]) - base
        guess.append(change[best] if len(base) == 1 else change[best] - np.delete(change, best).max())
    return np.array(guess)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6)
@given(seed=SEEDS, norm=st.sampled_from([1, 2, np.inf]), method=st.sampled_from(METHODS))
def test_nothing_within_a_radius_flips_the_decision(kind, seed, norm, method):
    net, rng = network(kind, seed), np.random.default_rng(seed)
    rows, where = rows_of(net, rng, 3), moved_positions(net)
    scale = rng.uniform(0.5, 2.0, len(where))
    found = certified_radius(net, rows, norm=norm, scale=scale, method=method)
    for row, radius, decision in zip(rows, found.radius.tolist(), found.decision, strict=True):
        if radius == 0:
            continue
        assert exact_decision(net, row) == decision
        size = Fraction(1000) if radius == np.inf else Fraction(radius) * NEARLY
        for d in directions(rng, len(where), norm, slope_guess(net, row, where, scale)):
            assert exact_decision(net, step(row, where, d, size, scale)) == decision


@settings(max_examples=10)
@given(seed=SEEDS, kind=st.sampled_from(KINDS), norm=st.sampled_from([1, 2, np.inf]))
def test_each_method_proves_at_least_what_the_coarser_one_does(seed, kind, norm):
    net, rng = network(kind, seed), np.random.default_rng(seed)
    rows = rows_of(net, rng, 3)
    radii = [certified_radius(net, rows, norm=norm, scale=1.0, method=m, steps=14).radius for m in METHODS]
    assert (radii[0] <= radii[1] * (1 + 1e-9)).all()
    assert (radii[1] <= radii[2]).all()
    assert (radii[2] * (1 - 1e-3) <= radii[3]).all()


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize(("norm", "size"), [("l1", 2.0 * 3.0), ("L2", np.hypot(6.0, 0.5)), (np.inf, 6.5)])
def test_an_affine_function_gets_its_exact_radius(method, norm, size):
    net = affine([2.0, -0.5], 1.0)
    found = certified_radius(net, [[1.0, 2.0], [-1.0, 0.0]], norm=norm, scale=[3.0, 1.0], method=method, steps=30)
    assert found.decision.tolist() == [1, 0]
    np.testing.assert_allclose(found.radius, np.array([2.0, 1.0]) / size, rtol=1e-6)
    assert (found.radius <= np.array([2.0, 1.0]) / size).all()


@settings(max_examples=10)
@given(seed=SEEDS, kind=st.sampled_from(KINDS))
def test_the_enclosure_holds_the_exact_value(seed, kind):
    net, rng = network(kind, seed), np.random.default_rng(seed)
    rows = rows_of(net, rng, 3)
    value, error = output_enclosure(net, read_samples(net, rows))
    assert (error < 1e-12).all()
    for row, f, off in zip(rows, value, error, strict=True):
        exact = exact_value(net, row)
        assert exact == exact_output(net, row)
        for v, e, true in zip(f.tolist(), off.tolist(), exact, strict=True):
            assert abs(Fraction(v) - true) <= Fraction(e)


def test_every_kind_of_frozen_network_has_radii_and_names_what_is_held(rng):
    for name, net in frozen_networks(rng).items():
        rows = rng.normal(size=(4, 3 + net.n_free_features))
        found = certified_radius(net, rows, scale=1.0)
        assert found.radius.shape == (4,), name
        assert (found.radius > 0).all()
        assert found.held == (("u", "v") if name == "free branch" else ())
        for row, radius, decision in zip(rows, found.radius.tolist(), found.decision, strict=True):
            for corner in np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T.tolist():
                moved = [Fraction(v) for v in row.tolist()]
                moved[:3] = [a + Fraction(b) * Fraction(radius) * NEARLY for a, b in zip(moved, corner, strict=False)]
                f = exact_output(net, moved)
                assert (int(f[0] > 0) if len(f) == 1 else f.index(max(f))) == decision


def test_a_margin_for_the_deployed_arithmetic_is_subtracted():
    net = affine([2.0], 1.0)
    plain, less = (certified_radius(net, [[1.0]], scale=1.0, margin=m).radius[0] for m in (0.0, 1.0))
    assert plain == pytest.approx(1.5, rel=1e-3)
    assert less == pytest.approx(1.0, rel=1e-3)
    assert certified_radius(net, [[1.0]], scale=1.0, margin=3.0).radius[0] == 0
    two = affine([[2.0], [0.0]])  # classes: both logits may be off, in opposite directions
    assert certified_radius(two, [[1.0]], scale=1.0, margin=0.5).radius[0] == pytest.approx(0.5, rel=1e-3)


def test_on_the_boundary_and_at_ties_nothing_is_proved():
    assert certified_radius(affine([2.0], 1.0), [[-0.5]], scale=1.0).radius[0] == 0
    assert certified_radius(affine([2.0], 1.0), [[1.0]], scale=1.0, threshold=3.0).radius[0] == 0
    tie = affine([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    found = certified_radius(tie, [[1.0, 1.0], [2.0, 1.0]], scale=1.0)
    assert found.radius[0] == 0
    assert found.radius[1] == pytest.approx(0.5, rel=1e-3)


def test_a_constant_decision_is_proved_for_every_change():
    assert np.isinf(certified_radius(affine([0.0, 0.0], 1.0), [[1.0, 2.0]], scale=1.0).radius).all()
    common = affine([[1.0, -2.0], [1.0, -2.0]], [0.0, 1.0])  # the logits move together
    for method in ("local", "hull"):
        assert certified_radius(common, [[1.0, 2.0]], scale=1.0, method=method).decision[0] == 1


def test_a_shared_trunk_of_two_logits_cancels_what_they_share(rng):
    slopes = SlopeBounds([-1.0], [1.0])
    first, later = [[1.0], [-1.0]], [[0.5, 0.5], [0.5, 0.5]]
    form = ConvexForm((first, later), ([0.0, 0.0], [0.0, 1.0]), (2,))
    net = FrozenNetwork(slopes, ((Trunk(form, (0, 1)),),))
    assert np.isinf(certified_radius(net, [[0.3]], scale=1.0, method="local").radius).all()
    assert np.isinf(certified_radius(net, [[0.3]], scale=1.0, method="hull").radius).all()


def test_missing_values_and_categories_are_held_fixed():
    net = network("raw", 5)
    found = certified_radius(net, [[0.1, "a", 0.2], [0.1, "b", float("nan")]], scale={"n0": 1.0, "n1": 2.0})
    assert found.held == ("city",)
    assert found.moved == ("n0", "n1")
    alone = certified_radius(net, [[0.1, "b", float("nan")]], scale={"n0": 1.0, "n1": 0.0})
    assert alone.held == ("city", "n1")
    assert alone.radius[0] == pytest.approx(found.radius[1], rel=1e-3)


def test_what_is_no_number_or_no_choice_is_refused():
    net = affine([1.0, 1.0])
    for X in ([[np.nan, 0.0]], [[np.inf, 0.0]], [[0.0]]):
        with pytest.raises(InputError):
            certified_radius(net, X, scale=1.0)
    one = [[0.0, 1.0]]
    for wrong in ({"norm": 3}, {"norm": "l3"}, {"norm": True}, {"method": "guess"}, {"margin": -1.0},
                  {"margin": np.nan}, {"scale": 0.0}, {"scale": -1.0}, {"scale": [1.0, 2.0, 3.0]},
                  {"scale": {"x0": 1.0}}, {"scale": None},
                  {"scale": "wide"}, {"threshold": np.inf}):  # fmt: skip
        with pytest.raises(InputError):
            certified_radius(net, one, **{"scale": 1.0, **wrong})
    with pytest.raises(InputError):
        certified_radius(object(), one)
    with pytest.raises(InputError, match="threshold"):
        certified_radius(affine([[1.0], [2.0]]), [[1.0]], scale=1.0, threshold=1.0)
    with pytest.raises(InputError):  # this column has no rule for missing values
        certified_radius(network("raw", 5), [[float("nan"), "a", 1.0]], scale=1.0)


def test_huge_and_tiny_numbers_give_sound_radii():
    net = affine([1e-200, 1e200], 1.0)
    found = certified_radius(net, [[1e300, 1e-250], [0.0, 1e100]], scale=1.0)
    for row, radius in zip(([1e300, 1e-250], [0.0, 1e100]), found.radius.tolist(), strict=True):
        assert 0 < radius < np.inf
        worst = [Fraction(v) - Fraction(radius) for v in row]
        assert exact_decision(net, worst) == exact_decision(net, row) == 1


def test_an_empty_table_has_no_radii():
    net = network("deep", 1)
    assert certified_radius(net, np.zeros((0, net.n_features)), scale=1.0).radius.shape == (0,)


def test_certified_accuracy_counts_right_and_proved():
    net = affine([1.0])
    found = certified_radius(net, [[1.0], [2.0], [-3.0]], scale=1.0)
    assert found.certified_accuracy([True, True, False], [0.0, 1.5, 5.0]).tolist() == [2 / 3, 1 / 3, 0.0]
    assert "3 radii, Linf" in str(found)
    with pytest.raises(InputError):
        found.certified_accuracy([True], 1.0)
