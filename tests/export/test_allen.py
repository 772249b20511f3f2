"""LHCb's two JSON dialects: what they can hold keeps its bits, what they cannot is refused, what is read is judged."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from monolip import FrozenNetwork, MonotonicClassifier, SlopeBounds
from monolip.certify.certificate import certify
from monolip.errors import CertificateError, FreezeError, FrozenFileError, InputError
from monolip.export import fold_inputs
from monolip.export.allen_import import from_allen_json
from monolip.export.allen_json import to_allen_json
from monolip.export.allen_response import allen_response
from monolip.frozen import Trunk
from monolip.output_link import OutputLink
from tests.export.models import estimator, frozen, two_track
from tests.make import convex, paper

WANTED = [1, 1, 0, 1]


def with_form(sizes, group_size=2, *, link=None):
    slopes = SlopeBounds.from_monotonic_cst([1, 0], 1.0)
    form = convex(np.random.default_rng(1), sizes, group_size, slopes)
    return FrozenNetwork(slopes, ((Trunk(form, (0,)),),), link=link)


@pytest.mark.parametrize("options", [{}, {"dialect": "hlt2", "ranges": [(-5.0, 5.0)] * 4}], ids=["allen", "hlt2"])
def test_convex_form_keeps_its_bits_and_directions_with_a_zero_residual(tmp_path, options):
    report = to_allen_json(two_track(), tmp_path / "f.json", rows=1000, **options)
    assert report.exact
    assert report.passed
    assert report.max_difference == 0.0


def test_the_keys_of_both_dialects(tmp_path):
    to_allen_json(two_track(), tmp_path / "a.json", nominal_cut=0.9569, rows=5)
    document = json.loads((tmp_path / "a.json").read_text())
    layers = [f"sigmanet.nn.{k}.{part}" for k in (0, 2, 4) for part in ("weight", "bias")]
    assert list(document) == [*layers, "sigmanet.sigma", "nominal_cut", "n_features", "constraints"]
    assert (document["sigmanet.sigma"], document["nominal_cut"], document["constraints"]) == ([0.0], 0.9569, WANTED)
    assert np.shape(document["sigmanet.nn.2.weight"]) == (20, 20)
    to_allen_json(two_track(), tmp_path / "b.json", dialect="hlt2", ranges=[(0, 1)] * 4, rows=5)
    keys = list(json.loads((tmp_path / "b.json").read_text()))
    assert keys[:3] == [
        "variables_constraints",
        "sigmanet.nn.00.parametrizations.weight.original",
        "sigmanet.nn.00.bias",
    ]
    assert keys == [keys[0], *sorted(keys[1:-1], key=lambda key: key.split(".")[2]), "sigmanet.sigma"]


def test_paper_form_agrees_but_has_no_bits_to_promise(tmp_path):
    report = to_allen_json(two_track(), tmp_path / "f.json", residual=2.0, rows=1000)
    assert not report.exact
    assert max(row.max_difference for row in report.rows if row.inputs != "extreme") < 3e-6
    first = np.array(json.loads((tmp_path / "f.json").read_text())["sigmanet.nn.0.weight"])
    assert (first[:, [0, 1, 3]] <= 0).all()
    assert (first[:, [0, 1, 3]] >= -2).all()


@pytest.mark.parametrize("residual", [0.0, 2.0, 0.5])
def test_what_is_written_is_read_back_with_a_certificate(tmp_path, residual):
    to_allen_json(two_track(), tmp_path / "f.json", residual=residual, rows=5)
    network = from_allen_json(tmp_path / "f.json")
    promises = [claim.promise for claim in certify(network)]
    assert [promises[i] for i in (0, 1, 3)] == ["increasing"] * 3
    x = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    document = json.loads((tmp_path / "f.json").read_text())
    assert np.allclose(network.evaluate(x), allen_response(document, x, WANTED), atol=1e-5)
    assert network.link == OutputLink("logit", (0, 1))


def sigmanet(weights, biases, sigma, **more):
    out = {}
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        out[f"sigmanet.nn.{2 * k}.weight"], out[f"sigmanet.nn.{2 * k}.bias"] = weight.tolist(), bias.tolist()
    return out | {"sigmanet.sigma": [sigma]} | more


def trained_in_paper_form(rng, sizes, per_layer):
    """Signed rows with the given norm in every layer, (1,inf) first."""
    form = paper(rng, sizes, 2, SlopeBounds.from_monotonic_cst([1] * sizes[0], 2.0), slack=False)
    return [w * per_layer for w in form.weights], list(form.biases)


def test_a_file_in_paper_form_is_imported_with_its_guarantee(tmp_path):
    weights, biases = trained_in_paper_form(np.random.default_rng(0), [3, 8, 8, 1], 0.999 * 2.0 ** (1 / 3))
    document = sigmanet(weights, biases, 2.0, constraints=[1, -1, 0])
    (tmp_path / "f.json").write_text(json.dumps(document))
    network = from_allen_json(tmp_path / "f.json")
    assert not network.is_convex
    assert (network.slopes.lower[0] >= 0, network.slopes.upper[1] <= 0) == (True, True)
    x = np.random.default_rng(1).normal(size=(100, 3))
    assert np.allclose(network.evaluate(x), allen_response(document, x, [1, -1, 0]), atol=1e-4)
    certify(network).check()


def test_float32_norms_that_exceed_sigma_by_a_millionth_are_named(tmp_path):
    weights, biases = trained_in_paper_form(
        np.random.default_rng(0), [4, 8, 8, 1], np.float32(2.0 ** (1 / 3)) * (1 + 1e-7)
    )
    (tmp_path / "f.json").write_text(json.dumps(sigmanet(weights, biases, 2.0)))
    with pytest.raises(CertificateError, match=r"slopes from -.*e-0[67].*norms of later layers multiply to"):
        from_allen_json(tmp_path / "f.json")


def test_the_published_topological_recipe_has_no_guarantee_and_the_reason_is_printed(tmp_path):
    weights, biases = trained_in_paper_form(np.random.default_rng(0), [9, *[16] * 7, 1], 2.0)
    constraints = [1, 0, 1, 0, 0, 0, 0, 0, 0]
    (tmp_path / "f.json").write_text(json.dumps(sigmanet(weights, biases, 2.0, constraints=constraints)))
    with pytest.raises(CertificateError, match=r"feature 0 .* slopes from -25\d.*there is no guarantee"):
        from_allen_json(tmp_path / "f.json")


@pytest.mark.parametrize("residual", [0.0, 2.0])
def test_hlt2_files_are_read_back_with_their_clamps(tmp_path, residual):
    to_allen_json(two_track(), tmp_path / "f.json", dialect="hlt2", ranges=[(-1.0, 1.5)] * 4, residual=residual, rows=5)
    network = from_allen_json(tmp_path / "f.json", constraints=WANTED)
    claims = {claim.feature: claim.promise for claim in certify(network)}
    assert (network.raw_slopes.lower[[0, 1, 3]] >= 0).all()
    word = "bounded" if residual else "increasing"  # g falls and the residual rises: bits may not
    assert [claims[str(i)] for i in (0, 1, 3)] == [word] * 3
    x = np.random.default_rng(0).normal(scale=3.0, size=(200, 4)).astype(np.float32)
    document = json.loads((tmp_path / "f.json").read_text())
    assert np.allclose(network.evaluate_raw(list(x.T)), allen_response(document, x, WANTED), atol=2e-5)


def test_hlt2_files_in_paper_form_are_judged_with_their_clamps(tmp_path):
    weights, biases = trained_in_paper_form(np.random.default_rng(0), [3, 8, 8, 1], 0.999 * 2.0 ** (1 / 3))
    document = sigmanet(weights, biases, 2.0, variables_constraints=[[-1.0, 1.0]] * 3)
    (tmp_path / "f.json").write_text(json.dumps(document))
    network = from_allen_json(tmp_path / "f.json", constraints=[1, -1, 0])
    assert (network.raw_slopes.lower[0] >= 0, network.raw_slopes.upper[1] <= 0) == (True, True)
    x = np.random.default_rng(1).normal(scale=2.0, size=(100, 3))
    assert np.allclose(network.evaluate_raw(list(x.T)), allen_response(document, x, [1, -1, 0]), atol=1e-4)
    for bad in ([[1.0, 0.0]] * 3, [[0.0, 1.0]], "no", [["a", "b"]] * 3):
        (tmp_path / "f.json").write_text(json.dumps({**document, "variables_constraints": bad}))
        with pytest.raises(FrozenFileError):
            from_allen_json(tmp_path / "f.json", constraints=[1, -1, 0])


def refused():
    return {
        "several members": lambda: frozen()["ensemble"],
        "several outputs|one output": lambda: frozen()["two outputs"],
        "free branch": lambda: frozen()["free branch"],
        "pairs": lambda: with_form([2, 8, 1], 4),
        "at most 32": lambda: with_form([2, 34, 1]),
        "logit": lambda: with_form([2, 4, 1], link=OutputLink("log")),
    }


@pytest.mark.parametrize("reason", refused())
def test_what_the_dialect_cannot_hold_is_refused_with_the_reason(tmp_path, reason):
    with pytest.raises(FreezeError, match=reason):
        to_allen_json(refused()[reason](), tmp_path / "f.json")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def linear():
    """A trained classifier whose columns are all linear, and its rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [3.0, 1.0, 50.0] + [10.0, -2.0, 100.0]
    y = X[:, 0] / 3 + np.abs(X[:, 1] + 2) - X[:, 2] / 50 + rng.normal(size=300) > 1
    slopes = {0: (0.0, 2.0), 1: (-2.0, 2.0), 2: (-0.5, 0.0)}
    common = {"n_estimators": 1, "hidden_layer_sizes": (8, 8), "max_iter": 3, "random_state": 0}
    return MonotonicClassifier(slopes=slopes, **common).fit(X, y), X


