"""The promise of fixed point: no step goes the wrong way, every carrier gives the same bits, no sum can overflow."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from monolip.certify.fixed_point import compile_fixed_point
from monolip.certify.fixed_point_claims import fixed_point_claims, fixed_point_directions
from monolip.certify.fixed_point_rounding import apportion
from monolip.errors import FreezeError, InputError, PrecisionError
from monolip.fixed_point_format import FixedPointFormat
from tests.certify.fixed_point_networks import exact_evaluate, random_network, table_network
from tests.make import frozen_networks

RANGES = [(-4.0, 4.0)] * 3
FORMS = {
    "form": st.sampled_from(["convex", "paper"]),
    "depth": st.integers(1, 8),
    "group_size": st.sampled_from([2, 3, "full"]),
    "n_outputs": st.integers(1, 3),
    "members": st.integers(1, 3),
    "preset": st.sampled_from(["wide", "narrow"]),
    "seed": st.integers(0, 10**6),
}


def compiled(preset, seed, **kind):
    rng = np.random.default_rng(seed)
    return compile_fixed_point(random_network(rng, **kind), preset, input_ranges=RANGES), rng


@settings(max_examples=60, deadline=None)
@given(**FORMS)
def test_one_unit_never_goes_the_wrong_way(preset, seed, **kind):
    network, rng = compiled(preset, seed, **kind)
    limits = np.array(network.limits)
    x = rng.integers(-limits - 2, limits + 3, (400, 3))
    x[::3] = rng.integers(-5, 6, x[::3].shape)
    f = network.evaluate(x)
    for feature, sign in ((0, 1), (1, -1)):
        for step in (1, 2, int(rng.integers(1, 1000))):
            moved = x.copy()
            moved[:, feature] += step
            assert ((network.evaluate(moved) - f) * sign >= 0).all()


@settings(max_examples=40, deadline=None)
@given(**FORMS)
def test_one_ulp_never_goes_the_wrong_way_and_caps_hold(preset, seed, **kind):
    network, rng = compiled(preset, seed, **kind)
    x = rng.uniform(-4.5, 4.5, (300, 3))
    f = network.evaluate_raw(x)
    claims = fixed_point_claims(network)["raw"]
    for feature, sign in ((0, 1), (1, -1), (2, 0)):
        further = rng.choice([0.0, 1e-7, 1e-3, 1.0], len(x))
        moved = x.copy()
        moved[:, feature] = np.maximum(np.nextafter(x[:, feature], np.inf), x[:, feature] + further)
        change = network.evaluate_raw(moved) - f
        assert (change * sign >= 0).all()
        inside = (np.abs(moved) <= 4).all(axis=1) & (np.abs(x) <= 4).all(axis=1)
        for k in range(network.n_outputs):
            low, high = (Fraction(float.fromhex(v)) for v in claims[feature]["real"][k])
            margin = Fraction(float.fromhex(claims[feature]["margin"][k]))
            for d, dx in zip(change[inside, k].tolist(), (moved - x)[inside, feature].tolist(), strict=True):
                value = Fraction(d) / 2**network.link.unit
                assert low * Fraction(dx) - margin <= value <= high * Fraction(dx) + margin


@settings(max_examples=30, deadline=None)
@given(**FORMS)
def test_every_carrier_and_batch_gives_the_bits_of_pythons_integers(preset, seed, **kind):
    network, rng = compiled(preset, seed, **kind)
    limits = np.array(network.limits)
    corners = np.where(rng.random((8, 3)) < 0.5, -limits, limits)  # where sums are largest
    x = np.vstack([corners, rng.integers(-limits, limits + 1, (22, 3))])
    expected = np.array([exact_evaluate(network, row) for row in x])
    assert {"int64", "float64"} <= set(network.carriers)
    assert ("int32" in network.carriers) == (preset == "narrow")
    for carrier in network.carriers:
        for size in (1, 7, len(x)):
            found = [network.evaluate(x[at : at + size], carrier) for at in range(0, len(x), size)]
            np.testing.assert_array_equal(np.concatenate(found), expected)
    assert np.abs(expected).max() <= network.reach_of_outputs < network.reach < 2**53


@pytest.mark.parametrize("form", ["convex", "paper"])
@pytest.mark.parametrize(("preset", "tolerance"), [("wide", 1e-5), ("narrow", 1e-2)])
def test_integers_are_near_the_network_they_come_from(form, preset, tolerance):
    rng = np.random.default_rng(1)
    frozen = random_network(rng, form, depth=3, members=2)
    network = compile_fixed_point(frozen, preset, input_ranges=RANGES)
    x = rng.uniform(-4, 4, (500, 3))
    np.testing.assert_allclose(network.predict(x), frozen.evaluate(x), atol=tolerance)
    assert network.source == frozen.digest


def test_carriers_that_cannot_hold_the_sums_are_refused():
    network, _ = compiled("wide", 0)
    for carrier in ("int32", "float32", "bfloat16"):
        with pytest.raises(PrecisionError, match="carrier must hold"):
            network.evaluate(np.zeros((1, 3), int), carrier)
    small = FixedPointFormat("tiny", 6, 8, 10, 25, 16)
    tiny = compile_fixed_point(random_network(np.random.default_rng(0)), small, input_ranges=RANGES)
    assert "float32" in tiny.carriers
    tiny.self_test()


def test_extreme_inputs_are_clamped_and_nan_is_refused():
    network, _ = compiled("wide", 3)
    edge = network.evaluate_raw(np.array([[4.0, 0.0, 0.0]]))
    for value in (np.inf, 1e300, np.finfo(float).max, 4.0000001):
        np.testing.assert_array_equal(network.evaluate_raw(np.array([[value, 0.0, 0.0]])), edge)
    zero = network.evaluate_raw(np.zeros((1, 3)))
    np.testing.assert_array_equal(network.evaluate_raw(np.full((1, 3), 5e-324)), zero)
    np.testing.assert_array_equal(network.evaluate_raw(np.full((1, 3), -0.0)), zero)
    with pytest.raises(InputError, match="no rule for missing values"):
        network.evaluate_raw(np.array([[np.nan, 0.0, 0.0]]))
    with pytest.raises(InputError, match="takes integers"):
        network.evaluate(np.zeros((1, 3)))


def test_saturation_where_wanted_keeps_the_order_and_says_so():
    rng = np.random.default_rng(5)
    frozen = random_network(rng, depth=4)
    short = FixedPointFormat("short", 12, 16, 16, 32, 16, saturate=True)
    with pytest.warns(RuntimeWarning, match="of the spread of outputs"):  # clamps were asked for, and change much here
        network = compile_fixed_point(frozen, short, input_ranges=RANGES, headroom=3)
    assert network.saturates
    assert not compile_fixed_point(frozen, short, input_ranges=RANGES).saturates
    limits = np.array(network.limits)
    x = rng.integers(-limits, limits, (5000, 3))
    moved = x + np.array([1, 0, 0])
    assert (network.evaluate(moved, "int32") >= network.evaluate(x, "int32")).all()
    for entry in fixed_point_claims(network)["raw"]:
        low, high = (float.fromhex(v) for v in entry["real"][0])
        assert low <= 0 <= high
    with pytest.raises(InputError, match="headroom"):
        compile_fixed_point(frozen, "wide", input_ranges=RANGES, headroom=1)


@pytest.mark.parametrize("name", ["householder", "L1 to L1"])
def test_forms_whose_order_rounding_breaks_are_refused(name):
    frozen = frozen_networks(np.random.default_rng(0))[name]
    with pytest.raises(FreezeError, match="every coordinate may round by a unit of its own"):
        compile_fixed_point(frozen, input_ranges=RANGES)


@pytest.mark.parametrize("name", ["convex", "ensemble", "per output", "two outputs", "free branch", "slope set"])
def test_every_other_kind_compiles(name):
    frozen = frozen_networks(np.random.default_rng(0))[name]
    network = compile_fixed_point(frozen, input_ranges=RANGES)
    x = np.random.default_rng(1).uniform(-4, 4, (200, frozen.n_features + frozen.n_free_features))
    np.testing.assert_allclose(network.predict(x), frozen.evaluate(x), atol=1e-5)
    words = [words for words, _ in fixed_point_directions(network)]
    assert [w[0] for w in words][:2] == ["increasing", "decreasing"]


def test_a_range_must_be_known():
    frozen = random_network(np.random.default_rng(0))
    with pytest.raises(InputError, match="goes on for ever"):
        compile_fixed_point(frozen)
    with pytest.raises(InputError, match="low < high"):
        compile_fixed_point(frozen, input_ranges={"up": (1.0, 1.0)})
    with pytest.raises(InputError, match="names numeric columns"):
        compile_fixed_point(frozen, input_ranges={"other": (0.0, 1.0)})
    branched = frozen_networks(np.random.default_rng(0))["free branch"]
    with pytest.raises(InputError, match="a preset is"):
        compile_fixed_point(branched, "medium", input_ranges=RANGES)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12), st.integers(0, 60), st.booleans())
def test_rows_are_repaired_to_their_sum(row, extra, exact):
    total = round(sum(row)) + (extra if not exact else 0)
    if exact and not any(v > 0 for v in row):
        return
    rows = apportion(np.array([row]), [total], exact=exact)[0]
    assert (rows >= 0).all()
    assert rows.sum() == total if exact else rows.sum() <= total
    assert (np.abs(rows - np.array(row)) <= 2).all() if exact else True
    assert not exact or (rows[np.array(row) == 0] == 0).all()


def test_why_l1_is_refused():
    """(0, -128) and (-1, -129) are 2 <= 1 * 128 apart in L1, and yet their floors by 128 are 2 > 1 apart."""
    a, b = np.array([0, -128]), np.array([-1, -129])
    assert np.abs(a - b).sum() <= 128
    assert np.abs((a >> 7) - (b >> 7)).sum() == 2


def test_the_search_finds_a_residual_that_is_one_unit_short():
    rng = np.random.default_rng(0)
    network = compile_fixed_point(random_network(rng, "paper", depth=2), "narrow", input_ranges=RANGES)
    (trunk,) = network.members[0]
    short = replace(trunk, residual=trunk.residual - np.array([[1, 0, 0]]))
    broken = replace(network, members=((short,),))
    assert fixed_point_directions(broken)[0][0] == ["none"]
    x = rng.integers(-3000, 3000, (4000, 3))
    assert (broken.evaluate(x + np.array([1, 0, 0])) < broken.evaluate(x)).any()


def test_the_number_of_threads_changes_no_bit():
    network, rng = compiled("wide", 9, depth=4, group_size="full", members=2)
    x = rng.integers(-(2**25), 2**25, (20_000, 3))
    with threadpool_limits(1):
        one = network.evaluate(x, "float64")
    with threadpool_limits(2):
        two = network.evaluate(x, "float64")
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, network.evaluate(x))


def test_table_columns_compile_with_their_ranges():
    network = compile_fixed_point(table_network(np.random.default_rng(0)))
    pace = network.inputs.columns[-1]
    assert (pace.low, pace.high) == (-26.0, 28.0)  # four widths of the training data on either side
