"""Calibration of a numeric column: its maps, and the shortcuts that have to give numpy's bits."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monolip.errors import InputError
from monolip.estimators import _calibration
from monolip.estimators._calibration import Uncalibrated, calibrate, calibrate_all
from monolip.estimators._column_facts import ColumnFacts, moments, spread

from . import plain_calibration as plain


def column(seed: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    kinds = [rng.normal(size=n), rng.integers(0, 4, n) * 1.0, np.where(rng.random(n) < 0.7, 0.0, rng.normal(size=n))]
    return kinds[seed % 3] * 10.0 ** rng.integers(-9, 9) + rng.choice([0.0, 1e3])


@given(st.integers(0, 2**32 - 1), st.integers(1, 3000))
def test_mean_and_deviation_have_the_bits_of_numpy(seed, n):
    values = column(seed, n)
    assert plain.moments(values) == (float(values.mean()), float(values.std()))
    several = np.array([values, values[::-1], np.roll(values, n // 3)])
    means, deviations = moments(several.copy())
    assert means.tolist() == [float(row.mean()) for row in several]
    assert deviations.tolist() == [float(row.std()) for row in several]
    holes = np.where(np.random.default_rng(seed).random(n) < 0.1, np.nan, values)
    known = holes[~np.isnan(holes)]
    expected = (0.0, 1.0)
    if known.size:
        scale = float(np.abs(known).max()) or 1.0
        mean, deviation = float((known / scale).mean()) * scale, float((known / scale).std()) * scale
        expected = (mean, deviation) if deviation > 2.0**-40 * scale else plain._spread(known, scale)
    assert spread(holes) == expected


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.floats(0, 17))
def test_the_spread_of_values_far_from_zero_is_that_of_their_differences(seed, n, power):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n) + rng.choice([-1, 1]) * 10.0**power
    mean, deviation = spread(values)
    exact = [Fraction(value) for value in values.tolist()]
    centre = sum(exact) / n
    true = math.sqrt(float(sum((value - centre) ** 2 for value in exact) / n))
    assert deviation == pytest.approx(true or 1.0, rel=1e-4)
    assert abs(float(Fraction(mean) - centre)) <= np.spacing(abs(mean)) + 1e-4 * deviation


@pytest.mark.parametrize("n_bins", [0, 1, 3, 8, 64])
@pytest.mark.parametrize("seed", range(6))
def test_bins_follow_the_first_map_between_two_knots_and_add_up_to_it(seed, n_bins):
    values = column(seed, 500)
    found = calibrate("x", values, style="quantile", n_bins=n_bins, missing="state")
    whole, bins = found.maps[0], found.maps[1:]
    assert len(bins) == 0 or len(bins) >= 3
    assert len(bins) <= 2 * n_bins  # where one value is nearly all of them, the others have bins as well
    for phi in bins:
        at = whole.knots.searchsorted(phi.knots)
        assert np.array_equal(whole.knots[at], phi.knots)
        middle = (whole.values[at[0]] + whole.values[at[-1]]) / 2
        assert np.array_equal(phi.values, whole.values[at] - middle)
    if bins:
        rise = sum(phi.values[-1] - phi.values[0] for phi in bins)
        low, high = bins[0].knots[0], bins[-1].knots[-1]
        assert rise == pytest.approx(whole.at(float(high)) - whole.at(float(low)))
    assert found.missing == tuple(float(phi.evaluate(np.sort(values)[250])) for phi in found.maps)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30), st.floats(1e-290, 1e300))
def test_knots_are_apart_and_the_ends_are_kept(knots, deviation):
    kept = plain.apart(knots, deviation)
    assert kept[0] == min(knots)
    assert len(kept) == 1 or kept[-1] == max(knots)
    gaps = [(b - a, min(64 * np.spacing(max(abs(a), abs(b))), deviation / 32)) for a, b in pairwise(kept)]
    assert all(gap > ulps for gap, ulps in gaps)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=12, unique=True), st.floats(-25, 25))
def test_the_nearest_knot_is_the_first_of_the_nearest(knots, value):
    ordered = [float(knot) for knot in sorted(knots)]
    for at in (value, round(value) / 2, ordered[0], ordered[-1]):
        assert plain.nearest(ordered, at) == int(np.abs(np.array(ordered) - at).argmin())


@pytest.mark.parametrize("missing", [0, 3, 20])
def test_missing_values_change_nothing_of_the_maps_but_add_an_indicator(missing, rng):
    known = rng.normal(size=200)
    values = rng.permutation(np.concatenate([known, np.full(missing, np.nan)]))
    whole = calibrate("x", values, style="quantile", n_bins=8, missing="state")
    alone = calibrate("x", values[~np.isnan(values)], style="quantile", n_bins=8, missing="state")
    pairs = zip(whole.maps, alone.maps, strict=True)
    assert all(a.knots.tolist() == b.knots.tolist() and a.values.tolist() == b.values.tolist() for a, b in pairs)
    assert (whole.present is None) == (missing == 0)
    assert whole.seen == alone.seen


def odd_column(rng: np.random.Generator, n: int) -> np.ndarray:
    """Ties, constants, heavy tails, sentinels, mostly one value, narrow ends; far from 0, near it; perhaps missing."""
    kinds = [
        rng.normal(size=n),
        rng.integers(0, 4, n) * 1.0,
        np.where(rng.random(n) < 0.7, 0.0, rng.normal(size=n)),
        rng.choice([-1.0, -0.0, 0.0, 1.0], n),
        rng.standard_cauchy(n),
        np.full(n, 3.3),
        rng.choice([0.0, 1.0, 999999.0], n, p=[0.45, 0.45, 0.1]),
        np.concatenate([rng.uniform(0, 6, n - n // 50), 6.09 + 0.01 * rng.random(n // 50)]),
    ]
    x = kinds[rng.integers(len(kinds))] * 10.0 ** rng.integers(-9, 9) + rng.choice([0.0, 0.0, 1e3, 1e12, 1e15])
    return np.where(rng.random(n) < rng.choice([0.0, 0.0, 0.1, 1.0]), np.nan, x)


def bits(column) -> tuple:
    maps = [(m.knots.tobytes(), m.values.tobytes(), m.left_slope, m.right_slope) for m in column.maps]
    return column.name, maps, column.missing, column.present, column.seen


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3, 7, 20, 50, 129, 300]), st.sampled_from([0, 1, 3, 8, 64]))
def test_columns_at_once_have_the_bits_of_each_alone_step_by_step(seed, n, n_bins):
    rng = np.random.default_rng(seed)
    columns = [
        Uncalibrated(f"x{j}", odd_column(rng, n), rng.choice(["quantile", "clipped", "linear"], p=[0.6, 0.2, 0.2]),
                     rng.choice(["state", "lowest", "highest"]))
        for j in range(rng.integers(1, 6))
    ]  # fmt: skip
    together = calibrate_all(columns, n_bins)
    for given_, found in zip(columns, together, strict=True):
        rest = {"style": given_.style, "n_bins": n_bins, "missing": given_.missing}
        assert bits(found) == bits(plain.calibrate(given_.name, given_.values, **rest))
        assert not any(phi.knots.flags.writeable or phi.values.flags.writeable for phi in found.maps)


def test_columns_of_many_rows_are_looked_at_in_turn(monkeypatch, rng):
    columns = [Uncalibrated(f"x{j}", rng.normal(size=100), "quantile", "state") for j in range(5)]
    together = [bits(column) for column in calibrate_all(columns, 8)]
    monkeypatch.setattr(_calibration, "_AT_ONCE", 200)
    assert [bits(column) for column in calibrate_all(columns, 8)] == together
    assert calibrate_all([], 8) == []


def test_a_column_of_extremes_is_named_among_others(rng):
    good = Uncalibrated("good", rng.normal(size=50), "quantile", "state")
    for bad in (np.linspace(0, 1e-292, 50), np.linspace(-2e300, 1.0, 50)):
        with pytest.raises(InputError, match="column 'bad'; rescale it"):
            calibrate_all([good, Uncalibrated("bad", bad, "quantile", "state")], 8)


def test_facts_of_columns_with_and_without_missing_values(rng):
    values = rng.normal(size=(3, 40))
    values[1, ::3] = np.nan
    values[2] = np.nan
    facts = ColumnFacts.of(values)
    assert facts.sizes.tolist() == [40, 26, 0]
    assert (facts.means[0], facts.deviations[0]) == spread(values[0])
    assert (facts.means[1], facts.deviations[1]) == spread(values[1])
    assert [fact[2] for fact in facts[2:]] == [0.0, 0.0, 0.0, 0.0, 1.0]
    alone = ColumnFacts.of(values[:1])
    assert all(one[0].tobytes() == two[0].tobytes() for one, two in zip(alone, facts, strict=True))
