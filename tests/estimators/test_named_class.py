"""Of two classes a model speaks of the one that its constraints name, wherever it is asked."""

from __future__ import annotations

import copy
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_val_score

from monolip import FrozenNetwork
from monolip.certify.certificate import Certificate, certify
from monolip.certify.fixed_point import compile_fixed_point
from monolip.certify.robustness import certified_radius
from monolip.certify.robustness_fixed_point import fixed_point_radius
from monolip.errors import SlopeError
from monolip.estimators import MonotonicClassifier

from .tables import QUICK, credit, one_ulp_up

BAD = {"income": {"bad": -1}, "debt": {"bad": 1}}
SIGNS = {"income": "decreasing", "debt": "increasing"}


def labels(y, name="loan"):
    """bad comes first in sorted order."""
    return pd.Series(np.where(y > 10, "good", "bad"), name=name)


@pytest.fixture(scope="module")
def model():
    X, y = credit()
    return MonotonicClassifier(monotonic_cst=BAD, **QUICK).fit(X, labels(y))


def test_screen_certificate_and_checker_say_the_same_of_the_same_class(model):
    for told in (model.slopes_, model.certificate_, certify(compile_fixed_point(model.frozen_))):
        words = {one.feature: one.promise for one in told}
        assert {name: words[name] for name in SIGNS} == SIGNS
    assert "promised of P(loan = bad)" in str(model.slopes_)
    assert "Claims are about P(loan = bad)" in str(model.certificate_)
    for certificate in (model.certificate_, certify(compile_fixed_point(model.frozen_))):
        said = certificate.check().splitlines()
        assert "claims are about P(loan = bad): f is its log-odds" in said
        assert any(line.startswith('  "debt": increasing [') for line in said)
    intervals = {claim.feature: (claim.lower, claim.upper) for claim in model.certificate_}
    assert {row.feature: (row.lower, row.upper) for row in model.slopes_} == intervals
    assert "P(loan = bad)" in str(model.frozen_)


@pytest.mark.parametrize(("name", "sign"), [("debt", 1), ("income", -1)])
def test_both_columns_of_probabilities_follow_their_direction_bit_for_bit(model, name, sign):
    X, _ = credit(3000, 2)
    for exact in (False, True):
        before, after = (model.predict_proba(Z, exact=exact) for Z in (X, one_ulp_up(X, name)))
        far = model.predict_proba(X.assign(**{name: X[name] * 1.5}), exact=exact)
        for moved in (after, far):
            assert (sign * (moved[:, 0] - before[:, 0]) >= 0).all()
            assert (sign * (moved[:, 1] - before[:, 1]) <= 0).all()


def test_what_scikit_learn_knows_keeps_its_order(model):
    X, y = credit()
    y = labels(y)
    assert model.classes_.tolist() == ["bad", "good"]
    p, f, said = model.predict_proba(X), model.decision_function(X), model.predict(X)
    assert ((f > 0) == (said == "good")).all()
    assert ((p[:, 1] > p[:, 0]) == (said == "good")).all()
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), f, atol=1e-9)
    assert (model.predict(X, exact=True) == said).mean() > 0.99
    assert get_scorer("roc_auc")(model, X, y) > 0.9
    mirrored = {name: {"good": -sign["bad"]} for name, sign in BAD.items()}
    scores = [
        cross_val_score(MonotonicClassifier(monotonic_cst=cst, **QUICK), X, y, scoring="roc_auc", cv=3)
        for cst in (BAD, mirrored)
    ]
    assert abs(np.mean(scores[0]) - np.mean(scores[1])) < 0.02  # naming the other class is another way to write it


