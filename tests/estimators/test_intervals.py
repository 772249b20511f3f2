"""Columns of intervals, as pandas.cut and polars' cut make them, are ordered categories."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather

from monolip import MonotonicClassifier, MonotonicRegressor, audit
from monolip.errors import InputError, SlopeError
from monolip.export import to_json

from .tables import QUICK

N = 400
RNG = np.random.default_rng(0)
AGE = RNG.uniform(18, 90, N)
W = RNG.normal(size=N)
Y = 0.05 * AGE + W
BINS = [18, 25, 40, 60, 90]
YEAR = pd.Interval(pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01"))
TEXTS = ("(18, 25]", "(25, 40]", "(40, 60]", "(60, 90]")


def table(ages=AGE, bins=BINS, **options):
    return pd.DataFrame({"age": pd.cut(ages, bins, **options), "w": W[: len(ages)]})


def fit(X, **parameters):
    return MonotonicRegressor(**{**QUICK, "monotonic_cst": {"age": 1}, **parameters}).fit(X, Y)


def as_dtype(X):
    """A column of type interval, without a list of categories."""
    return X.assign(age=X["age"].astype(X["age"].cat.categories.dtype))


def as_objects(X):
    return X.assign(age=X["age"].astype(object))


def as_arrow(X):
    return pa.Table.from_pandas(X)


KINDS = {
    "category": lambda X: X,
    "interval": as_dtype,
    "objects": as_objects,
    "arrow": as_arrow,
    "arrow intervals": lambda X: as_arrow(as_dtype(X)),
}


def whole_line(f):
    return [f(pd.DataFrame({"age": pd.cut([age] * 3, BINS), "w": [-1.0, 0.0, 1.0]})) for age in (20, 30, 50, 80)]


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_are_ordered_categories_with_a_direction(kind, tmp_path):
    X = KINDS[kind](table())
    model = fit(X)
    column = model.frozen_.inputs.columns[0]
    assert (column.categories, column.ordered) == (TEXTS, True)
    assert model.slopes_.rows[0].promise == "increasing (ordered category)"
    rising = whole_line(model.predict)
    assert all((after >= before).all() for before, after in pairwise(rising))
    assert model.score(X, Y) > 0.8
    assert model.certificate_.check()
    model.save(tmp_path / "model")
    again = MonotonicRegressor.load(tmp_path / "model")
    for other in (build(table()) for build in KINDS.values()):
        assert np.array_equal(again.predict(other), model.predict(X))
    assert np.array_equal(model.frozen_.evaluate_raw(table())[:, 0], model.predict(X))
    assert np.array_equal(model.predict(table().assign(age=table()["age"].map(dict_of_texts()))), model.predict(X))


def dict_of_texts():
    return dict(zip(table()["age"].cat.categories, TEXTS, strict=True))


def test_missing_and_unused_intervals():
    ages = np.where(np.arange(N) % 7 == 0, np.nan, np.minimum(AGE, 59.0))
    model = fit(table(ages), missing={"age": "lowest"})
    assert model.frozen_.inputs.columns[0].categories == TEXTS  # the last one never occurs
    gone = pd.DataFrame({"age": pd.cut([np.nan] * 3, BINS), "w": [-1.0, 0.0, 1.0]})
    rising = [model.predict(gone), *whole_line(model.predict)]
    assert all((after >= before).all() for before, after in pairwise(rising))


def test_the_same_ends_are_the_same_interval():
    model = fit(table())
    floats = table(bins=np.array(BINS, dtype=float))
    assert floats["age"].cat.categories.dtype != table()["age"].cat.categories.dtype
    assert np.array_equal(model.predict(floats), model.predict(table()))


def test_intervals_cut_at_other_numbers_are_refused():
    model = fit(table())
    for other in (table(bins=5), as_dtype(table(bins=5)), table(right=False, bins=BINS)):
        with pytest.raises(InputError, match=r"'age' held the intervals '\(18, 25\]'.*; cut it at the same numbers"):
            model.predict(other)


def test_intervals_without_an_order_need_one():
    X = table()
    X["age"] = X["age"].cat.as_unordered()
    with pytest.raises(SlopeError, match=r"'age' is an unordered category") as told:
        fit(X)
    assert "{'age': ['(18, 25]', '(25, 40]', '(40, 60]', '(60, 90]']}" in str(told.value)
    for order in (TEXTS, list(pd.IntervalIndex.from_breaks(BINS)), pd.IntervalIndex.from_breaks(BINS)):
        model = fit(X, categorical_features={"age": order})
        assert np.array_equal(model.predict(X), fit(table()).predict(table()))
        assert not audit(model, X, {"age": 1}, max_evaluations=2000).violated
    assert fit(X, monotonic_cst=None).slopes_.rows[0].promise == "free (category)"


def test_texts_of_intervals_are_listed_by_their_ends():
    X = pd.DataFrame({"age": pd.cut(AGE, [0, 9, 20, 100]).astype(str), "w": W})
    with pytest.raises(SlopeError, match=r"\['\(9, 20\]', '\(20, 100\]'\]"):
        fit(X)


@pytest.mark.parametrize("kind", ["category", "interval"])
def test_an_audit_moves_intervals(kind):
    X = KINDS[kind](table())
    model = fit(X)
    assert not audit(model, X, {"age": 1}, max_evaluations=2000).violated
    assert audit(model, X, {"age": -1}, max_evaluations=2000).violated


def test_classes_dates_and_exports(tmp_path):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(AGE.round(), "D")
    X = pd.DataFrame({"day": pd.cut(pd.Series(days), 4), "w": W})
    model = MonotonicClassifier(monotonic_cst={"day": 1}, **QUICK).fit(X, Y.mean() < Y)
    assert model.frozen_.inputs.columns[0].ordered
    assert len(np.unique(model.predict_proba(X.assign(w=0.0))[:, 1])) > 1
    report = to_json(fit(table()), tmp_path / "model.json")
    assert report.passed
    assert "(18, 25]" in json.dumps(json.loads((tmp_path / "model.json").read_text()))


@pytest.mark.filterwarnings("ignore:.*cut. is deprecated")  # by a polars that has no other way to make these labels
def test_polars_cuts_are_ordered_too():
    X = pl.DataFrame({"age": AGE, "w": W}).with_columns(pl.col("age").cut([25.0, 40.0, 60.0]))
    model = fit(X)
    assert model.slopes_.rows[0].promise == "increasing (ordered category)"
    quantiles = X.with_columns(pl.Series("age", AGE).qcut(4))
    with pytest.raises(SlopeError, match="'age' is an unordered category; make it ordered by"):
        fit(quantiles)
    with pytest.raises(InputError, match="in column 'age'"):
        fit(pl.DataFrame({"w": W}).with_columns(pl.Series("age", AGE).cut([40.0], include_breaks=True).alias("age")))


def test_labels_that_are_none_are_refused_by_column():
    when = pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"] * (N // 2)), ordered=True)
    X = pd.DataFrame({"when": when, "w": W})
    with pytest.raises(
        InputError, match=r"got Timestamp\(.* in column 'when'; convert it to strings: (X.*)\.$"
    ) as told:
        MonotonicRegressor(**QUICK).fit(X, Y)
    line = str(told.value).split("strings: ")[1][:-1]
    exec(line, {"X": X})
    model = MonotonicRegressor(monotonic_cst={"when": 1}, **QUICK).fit(X, Y)
    assert model.slopes_.rows[0].promise == "increasing (ordered category)"


def test_a_stream_refuses_intervals_and_dictionaries_of_dates_by_column(tmp_path):
    days = pd.Categorical([YEAR.left, YEAR.right] * (N // 2))
    for X in (as_dtype(table()), table().assign(age=days)):
        feather.write_feather(X.assign(y=Y), tmp_path / "rows.feather", compression="uncompressed")
        with pytest.raises(InputError, match=r"a column holds numbers or categories; 'age' of .* holds (ext|dict)"):
            MonotonicRegressor(**QUICK).fit_stream(tmp_path / "rows.feather", "y")


@pytest.mark.parametrize("other", [pd.Interval(0, 1, "left"), YEAR])
def test_intervals_that_have_no_order_are_refused_by_column(other):
    mixed = pd.Series([pd.Interval(0, 1), other] * (N // 2), dtype=object)
    with pytest.raises(InputError, match=r"intervals of a column have an order; got .* in column 'age'; cut it anew"):
        MonotonicRegressor(**QUICK).fit(pd.DataFrame({"age": mixed}), Y)
