"""The promise of the estimators, attacked: one-ulp steps at knots, in any batch, through links and classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monolip.errors import SlopeError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor

from .tables import QUICK, credit, one_ulp_up

CST = {"income": 1, "debt": -1, "age": 1, "grade": 1}
GOOD = {feature: {"good": sign} for feature, sign in CST.items()}


@pytest.fixture(scope="module")
def regressor():
    X, y = credit()
    return MonotonicRegressor(monotonic_cst=CST, **QUICK).fit(X, y)


@pytest.fixture(scope="module")
def classifier():
    X, y = credit()
    return MonotonicClassifier(monotonic_cst=GOOD, **QUICK).fit(X, np.where(y > 10, "good", "bad"))


@pytest.fixture(scope="module")
def three_classes():
    X, y = credit()
    cst = {"income": {"top": 1}, "debt": {"low": 1, "top": -1}, "grade": {"low": -1}}
    labels = np.array(["low", "middle", "top"])[np.digitize(y, [9.5, 10.5])]
    return MonotonicClassifier(monotonic_cst=cst, **QUICK).fit(X, labels)


def near_knots(model, n, seed=1):
    """Rows whose numbers lie at knots of their calibration, give or take an ulp."""
    X, _ = credit(n, seed)
    rng = np.random.default_rng(seed)
    for j in model.frozen_.inputs.numeric:
        knots = model.frozen_.inputs.pieces_of(j)[0]
        name = model.frozen_.inputs.names[j]
        steps = rng.integers(-2, 3, n)
        X[name] = rng.choice(knots, n)
        for k in (-2, -1, 1, 2):
            X[name] = np.where(np.sign(k) * steps >= abs(k), np.nextafter(X[name], np.sign(k) * np.inf), X[name])
    return X


@pytest.mark.parametrize(("name", "sign"), [("income", 1), ("debt", -1), ("age", 1)])
def test_no_one_ulp_step_in_a_promised_direction_is_wrong(regressor, classifier, name, sign):
    for model, method in ((regressor, "predict"), (classifier, "decision_function")):
        X = near_knots(model, 6000)
        before, after = getattr(model, method)(X), getattr(model, method)(one_ulp_up(X, name))
        assert (sign * (after - before) >= 0).all()
    before, after = classifier.predict_proba(X), classifier.predict_proba(one_ulp_up(X, name))
    assert (sign * (after[:, 1] - before[:, 1]) >= 0).all()
    assert (sign * (after[:, 0] - before[:, 0]) <= 0).all()


def test_a_row_has_the_same_bits_in_any_batch_at_any_place_in_any_thread(regressor, rng):
    X = near_knots(regressor, 9000)
    everything = regressor.predict(X)
    rows = rng.permutation(9000)[:4999]
    assert np.array_equal(regressor.predict(X.iloc[rows]), everything[rows])
    assert np.array_equal([regressor.predict(X.iloc[[k]])[0] for k in range(20)], everything[:20])
    regressor.n_jobs = 2
    assert np.array_equal(regressor.predict(X), everything)
    regressor.n_jobs = None


def test_predictions_are_those_of_the_frozen_network_bit_for_bit(regressor, three_classes):
    X, _ = credit(500, 3)
    columns = {name: X[name].to_numpy() if name != "grade" else np.array(X[name], object) for name in X}
    assert np.array_equal(regressor.predict(X), regressor.frozen_.evaluate_raw(columns)[:, 0])
    assert np.array_equal(three_classes.decision_function(X), three_classes.frozen_.evaluate_raw(columns))


def test_a_higher_grade_never_lowers_the_score(regressor):
    X, _ = credit(500, 4)
    levels = [regressor.predict(X.assign(grade=g)) for g in ("low", "mid", "high")]
    assert (levels[1] >= levels[0]).all()
    assert (levels[2] >= levels[1]).all()


@pytest.mark.parametrize(("missing", "sign"), [("lowest", -1), ("highest", 1)])
def test_missing_may_be_promised_to_be_lowest_or_highest(missing, sign):
    X, y = credit()
    model = MonotonicRegressor(monotonic_cst=CST, missing={"age": missing}, **QUICK).fit(X, y)
    X, _ = credit(300, 5)
    gone = model.predict(X.assign(age=np.nan))
    for age in (-1e9, 0.0, 30.0, 1e9):
        assert (sign * (gone - model.predict(X.assign(age=age))) >= 0).all()


@pytest.mark.parametrize(
    ("name", "rising", "falling"), [("income", "top", None), ("debt", "low", "top"), ("grade", None, "low")]
)
def test_probabilities_of_promised_classes_move_as_promised(three_classes, name, rising, falling):
    X = near_knots(three_classes, 4000)
    if name == "grade":
        before, after = (three_classes.predict_proba(X.assign(grade=g)) for g in ("low", "mid"))
    else:
        before, after = three_classes.predict_proba(X), three_classes.predict_proba(one_ulp_up(X, name))
    classes = three_classes.classes_.tolist()
    if rising:
        assert (after[:, classes.index(rising)] >= before[:, classes.index(rising)]).all()
    if falling:
        assert (after[:, classes.index(falling)] <= before[:, classes.index(falling)]).all()


def test_large_steps_of_promised_probabilities(three_classes):
    X, _ = credit(500, 6)
    low, high = three_classes.predict_proba(X), three_classes.predict_proba(X.assign(income=X["income"] * 3))
    assert (high[:, 2] >= low[:, 2]).all()
    assert (high[:, 2] > low[:, 2]).any()


def test_slopes_bound_every_secant_in_raw_units(regressor, rng):
    X, _ = credit(2000, 7)
    X = X.assign(age=X["age"].fillna(40.0))
    for name, scale in (("income", 1e4), ("debt", 5e3), ("age", 20.0)):
        step = rng.random(len(X)) * scale
        rise = regressor.predict(X.assign(**{name: X[name] + step})) - regressor.predict(X)
        low, high = regressor.slopes_[name]
        assert (rise >= low * step - 1e-9).all()
        assert (rise <= high * step + 1e-9).all()


def test_explicit_intervals_hold_exactly_and_everywhere():
    X, y = credit()
    asked = {"income": (1e-6, 2e-5), "debt": (-1.5e-4, -5e-5)}
    model = MonotonicRegressor(slopes=asked, **QUICK).fit(X, y)
    for name, (low, high) in asked.items():
        got = model.slopes_[name]
        assert low <= got[0] <= got[1] <= high
        at = model.frozen_.raw_promise.feature_names.index(name)
        assert (model.frozen_.raw_promise.lower[at], model.frozen_.raw_promise.upper[at]) == (low, high)
    X = X.assign(age=30.0)
    rise = model.predict(X.assign(income=X["income"] + 1e5)) - model.predict(X)
    assert (rise >= 0.1 - 1e-9).all()  # a slope of at least 1e-6: also far outside the data


@pytest.mark.parametrize("max_slope", [0.3, {"x0": 0.05}])
def test_a_slope_cap_is_in_standard_deviations_as_a_number_and_in_raw_units_as_a_dict(max_slope, rng):
    X = rng.normal(size=(500, 2)) * [100.0, 1.0]
    y = 7.0 * np.sin(X[:, 0] / 30) + X[:, 1]
    model = MonotonicRegressor(max_slope=max_slope, **QUICK).fit(X, y)
    cap = 0.3 * y.std() / X[:, 0].std() if isinstance(max_slope, float) else 0.05
    low, high = model.slopes_["x0"]
    assert -cap * (1 + 1e-12) <= low < -0.3 * cap
    assert 0.3 * cap < high <= cap * (1 + 1e-12)
    if isinstance(max_slope, dict):
        assert model.slopes_["x1"][1] > 0.1  # not named: not capped


def test_the_table_names_promise_scale_and_probability(regressor, classifier, three_classes):
    assert "slope, target units per unit" in str(regressor.slopes_)
    words = {row.feature: row.promise for row in regressor.slopes_}
    assert words == {
        "income": "increasing",
        "debt": "decreasing",
        "age": "increasing",
        "grade": "increasing (ordered category)",
        "city": "free (category)",
    }
    assert "slope, log-odds of P(y = good) per unit" in str(classifier.slopes_)
    slopes = classifier.slopes_
    assert "|dP/dx| at most" in str(slopes)
    row = next(row for row in slopes if row.feature == "income")
    assert row.probability == max(abs(row.lower), abs(row.upper)) / 4
    promised = {(row.feature, row.output): row.promise for row in three_classes.slopes_}
    assert promised["income", "top"] == "increasing"
    assert promised["income", "low"] == promised["income", "middle"] == "free"
    assert (promised["debt", "low"], promised["debt", "top"]) == ("increasing", "decreasing")
    assert promised["grade", "low"] == "decreasing (ordered category)"
    with pytest.raises(KeyError, match="no slopes of 'city'"):
        regressor.slopes_["city"]


def test_a_direction_of_two_classes_may_be_given_by_class():
    X, y = credit()
    labels = np.where(y > 10, "good", "bad")
    named = MonotonicClassifier(monotonic_cst={"income": {"good": 1}, "debt": {"good": -1}}, **QUICK).fit(X, labels)
    plain = MonotonicClassifier(monotonic_cst={"income": 1, "debt": -1}, **QUICK).fit(X, y > 10)
    assert np.array_equal(named.decision_function(X), plain.decision_function(X))
    rising = MonotonicClassifier(monotonic_cst={"debt": {"bad": 1}}, **QUICK).fit(X, labels)
    p = [rising.predict_proba(Z)[:, rising.classes_.tolist().index("bad")] for Z in (X, one_ulp_up(X, "debt"))]
    assert (p[1] >= p[0]).all()
    table = rising.slopes_  # about the class that was named, as the certificate is
    assert [row.promise for row in table if row.feature == "debt"] == ["increasing"]
    assert table.label == "bad"
    assert table.cells[0][1:3] == ["promised of P(y = bad)", "certified slope, log-odds of P(y = bad) per unit"]
    own = {claim.feature: claim for claim in rising.certificate_}["debt"]
    assert own.promise == "increasing"
    assert table["debt"] == (own.lower, own.upper)


def test_an_interval_of_two_classes_may_be_given_by_class():
    X, y = credit()
    labels = np.where(y > 10, "good", "bad")
    of_bad = MonotonicClassifier(slopes={"debt": {"bad": (0, 1e-3)}, "age": (-0.1, 0.1)}, **QUICK).fit(X, labels)
    of_good = MonotonicClassifier(slopes={"debt": {"good": (-1e-3, 0)}, "age": (-0.1, 0.1)}, **QUICK).fit(X, labels)
    of_none = MonotonicClassifier(slopes={"age": (-0.1, 0.1)}, **QUICK).fit(X, labels)  # the same of both
    assert [m.slopes_.label for m in (of_bad, of_good, of_none)] == ["bad", "good", "good"]
    row = next(row for row in of_bad.slopes_ if row.feature == "debt")
    assert (row.promise, row.promised) == ("increasing", (0.0, 1e-3))
    assert 0 <= row.lower <= row.upper <= 1e-3
    row = next(row for row in of_good.slopes_ if row.feature == "debt")
    assert (row.promise, row.promised) == ("decreasing", (-1e-3, 0.0))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            {"monotonic_cst": {"income": {"bad": -1}}, "slopes": {"debt": (0, 1)}},
            "got (0, 1) for 'debt' in slopes",
        ),
        ({"monotonic_cst": {"income": {"bad": -1}, "debt": 1}}, "got 1 for 'debt' in monotonic_cst, without a class"),
        ({"monotonic_cst": {"income": 1}, "slopes": {"debt": {"bad": (0, 1)}}}, "got 1 for 'income' in monotonic_cst"),
        (
            {"slopes": {"debt": {"bad": (0, 1), "good": (-1, 0)}}},
            "name the same one; got 'bad' and 'good' for 'debt' in slopes",
        ),
        ({"slopes": {"debt": {"poor": (0, 1)}}}, "one of the classes ['bad', 'good']"),
        ({"slopes": {"debt": {"bad": (1, 0)}}}, "finite and not empty; got (1, 0) for 'debt'"),
        ({"slopes": {"debt": {"bad": 1}}}, "is a pair (lower, upper); got 1"),
        (
            {"slopes": {"debt": {"bad": (0, 1)}}, "monotonic_cst": {"debt": {"bad": -1}}},
            "got (0.0, 1.0) and direction -1 of P(bad)",
        ),
    ],
)
def test_no_promise_is_silently_about_the_other_class(asked, words):
    X, y = credit(60)
    with pytest.raises(SlopeError) as error:
        MonotonicClassifier(**asked, **QUICK).fit(X, np.where(y > 10, "good", "bad"))
    assert words in str(error.value)
    assert str(error.value).count(";") >= 2


def test_intervals_by_class_are_for_classifiers():
    X, y = credit(60)
    with pytest.raises(SlopeError, match="slopes per class belong to a classifier"):
        MonotonicRegressor(slopes={"debt": {"bad": (0, 1)}}, **QUICK).fit(X, y)


def test_a_slope_interval_is_called_bounded_and_tables_are_their_own_repr(classifier):
    X, y = credit(100)
    model = MonotonicRegressor(slopes={"debt": (-1e-3, 1e-3), "income": (0, 1e-4)}, **QUICK).fit(X, y)
    words = {row.feature: row.promise for row in model.slopes_}
    assert (words["debt"], words["income"], words["age"]) == ("bounded", "increasing", "free")
    assert repr(model.slopes_) == str(model.slopes_)
    html = classifier.slopes_._repr_html_()
    assert html.startswith("<table><tr><th>feature</th>")
    assert html.count("<tr>") == html.count("</tr>") == 6
    assert "log-odds of P(y = good) per unit" in html


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e9])
def test_the_promise_does_not_depend_on_the_unit_of_a_feature(scale, rng):
    x = rng.normal(size=(300, 2)) * scale
    model = MonotonicRegressor(monotonic_cst=[1, 0], **QUICK).fit(
        x, np.tanh(x[:, 0] / scale) + 0.1 * rng.normal(size=300)
    )
    assert model.score(x, np.tanh(x[:, 0] / scale)) > 0.8
    frame = pd.DataFrame(x, columns=["a", "b"])
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert (model.predict(one_ulp_up(frame, "a")) >= model.predict(x)).all()
