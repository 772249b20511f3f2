"""Bad input gets a message that names the rule, what was got and what to do: tested by its words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monolip.errors import InputError, MonolipError, SlopeError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _memory

from .tables import QUICK, credit


@pytest.fixture
def data():
    return credit(60)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"monotonic_cst": {"incme": 1}}, "must name a known feature; got 'incme'; did you mean 'income'"),
        ({"slopes": {"wealth": (0, 1)}}, "must name a known feature"),
        ({"max_slope": {"wealth": 1.0}}, "must name a known feature"),
        (
            {"monotonic_cst": {"income": 2}},
            r"a direction is -1 \(decreasing\), 0 \(free\) or \+1 \(increasing\); got 2",
        ),
        ({"monotonic_cst": {"income": "up"}}, "a direction is -1"),
        ({"monotonic_cst": [1, 0]}, "one entry per feature; got 2 for 5 features"),
        (
            {"monotonic_cst": {"city": 1}},
            "a direction needs an order; 'city' is an unordered category; make it ordered",
        ),
        ({"monotonic_cst": {"income": {"good": 1}}}, "directions per class belong to a classifier"),
        ({"slopes": {"city": (0, 1)}}, "a category has no slope"),
        ({"slopes": {"income": (1, 0)}}, r"not empty; got \(1, 0\) for 'income'; write \(lower, upper\)"),
        ({"slopes": {"income": 3}}, r"is a pair \(lower, upper\); got 3; write \(0, 3\) or \(-3, 3\)"),
        ({"slopes": {"income": "steep"}}, r"write two numbers, for example \(0, 1\)"),
        ({"slopes": [(0, 1)]}, "slopes is a dict"),
        ({"slopes": {"income": (-1, 1)}, "monotonic_cst": {"income": 1}}, "slopes and monotonic_cst must agree"),
        ({"slopes": {"age": (0, 1)}, "missing": "lowest"}, "no lowest or highest value"),
        ({"max_slope": -1.0}, "max_slope must be positive and finite"),
        ({"missing": "mean"}, "missing is one of"),
        ({"categorical_features": [True]}, "as a mask has one entry per column"),
        ({"categorical_features": ["towm"]}, "must name a known feature"),
        ({"loss": "hinge"}, "loss is one of"),
        ({"loss": "quantile", "loss_parameter": 1.5}, "quantile of the pinball loss lies between"),
        ({"loss": "gamma"}, "a target of the gamma loss is greater than 0"),
        ({"n_estimators": 0}, "n_estimators is 'auto' or at least 1, a whole number"),
        ({"max_iter": 1.5}, "max_iter is a whole number"),
        ({"validation_fraction": 0.9}, "validation_fraction lies in"),
        ({"batch_size": 0}, "batch_size is 'auto' or at least 1"),
        ({"hidden_layer_sizes": (31, 31)}, "every hidden width is a positive multiple of group_size"),
    ],
)
def test_parameters_that_cannot_be_kept_are_refused(data, parameters, words):
    X, y = data
    y = y - y.mean() if parameters.get("loss") == "gamma" else y
    with pytest.raises(MonolipError, match=words):
        MonotonicRegressor(**{**QUICK, **parameters}).fit(X, y)


@pytest.mark.parametrize(
    ("cst", "words"),
    [
        ([1, 0, 0, 0, 0], r"write for example monotonic_cst=\{'income': \{'top': 1\}\}"),
        ({"debt": -1}, r"a direction belongs to a class.*monotonic_cst=\{'debt': \{'top': 1\}\}"),
        ({"income": {"top": 1, "mid": 1}}, "at most one rising class.*forces equal slopes"),
        ({"income": {"top": -1, "mid": -1}}, "at most one falling class"),
        ({"income": {"best": 1}}, "names class 'best'; the classes are"),
        ({"income": {"top": 3}}, "a direction is -1"),
    ],
)
def test_directions_of_three_classes_say_which_class(data, cst, words):
    X, y = data
    labels = np.array(["low", "mid", "top"])[np.digitize(y, [9.5, 10.5])]
    with pytest.raises(SlopeError, match=words):
        MonotonicClassifier(monotonic_cst=cst, **QUICK).fit(X, labels)


def test_three_classes_have_no_slope_intervals_and_two_are_not_both_named(data):
    X, y = data
    with pytest.raises(SlopeError, match="promise nothing about probabilities"):
        MonotonicClassifier(slopes={"income": (0, 1)}, **QUICK).fit(X, np.digitize(y, [9.5, 10.5]))
    with pytest.raises(
        SlopeError, match="all constraints of two classes name the same one; got False and True for 'income'"
    ):
        MonotonicClassifier(monotonic_cst={"income": {0: 1, 1: 1}}, **QUICK).fit(X, y > 10)


def test_strings_in_a_numeric_column(data):
    X, y = data
    mixed = X.assign(debt=[*X["debt"].tolist()[:-1], "n/a"])
    with pytest.raises(InputError, match="strings in numeric column 'debt'; got 'n/a' in row 59"):
        MonotonicRegressor(**QUICK).fit(mixed, y)
    texts = X.assign(debt=[*(f"{v:.3f}" for v in X["debt"][:-1]), "n/a"])
    with pytest.raises(InputError, match=r"strings in numeric column 'debt': nearly all.*\['n/a'\]"):
        MonotonicRegressor(**QUICK).fit(texts, y)
    model = MonotonicRegressor(**QUICK).fit(X, y)
    with pytest.raises(InputError, match="strings in numeric column 'debt'; it held numbers in training"):
        model.predict(X.assign(debt="much"))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values(data, value):
    X, y = data
    X.loc[7, "debt"] = value
    with pytest.raises(InputError, match="got infinity in row 7 of column 'debt'"):
        MonotonicRegressor(**QUICK).fit(X, y)
    good, _ = credit(60)
    model = MonotonicRegressor(**QUICK).fit(good, y)
    with pytest.raises(InputError, match="got infinity"):
        model.predict(X)


def test_targets_that_teach_nothing(data):
    X, y = data
    with pytest.raises(InputError, match="at least two classes; got only one class"):
        MonotonicClassifier(**QUICK).fit(X, np.zeros(60, int))
    with pytest.raises(InputError, match="at least two classes"):
        MonotonicClassifier(**QUICK).fit(X, y > 10, sample_weight=(y > 10).astype(float))
    with pytest.raises(InputError, match="y contains NaN"):
        MonotonicRegressor(**QUICK).fit(X, np.where(y > 10, np.nan, y))
    with pytest.raises(InputError, match="same number of rows; got 60 and 59"):
        MonotonicRegressor(**QUICK).fit(X, y[1:])
    with pytest.raises(InputError, match="same number of rows"):
        MonotonicClassifier(**QUICK).fit(X, y[1:] > 10)
    with pytest.raises(InputError, match="one column of numbers"):
        MonotonicRegressor(**QUICK).fit(X, ["a"] * 60)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (-1.0, "sample weights are at least 0: a negative weight rewards errors.*merge them"),
        (0.0, "sample weights that are all zero"),
        (np.nan, "sample weights must be finite"),
    ],
)
def test_weights_that_cannot_weigh(data, weight, words):
    X, y = data
    for model, target in ((MonotonicRegressor(**QUICK), y), (MonotonicClassifier(**QUICK), y > 10)):
        with pytest.raises(InputError, match=words):
            model.fit(X, target, sample_weight=np.full(60, weight))


def test_shapes_of_weights_and_offsets(data):
    X, y = data
    with pytest.raises(InputError, match="sample_weight has one number a row; got 3 for 60"):
        MonotonicRegressor(**QUICK).fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(InputError, match="offset is one finite number a row"):
        MonotonicRegressor(**QUICK).fit(X, y, offset=np.ones(3))
    model = MonotonicRegressor(**QUICK).fit(X, y)
    with pytest.raises(InputError, match="offset is one finite number a row"):
        model.predict(X, offset=np.ones(3))


def test_empty_tables_and_dates(data):
    X, y = data
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        MonotonicRegressor(**QUICK).fit(X.iloc[:0], y[:0])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        MonotonicRegressor(**QUICK).fit(X[[]], y)
    with pytest.raises(InputError, match="numbers or categories; got Datetime"):
        MonotonicRegressor(**QUICK).fit(X.assign(day=pd.Timestamp("2020-01-01")), y)


def test_more_than_memory_can_hold(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(_memory, "free_bytes", lambda: 1000)
    MonotonicRegressor(**QUICK).fit(X, y)  # so little that nobody asks
    monkeypatch.setattr(_memory, "SMALL", 0)
    with pytest.raises(InputError, match=r"must fit into memory; training on 60 rows.*use fewer rows"):
        MonotonicRegressor(**QUICK).fit(X, y)


def test_columns_that_are_not_those_of_fit(data):
    X, y = data
    model = MonotonicRegressor(**QUICK).fit(X, y)
    with pytest.raises(
        InputError, match=r"seen at fit time, yet now missing:\n- age\nTo do: add 'age' .NaN where unknown"
    ):
        model.predict(X.drop(columns="age"))
    with pytest.raises(InputError, match="unseen at fit time:\n- height\nTo do: drop 'height'"):
        model.predict(X.assign(height=1.0))
    with pytest.raises(
        InputError, match=r"X has 2 features, but MonotonicRegressor is expecting 5.*pass the columns 'inc"
    ):
        model.predict(np.zeros((3, 2)))
