"""The parts of a fit by themselves: calibrations and encodings."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.estimators._calibration import calibrate
from monolip.estimators._categories import encode
from monolip.estimators._column_facts import spread
from monolip.estimators._tables import RawColumn


@pytest.mark.parametrize("style", ["quantile", "clipped"])
@pytest.mark.parametrize("values", ["normal", "cauchy", "counts", "two"])
def test_one_bin_moves_at_a_time_with_the_slope_of_u(style, values, rng):
    x = {
        "normal": rng.normal(size=500),
        "cauchy": rng.standard_cauchy(500) * 1e5,
        "counts": rng.poisson(4, 500).astype(float),
        "two": rng.integers(0, 2, 500).astype(float),
    }[values]
    u, *bins = calibrate("x", x, style=style, n_bins=8, missing="state").maps
    assert (len(bins) == 0) == (values == "two")
    assert np.abs(u.values).max() < 10
    for low, high in zip(u.knots[:-1], u.knots[1:], strict=True):
        ends = np.array([low, high])
        rises = [float(np.ptp(phi.evaluate(ends))) for phi in bins]
        moving = [rise for rise in rises if rise > 0]
        assert len(moving) <= 1
        if moving:
            assert moving[0] == pytest.approx(float(np.ptp(u.evaluate(ends))), rel=1e-9)


def test_a_few_rows_at_the_edge_do_not_make_a_step(rng):
    """1 % of the rows on 0.03 deviations: the middle of the data moves, the end is not steeper for it."""
    x = np.concatenate([rng.uniform(0, 6.0, 400), 6.09 + 0.01 * rng.random(8), -0.09 - 0.01 * rng.random(8)])
    u = calibrate("x", x, style="quantile", n_bins=8, missing="state").maps[0]
    inside = u.knots[(u.knots >= x.min()) & (u.knots <= x.max())]
    assert (inside[0], inside[-1]) == (x.min(), x.max())
    assert np.diff(inside).min() > 0.05 * x.std()
    assert max(map(float, u.slopes)) * x.std() < 8  # 248 with the quantiles alone


def test_two_levels_with_many_rows_stay_two_however_near(rng):
    x = rng.choice([0.0, 1.0, 2.0, 3.0, 3.1], 400)
    assert {3.0, 3.1} <= set(calibrate("x", x, style="quantile", n_bins=8, missing="state").maps[0].knots.tolist())


def test_heavy_tails_keep_knots_in_their_middle(rng):
    for x in (
        rng.lognormal(0, 3, 2000),
        rng.standard_cauchy(2000),
        np.where(rng.random(2000) < 0.8, 0, rng.pareto(1, 2000)),
    ):
        u = calibrate("x", x, style="quantile", n_bins=8, missing="state").maps[0]
        levels = np.unique(np.quantile(x, np.linspace(0, 1, 17), method="nearest"))
        assert len(u.knots) >= len(levels) - 1


def test_a_column_remembers_the_range_of_its_training_data(rng):
    x = rng.normal(size=101)
    for style in ("quantile", "clipped", "linear"):
        column = calibrate("x", x, style=style, n_bins=8, missing="state")
        assert column.seen == (x.min(), np.median(x), x.max())
    assert calibrate("x", np.array([1.0, 0, 1, np.nan]), style="quantile", n_bins=8, missing="state").seen == (0.0, 1.0)
    assert calibrate("x", np.full(3, np.nan), style="quantile", n_bins=8, missing="state").seen is None


def test_a_linear_calibration_has_a_power_of_two_for_a_slope(rng):
    (phi,) = calibrate("x", rng.normal(size=100) * 37, style="linear", n_bins=8, missing="state").maps
    assert np.log2(phi.left_slope) == int(np.log2(phi.left_slope))
    assert phi.left_slope == phi.right_slope


def test_missing_values_get_an_indicator_only_where_there_are_any(rng):
    x = rng.normal(size=100)
    assert calibrate("x", x, style="quantile", n_bins=0, missing="state").present is None
    x[:5] = np.nan
    lowest = calibrate("x", x, style="quantile", n_bins=8, missing="lowest")
    assert lowest.missing[-1] < lowest.present
    assert all(m <= phi.evaluate(-np.inf) for m, phi in zip(lowest.missing, lowest.maps, strict=False))
    highest = calibrate("x", x, style="quantile", n_bins=8, missing="highest")
    assert highest.missing[-1] > highest.present


def test_spread_survives_the_ends_of_the_number_line():
    assert spread(np.array([np.nan, np.nan])) == (0.0, 1.0)
    assert spread(np.full(10, 3.0))[1] == 1.0
    mean, deviation = spread(np.array([1e200, 3e200]))
    assert (mean, deviation) == pytest.approx((2e200, 1e200))


def test_ordered_categories_are_a_thermometer_and_others_one_hot():
    labels = np.array(["a", "b", "c", "b", None], dtype=object)
    ordered = encode(RawColumn("g", labels), ("a", "b", "c"), ordered=True, target=np.zeros(5))
    assert ordered.table[:3, :2].tolist() == [[0, 0], [1, 0], [1, 1]]
    assert ordered.table[-1, -1] == 1.0  # missing in training: a state of its own
    plain = encode(RawColumn("g", labels[:4]), ("a", "b", "c"), ordered=False, target=np.zeros(4))
    assert sorted(plain.table[:3].sum(1).tolist()) == [1, 1, 1]
    assert plain.table[3].sum() == pytest.approx(1.0)  # unseen: the average known label
    two = encode(RawColumn("g", labels[:2]), ("a", "b"), ordered=False, target=np.zeros(2))
    assert two.n_model == 1
