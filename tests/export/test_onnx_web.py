"""Our ONNX files in a browser's runtime: onnxruntime-web (WebAssembly, under node) gives the bits of onnxruntime.

Needs node and the npm package, found through NODE_PATH: npm install onnxruntime-web; NODE_PATH=$PWD/node_modules.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from monolip.export.onnx import as_tensor, to_onnx
from monolip.export.parity_inputs import columns_from_codes, parity_inputs
from tests.export.models import estimator, two_track
from tests.raw_networks import plain_network

onnxruntime = pytest.importorskip("onnxruntime")
SCRIPT = Path(__file__).with_name("onnxruntime_web.cjs")
KINDS = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(string)": "string"}

CASES = {
    "two track, float32 in order": (two_track, {"arithmetic": "float32", "in_order": True}),
    "two track, float64 in order": (two_track, {"arithmetic": "float64", "in_order": True}),
    "two track, fixed": (two_track, {"arithmetic": "fixed-point", "input_ranges": [(-9, 9)] * 4}),
    "logit, fixed": (lambda: estimator("logit"), {"arithmetic": "fixed-point", "predictions": True}),
    "logit, float64": (lambda: estimator("logit"), {"arithmetic": "float64", "in_order": True, "predictions": True}),
    "softmax, fixed": (lambda: estimator("softmax"), {"arithmetic": "fixed-point", "predictions": True}),
    "log, fixed": (lambda: estimator("log"), {"arithmetic": "fixed-point", "predictions": True}),
    "strings, fixed": (lambda: estimator("strings"), {"arithmetic": "fixed-point", "predictions": True}),
    "raw columns, fixed": (lambda: raw(), {"arithmetic": "fixed-point", "predictions": True}),
    "raw columns, float64": (lambda: raw(), {"arithmetic": "float64", "in_order": True, "predictions": True}),
}


def raw():
    return plain_network(np.random.default_rng(0), "logit")


def has_package() -> bool:
    if shutil.which("node") is None:
        return False
    return subprocess.run(["node", "-e", 'require("onnxruntime-web")'], capture_output=True).returncode == 0


def raw_rows(model, rng):
    """Random, boundary and extreme rows, infinities and missing values among them."""
    network = getattr(model, "frozen_", model)
    rows = np.vstack([parity_inputs(network, kind, 300, rng) for kind in ("random", "boundary", "extreme")])
    return list(columns_from_codes(network, rows)) if network.inputs is not None else list(rows.T)


def job_of(name, folder, rng):
    build, options = CASES[name]
    model, path = build(), folder / f"{name}.onnx"
    to_onnx(model, path, rows=20, **options)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    ports, columns = session.get_inputs(), raw_rows(model, rng)
    dtypes = {"float32": np.float32, "float64": np.float64, "string": None}
    with np.errstate(over="ignore"):  # the largest float64 is infinite as a float32, which is meant
        given = [as_tensor(c, dtypes[KINDS[ports[k if len(ports) > 1 else 0].type]]) for k, c in enumerate(columns)]
    feed = (
        {ports[0].name: np.hstack(given)} if len(ports) == 1 else {p.name: c for p, c in zip(ports, given, strict=True)}
    )
    outputs = [output.name for output in session.get_outputs()]
    expected, inputs = dict(zip(outputs, session.run(None, feed), strict=True)), []
    for port in ports:
        array, kind = feed[port.name], KINDS[port.type]
        entry = {"name": port.name, "type": kind, "dims": list(array.shape)}
        if kind == "string":
            entry["values"] = [str(v) for v in array.ravel()]
        else:
            file = folder / f"{name}.{port.name}.in"
            file.write_bytes(np.ascontiguousarray(array).tobytes())
            entry["file"] = str(file)
        inputs.append(entry)
    prefix = str(folder / f"{name}.out.")
    return {"model": str(path), "inputs": inputs, "outputs": outputs, "prefix": prefix}, expected


@pytest.mark.slow  # node, npm and WebAssembly
def test_onnxruntime_web_gives_the_bits_of_onnxruntime(tmp_path):
    if not has_package():
        pytest.skip("node does not find onnxruntime-web: npm install it, and set NODE_PATH")
    rng = np.random.default_rng(0)
    jobs = [job_of(name, tmp_path, rng) for name in CASES]
    (tmp_path / "jobs.json").write_text(json.dumps([job for job, _ in jobs]))
    subprocess.run(["node", str(SCRIPT), str(tmp_path / "jobs.json")], check=True, capture_output=True, timeout=300)
    compared = 0
    for (job, expected), name in zip(jobs, CASES, strict=True):
        for output, value in expected.items():
            found = np.frombuffer(Path(job["prefix"] + output).read_bytes(), value.dtype).reshape(value.shape)
            assert np.array_equal(found, value, equal_nan=True), (name, output)
            compared += value.size
    assert compared > 10_000
