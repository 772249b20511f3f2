"""Certificates of estimators and of frozen modules: complete, true, bound to one network, and easy to look at."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.certify import Certificate, certify, require_certifiable
from monolip.certify.document import ARITHMETIC
from monolip.convex import ConvexForm
from monolip.errors import CertificateError
from monolip.estimators.slope_table import SlopeTable
from monolip.frozen import FrozenNetwork, Trunk
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform
from monolip.piecewise_linear import PiecewiseLinear
from monolip.slopes import SlopeBounds

from ..checker.documents import accepts, checker, networks
from ..make import frozen_networks

# without rows held out: else the additive starts, linear functions with sharper claims, would be taken
FAST = {"max_iter": 2, "random_state": 0, "n_estimators": 2, "early_stopping": False}


def table(n=200):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n).astype(float),
            "income": rng.lognormal(size=n),
            "debt": rng.normal(size=n),
            "grade": rng.choice(["a", "b", "c"], n),
            "city": rng.choice(["x", "y", "z"], n),
        }
    )
    y = X["age"] / 20 - X["debt"] + (X["grade"] == "c") + rng.normal(size=n)
    X.loc[rng.random(n) < 0.1, "income"] = np.nan
    X.loc[rng.random(n) < 0.1, "debt"] = np.nan
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def models():
    X, y = table()
    common = {"categorical_features": {"grade": ["a", "b", "c"], "city": ["x", "y", "z"]}, **FAST}
    regressor = MonotonicRegressor(
        monotonic_cst={"age": 1, "debt": -1, "grade": 1},
        missing={"debt": "lowest"},
        slopes={"age": (0.0, 0.5)},
        **common,
    )
    binary = MonotonicClassifier(monotonic_cst={"age": 1, "grade": 1}, **common)
    many = MonotonicClassifier(monotonic_cst={"age": {"high": 1}, "debt": {"low": 1, "high": -1}}, **common)
    classes = np.where(y > 2.5, "high", np.where(y < 1.0, "low", "mid"))
    return {"regression": regressor.fit(X, y), "binary": binary.fit(X, y > 2), "classes": many.fit(X, classes)}


@pytest.mark.parametrize("name", ["regression", "binary", "classes"])
def test_a_fitted_estimator_carries_a_certificate_that_the_checker_proves(models, name, tmp_path):
    certificate = models[name].certificate_
    assert certificate.digest == models[name].frozen_.digest
    assert accepts(tmp_path, certificate.to_json())
    assert "PROVED" in certificate.check()


def test_of_two_classes_it_says_whose_log_odds_its_claims_are_about(models):
    certificate = models["binary"].certificate_
    assert str(certificate).endswith("Claims are about P(y = True): slopes are of its log-odds.")
    assert "claims are about P(y = True): f is its log-odds" in certificate.check().splitlines()
    assert "P(y = True)" in certificate._repr_html_()
    for name in ("regression", "classes"):
        certificate = models[name].certificate_
        assert "log-odds" not in str(certificate) + certificate.check() + certificate._repr_html_()


def test_every_promise_of_the_user_is_in_it(models):
    found = {row.feature: row for row in models["regression"].certificate_}
    assert [found[name].promise for name in ("age", "debt", "grade")] == ["increasing", "decreasing", "increasing"]
    assert (found["city"].promise, found["income"].promise) == ("free", "bounded")
    assert 0.0 <= found["age"].lower <= found["age"].upper <= 0.5
    assert found["debt"].missing == "lowest"
    assert found["age"].missing == found["income"].missing == "state"


def test_classes_are_certified_by_differences_of_logits(models):
    document = models["classes"].certificate_.document
    labels = document["structure"]["ends"]["link"]["labels"]
    entries = {entry["name"]: entry for entry in document["claims"]["raw"]}
    pairs = {name: [list(map(float.fromhex, p)) for p in entries[name]["differences"]] for name in ("age", "debt")}
    assert pairs["age"][labels.index("high")][0] >= 0  # f_high - f_j never falls: P(high) rises
    assert pairs["debt"][labels.index("low")][0] >= 0
    assert pairs["debt"][labels.index("high")][1] <= 0
    rows = [row for row in models["classes"].certificate_ if row.feature == "age"]
    assert {row.output: row.promise for row in rows}["high"] == "increasing"


def test_certified_slopes_hold_between_predictions(models):
    X, _ = table()
    model, rng = models["regression"], np.random.default_rng(1)
    found = {row.feature: row for row in model.certificate_}
    for name in ("age", "income"):
        moved = X.copy()
        step = rng.uniform(0.01, 3.0, len(X))
        moved[name] = moved[name] + step
        ratio = ((model.predict(moved) - model.predict(X)) / step)[X[name].notna()]
        assert found[name].lower - 1e-9 <= ratio.min()
        assert ratio.max() <= found[name].upper + 1e-9


def test_certified_slopes_are_never_wider_than_first_layers_and_often_half(models):
    for name in ("regression", "binary"):
        ratios = []
        wide = SlopeTable.of(models[name].frozen_)
        for row in models[name].certificate_:
            if row.lower is None:
                continue
            low, high = wide[row.feature]
            assert low <= row.lower <= row.upper <= high
            ratios.append((row.upper - row.lower) / (high - low))
        assert min(ratios) < 0.8


def test_one_certified_slope_is_shown_everywhere(models):
    """The table of an estimator and its certificate show one interval, inside what was promised."""
    for model in models.values():
        claims = {(claim.feature, claim.output): claim for claim in model.certificate_}
        for row in model.slopes_:
            claim = claims[row.feature, row.output]
            assert (row.lower, row.upper) == (claim.lower, claim.upper)
            if row.promised is not None:
                assert row.promised[0] <= row.lower <= row.upper <= row.promised[1]


def test_one_vocabulary(models):
    """What was asked for and what is proved are told in the same five words; a document keeps those of its format."""
    words = {"increasing", "decreasing", "flat", "bounded", "free"}
    for model in models.values():
        assert {claim.promise for claim in model.certificate_} <= words
        assert {row.promise.partition(" ")[0] for row in model.slopes_} <= words
        written = {word for entry in model.certificate_.document["claims"]["raw"] for word in entry["promise"]}
        assert written <= {"increasing", "decreasing", "flat", "slope interval", "no promise"}
        said = model.certificate_.check()
        assert "slope interval" not in said
        assert '"city": free' in said


def test_the_certificate_follows_the_model(models):
    model = models["binary"]
    assert model.certificate_ is model.certificate_
    again = pickle.loads(pickle.dumps(model))
    assert again.certificate_ == model.certificate_
    with pytest.raises(NotFittedError):
        _ = clone(model).certificate_
    assert not hasattr(MonotonicRegressor(), "certificate_")


def test_a_loaded_model_has_the_same_certificate(models, tmp_path):
    models["regression"].save(tmp_path / "model")
    assert MonotonicRegressor.load(tmp_path / "model").certificate_ == models["regression"].certificate_


def test_a_second_fit_makes_a_new_one():
    X, y = table(60)
    model = MonotonicRegressor(**FAST).fit(X[["age"]], y)
    first = model.certificate_
    model.fit(X[["age"]], -y)
    assert model.certificate_.digest == model.frozen_.digest != first.digest


def test_a_fit_that_cannot_be_certified_raises():
    with pytest.raises(CertificateError, match="Householder"):
        certify(frozen_networks(np.random.default_rng(0))["householder"])
    with pytest.raises(CertificateError, match="FrozenNetwork"):
        certify(MonotonicRegressor())
    steep = InputTransform((NumericColumn("x", (PiecewiseLinear([0.0], [0.0], 1e21, 1e21),)),))
    form = ConvexForm(([[1.6e287], [-1.6e287]],), ([0.0, 0.0],), ())
    network = FrozenNetwork(SlopeBounds([-1e300], [1e300]), ((Trunk(form, (0, 1)),),), inputs=steep)
    with pytest.raises(CertificateError, match="rescale"):
        require_certifiable(network)


@pytest.mark.parametrize("name", networks())
def test_claims_keep_the_promise_and_are_rounded_outwards(name):
    network = networks()[name]
    for j, entry in enumerate(certify(network).document["claims"]["model"][: network.n_features]):
        for k, pair in enumerate(entry["real"]):
            low, high = map(float.fromhex, pair)
            box = network.bounds.for_output(k)
            assert box.lower[j] <= low <= high <= box.upper[j]


def test_json_and_files_come_back_equal(tmp_path):
    certificate = certify(networks()["raw"])
    certificate.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json") == certificate == Certificate.from_json(certificate.to_json())
    assert hash(Certificate.load(tmp_path / "c.json")) == hash(certificate)
    assert certificate.kind == "real+ordered"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: "[]",
        lambda text: "{}",
        lambda text: text[:-2],
        lambda text: text.replace('"version": 2', '"version": 3'),
        lambda text: text.replace('"increasing"', '"decreasing"', 1),
        lambda text: "[" * 100_000,
        lambda text: json.dumps({**json.loads(text), "claims": None}),
    ],
)
def test_damaged_documents_are_errors(change):
    with pytest.raises(CertificateError):
        Certificate.from_json(change(certify(networks()["raw"]).to_json()))


def test_a_certificate_of_version_1_names_what_reads_it():
    text = certify(networks()["raw"]).to_json().replace('"version": 2', '"version": 1')
    with pytest.raises(CertificateError, match=r"got version 1, .* monolip at commit b8f3b08 or before"):
        Certificate.from_json(text)


def test_a_rejected_document_is_an_error_with_the_reason():
    document = certify(networks()["convex"]).document
    changed = json.loads(json.dumps(document))
    changed["claims"]["model"][0]["real"][0][0] = (0.5).hex()
    with pytest.raises(CertificateError, match="REJECTED"):
        Certificate(changed).check()


def test_it_is_a_table():
    certificate = certify(networks()["raw, classes"])
    lines = str(certificate).splitlines()
    assert lines[0].split() == ["feature", "output", "certified", "certified", "slope", "missing"]
    assert lines[1].split()[:3] == ["age", "a", "increasing"]
    assert repr(certificate).startswith(f"Certificate (real+ordered) of network {certificate.digest[:12]}")
    assert "<th>certified</th>" in certificate._repr_html_()
    hostile = ConvexForm(([[1.0]],), ([0.0],), ())
    network = FrozenNetwork(SlopeBounds([0.0], [1.0], ("<script>",)), ((Trunk(hostile, (0,)),),))
    assert "<script>" not in certify(network)._repr_html_()


def test_writer_and_checker_state_the_same_arithmetic():
    assert checker.ARITHMETIC == ARITHMETIC


def test_inside_the_limit_nothing_is_clamped_and_beyond_it_directions_still_hold():
    network = networks()["convex"]
    limit = float.fromhex(certify(network).document["claims"]["limit"])
    row = np.array([[limit, -limit, limit], [math.nextafter(limit, 0), -limit, limit], [np.inf, -limit, limit]])
    values = network.evaluate(row).ravel()
    assert np.isfinite(values).all()
    assert values[1] <= values[0] <= values[2]
    form = network.members[0][0].form
    assert Fraction(limit) <= Fraction(form.clamp_limit)


def test_modules_frozen_by_nn_are_certified(tmp_path):
    pytest.importorskip("torch")
    from monolip import Norm
    from monolip.nn import ConvexMLP, LipschitzMLP, SlopeBounded

    box = SlopeBounds([0.0, -1.0], [2.0, 1.0])
    columns = [Norm.L1_TO_L1] * 3
    modules = {
        "convex": ConvexMLP(box, hidden=(8, 8)),
        "two outputs": ConvexMLP(box, 2, hidden=(6,), group_size=3),
        "paper form, converted": SlopeBounded.mlp(box, hidden=(8, 8)),
        "paper form": SlopeBounded(LipschitzMLP(2, 1, (8, 8), norms=columns), box),
        "rectified": SlopeBounded(LipschitzMLP(2, 1, (8, 8), activation="relu"), box),
    }
    for name, module in modules.items():
        assert accepts(tmp_path, certify(module.freeze()).to_json()), name
    assert not modules["paper form"].freeze().is_convex


def columns_of(rng, n):
    """Raw rows of `documents.inputs()`: around the knots, far away, and missing where a rule exists."""
    near = rng.choice([0.0, 1.0, 3.0, 0.5], n) + rng.choice([0.0, 1e-16, -1e-16, 0.3, -0.3, 1e3, -1e3, 1e305], n)
    labels = rng.choice(["a", "b", "c"], n), rng.choice(["x", "y", "?"], n)
    return {
        "age": near,
        "debt": rng.permutation(near),
        "dose": rng.normal(size=n),
        "grade": labels[0],
        "city": labels[1],
    }


@pytest.mark.parametrize("name", ["raw", "raw, free branch", "raw, classes"])
def test_claimed_directions_hold_bit_for_bit_also_from_a_missing_value(name):
    network, rng = networks()[name], np.random.default_rng(4)
    sign = {"increasing": 1, "decreasing": -1}
    checked = 0
    for entry in certify(network).document["claims"]["raw"]:
        if not set(entry["promise"]) & set(sign):
            continue
        low, n = columns_of(rng, 400), 400
        high = {key: np.array(values) for key, values in low.items()}
        feature = entry["name"]
        if feature == "grade":
            low[feature], high[feature] = np.full(n, "a"), rng.choice(["a", "b", "c"], n)
        else:
            high[feature] = np.where(rng.random(n) < 0.5, np.nextafter(low[feature], np.inf), low[feature] + 0.37)
        if entry["missing"] == "lowest":
            low[feature] = [None if k % 3 == 0 else v for k, v in enumerate(low[feature])]
        change = network.evaluate_raw(high) - network.evaluate_raw(low)
        for k, word in enumerate(entry["promise"]):
            if word in sign:
                assert (change[:, k] * sign[word] >= 0).all()
                checked += 1
    assert checked >= 3


def test_a_column_without_a_name_is_told_apart():
    """CSV files have them: the index that a data frame wrote."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=["", "b"])
    model = MonotonicRegressor(monotonic_cst={"b": 1}, **FAST).fit(X, X["b"])
    assert [claim.feature for claim in model.certificate_] == [row.feature for row in model.slopes_] == ["", "b"]
