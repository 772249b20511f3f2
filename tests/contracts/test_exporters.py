"""Every exporter, every kind of network: either a measured artefact of something certified, or an error and no file."""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from monolip import FrozenNetwork, SlopeBounds
from monolip.certify.certificate import certify
from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import MonolipError
from monolip.export import ParityReport, hls4ml, to_allen_json, to_json, to_onnx, to_relu_mlp, to_torch
from monolip.export.hls4ml import to_hls4ml_module
from monolip.frozen import Trunk
from monolip.output_link import OutputLink
from tests.certify.fixed_point_networks import random_network, table_network
from tests.export.models import RANGES, frozen, two_track
from tests.make import convex

# exporter, file name, arithmetics, other options (to_c has tests/contracts/test_exporter_contract.py)
EXPORTERS: dict[str, tuple[Any, str, tuple[str, ...], dict[str, Any]]] = {
    "onnx": (to_onnx, "f.onnx", ("float32", "float64", "fixed-point"), {"rows": 40}),
    "onnx in order": (to_onnx, "f.onnx", ("float32", "float64"), {"rows": 40, "in_order": True}),
    "json": (to_json, "f.json", ("float32", "float64", "fixed-point"), {"rows": 10}),
    "allen": (to_allen_json, "f.json", ("float32",), {"rows": 40}),
    "relu": (to_relu_mlp, "f.safetensors", ("float32", "float64"), {"rows": 40}),
    "torch": (to_torch, "f.pt", ("float64", "fixed-point"), {"rows": 40, "format": "torchscript"}),
    "hls4ml": (to_hls4ml_module, "f.py", ("fixed-point",), {"precision": None, "preset": "wide"}),
}
NEEDS = {"onnx": "onnxruntime", "onnx in order": "onnxruntime", "torch": "torch", "hls4ml": "torch"}
FLOATS, ALL = {"float32", "float64"}, {"float32", "float64", "fixed-point"}
NO_STRINGS = {"torch", "relu", "allen"}  # no word for a category

# kind of network -> exporters that write it, and in which arithmetics at most; all others must refuse
WRITTEN: dict[str, dict[str, set[str]]] = {
    "convex": {name: ALL for name in EXPORTERS},
    "ensemble": {name: ALL for name in EXPORTERS if name != "allen"},
    "per output": {name: ALL for name in EXPORTERS if name != "allen"},
    "two outputs": {name: ALL for name in EXPORTERS if name != "allen"},
    "slope set": {name: ALL for name in EXPORTERS if name != "allen"},
    "L1 to L1": {name: {"float64"} for name in ("onnx", "onnx in order", "json", "torch")} | {"relu": FLOATS},
    "free branch": {name: ALL for name in ("onnx", "onnx in order", "torch")} | {"json": FLOATS},
    "householder": {},  # no certificate: nobody writes it
    "logit": {name: ALL for name in EXPORTERS if name not in NO_STRINGS},
    "log": {name: ALL for name in EXPORTERS if name not in NO_STRINGS},
    "softmax": {name: ALL for name in EXPORTERS if name not in NO_STRINGS},
    "linked": {name: ALL for name in EXPORTERS},
    "integers": {name: {"fixed-point"} for name in ("onnx", "json", "torch", "hls4ml")},
}


@cache
def network(kind: str) -> Any:
    if kind in ("logit", "log", "softmax"):
        return table_network(np.random.default_rng(3), kind)
    if kind == "integers":
        return compile_fixed_point(random_network(np.random.default_rng(0)), input_ranges=[(-3.0, 3.0)] * 3)
    if kind == "linked":
        box = SlopeBounds([0.0, -1.0], [1.0, 1.0], ("a", "b"))
        trunk = Trunk(convex(np.random.default_rng(2), [2, 4, 1], 2, box), (0,))
        return FrozenNetwork(box, ((trunk,),), link=OutputLink("logit", (0, 1)))
    if kind == "convex":
        return random_network(np.random.default_rng(0))
    return frozen()[kind]


def options_for(kind: str, exporter: Any) -> dict[str, Any]:
    """Integers need ranges where a column goes on for ever."""
    if kind in ("logit", "log", "softmax", "integers") or "input_ranges" not in inspect.signature(exporter).parameters:
        return {}
    names = network(kind).slopes.feature_names
    return {"input_ranges": RANGES if kind in frozen() and kind != "convex" else {name: (-3.0, 3.0) for name in names}}


CASES = [(name, kind, a) for name, (_, _, known, _) in EXPORTERS.items() for a in known for kind in WRITTEN]


