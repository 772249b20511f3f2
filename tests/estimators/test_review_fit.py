"""What a reader of the fit procedure found: laws that were broken once."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from monolip import FitOptions, MonotonicClassifier, MonotonicRegressor
from monolip.errors import InputError, PromiseWarning
from monolip.report import compare, explain


def table(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.maximum(X[:, 1], X[:, 2]) + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize("n_bins", [4, 9, 12, 16, 20])
def test_as_many_bins_as_the_options_say_where_rows_allow_it(n_bins):
    X, y = table(2000)
    model = MonotonicRegressor(fit_options=FitOptions(n_bins=n_bins, n_stages=1), random_state=0).fit(X, y)
    assert len(model.frozen_.inputs.columns[0].maps) - 1 == n_bins


def test_without_validation_the_usual_strength_is_taken():
    X, y = table(400)
    one = {"early_stopping": False, "max_iter": 1, "random_state": 0}
    usual = MonotonicRegressor(**one).fit(X, y).predict(X)
    alone = {
        strength: MonotonicRegressor(fit_options=FitOptions(ridge_strengths=(strength,)), **one).fit(X, y).predict(X)
        for strength in (3.0, 10.0, 30.0, 100.0, 300.0)
    }
    assert min(alone, key=lambda strength: np.abs(alone[strength] - usual).max()) == 30.0


def test_ctrl_c_before_anything_is_known_keeps_the_additive_model():
    X, y = table(300)

    def interrupt(row: dict) -> None:
        raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        model = MonotonicRegressor(n_estimators=1, random_state=0).fit(X, y, callbacks=interrupt)
    assert np.isfinite(model.predict(X)).all()


def test_members_added_after_validation_rows_of_the_user():
    X, y = table(60)
    model = MonotonicRegressor(n_estimators=2, warm_start=True, random_state=0)
    model.fit(X[:12], y[:12], X_val=X[12:], y_val=y[12:])
    model.set_params(n_estimators=4).fit(X[:12], y[:12])
    assert model.n_estimators_ == 4


def test_a_fit_without_time_does_not_say_that_training_did_not_help(capsys):
    X, y = table(300)
    MonotonicRegressor(max_time=0.0, verbose=1, random_state=0).fit(X, y)
    assert "did not improve" not in capsys.readouterr().err


def test_validation_rows_with_far_values_count_as_training_rows_do():
    X, y = table(600)
    far = X.copy()
    far[::7, 0] = 1e6
    model = MonotonicRegressor(slopes={0: (0, 3)}, random_state=0).fit(X[:400], y[:400], X_val=far[400:], y_val=y[400:])
    assert model.score(X, y) > 0.9


def test_classes_with_validation_rows_keep_their_direction():
    X, y = table(600)
    model = MonotonicClassifier(monotonic_cst=[1, 0, 0], random_state=0)
    model.fit(X[:400], y[:400] > 0, X_val=X[400:], y_val=y[400:] > 0)
    above = np.nextafter(X, np.inf) * [1, 0, 0] + X * [0, 1, 1]
    assert (model.predict_proba(above)[:, 1] >= model.predict_proba(X)[:, 1]).all()


def loans(n: int = 300) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"debt": rng.gamma(2.0, 1.0, n), "age": rng.integers(18, 80, n).astype(float)})
    bad = rng.random(n) < 1 / (1 + np.exp(2 - X["debt"]))
    return X, pd.Series(np.where(bad, "bad", "good"), name="status")


def test_a_threshold_says_whose_probability_it_is_about():
    X, y = loans()
    model = MonotonicClassifier(monotonic_cst={"debt": {"bad": 1}}, random_state=0).fit(X, y)
    assert "log-odds of P(status = good)" in repr(model.threshold(X, y, rate=0.2))


def test_an_explanation_names_the_probability_with_a_goal_as_well():
    X, y = loans()
    model = MonotonicClassifier(monotonic_cst={"debt": {"bad": 1}}, random_state=0).fit(X, y)
    row, other = {"debt": 3.0, "age": 40.0}, {"debt": 1.0, "age": 50.0}
    for goal in (None, 0.5):
        assert explain(model, row, other, goal=goal).probability == "P(status = bad)"


@pytest.mark.parametrize("labels", [np.array([True, False]), np.array([0, 1]), np.array(["bad", "ugly"])])
def test_labels_of_another_type_are_refused_in_words(labels):
    X, y = loans()
    model = MonotonicClassifier(random_state=0)
    with pytest.raises(InputError, match="of y_val; leave such rows out, or give labels of the same type"):
        model.fit(X, y, X_val=X[:2], y_val=labels)
    with pytest.raises(InputError, match="labels must be among the classes seen in fit"):
        model.fit(X, y).calibration(X[:2], labels)


def test_a_comparison_knows_the_name_of_the_target():
    X, y = loans()
    with pytest.warns(PromiseWarning, match=r"P\(status = bad\)"):
        compare(X, y, {"debt": {"bad": -1}}, classification=True, n_folds=2, models=())


@pytest.mark.parametrize("early_stopping", [True, False])
def test_a_model_with_a_warm_start_is_pickled_and_goes_on_with_the_same_bits(early_stopping):
    X, y = table(400)
    model = MonotonicRegressor(warm_start=True, n_estimators=4, early_stopping=early_stopping, random_state=0).fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.set_params(n_estimators=6).fit(X, y).n_estimators_ == 6
    assert other.frozen_ == model.set_params(n_estimators=6).fit(X, y).frozen_


def test_as_many_networks_as_the_constructor_allows():
    for field in ("n_estimators", "n_validated"):
        with pytest.raises(InputError, match="from 1 to 64"):
            FitOptions(**{field: 65})
    with pytest.raises(InputError, match="from 0 to 24"):
        FitOptions(n_stages=25)


def test_other_whole_numbers_as_labels_are_not_taken_by_position_without_a_word():
    X, y = table(100)
    frame = pd.DataFrame(X)
    model = MonotonicRegressor(random_state=0, max_iter=1).fit(frame, y)
    assert (model.predict(frame[[2, 0, 1]]) == model.predict(frame)).all()
    with pytest.warns(UserWarning, match="taken by position"):
        model.predict(frame.rename(columns={0: 1, 1: 2, 2: 3}))


def test_a_callback_may_answer_with_a_boolean_of_numpy():
    X, y = table(300)
    rows = []
    MonotonicRegressor(random_state=0).fit(X, y, callbacks=[rows.append, lambda row: np.less(0, row["stage"])])
    assert {row["stage"] for row in rows} == {0, 1}


@pytest.mark.parametrize("kind", ["boolean", "Int64", "category", "string"])
def test_labels_of_types_of_pandas_stay_what_they_are(kind):
    X, _ = table(120)
    plain = X[:, 0] > 0 if kind in ("boolean", "category") else np.where(X[:, 0] > 0, 3, 1)
    y = pd.Series(plain, name="default")
    y = y.astype(str).astype("string") if kind == "string" else y.astype(kind)
    model = MonotonicClassifier(random_state=0, max_iter=1).fit(X, y)
    assert type(model.classes_.tolist()[0]) is {"boolean": bool, "Int64": int, "category": bool, "string": str}[kind]


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1])
def test_a_time_budget_is_a_finite_number(value):
    X, y = table(60)
    with pytest.raises(InputError, match="max_time is None or a finite number of seconds, at least 0"):
        MonotonicRegressor(max_time=value).fit(X, y)


def test_calibration_is_about_the_class_that_constraints_name():
    X, y = loans(600)
    bad = MonotonicClassifier(monotonic_cst={"debt": {"bad": 1}}, random_state=0).fit(X, y)
    rows = sum(count for _, _, count in bad.calibration(X, y).bins)
    observed = sum(share * count for _, share, count in bad.calibration(X, y).bins) / rows
    assert observed == pytest.approx((y == "bad").mean(), abs=1e-9)
    assert bad.calibration_.bins[0][1] < bad.calibration_.bins[-1][1]
    assert abs(bad.calibration_.error) < 0.2


def test_every_warning_of_fit_and_predict_points_at_the_line_that_called_it():
    X, y = table(200)
    far = X + np.array([1e16, 0.0, 0.0])
    with pytest.warns(UserWarning, match="rounded to floats") as told:
        MonotonicRegressor(random_state=0, max_iter=1).fit(far, y)
    with pytest.warns(PromiseWarning) as signs:
        MonotonicRegressor(monotonic_cst=[-1, 0, 0], random_state=0, max_iter=1).fit(X, y)
    model = MonotonicRegressor(random_state=0, max_iter=1).fit(pd.DataFrame(X, columns=list("abc")), y)
    with pytest.warns(UserWarning, match="valid feature names") as names:
        model.predict(X)
    with pytest.warns(UserWarning, match="999999") as codes:
        MonotonicRegressor(slopes={0: (0, 3)}, random_state=0, max_iter=1).fit(
            np.vstack([X, [999999, 0, 0]]), [*y, 0.0]
        )
    for record in (told, signs, names, codes):
        assert {one.filename for one in record} == {__file__}
