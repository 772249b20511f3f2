"""The picture of certified accuracy, and radii of fitted classifiers through their public face."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monolip import MonotonicClassifier
from monolip.certify.milp import smallest_flip
from monolip.certify.robustness import certified_radius
from monolip.certify.robustness_feature import feature_radii
from monolip.errors import InputError
from monolip.report.robustness import plot_certified_accuracy


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"debt": rng.normal(size=300), "age": rng.uniform(20, 70, 300)})
    X["city"] = rng.choice(["a", "b"], 300)
    X.loc[:9, "age"] = np.nan
    y = np.where(X["debt"] + 0.3 * (X["city"] == "a") + 0.3 * rng.normal(size=300) > 0, "bad", "good")
    return X, y


@pytest.fixture(scope="module")
def model(table):
    settings = {"hidden_layer_sizes": (8,), "n_estimators": 2, "max_iter": 100, "random_state": 0}
    return MonotonicClassifier(monotonic_cst={"debt": {"bad": 1}}, **settings).fit(*table)


def test_a_fitted_classifier_keeps_its_prediction_within_every_radius(model, table, rng):
    X = table[0].iloc[:40]
    found = certified_radius(model, X)
    assert found.held == ("city",)
    assert (model.classes_[found.decision] == model.predict(X)).all()
    for _ in range(20):
        d = rng.uniform(-1, 1, (40, 2)) * np.minimum(found.radius, 1e3)[:, None] * 0.999 * found.scale
        moved = X.assign(debt=X["debt"] + d[:, 0], age=X["age"] + d[:, 1])
        assert (model.predict(moved) == model.predict(X)).all()


def test_one_sided_radii_of_a_promised_feature_are_infinite_where_it_can_only_help(model, table):
    X = table[0].iloc[:40]
    found = feature_radii(model, X)
    debt = found.features.index("debt")
    bad = model.predict(X) == "bad"
    assert np.isinf(found.up[bad, debt]).all()
    assert np.isinf(found.down[~bad, debt]).all()
    assert np.isnan(found.up[:10, found.features.index("age")]).all()
    far = X.assign(debt=np.where(bad, 1e12, -1e12))
    assert (model.predict(far) == model.predict(X)).all()


def test_the_program_and_the_proof_agree_on_a_fitted_classifier(model, table):
    X, scale = table[0].iloc[8:12], {"debt": 1.0, "age": 15.0}
    proved = certified_radius(model, X, scale=scale).radius
    for radius, flip in zip(proved, smallest_flip(model, X, scale=scale, box=3.0, time_limit=5.0), strict=True):
        assert radius < flip.radius


def test_curves_fall_from_the_accuracy_and_are_named(model, table):
    X, y = table[0].iloc[:40], table[1][:40]
    right = model.predict(X) == y
    both = {name: certified_radius(model, X, method=name) for name in ("slopes", "hull")}
    axis = plot_certified_accuracy(both, right)
    assert [line.get_label() for line in axis.lines] == ["slopes", "hull", "accuracy, nothing moved"]
    for line in axis.lines[:2]:
        assert line.get_ydata()[0] == pytest.approx(right.mean())
        assert (np.diff(line.get_ydata()) <= 0).all()
    assert plot_certified_accuracy(both["hull"], right, largest=2.0).get_xlim() == (0.0, 2.0)


def test_what_cannot_be_drawn_together_is_refused(model, table):
    X = table[0].iloc[:3]
    with pytest.raises(InputError, match="one norm"):
        plot_certified_accuracy(
            {str(p): certified_radius(model, X, norm=p, method="slopes") for p in (1, 2)}, [True] * 3
        )
    for wrong in ({}, {"a": 1.0}):
        with pytest.raises(InputError):
            plot_certified_accuracy(wrong, [True])
