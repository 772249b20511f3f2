"""Validation rows that a user passes to the fit of a classifier."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.errors import InputError
from monolip.estimators import FitOptions, MonotonicClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
P = 1 / (1 + np.exp(-X[:, 0] - X[:, 1] * X[:, 2]))
Y = np.where(RNG.random(600) < P, "yes", "no")
FIRST, LAST = slice(0, 400), slice(400, 600)


def fitted(y=Y, **more):
    model = MonotonicClassifier(
        monotonic_cst=None, fit_options=FitOptions(n_stages=4), random_state=0, **more.pop("parameters", {})
    )
    return model.fit(X[FIRST], y[FIRST], X_val=X[LAST], y_val=y[LAST], **more)


def test_the_loss_in_the_history_is_that_of_the_users_rows():
    """A fresh fit whose stages end where the history says it chose predicts these rows with that loss."""
    model = fitted(parameters={"n_estimators": 1})
    chosen = [row for row in model.history_ if row["chosen"]]
    assert len(chosen) == 1
    p = model.predict_proba(X[LAST])[np.arange(200), (Y[LAST] == "yes").astype(int)]
    assert chosen[0]["validation_loss"] == pytest.approx(-np.log(p).mean(), rel=1e-5)
    assert not any(row["refit"] for row in model.history_)
    assert model.calibration_ is not None


def test_weights_of_classes_count_for_validation_rows_too():
    weight = {"yes": 3.0, "no": 1.0}
    model = fitted(parameters={"n_estimators": 1, "class_weight": weight})
    loss = next(row["validation_loss"] for row in model.history_ if row["chosen"])
    p = model.predict_proba(X[LAST])[np.arange(200), (Y[LAST] == "yes").astype(int)]
    weights = np.vectorize(weight.get)(Y[LAST])
    assert loss == pytest.approx(-np.average(np.log(p), weights=weights), rel=1e-5)


def test_rows_with_labels_that_training_has_not_are_refused():
    with pytest.raises(InputError, match=r"classes of the training rows, .*; got 'maybe' in row 0"):
        fitted(y=np.where(np.arange(600) == 400, "maybe", Y))
    with pytest.raises(InputError, match="same number of rows"):
        MonotonicClassifier().fit(X[FIRST], Y[FIRST], X_val=X[LAST], y_val=Y[:7])
    with pytest.raises(InputError, match="pass y_val as well"):
        MonotonicClassifier().fit(X[FIRST], Y[FIRST], X_val=X[LAST])
