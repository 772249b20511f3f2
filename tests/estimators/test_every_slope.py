"""Every numeric feature has a finite certified slope interval, in every fit; certified radii move all of them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.certify import certified_radius, certify, feature_radii
from monolip.certify.fixed_point import compile_fixed_point

from .tables import QUICK, credit


def steps(n=1500, d=3):
    """What trees fit best: steps, interactions at thresholds, and a feature of two values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"x{j}": rng.uniform(size=n) for j in range(d)}).assign(two=rng.integers(0, 2, n))
    y = np.floor(6 * X["x0"]) * (1 + (X["x2"] > 0.5)) + 2 * (np.floor(15 * X["x1"]) % 2) + X["two"]
    return X, (y + 0.2 * rng.normal(size=n)).to_numpy()


def odd():
    """Missing values, a constant column, a copy of another one, far values, few different numbers, a category."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=300)
    gaps = np.where(rng.random(300) < 0.3, np.nan, rng.normal(size=300))
    far = np.where(rng.random(300) < 0.02, 1e9, rng.normal(size=300))
    X = pd.DataFrame(
        {"a": a, "copy": a, "gaps": gaps, "same": np.ones(300), "far": far, "few": rng.integers(0, 3, 300)}
    )
    return X.assign(city=rng.choice(["A", "B"], 300)), a + np.nan_to_num(gaps) + 0.1 * rng.normal(size=300)


TABLES = {
    "steps": steps,
    "odd": odd,
    "credit": credit,
    "few rows": lambda: steps(12),
    "many columns": lambda: steps(60, 80),
}


def numbers_of(X):
    return [name for name in X if pd.api.types.is_numeric_dtype(X[name])]


def require_slopes(model, X):
    for source in (model.certificate_, certify(compile_fixed_point(model.frozen_))):
        found = {(claim.feature, claim.output): (claim.lower, claim.upper) for claim in source}
        outputs = {output for _, output in found}
        for name in numbers_of(X):
            for output in outputs:
                low, high = found[name, output]
                assert -math.inf < low <= high < math.inf, (name, low, high)
    told = {row.feature: row for row in model.slopes_}
    assert all(told[name].lower is not None and told[name].upper is not None for name in numbers_of(X))


@pytest.mark.parametrize("cst", [None, "first", "both"])
@pytest.mark.parametrize("table", TABLES)
def test_every_number_has_a_finite_slope_interval_in_a_default_fit(table, cst):
    X, y = TABLES[table]()
    names = numbers_of(X)
    given = {None: None, "first": {names[0]: 1}, "both": {names[0]: 1, names[1]: -1}}[cst]
    more = {} if table in ("steps", "few rows") and cst == "first" else QUICK  # these are the defaults
    require_slopes(MonotonicRegressor(monotonic_cst=given, **{"random_state": 0, **more}).fit(X, y), X)


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"])
def test_so_it_is_for_every_loss(loss):
    X, y = steps(300)
    settings = {"loss_parameter": {"quantile": 0.9, "tweedie": 1.5}.get(loss), **QUICK}
    require_slopes(MonotonicRegressor(loss=loss, monotonic_cst={"x0": 1}, **settings).fit(X, np.abs(y) + 0.1), X)


@pytest.mark.parametrize("classes", [2, 3])
def test_so_it_is_for_classes_and_radii_move_every_number(classes):
    X, y = steps(800)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, [0.5, 0.75][: classes - 1]))]
    cst = {"x0": {"low": -1}}
    model = MonotonicClassifier(monotonic_cst=cst, random_state=0, **({} if classes == 2 else {"max_iter": 5})).fit(
        X, labels
    )
    require_slopes(model, X)
    found = certified_radius(model, X[:40])
    assert found.held == ()
    assert set(found.moved) == set(X)
    assert np.median(found.radius) > 0
    assert set(feature_radii(model, X[:5]).features) == set(X)
