"""NaN, infinities, numbers beyond any range and unknown labels have one defined result in every artefact.

The table is in docs/howto/export_bad_inputs.md; C is in tests/export/test_c.py, hls4ml's words in test_hls4ml.py.
"""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from monolip.certify.fixed_point import compile_fixed_point
from monolip.export import relu_mlp, to_allen_json
from monolip.export.allen_response import allen_response
from monolip.export.json import document_of
from monolip.export.json_reference import parsed, score
from monolip.export.onnx import _runner, onnx_bytes
from monolip.export.onnx_parity import reference_scores
from monolip.export.onnx_source import network_for
from tests.certify.fixed_point_networks import table_network
from tests.export.models import estimator, two_track

RANGES = [(-4.0, 4.0)] * 4
FORMS = ["onnx-float32", "onnx-float64", "onnx-fixed-point", "json-float64", "json-fixed-point", "torch-float64"]
FORMS += ["torch-fixed-point"]


@cache
def table():
    """amount: numbers with a rule for missing; level, kind: categories; pace: numbers without a rule."""
    return table_network(np.random.default_rng(3), "logit")


def network_of(model, form):
    arithmetic = form.split("-", 1)[1]
    ranges = RANGES if model is two_track() else None
    return network_for(model, arithmetic, "wide", ranges), arithmetic


def runner(model, form):
    """Raw columns -> scores, by the artefact itself."""
    network, arithmetic = network_of(model, form)
    if form.startswith("onnx"):
        pytest.importorskip("onnxruntime")
        return _runner(onnx_bytes(network, arithmetic, in_order=arithmetic != "fixed-point"))[0]
    if form.startswith("json"):
        document = parsed(json.loads(json.dumps(document_of(network, arithmetic))))
        return lambda columns: np.array([score(document, list(row)) for row in zip(*columns, strict=True)])
    torch = pytest.importorskip("torch")
    from monolip.export.torch import torch_module

    module = torch_module(network, arithmetic=arithmetic, in_order=arithmetic != "fixed-point")
    return lambda columns: module(torch.from_numpy(np.stack(columns, axis=1))).numpy()


def known(model, form, columns):
    """What the library itself gives for good inputs."""
    network, arithmetic = network_of(model, form)
    return reference_scores(network, columns, arithmetic)


@pytest.mark.parametrize("form", FORMS)
def test_numbers_as_they_are(form):
    """No rule for missing values: NaN gives NaN, in its own row only; infinities count as the largest number."""
    run = runner(two_track(), form)
    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32).astype(np.float64)
    x[1, 2], x[3, 0] = np.nan, np.nan
    x[4, 0], x[5, 1], x[6, 2], x[7, 3] = np.inf, -np.inf, np.inf, 1e300
    most = float(np.finfo(np.float32 if "float32" in form else np.float64).max)
    with np.errstate(over="ignore"):
        found = run([column.astype(np.float32).astype(np.float64) if "float32" in form else column for column in x.T])
    bad = np.isnan(x).any(axis=1)
    assert np.isnan(found[bad]).all()
    good = np.clip(x[~bad], -most, most)
    assert np.array_equal(found[~bad], known(two_track(), form, list(good.T)))
    assert np.isfinite(found[~bad]).all()


@pytest.mark.parametrize("form", [form for form in FORMS if not form.startswith("torch")])
def test_tables(form):
    """A rule is followed, an unknown label is unseen, None is missing, NaN without a rule gives NaN."""
    run = runner(table(), form)
    amount = np.array([0.0, np.nan, np.inf, -np.inf, 1e300, 2.0])
    level = ["low", None, "unheard of", "mid", "high", "low"]
    kind = ["a", "b", None, "?", "a", "b"]
    pace = np.array([1.0, 2.0, -np.inf, np.inf, 0.0, np.nan])
    with np.errstate(over="ignore"):  # 1e300 is infinite as a float32, which is meant
        found = run([amount, level, kind, pace])
    assert np.isnan(found[5]).all()
    rest = [column[:5] for column in (amount, level, kind, pace)]
    if "float32" in form:
        with np.errstate(over="ignore"):
            rest = [c.astype(np.float32).astype(np.float64) if isinstance(c, np.ndarray) else c for c in rest]
    assert np.array_equal(found[:5], known(table(), form, rest))
    assert np.isfinite(found[:5]).all()


def test_predictions_of_refused_rows_are_nan():
    pytest.importorskip("onnxruntime")
    import onnxruntime

    for arithmetic in ("float64", "fixed-point"):
        network = network_for(table(), arithmetic)
        session = onnxruntime.InferenceSession(onnx_bytes(network, arithmetic, predictions=True))
        feed = {"amount": [[0.0]], "level": [["low"]], "kind": [["a"]], "pace": [[np.nan]]}
        kinds = {p.name: None if "string" in p.type else np.float64 for p in session.get_inputs()}
        arrays = {name: np.array(v, dtype=kinds[name] or object) for name, v in feed.items()}
        assert all(np.isnan(output).all() for output in session.run(None, arrays))


def test_the_readers_of_lhcb_clamp_nothing_or_what_the_file_says(tmp_path):
    """Allen: not finite in, not finite out (its 2024 code makes that 0); HLT2 clamps infinities, and NaN stays NaN."""
    x = np.zeros((3, 4))
    x[0, 0], x[1, 0], x[2, 0] = np.nan, np.inf, -np.inf
    to_allen_json(two_track(), tmp_path / "a.json", rows=5)
    to_allen_json(two_track(), tmp_path / "b.json", dialect="hlt2", ranges=RANGES, rows=5)
    allen, hlt2 = (json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(allen_response(allen, x, [1, 1, 0, 1])).any()
    found = allen_response(hlt2, x, [1, 1, 0, 1])
    assert np.isnan(found[0])
    ends = np.clip(x[1:], -4, 4)
    assert np.array_equal(found[1:], allen_response(hlt2, ends, [1, 1, 0, 1]))


def test_relu_layers_give_nothing_finite_for_what_is_not_finite():
    lowered = relu_mlp(two_track())
    x = np.zeros((3, 4))
    x[0, 0], x[1, 0], x[2, 0] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(lowered.evaluate(x)).any()
        fitted = relu_mlp(estimator("logit"))  # a rule for missing values, which dense layers cannot hold
        assert np.isnan(fitted.evaluate([[1.0, np.nan, 2.0]])).all()


def test_integers_clamp_to_the_declared_range():
    fixed = compile_fixed_point(two_track(), input_ranges=RANGES)
    far = np.array([[np.inf, -np.inf, 1e300, -1e300]])
    ends = np.array([[4.0, -4.0, 4.0, -4.0]])
    assert np.array_equal(fixed.evaluate_raw(list(far.T)), fixed.evaluate_raw(list(ends.T)))