def test_a_trained_classifier_with_linear_columns_goes_there(linear, tmp_path):
    model, X = linear
    report = to_allen_json(model, tmp_path / "f.json")
    assert report.passed
    document = json.loads((tmp_path / "f.json").read_text())
    response = allen_response(document, X, [1, 0, -1])[:, 0]
    np.testing.assert_allclose(response, model.decision_function(X), atol=2e-5, rtol=2e-5)
    again = from_allen_json(tmp_path / "f.json")
    assert again.slopes.lower[0] >= 0 >= again.slopes.upper[2]


def test_folding_is_exact_but_for_the_bias(linear):
    """Slopes in raw units are those of the trained network, as rational numbers."""
    model, X = linear
    network = model.frozen_
    plain = fold_inputs(network)
    assert plain.inputs is None
    assert plain.promise == network.raw_promise
    for j, column in enumerate(network.inputs.columns):
        (slope,) = set(column.maps[0].slopes)
        for before, after in zip(
            network.members[0][0].form.weights[0][:, j], plain.members[0][0].form.weights[0][:, j], strict=True
        ):
            assert Fraction(float(before)) * slope == Fraction(float(after))
    np.testing.assert_allclose(plain.evaluate(X), network.evaluate_raw(list(X.T)), rtol=1e-12, atol=1e-12)
    assert fold_inputs(plain) is plain


