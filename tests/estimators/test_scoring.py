"""predict_log_proba, and score with the offset that a model was fitted with; alone and in cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, cross_validate

from monolip import MonotonicClassifier, MonotonicRegressor

from .tables import QUICK, credit, one_ulp_up


@pytest.fixture(scope="module")
def classifiers():
    X, y = credit(300)
    two = MonotonicClassifier(monotonic_cst={"income": 1}, **QUICK).fit(X, y > np.median(y))
    three = MonotonicClassifier(monotonic_cst={"income": {2: 1}}, **QUICK).fit(
        X, np.digitize(y, np.quantile(y, [0.3, 0.6]))
    )
    return X, two, three


def test_logarithms_of_probabilities(classifiers):
    X, *models = classifiers
    for model in models:
        for words in ({}, {"exact": True}):
            chances, logs = model.predict_proba(X, **words), model.predict_log_proba(X, **words)
            assert logs.shape == chances.shape
            assert np.allclose(np.exp(logs), chances, rtol=1e-12, atol=0)
            assert np.array_equal(np.isfinite(logs), chances > 0)
            assert (logs <= 0).all()
            moved = model.predict_log_proba(one_ulp_up(X, "income"), **words)
            assert (moved[:, -1] >= logs[:, -1]).all()


def test_far_away_they_stay_finite_as_probabilities_stay_positive(classifiers):
    X, two, _ = classifiers
    for offset in (-1e9, -800.0, -30.0, 30.0, 800.0, 1e9):
        given = np.full(len(X), offset)
        chances, logs = two.predict_proba(X, offset=given), two.predict_log_proba(X, offset=given)
        assert np.array_equal(np.isfinite(logs), chances > 0)
        assert np.array_equal(logs == 0.0, chances == 1.0)
    rising = [two.predict_log_proba(X[:1], offset=[shift])[0, 1] for shift in np.linspace(-800, 800, 4001)]
    assert (np.diff(rising) >= 0).all()


def exposed(n: int = 400):
    """Counts whose exposure differs a thousandfold: without it nothing is explained."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    offset = rng.uniform(-3, 4, n)
    return X, rng.poisson(np.exp(X[:, 0] + offset)).astype(float), offset


def labelled(n: int = 400):
    """Classes that an earlier score, handed on as an offset, nearly decides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    offset = rng.normal(scale=6, size=n)
    return X, np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-X[:, 0] - offset)), "yes", "no"), offset


CASES = [
    (MonotonicRegressor(loss="poisson", **QUICK), exposed(), r2_score),
    (MonotonicClassifier(**QUICK), labelled(), accuracy_score),
]


@pytest.mark.parametrize(("model", "data", "measure"), CASES, ids=["regressor", "classifier"])
def test_score_takes_the_offset(model, data, measure):
    X, y, offset = data
    model.fit(X, y, offset=offset)
    weight = np.linspace(0, 1, len(y))
    found = model.score(X, y, sample_weight=weight, offset=offset)
    assert found == measure(y, model.predict(X, offset=offset), sample_weight=weight)
    assert model.score(X, y, offset=offset) > model.score(X, y) + 0.1
    assert model.score(X, y) == measure(y, model.predict(X))


@pytest.mark.parametrize(("model", "data", "measure"), CASES, ids=["regressor", "classifier"])
def test_cross_validation_scores_what_it_fitted(model, data, measure):
    X, y, offset = data
    folds = KFold(3, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = type(model)(**model.get_params()).set_fit_request(offset=True).set_score_request(offset=True)
        found = cross_validate(routed, X, y, cv=folds, params={"offset": offset})["test_score"]
    by_hand = []
    for train, test in folds.split(X):
        model.fit(X[train], y[train], offset=offset[train])
        by_hand.append(measure(y[test], model.predict(X[test], offset=offset[test])))
    assert found.tolist() == by_hand
    assert np.mean(found) > 0.6