@pytest.mark.filterwarnings("ignore:integers stay within")
@pytest.mark.parametrize(("name", "kind", "arithmetic"), CASES, ids=[", ".join(case) for case in CASES])
def test_a_certified_artefact_or_nothing(name, kind, arithmetic, tmp_path, monkeypatch):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.setattr(hls4ml, "missing_tool", lambda: "not simulated in this test")  # test_hls4ml.py does
    exporter, filename, _, options = EXPORTERS[name]
    given, path = network(kind), tmp_path / filename
    options = {"arithmetic": arithmetic} | options | options_for(kind, exporter)
    if arithmetic not in WRITTEN[kind].get(name, set()):
        with pytest.raises(MonolipError) as refusal:
            exporter(given, path, **options)
        assert str(refusal.value).count(";") >= 1, "a rule; what was got; what to do"
        assert list(tmp_path.iterdir()) == []
        return
    report = exporter(given, path, **options)
    assert [item.name for item in tmp_path.iterdir()] == [filename]
    assert isinstance(report, ParityReport)
    assert report.path == filename
    if name != "hls4ml":
        assert report.measured
        assert {row.inputs for row in report.rows} == {"random", "boundary", "extreme"}
        assert np.isfinite(report.max_difference)
    assert report.passed is (True if name != "hls4ml" else None)
    saved = json.loads(report.to_json())
    assert (saved["digest"], saved["passed"]) == (report.digest, report.passed)
    source = getattr(given, "source", given.digest)
    text = path.read_bytes()
    if name in ("json", "hls4ml"):  # formats with room for it name the network and its certificate
        assert report.digest.encode() in text
        assert report.certificate.encode() in text
    if arithmetic == "float64":
        assert (report.digest, report.certificate) == (source, certify(given).document["sha256"])


@pytest.mark.parametrize(("exporter", "name"), [(to_json, "json"), (to_onnx, "onnx"), (to_torch, "torch")])
def test_the_report_says_how_far_the_trained_model_is(exporter, name, tmp_path):
    """Of float32 and integers made from it; the trained network itself needs no such line."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    options = {"rows": 50, "input_ranges": [(-3.0, 3.0)] * 4}
    for arithmetic in ("float64", "float32", "fixed-point"):
        report = exporter(two_track(), tmp_path / "f", arithmetic=arithmetic, **options)
        if arithmetic == "float64":
            assert report.from_trained is None
        else:
            assert 0 < report.from_trained < 1e-2
            assert "from the trained model" in str(report)


@pytest.mark.parametrize("name", EXPORTERS)
def test_what_is_no_network_is_refused_and_nothing_is_written(name, tmp_path):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    exporter, filename, _, _ = EXPORTERS[name]
    for model in (None, "model", np.zeros(3), object()):
        with pytest.raises(MonolipError, match=";"):
            exporter(model, tmp_path / filename)
    with pytest.raises(MonolipError, match=";"):
        exporter(network("convex"), tmp_path / filename, arithmetic="float16")
    assert list(tmp_path.iterdir()) == []


def test_options_mean_the_same_everywhere():
    """model, path, then keywords; arithmetic in all; preset, input_ranges and rows wherever they make sense."""
    for exporter, _, known, _ in EXPORTERS.values():
        parameters = inspect.signature(exporter).parameters
        assert list(parameters)[:2] == ["model", "path"]
        rest = {name: p for name, p in parameters.items() if name not in ("model", "path")}
        assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in rest.values())
        assert rest["arithmetic"].default in known
        assert isinstance(rest["rows"].default, int)
        assert ("preset" in rest) == ("input_ranges" in rest)
        assert "preset" in rest or "fixed-point" not in known
        assert inspect.signature(exporter).return_annotation == "ParityReport"


def test_an_estimator_and_its_network_give_the_same_file(tmp_path):
    class Fitted:
        frozen_ = network("linked")

    for name in ("json", "relu", "hls4ml", "allen"):
        exporter, filename, known, options = EXPORTERS[name]
        options = options | {"arithmetic": known[-1]} | options_for("linked", exporter)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hls4ml, "missing_tool", lambda: "not simulated in this test")
            for model, folder in ((Fitted(), "a"), (Fitted.frozen_, "b")):
                (tmp_path / name / folder).mkdir(parents=True)
                exporter(model, tmp_path / name / folder / filename, **options)
        assert len({(tmp_path / name / folder / filename).read_bytes() for folder in "ab"}) == 1