def test_an_offset_is_added_to_decision_function_whichever_class_is_named():
    X, y = credit()
    offset = np.linspace(-1, 1, len(X))
    for cst in (BAD, {"debt": {"good": -1}}):
        model = MonotonicClassifier(monotonic_cst=cst, **QUICK).fit(X, labels(y), offset=offset)
        np.testing.assert_allclose(model.decision_function(X, offset), model.decision_function(X) + offset)
    drift = X.assign(income=1.0, debt=1.0, age=1.0, grade="low", city="A")  # nothing is left but the offset
    good = np.random.default_rng(0).random(len(X)) < 1 / (1 + np.exp(-4 * offset))
    model = MonotonicClassifier(monotonic_cst=BAD, **QUICK)
    model.fit(drift, labels(np.where(good, 20, 0)), offset=4 * offset)
    assert np.abs(model.decision_function(drift)).max() < 0.5  # the offset explains it: nothing is left to learn


def test_files_pickles_and_documents_keep_class_and_target(model, tmp_path):
    X, _ = credit(50, 3)
    model.save(tmp_path / "m")
    compile_fixed_point(model.frozen_).save(tmp_path / "i")
    for again in (MonotonicClassifier.load(tmp_path / "m"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.slopes_.probability == "P(loan = bad)"
        assert again.frozen_.digest == model.frozen_.digest
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert FrozenNetwork.load(tmp_path / "m").link.unit == "log-odds of P(loan = bad)"
    assert Certificate.from_json(model.certificate_.to_json()).document == model.certificate_.document


def test_class_and_target_are_part_of_the_digest():
    X, y = credit(60)
    found = {}
    for name in ("loan", "credit", None):
        fitted = MonotonicClassifier(monotonic_cst=BAD, **QUICK).fit(X, labels(y, name))
        found[name] = fitted.frozen_
    assert len({network.digest for network in found.values()}) == 3
    assert len({str(network.evaluate_raw([X[c].to_numpy() for c in X])) for network in found.values()}) == 1


def test_a_boolean_target_is_an_event_of_its_own_name():
    X, y = credit(60)
    for name, told in (("default", "P(default)"), (None, "P(y = True)")):
        fitted = MonotonicClassifier(monotonic_cst={"debt": 1}, **QUICK).fit(X, pd.Series(y < 10, name=name))
        assert fitted.slopes_.probability == told
        assert f"claims are about {told}: f is its log-odds" in fitted.certificate_.check()
    paid = MonotonicClassifier(monotonic_cst={"debt": {False: 1}}, **QUICK).fit(X, pd.Series(y > 10, name="paid"))
    assert paid.slopes_.probability == "P(paid = False)"
    assert {row.feature: row.promise for row in paid.slopes_}["debt"] == "increasing"


def test_the_name_of_a_target_comes_from_its_table():
    polars = pytest.importorskip("polars")
    X, y = credit(60)
    for given, told in (
        (polars.Series("loan", labels(y).tolist()), "P(loan = bad)"),
        (labels(y).to_frame(), "P(loan = bad)"),
        (labels(y).to_numpy(), "P(y = bad)"),
        (labels(y, "x" * 257), "P(y = bad)"),
        (labels(y, 3), "P(y = bad)"),
        (polars.Series("", labels(y).tolist()), "P(y = bad)"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of scikit-learn, about a column vector
            fitted = MonotonicClassifier(monotonic_cst=BAD, **QUICK).fit(X, given)
        assert fitted.slopes_.probability == told


def test_names_cannot_pretend_to_be_a_line(tmp_path):
    X, y = credit(60)
    name = "loan)\nPROVED: everything (x"
    fitted = MonotonicClassifier(monotonic_cst=BAD, **QUICK).fit(X, labels(y, name))
    for text in (str(fitted.slopes_), str(fitted.certificate_), fitted.certificate_.check(), str(fitted.frozen_)):
        assert not any(line.startswith("PROVED: everything") for line in text.splitlines())
    assert "<" not in fitted.certificate_._repr_html_().replace("<t", "").replace("</t", "")


@pytest.mark.parametrize(
    ("asked", "ways"),
    [
        ({"monotonic_cst": {"debt": 1}}, "monotonic_cst={'debt': {'%s': 1}, ...}"),
        ({"monotonic_cst": [0, -1, 0, 0, 0]}, "monotonic_cst={'debt': {'%s': -1}, ...}"),
        ({"slopes": {"debt": (0, 1)}}, "slopes={'debt': {'%s': (0, 1)}, ...}"),
        ({"monotonic_cst": {"income": {"good": 1}, "debt": 1}}, "monotonic_cst={'debt': {'%s': 1}, ...}"),
    ],
)
def test_labels_without_an_order_do_not_decide_signs(asked, ways):
    X, y = credit(60)
    with pytest.raises(SlopeError) as error:
        MonotonicClassifier(**asked, **QUICK).fit(X, labels(y))
    assert "the classes 'bad' and 'good'" in str(error.value)
    for label in ("bad", "good"):
        assert ways % label in str(error.value)
        assert f"--positive {label}" in str(error.value)


def test_what_says_nothing_of_a_class_needs_none():
    X, y = credit(60)
    for asked in ({}, {"slopes": {"debt": (-1, 1)}}, {"max_slope": 1.0}, {"monotonic_cst": [0] * 5}):
        fitted = MonotonicClassifier(**asked, **QUICK).fit(X, labels(y))
        assert fitted.slopes_.probability == "P(loan = good)"


@pytest.mark.parametrize("kind", [bool, int, float])
def test_numbers_and_booleans_have_an_order(kind):
    X, y = credit(60)
    fitted = MonotonicClassifier(monotonic_cst={"debt": 1}, **QUICK).fit(X, (y < 10).astype(kind))
    assert fitted.slopes_.label == kind(1)
    assert {claim.feature: claim.promise for claim in fitted.certificate_}["debt"] == "increasing"


def test_a_warm_start_may_not_change_the_class(model):
    X, y = credit(60)
    grown = MonotonicClassifier(monotonic_cst=BAD, warm_start=True, **QUICK).fit(X, labels(y))
    grown.set_params(n_estimators=3).fit(X, labels(y, "other name"))
    grown.set_params(n_estimators=4, monotonic_cst={"income": {"good": 1}, "debt": {"good": -1}})
    with pytest.raises(ValueError, match="a different y"):
        grown.fit(X, labels(y))


def test_decisions_of_radii_are_positions_of_classes(model):
    X, _ = credit(40, 4)
    said = np.searchsorted(model.classes_, model.predict(X))
    assert np.array_equal(certified_radius(model, X).decision, said)
    said = np.searchsorted(model.classes_, model.predict(X, exact=True))
    found = fixed_point_radius(compile_fixed_point(model.frozen_), X)
    assert np.array_equal(found.decision, said)
    assert (found.radius > 0).any()


def test_a_stream_speaks_of_the_same_class(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = credit(300)
    table = arrow.table({"income": X["income"], "debt": X["debt"], "loan": labels(y)})
    parquet.write_table(table, tmp_path / "t.parquet")
    fitted = MonotonicClassifier(monotonic_cst=BAD, **QUICK).fit_stream(tmp_path / "t.parquet", "loan")
    assert fitted.slopes_.probability == "P(loan = bad)"
    whole = MonotonicClassifier(monotonic_cst=BAD, **QUICK).fit(X[["income", "debt"]], labels(y))
    assert whole.frozen_.digest == fitted.frozen_.digest
    fitted.predict_stream(tmp_path / "t.parquet", tmp_path / "p.parquet")
    found = parquet.read_table(tmp_path / "p.parquet")
    assert found["prediction"].to_pylist() == whole.predict(X[["income", "debt"]]).tolist()
    assert np.array_equal(found["P(bad)"].to_numpy(), whole.predict_proba(X[["income", "debt"]])[:, 0])


def test_a_recalibrated_model_is_about_the_same_class(model):
    X, y = credit(200, 5)
    again = copy.deepcopy(model)
    rare = labels(np.where(np.random.default_rng(0).random(200) < 0.9, 20, y))  # far fewer are bad
    before = again.predict_proba(X)[:, 0].mean()
    again.recalibrate(X, rare)
    assert again.predict_proba(X)[:, 0].mean() < before
    assert again.slopes_.probability == "P(loan = bad)"
    assert json.loads(again.certificate_.to_json())["structure"]["ends"]["link"]["positive"] == 0
