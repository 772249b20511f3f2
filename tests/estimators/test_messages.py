"""Messages a newcomer meets first: names, tables that are none, constraints that need a name or a class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monolip.errors import InputError, MonolipError, SlopeError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor

from .tables import QUICK, credit


@pytest.fixture
def data():
    return credit(60)


def test_names_are_checked_before_types(data):
    X, y = data
    model = MonotonicRegressor(**QUICK).fit(X, y)
    wrong = X.drop(columns=["age", "debt"]).assign(day=pd.Timestamp("2020-01-01"), note=["a", 1] * 30)
    with pytest.raises(
        InputError, match=r"To do: drop 'day', 'note'; add 'age', 'debt'.*the order of columns does not"
    ):
        model.predict(wrong)


@pytest.mark.parametrize(
    "parameters",
    [
        {"monotonic_cst": {"income": 1}},
        {"slopes": {"income": (0, 1)}},
        {"max_slope": {"income": 1.0}},
        {"missing": {"income": "lowest"}},
        {"categorical_features": ["income"]},
    ],
)
def test_names_need_a_table_with_names(data, parameters):
    X, y = data
    array = X[["income", "debt"]].to_numpy()
    with pytest.raises(SlopeError, match=r"got 'income'; pass a DataFrame, or use x0, x1, ... or positions"):
        MonotonicRegressor(**QUICK, **parameters).fit(array, y)


def test_one_row_one_column_and_rows_as_dicts_are_no_table(data):
    X, y = data
    model = MonotonicRegressor(**QUICK).fit(X, y)
    for act in (model.predict, lambda Z: model.fit(Z, y)):
        with pytest.raises(InputError, match=r"got a Series; for one column pass X.to_frame\(\), for one row"):
            act(X.iloc[0])
        with pytest.raises(InputError, match=r"got a list of dict; pass pandas.DataFrame\(X\)"):
            act([{"income": 1.0}])
        with pytest.raises(InputError, match="got a dict; pass pandas"):
            act({"income": [1.0]})
        with pytest.raises(InputError, match="Reshape your data"):
            act([1.0, 2.0])


def test_no_message_shows_a_type_of_numpy(data):
    X, y = data
    good = np.where(y > 10, "good", "bad")
    cases = (
        (MonotonicClassifier(**QUICK), np.full(60, "good")),
        (MonotonicClassifier(monotonic_cst={"income": {np.str_("best"): 1}}, **QUICK), good),
        (MonotonicClassifier(monotonic_cst={"income": {np.str_("bad"): 1, "good": 1}}, **QUICK), good),
        (MonotonicClassifier(monotonic_cst={np.str_("wealth"): 1}, **QUICK), good),
        (MonotonicClassifier(monotonic_cst={"debt": np.int64(3)}, **QUICK), good),
        (MonotonicClassifier(missing=np.str_("mean"), **QUICK), good),
        (MonotonicRegressor(slopes={"debt": np.float64(3)}, **QUICK), y),
        (MonotonicRegressor(slopes={"debt": np.array([3.0, 1.0])}, **QUICK), y),
        (MonotonicRegressor(max_slope=np.str_("steep"), **QUICK), y),
    )
    for model, target in cases:
        with pytest.raises(MonolipError) as caught:
            model.fit(X, target)
        assert "np." not in str(caught.value)


def test_an_error_about_a_direction_says_whose_probability_it_moves(data):
    X, y = data
    with pytest.raises(SlopeError, match=r"a direction is -1.*With two classes it is {class: -1 or \+1}"):
        MonotonicClassifier(monotonic_cst={"income": 2}, **QUICK).fit(X, y > 10)
    for other in ({"incme": 1}, [1]):  # of a name, or of a length, it explains nothing
        with pytest.raises(SlopeError) as caught:
            MonotonicClassifier(monotonic_cst=other, **QUICK).fit(X, y > 10)
        assert "With two classes" not in str(caught.value)
    with pytest.raises(SlopeError, match=r"got 'low' for 'income'; choose one"):
        MonotonicClassifier(missing={"income": "low"}, **QUICK).fit(X, np.where(y > 10, "good", "bad"))
