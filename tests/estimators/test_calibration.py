"""Probabilities are measured against frequencies, and mended without breaking a promise."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.errors import InputError
from monolip.estimators import MonotonicClassifier
from monolip.estimators.calibration import measure_calibration
from monolip.estimators.freeze import rescale

from .tables import QUICK, credit, one_ulp_up


def overconfident(n_classes):
    """A model whose log-odds are three times too large."""
    X, y = credit(500)
    labels = np.digitize(y, [9.5, 10.5]) if n_classes == 3 else (y > 10).astype(int)
    cst = {"income": {2: 1}} if n_classes == 3 else {"income": 1}
    model = MonotonicClassifier(monotonic_cst=cst, **QUICK).fit(X, labels)
    model._adopt(rescale(model.frozen_, 3.0, 0.0), model._schema)
    Z, z = credit(500, 1)
    return model, Z, np.digitize(z, [9.5, 10.5]) if n_classes == 3 else (z > 10).astype(int)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_recalibration_lowers_the_log_loss_and_keeps_promise_and_order(n_classes):
    model, X, y = overconfident(n_classes)
    before, scores = model.calibration(X, y), model.decision_function(X)
    promise, table = model.frozen_.raw_promise, str([row.promise for row in model.slopes_])
    assert model.recalibrate(X, y) is model
    after = model.calibration(X, y)
    assert after.log_loss < before.log_loss
    assert after.error < before.error
    assert model.frozen_.raw_promise == promise
    assert str([row.promise for row in model.slopes_]) == table
    moved = model.predict_proba(one_ulp_up(X, "income"))[:, -1]
    assert (moved >= model.predict_proba(X)[:, -1]).all()
    if n_classes == 2:
        assert np.array_equal(np.argsort(scores, kind="stable"), np.argsort(model.decision_function(X), kind="stable"))


def test_a_scale_that_would_break_an_interval_is_cut_back():
    X, y = credit(300)
    model = MonotonicClassifier(slopes={"income": (1e-6, 5e-5)}, **QUICK).fit(X, y > 10)
    for scale in (1e-6, 1e6):
        low, high = (
            rescale(model.frozen_, scale, 0.0).raw_slopes.lower[0],
            rescale(model.frozen_, scale, 0.0).raw_slopes.upper[0],
        )
        assert 1e-6 <= low <= high <= 5e-5


def test_a_perfect_forecast_has_no_error_and_labels_must_be_known():
    p = np.array([[1.0, 0.0], [0.0, 1.0]] * 5)
    assert measure_calibration(p, np.array([0, 1] * 5), n_bins=2).error == 0.0
    with pytest.raises(InputError, match="one row per label"):
        measure_calibration(p, np.array([0]))
    X, y = credit(100)
    model = MonotonicClassifier(**QUICK).fit(X, np.where(y > 10, "a", "b"))
    with pytest.raises(InputError, match="labels must be among the classes"):
        model.recalibrate(X, np.full(100, "c"))


def test_a_calibration_prints_as_its_table():
    p = np.array([[0.8, 0.2], [0.8, 0.2], [0.4, 0.6], [0.4, 0.6]])
    first, head, *rows = repr(measure_calibration(p, np.array([0, 0, 0, 1]), n_bins=2)).splitlines()
    assert first.startswith("calibration error 0.15, log-loss ")
    assert head.split() == ["mean", "predicted", "observed", "rows"]
    assert [row.split() for row in rows] == [["0.2", "0", "2"], ["0.6", "0.5", "2"]]
