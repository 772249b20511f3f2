"""A code such as 999999 in a column with an explicit slope interval does not keep the fit from learning the rest."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.estimators import MonotonicRegressor

N = 800


def coded(rng, share, code=999_999.0):
    """(X, y, which rows hold the code)."""
    x, z = rng.normal(1, 0.5, N), rng.normal(size=N)
    bad = rng.random(N) < share
    return np.c_[np.where(bad, code, x), z], 2 * x + np.sin(z) + 0.1 * rng.normal(size=N), bad


@pytest.mark.parametrize("interval", [(0.0, 3.0), (-3.0, 3.0), (1.0, 3.0)])
@pytest.mark.parametrize("code", [999_999.0, -1e30])
def test_other_rows_are_fitted_and_the_interval_holds_to_the_bit(rng, interval, code):
    X, y, bad = coded(rng, 0.01, code)
    with pytest.warns(UserWarning, match=r"column 'x0', where f goes on linearly; turn a code such as 999999 into NaN"):
        model = MonotonicRegressor(slopes={0: interval}, random_state=0).fit(X, y)
    residual = (model.predict(X) - y)[~bad]
    assert np.mean(residual**2) < 0.1 * np.var(y[~bad])
    low, high = model.slopes_["x0"]
    assert interval[0] <= low <= high <= interval[1]
    assert model.slopes_.rows[0].promised == interval
    slope = model.frozen_.inputs.columns[0].maps[0].slopes[0]
    assert slope.numerator == 1 or slope.denominator == 1  # a power of two: units stay exact
    assert len(set(model.frozen_.inputs.columns[0].maps[0].slopes)) == 1


@pytest.mark.parametrize("values", ["normal", "exponential", "constant", "two values", "missing"])
def test_ordinary_columns_are_scaled_as_before_without_a_warning(rng, values):
    x = {
        "normal": rng.normal(size=N),
        "exponential": rng.exponential(size=N),
        "constant": np.full(N, 3.0),
        "two values": (rng.random(N) < 0.01).astype(float),
        "missing": np.where(rng.random(N) < 0.5, np.nan, rng.normal(size=N)),
    }[values]
    model = MonotonicRegressor(slopes={0: (0.0, 2.0)}, max_iter=2, random_state=0).fit(x[:, None], rng.normal(size=N))
    deviation = float(np.nanstd(x)) or 1.0
    assert 0.5 < float(model.frozen_.inputs.columns[0].maps[0].slopes[0]) * deviation < 2.0


def test_a_code_turned_into_nan_is_a_missing_value(rng):
    X, y, bad = coded(rng, 0.05)
    X[bad, 0] = np.nan
    model = MonotonicRegressor(slopes={0: (0.0, 3.0)}, random_state=0).fit(X, y)
    assert np.mean((model.predict(X) - y)[~bad] ** 2) < 0.1 * np.var(y[~bad])
    assert np.abs(model.predict(X)[bad]).max() < 20