def test_what_does_not_fold_is_refused_by_name():
    with pytest.raises(FreezeError, match=r"'g' with categories|'a' with a bent map"):
        fold_inputs(estimator("numbers").frozen_)


def test_transforms_and_wrong_options_are_refused(tmp_path):
    with pytest.raises(FreezeError, match=r"map is one line.*bent map; give every feature a slope interval"):
        to_allen_json(estimator("logit"), tmp_path / "f.json")
    for options in ({"dialect": "hlt3"}, {"residual": 0.1}, {"residual": -1.0}, {"dialect": "hlt2"}):
        with pytest.raises(InputError):
            to_allen_json(two_track(), tmp_path / "f.json", **options)
    with pytest.raises(InputError, match="pairs"):
        to_allen_json(two_track(), tmp_path / "f.json", dialect="hlt2", ranges=[(1.0, 0.0)] * 4)
    to_allen_json(with_form([2, 34, 1]), tmp_path / "f.json", dialect="hlt2", ranges=[(0, 1)] * 2, rows=5)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"sigmanet.nn.x.weight": 1}', '{"sigmanet.nn.0.weight": [[1e99]], "sigmanet.nn.0.bias": [0]}'],
)
def test_other_files_are_errors(tmp_path, text):
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(FrozenFileError):
        from_allen_json(tmp_path / "f.json")


def test_files_that_clamp_or_are_incomplete_are_errors(tmp_path):
    weights, biases = trained_in_paper_form(np.random.default_rng(0), [3, 4, 1], 1.0)
    good = sigmanet(weights, biases, 2.0, constraints=[1, 0, 0])
    for bad in (
        {**good, "rescale_min": 0},
        {**good, "constraints": [2, 0, 0]},
        {**good, "sigmanet.sigma": []},
        {**good, "sigmanet.sigma": [float("nan")]},
    ):
        (tmp_path / "f.json").write_text(json.dumps(bad))
        with pytest.raises(FrozenFileError):
            from_allen_json(tmp_path / "f.json")
    (tmp_path / "f.json").write_text(json.dumps(good))
    with pytest.raises(FrozenFileError, match="max_bytes"):
        from_allen_json(tmp_path / "f.json", max_bytes=10)
