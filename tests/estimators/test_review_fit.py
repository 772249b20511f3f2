"""What a reader of the fit procedure found: laws that were broken once."""

from __future__ import annotations

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
