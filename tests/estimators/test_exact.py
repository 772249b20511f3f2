"""predict(exact=True): the deployed integers behind an estimator, close to its floats and in the promised order."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from monolip.errors import InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor

QUICK = {"max_iter": 3, "n_estimators": 2, "random_state": 0}


def table(rng, n=300):
    return pd.DataFrame(
        {
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3, 1, n)),
            "debt": rng.integers(0, 20, n),
            "city": rng.choice(["a", "b", "c"], n),
        }
    )


def stepped(frame, name):
    x = frame[name].to_numpy(float)
    return frame.assign(**{name: np.nextafter(x, np.inf)})


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_a_regressor_predicts_in_integers(loss):
    rng = np.random.default_rng(0)
    X = table(rng)
    y = 1 + np.log1p(X["income"].fillna(10)) - 0.05 * X["debt"] + rng.normal(0, 0.01, len(X)).clip(-0.05, 0.05)
    model = MonotonicRegressor(monotonic_cst={"income": 1, "debt": -1}, loss=loss, slopes=None, **QUICK).fit(X, y)
    exact = model.predict(X, exact=True)
    np.testing.assert_allclose(exact, model.predict(X), rtol=1e-4, atol=1e-4)
    known = X["income"].notna()
    assert (model.predict(stepped(X, "income"), exact=True) >= exact)[known].all()
    assert (model.predict(stepped(X, "debt"), exact=True) <= exact).all()
    one = np.concatenate([model.predict(X.iloc[i : i + 1], exact=True) for i in range(20)])
    np.testing.assert_array_equal(one, exact[:20])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X, exact=True), exact)


def test_a_feature_with_slopes_in_raw_units_keeps_them():
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, (200, 2))
    model = MonotonicRegressor(slopes={0: (0.5, 2.0)}, **QUICK).fit(X, X[:, 0] + X[:, 1] ** 2)
    entry = model._predictor.exact.inputs.columns[0]
    assert entry.low < -20 < 20 < entry.high  # declared far beyond the data
    step = X.copy()
    step[:, 0] += 0.25
    change = model.predict(step, exact=True) - model.predict(X, exact=True)
    assert (change >= 0.5 * 0.25 - 1e-5).all()
    assert (change <= 2.0 * 0.25 + 1e-5).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_predicts_in_integers(classes):
    rng = np.random.default_rng(2)
    X = table(rng)
    score = X["income"].fillna(20).rank(pct=True) * classes - 0.02 * X["debt"]
    y = np.clip(score.astype(int), 0, classes - 1)
    top = classes - 1
    model = MonotonicClassifier(monotonic_cst={"income": {top: 1}}, **QUICK).fit(X, y)
    exact = model.predict_proba(X, exact=True)
    np.testing.assert_allclose(exact, model.predict_proba(X), atol=1e-5)
    known = X["income"].notna()
    assert (model.predict_proba(stepped(X, "income"), exact=True)[:, top] >= exact[:, top])[known].all()
    assert (model.predict(X, exact=True) == model.predict(X)).mean() > 0.99
    with pytest.raises(InputError, match="without offsets"):
        model.predict_proba(X, offset=np.zeros(len(X)), exact=True)


def test_exact_is_a_flag():
    x = np.linspace(0, 1, 60)[:, None]
    regressor = MonotonicRegressor(monotonic_cst=[1], random_state=0, max_iter=1).fit(x, x[:, 0])
    classifier = MonotonicClassifier(monotonic_cst=[1], random_state=0, max_iter=1).fit(x, x[:, 0] > 0.4)
    for ask in (regressor.predict, classifier.predict, classifier.predict_proba):
        with pytest.raises(InputError, match="exact is True or False; got 'yes'; choose one"):
            ask(x, exact="yes")
        assert (ask(x, exact=np.True_) == ask(x, exact=True)).all()
