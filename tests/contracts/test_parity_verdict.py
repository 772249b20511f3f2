"""`passed` means something for every artefact: wrong numbers are an error and no file; not run is not passed."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from monolip.errors import InputError, PrecisionError
from monolip.export import ParityReport, to_allen_json, to_hls4ml_module, to_json, to_onnx, to_relu_mlp, to_torch
from monolip.export import onnx_parity as parity
from monolip.export.parity import ParityRow
from tests.contracts.test_exporters import network, options_for
from tests.export.models import two_track

# exporter, its module, what it writes, options: forms that promise no bits
FORMS: dict[str, tuple[Any, str, Any, dict[str, Any]]] = {
    "onnx, float32": (to_onnx, "onnx", "ensemble", {"arithmetic": "float32"}),
    "onnx, float64": (to_onnx, "onnx", "ensemble", {"arithmetic": "float64"}),
    "onnx, free branch": (to_onnx, "onnx", "free branch", {"arithmetic": "fixed-point"}),
    "torch": (to_torch, "torch", "L1 to L1", {"arithmetic": "float64", "format": "torchscript"}),
    "json": (to_json, "json", "L1 to L1", {"arithmetic": "float64"}),
    "relu, float32": (to_relu_mlp, "relu", "convex", {"arithmetic": "float32"}),
    "relu, float64": (to_relu_mlp, "relu", "convex", {"arithmetic": "float64"}),
    "allen": (to_allen_json, "allen_json", "two track", {"residual": 2.0}),
}
NEEDS = {"onnx": "onnxruntime", "torch": "torch"}


def shifted(run, size):
    """Wrong where the first column is above its middle: smaller than anything a plot would show."""

    def wrong(columns):
        f = np.array(run(columns))
        return f + f.dtype.type(size) * (columns[0] > np.median(columns[0]))[:, None]

    return wrong


BROKEN = {
    "NaN everywhere": lambda run: lambda columns: run(columns) * np.nan,
    "NaN somewhere": lambda run: lambda c: np.where((c[0] > np.median(c[0]))[:, None], np.nan, run(c)),
    "the constant 7": lambda run: lambda columns: 0 * run(columns) + 7,
    "a small bump": lambda run: shifted(run, 1e-2),
    "turned around": lambda run: lambda columns: -run(columns),
}


@pytest.mark.filterwarnings("ignore:integers stay within")
@pytest.mark.parametrize("form", FORMS)
def test_a_wrong_artefact_is_an_error_and_no_file(form, tmp_path, monkeypatch):
    exporter, home, kind, options = FORMS[form]
    if home in NEEDS:
        pytest.importorskip(NEEDS[home])
    module, true = import_module(f"monolip.export.{home}"), parity.measured
    given = two_track() if kind == "two track" else network(kind)
    options = {"rows": 40} | options | ({} if kind == "two track" else options_for(kind, exporter))
    report = exporter(given, tmp_path / "good", **options)
    assert (report.exact, report.passed) == (False, True)
    for broken in BROKEN.values():
        monkeypatch.setattr(module, "measured", lambda n, run, *a, b=broken, **k: true(n, b(run), *a, **k))
        with pytest.raises(PrecisionError, match="up to rounding; it does not"):
            exporter(given, tmp_path / "bad", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["good"]


@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
def test_one_wrong_weight_is_seen(arithmetic, tmp_path, monkeypatch):
    from monolip.export import relu

    true = relu.relu_mlp

    def wrong(*args, **options):
        lowered = true(*args, **options)
        i = np.unravel_index(np.abs(lowered.weights[0]).argmax(), lowered.weights[0].shape)
        lowered.weights[0][i] *= 1.01
        return lowered

    monkeypatch.setattr(relu, "relu_mlp", wrong)
    with pytest.raises(PrecisionError):
        to_relu_mlp(network("convex"), tmp_path / "f.safetensors", arithmetic=arithmetic, rows=200)
    assert not list(tmp_path.iterdir())


def test_what_was_not_run_is_not_passed():
    report = ParityReport("c", "float64", "model.h", "ab" * 32, "cd" * 32, True, (), "no C compiler here")
    assert (report.measured, report.passed) == (False, None)
    saved = json.loads(report.to_json())
    assert (saved["measured"], saved["passed"], saved["how"]) == (False, None, "no C compiler here")
    assert "not run" in str(report)


def test_bits_are_promised_or_rounding_is():
    within = ParityRow("random", 100, 1e-7, 3, 400, 2, 1e-8)
    beyond = ParityRow("random", 100, 1e-3, 3, 400, 0, 0.0, 1)
    for exact, row, passed in ((True, within, False), (False, within, True), (False, beyond, False)):
        assert ParityReport("x", "float32", "f", "0", "1", exact, (row,), "").passed is passed


@pytest.mark.parametrize("rows", [0, -1, 2.5, True, "9", float("nan"), None])
def test_rows_are_a_count(rows, tmp_path):
    for exporter in (to_json, to_relu_mlp, to_allen_json):
        with pytest.raises(InputError, match="rows is an integer >= 1"):
            exporter(two_track(), tmp_path / "f", rows=rows)
    with pytest.raises(InputError, match="rows is an integer >= 0"):
        to_hls4ml_module(two_track(), tmp_path / "f", rows=rows or None)
    assert not list(tmp_path.iterdir())
