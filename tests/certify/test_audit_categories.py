"""Ordered categories of any label, the orders of our own models, and what an audit must refuse or judge rightly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.certify import audit
from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import InputError

RNG = np.random.default_rng(3)
N = 200
X = RNG.normal(size=(N, 3))
QUICK = {"max_evaluations": 3_000, "max_rows": 20}


def ordered(labels):
    codes = RNG.integers(len(labels), size=N)
    codes[:5] = -1  # missing
    return pd.Categorical.from_codes(codes, labels, ordered=True)


COLUMNS = {
    "ints": ordered([1, 2, 3]),
    "ints in another order": ordered([3, 1, 2]),
    "floats": ordered([0.5, 1.5, 2.5]),
    "bools": ordered([False, True]),
    "strings": ordered(["b", "a", "c"]),
    "intervals": pd.cut(X[:, 0], 4),
    "times": ordered(list(pd.to_datetime(["2020-01-01", "2021-01-01"]))),
    "mixed": ordered([1, "one", 2.5]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_ordered_categories_keep_their_labels(kind):
    frame = pd.DataFrame({"grade": COLUMNS[kind], "x": X[:, 0]}, index=range(50, 50 + N))

    def codes(given):
        pd.testing.assert_series_equal(given.dtypes, frame.dtypes)
        found = given["grade"].cat.codes.to_numpy(float)
        return np.where(found < 0, 1e6, found)  # a score that shows where a label was lost

    assert not audit(codes, frame, {"grade": 1}, **QUICK).violated
    report = audit(lambda given: -codes(given), frame, {"grade": 1}, **QUICK)
    assert report.beyond_rounding
    assert report.worst_drop == len(frame["grade"].cat.categories) - 1
    assert (codes(report.before) < codes(report.after)).all()
    one = report.violations[0]
    labels = list(frame["grade"].cat.categories)
    assert labels.index(one.value_from) < labels.index(one.value_to)
    assert len(report.counterexamples) == len(report.violations)


STRINGS = {
    "pandas": lambda g, x: pd.DataFrame({"g": g, "x": x}),
    "pandas unordered category": lambda g, x: pd.DataFrame({"g": pd.Categorical(g), "x": x}),
    "polars": lambda g, x: pl.DataFrame({"g": g, "x": x}),
    "array": lambda g, x: np.array([*zip(g, x, strict=True)], dtype=object),
}


@pytest.mark.parametrize("labels", [["a", "b", "c"], [3, 1, 2]], ids=["strings", "ints"])
@pytest.mark.parametrize("kind", STRINGS)
def test_the_order_of_our_own_estimators_is_read_from_them(kind, labels):
    g = RNG.choice(np.array(labels), N).tolist()
    table = STRINGS[kind](g, X[:, 0])
    names = [0, 1] if kind == "array" else ["g", "x"]
    y = np.array([labels.index(v) for v in g]) + X[:, 0]
    model = MonotonicRegressor(
        categorical_features={names[0]: labels}, monotonic_cst={names[0]: 1, names[1]: 1}, max_iter=3, random_state=0
    ).fit(table, y)
    cst = {names[0]: 1, names[1]: 1}
    for scored in (model.predict, model.frozen_):
        if scored is model.frozen_ and kind == "array":
            continue
        assert not audit(scored, table, cst, **QUICK).violated
    wrong = audit(model, table, {names[0]: -1}, **QUICK)
    assert wrong.beyond_rounding
    one = wrong.violations[0]
    assert labels.index(one.value_from) > labels.index(one.value_to)
    if labels[0] == "a":
        with pytest.raises(InputError, match=r"order|numbers"):
            audit(lambda given: np.zeros(len(given)), table, {names[0]: 1}, **QUICK)  # nobody knows an order


def test_two_classes_of_a_fixed_point_network_are_judged_by_the_one_that_is_meant():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    labels = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")
    model = MonotonicClassifier(monotonic_cst={"a": {"yes": 1}}, max_iter=3, random_state=0).fit(frame, labels)
    fixed = compile_fixed_point(model.frozen_)
    for scored in (fixed, fixed.predict):
        report = audit(scored, frame, {"a": 1}, **QUICK)
        assert not report.violated
        assert report.features[0].output == "yes"
    assert audit(fixed, frame, {"a": -1}, **QUICK).beyond_rounding
    assert audit(fixed, frame, {"a": {"no": 1}}, **QUICK).beyond_rounding
    assert not audit(fixed, frame, {"a": {"no": -1}}, **QUICK).violated


def test_a_network_is_judged_by_the_class_that_it_is_about():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    labels = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")
    model = MonotonicClassifier(monotonic_cst={"a": {"no": -1}}, max_iter=3, random_state=0).fit(frame, labels)
    fixed = compile_fixed_point(model.frozen_)
    for network in (fixed, model.frozen_):
        assert not audit(network, frame, {"a": -1}, **QUICK).violated
        assert audit(network, frame, {"a": 1}, **QUICK).beyond_rounding
    assert audit(fixed, frame, {"a": -1}, **QUICK).features[0].output == "no"
    assert not audit(fixed, frame, {"a": {"yes": 1}}, **QUICK).violated
    assert audit(fixed, frame, {"a": {"no": 1}}, **QUICK).beyond_rounding
    assert not audit(model, frame, {"a": {"no": -1}}, **QUICK).violated


@pytest.mark.parametrize("kind", [LinearSVC, RidgeClassifier])
def test_classifiers_without_probabilities_are_scored_by_decision_function(kind):
    labels = np.where(X[:, 0] > 0, "yes", "no")
    model = kind(random_state=0).fit(X, labels)
    assert not audit(model, X, [1, 0, 0], **QUICK).beyond_rounding
    report = audit(model, X, {"x0": {"no": 1}}, **QUICK)
    assert report.beyond_rounding
    assert "decision_function" in report.model
    with pytest.raises(InputError, match="decision_function"):
        audit(model.predict, X, [1, 0, 0], **QUICK)
    three = kind(random_state=0).fit(X, np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])])
    assert not audit(three, X, {"x0": {"c": 1}}, **QUICK).beyond_rounding


def test_one_number_and_repeated_names_are_refused_in_three_parts():
    frame = pd.DataFrame(X[:, :2], columns=["a", "a"])
    for model, table in [(lambda x: 0.0, X), (lambda x: x[:, 0], frame)]:
        with pytest.raises(InputError, match=r"one number|more than once") as raised:
            audit(model, table, [1] + [0] * (table.shape[1] - 1), **QUICK)
        assert str(raised.value).count(";") == 2


def test_nan_scores_are_mentioned():
    report = audit(lambda x: np.where(x[:, 0] > X[:, 0].max(), np.nan, x[:, 0]), X, [1, 0, 0], **QUICK)
    assert report.nan_scores > 0
    assert not report.violated
    assert "NaN" in str(report)
    clean = audit(lambda x: x[:, 0], X, [1, 0, 0], **QUICK)
    assert clean.nan_scores == 0
    assert "NaN" not in str(clean)


def test_features_without_a_direction_leave_the_data_where_they_are_real_numbers():
    top = X[:, 1].max()

    def falls(x):
        return np.where(x[:, 1] > top + 0.05 * np.ptp(X[:, 1]), -x[:, 0], x[:, 0])

    report = audit(falls, X, [1, 0, 0], max_evaluations=60_000)
    assert report.beyond_rounding
    assert all(one.changed for one in report.violations)
    assert (falls(report.before) > falls(report.after)).all()
    assert not audit(falls, X, [1, 0, 0], beyond_range=False, **QUICK).violated
    codes = np.column_stack([X[:, 0], RNG.integers(0, 4, N)])

    def strict(x):
        assert set(np.unique(x[:, 1])) <= {0.0, 1.0, 2.0, 3.0}  # an encoder would refuse others
        return x[:, 0]

    assert not audit(strict, codes, [1, 0], **QUICK).violated
