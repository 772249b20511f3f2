"""Numeric columns far from zero: what float64 has left of them is learned, promised and exported like any other."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor, audit
from monolip.export import to_c, to_json, to_onnx
from monolip.export.c_build import find_compiler

from .tables import QUICK, one_ulp_up

N = 1000
RNG = np.random.default_rng(0)
Z, W = RNG.normal(size=(2, N))
Y = 2 * Z + np.sin(3 * Z) + W
OFFSETS = [1e12, 1e13, 1e14, 1e15, -1e15]
PARAMETERS = {
    "direction": {"monotonic_cst": {"far": 1}},
    "interval": {"slopes": {"far": (0.0, 5.0)}},
    "cap": {"max_slope": {"far": 5.0}, "monotonic_cst": {"far": 1}},
    "caps": {"max_slope": 2.0, "monotonic_cst": {"far": 1}},
}


def table(offset):
    return pd.DataFrame({"far": Z + offset, "w": W})


def best_score(X):
    """R2 of the mean of 2 z + sin(3 z) over each value of the column, with w known: what rounding leaves to learn."""
    rest = Y - W
    means = pd.Series(rest).groupby(X["far"]).transform("mean")
    return 1 - float(((rest - means) ** 2).sum() / ((Y - Y.mean()) ** 2).sum())


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_a_column_is_fitted_as_well_as_its_rounded_values_allow(offset, parameters):
    X = table(offset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MonotonicRegressor(random_state=0, **PARAMETERS[parameters]).fit(X, Y)
    assert model.score(X, Y) > best_score(X) - 0.01


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_promises_hold_for_the_raw_numbers(offset, parameters, tmp_path):
    X = table(offset)
    model = MonotonicRegressor(**QUICK, **PARAMETERS[parameters]).fit(X, Y)
    steps = pd.DataFrame({"far": np.repeat(np.unique(X["far"]), 3), "w": np.tile([-1.0, 0.0, 1.0], X["far"].nunique())})
    up = one_ulp_up(steps, "far")
    for exact in (False, True):
        assert (model.predict(up, exact=exact) >= model.predict(steps, exact=exact)).all()
    assert not audit(model, X, {"far": 1}, max_evaluations=3000).violated
    assert model.certificate_.check()
    model.save(tmp_path / "model")
    assert np.array_equal(MonotonicRegressor.load(tmp_path / "model").predict(X), model.predict(X))
    lower, upper = model.slopes_["far"]
    rows = steps[steps["w"] == 0.0]
    far, f = rows["far"].to_numpy(), model.predict(rows)
    secants = np.diff(f) / np.diff(far)  # differences of these numbers are exact
    assert secants.min() >= lower - 1e-6
    assert secants.max() <= upper * (1 + 1e-6)


@pytest.mark.parametrize("offset", [1e15, -1e15])
def test_exported_models_follow(offset, tmp_path):
    X = table(offset)
    model = MonotonicClassifier(monotonic_cst={"far": 1}, **QUICK).fit(X, Y > 0)
    reports = [to_json(model, tmp_path / "model.json")]
    reports += [to_onnx(model, tmp_path / f"{a}.onnx", arithmetic=a) for a in ("float64", "fixed-point")]
    if find_compiler() is not None:
        reports += [to_c(model, tmp_path / f"{a}.h", arithmetic=a, name="model") for a in ("float64", "fixed-point")]
    for report in reports:
        assert report.passed
        assert report.drops == 0


@pytest.mark.parametrize("offset", [3e15, 1e16, -1e16])
def test_too_few_floats_are_told_by_name(offset):
    X = table(offset)
    with pytest.warns(UserWarning, match=r"column 'far': \d+ values near .*e\+1\d, where float64 has steps") as told:
        model = MonotonicRegressor(monotonic_cst={"far": 1}, random_state=0).fit(X, Y)
    assert len(told) == 1
    assert "'w'" not in str(told[0].message)
    assert model.score(X, Y) > best_score(X) - 0.02


def test_float32_has_larger_steps():
    far = (Z + 3e7).astype(np.float32)
    matrix = np.column_stack([far, W]).astype(np.float32)
    frames = [matrix, pd.DataFrame({"x0": far, "w": W}), pl.DataFrame({"x0": far}), pa.table({"x0": far})]
    for X in frames:
        with pytest.warns(UserWarning, match=r"column 'x0': 5 values near 3e\+07, where float32 has steps of 2;"):
            MonotonicRegressor(**QUICK).fit(X, Y)


def test_a_column_that_is_one_float_is_told():
    with pytest.warns(UserWarning, match=r"column 'far': 1 value near 1e\+17, where float64 has steps of 16"):
        MonotonicRegressor(**QUICK).fit(table(1e17), Y)


def test_whole_numbers_that_become_one_float_are_told():
    ids = 2**60 + np.arange(N) % 50
    with pytest.warns(UserWarning, match=r"column 'id': 1 value near 1.15e\+18, where float64 has steps of 256"):
        MonotonicRegressor(**QUICK).fit(pd.DataFrame({"id": ids, "w": W}), Y)


@pytest.mark.parametrize(
    "column",
    [
        np.full(N, 1e15),
        np.full(N, np.nan),
        np.zeros(N),
        np.where(Z > 0, 1.0, 0.0),
        2020.0 + np.arange(N) % 5,
        1.7e9 + np.arange(N),
        2**60 + 256 * np.arange(N),
    ],
)
def test_other_columns_are_not(column):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MonotonicRegressor(**QUICK).fit(pd.DataFrame({"a": column, "w": W}), Y)
        MonotonicRegressor(**QUICK, categorical_features=["a"]).fit(pd.DataFrame({"a": Z.round() + 1e16, "w": W}), Y)
