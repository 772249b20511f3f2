"""Calibration of a numeric column: its maps, and the shortcuts that have to give numpy's bits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monolip.estimators._calibration import _apart, _moments, _nearest, calibrate, spread


def column(seed: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    kinds = [rng.normal(size=n), rng.integers(0, 4, n) * 1.0, np.where(rng.random(n) < 0.7, 0.0, rng.normal(size=n))]
    return kinds[seed % 3] * 10.0 ** rng.integers(-9, 9) + rng.choice([0.0, 1e3])


@given(st.integers(0, 2**32 - 1), st.integers(1, 3000))
def test_mean_and_deviation_have_the_bits_of_numpy(seed, n):
    values = column(seed, n)
    assert _moments(values) == (float(values.mean()), float(values.std()))
    holes = np.where(np.random.default_rng(seed).random(n) < 0.1, np.nan, values)
    known = holes[~np.isnan(holes)]
    expected = (0.0, 1.0)
    if known.size:
        scale = float(np.abs(known).max()) or 1.0
        mean, deviation = float((known / scale).mean()) * scale, float((known / scale).std()) * scale
        expected = mean, deviation if deviation > 8 * np.finfo(float).eps * scale else 1.0
    assert spread(holes) == expected


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
    kept = _apart(knots, deviation)
    assert kept[0] == min(knots)
    assert len(kept) == 1 or kept[-1] == max(knots)
    gaps = [(b - a, 64 * np.spacing(max(abs(a), abs(b)))) for a, b in pairwise(kept)]
    assert all(gap > ulps for gap, ulps in gaps)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=12, unique=True), st.floats(-25, 25))
def test_the_nearest_knot_is_the_first_of_the_nearest(knots, value):
    ordered = [float(knot) for knot in sorted(knots)]
    for at in (value, round(value) / 2, ordered[0], ordered[-1]):
        assert _nearest(ordered, at) == int(np.abs(np.array(ordered) - at).argmin())


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
