r"""A certified network as an ONNX file: split-row Min/Max form, raw columns in, scores out.

    float32, float64     layers are matrix products: slopes are certified, and directions up to the runtime's rounding
                         (in_order=True: sums in monolip's own order, directions bit for bit, slower)
    fixed-point          integers carried by float64: the bits of FixedPointNetwork in every runtime and batch

The bytes are written directly (onnx_protobuf.py). Before they reach the disk, ONNX Runtime evaluates them and they are
compared with the network; a form that promises bits and does not keep them is not written.
"""

from __future__ import annotations

import json
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip._version import __version__
from monolip.certify.audit_onnx import session_of
from monolip.certify.certificate import certify
from monolip.certify.claims_about import claims_about
from monolip.export.onnx_graph import OPSET, Graph
from monolip.export.onnx_lowering import graph_of, promises_bits
from monolip.export.onnx_parity import Artefact, Columns, Run, measured
from monolip.export.onnx_source import Network, features_of, network_for, write_file
from monolip.export.parity import ParityReport
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_format import FixedPointFormat

__all__ = ["as_tensor", "onnx_bytes", "to_onnx"]

_CLAIMS = {"fixed-point": "directions bit for bit", "in order": "slopes; directions bit for bit", "products": "slopes"}
_BAD_INPUTS = (
    "infinities count as the largest number or the end of the declared range; NaN (or an empty string) is missing, and "
    "makes the outputs of its row NaN where a column has no rule for that; unknown labels are unseen"
)


def to_onnx(
    model: Any,
    path: str | PathLike[str],
    *,
    arithmetic: str = "float32",
    in_order: bool = False,
    predictions: bool = False,
    preset: str | FixedPointFormat = "wide",
    input_ranges: Any = None,
    rows: int = 2000,
) -> ParityReport:
    """Write a fitted estimator or a frozen network as ONNX (opset 13), and return the measured parity report.

    Args:
        model: a fitted estimator, a FrozenNetwork or a FixedPointNetwork.
        path: of the file, which appears whole or not at all.
        arithmetic: "float32", "float64" or "fixed-point" (integers carried by float64).
        in_order: floats only: one product and one addition at a time, in the order of `FrozenNetwork.evaluate`.
        predictions: a second output, "probability" (rows, n_classes) or "prediction" (rows, 1), by an ordered table.
        preset, input_ranges: of `compile_fixed_point`, where model is not a FixedPointNetwork already.
        rows: how many the report is measured on.

    Inputs: "X" (rows, n_features), raw numbers; with categories of strings, one input (rows, 1) per column, by name.
    Output: "score" (rows, n_outputs), the first one; "model_score" where an input is called score.
    """
    network = network_for(model, arithmetic, preset, input_ranges)
    data = onnx_bytes(network, arithmetic, in_order=in_order, predictions=predictions)
    run, version = _runner(data)
    how = f"onnxruntime {version}, one thread"
    artefact = Artefact("onnx", arithmetic, path, promises_bits(network, in_order), how)
    report = measured(network, run, artefact, rows=rows, model=model)
    write_file(data, path)
    return report


def onnx_bytes(network: Network, arithmetic: str, *, in_order: bool = False, predictions: bool = False) -> bytes:
    """The file's bytes, the same on every machine; needs no package but numpy."""
    graph = graph_of(network, arithmetic, in_order=in_order, predictions=predictions)
    order = "fixed-point" if arithmetic == "fixed-point" else "in order" if in_order else "products"
    return graph.to_bytes(_metadata(network, arithmetic, order), _text(graph))


def _metadata(network: Network, arithmetic: str, order: str) -> dict[str, str]:
    certificate = certify(network)
    link = network.link.link if isinstance(network, FixedPointNetwork) else network.link
    claims = [[c.feature, c.output, c.promise, c.lower, c.upper, c.missing] for c in certificate]
    source = network.source if isinstance(network, FixedPointNetwork) else network.digest
    return {
        "monolip.version": __version__,
        "monolip.digest": network.digest,
        "monolip.source": source,
        "monolip.certificate": str(certificate.document["sha256"]),
        "monolip.arithmetic": arithmetic,
        "monolip.sums": order,
        "monolip.certified": _CLAIMS[order],
        "monolip.claims": json.dumps(claims),
        "monolip.features": json.dumps(features_of(network)),
        "monolip.bad_inputs": _BAD_INPUTS,
        "monolip.link": "none" if link is None else link.name,
        "monolip.labels": json.dumps(link.labels if link is not None else None),
        "monolip.positive": json.dumps(link.positive if link is not None else None),
        "monolip.target": json.dumps(link.target if link is not None else None),
        "monolip.claims_about": claims_about(certificate.document),
    }


def _text(graph: Graph) -> str:
    inputs = ", ".join(f"{p.name} {p.kind} (rows, {p.columns})" for p in graph.inputs[:8])
    more = " ..." if len(graph.inputs) > 8 else ""
    about = "metadata names features, promises and certificate"
    return f"monolip network, opset {OPSET}: {inputs}{more} -> {graph.outputs[0].name}; {about}"


def _runner(data: bytes) -> tuple[Run, str]:
    """Scores of raw columns by ONNX Runtime on one thread, and its version."""
    session = session_of(data, "update onnxruntime")
    ports, score = session.get_inputs(), session.get_outputs()[0].name
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64}

    def run(columns: Columns) -> NDArray[Any]:
        given = [as_tensor(c, kinds.get(ports[0 if len(ports) == 1 else k].type)) for k, c in enumerate(columns)]
        feed = {ports[0].name: np.hstack(given)} if len(ports) == 1 else {}
        return np.asarray(session.run([score], feed or {p.name: c for p, c in zip(ports, given, strict=True)})[0])

    return run, str(import_module("onnxruntime").__version__)


def as_tensor(values: Any, kind: Any) -> NDArray[Any]:
    """A raw column as a tensor (rows, 1): a missing string is empty, a missing number NaN."""
    if isinstance(values, np.ndarray):
        return values.astype(kind)[:, None]
    if kind is None:
        return np.array([["" if v is None else v] for v in values], dtype=object)
    return np.array([[np.nan if v is None else v] for v in values], dtype=kind)
