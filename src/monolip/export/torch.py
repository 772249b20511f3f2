"""A certified network as a plain torch module for inference: the graph of to_onnx, run by torch's own operations.

Written by torch.export, as TorchScript, or compiled by AOTInductor. It takes raw numbers, the input transform included.
For fine-tuning, take the estimator's own `to_torch()`, whose modules train under the promise.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import FreezeError, InputError, MissingExtraError
from monolip.export.onnx import as_tensor
from monolip.export.onnx_graph import Graph, Node
from monolip.export.onnx_lowering import graph_of, promises_bits
from monolip.export.onnx_parity import Artefact, Columns, measured
from monolip.export.onnx_source import network_for, write_file
from monolip.export.parity import ParityReport
from monolip.export.torch_programs import FORMATS, written_program
from monolip.fixed_point_format import FixedPointFormat

__all__ = ["to_torch", "torch_module"]


def to_torch(
    model: Any,
    path: str | PathLike[str],
    *,
    arithmetic: str = "float64",
    in_order: bool = False,
    predictions: bool = False,
    preset: str | FixedPointFormat = "wide",
    input_ranges: Any = None,
    format: str = "export",
    rows: int = 2000,
) -> ParityReport:
    """Write a program that takes any number of rows, load it again, and return the parity report of what was loaded.

    Args:
        model: a fitted estimator, a FrozenNetwork or a FixedPointNetwork; categories must be numbers.
        path: of the file, which appears whole or not at all.
        arithmetic, in_order, predictions, preset, input_ranges: as in `to_onnx`.
        format: "export" (torch.export.save, usually "*.pt2"), "torchscript" (torch.jit.save, for libtorch), or
            "aotinductor" (compiled for this machine: needs a C++ compiler and up to a minute).
        rows: how many the report is measured on.
    """
    torch = _torch()
    if format not in FORMATS:
        raise InputError(f"format is one of {', '.join(FORMATS)}; got {format!r}; choose one.")
    network = network_for(model, arithmetic, preset, input_ranges)
    module = torch_module(network, arithmetic=arithmetic, in_order=in_order, predictions=predictions)
    kind = np.float32 if arithmetic == "float32" else np.float64
    example = torch.from_numpy(np.zeros((3, module.n_features), dtype=kind))
    data, program = written_program(torch, module, example, format)

    def run(columns: Columns) -> NDArray[Any]:
        with torch.no_grad():
            found = program(torch.from_numpy(np.hstack([as_tensor(c, kind) for c in columns])))
        return np.asarray((found[0] if isinstance(found, tuple | list) else found).numpy())

    how = f"torch {torch.__version__}, {FORMATS[format]}"
    artefact = Artefact("torch", arithmetic, path, promises_bits(network, in_order), how)
    report = measured(network, run, artefact, rows=rows, model=model)
    write_file(data, path)
    return report


def torch_module(
    model: Any,
    *,
    arithmetic: str = "float64",
    in_order: bool = False,
    predictions: bool = False,
    preset: str | FixedPointFormat = "wide",
    input_ranges: Any = None,
) -> Any:
    """An nn.Module: forward(X), X (rows, n_features) raw numbers -> score (rows, n_outputs), or (score, prediction)."""
    network = network_for(model, arithmetic, preset, input_ranges)
    graph = graph_of(network, arithmetic, in_order=in_order, predictions=predictions)
    if any(port.kind == "string" for port in graph.inputs):
        raise FreezeError("torch has no strings; got categories that are strings; fit with numbers, or export ONNX.")
    return _module(graph)


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "torch") from None
    return torch


def _module(graph: Graph) -> Any:
    torch: Any = _torch()
    operations, base = _operations(torch), torch.nn.Module

    class GraphModule(base):  # type: ignore[misc, valid-type]
        """Nodes of a graph, one after the other; constants are buffers."""

        def __init__(self) -> None:
            super().__init__()
            self.n_features = graph.inputs[0].columns
            for name, array in graph.constants.items():
                self.register_buffer(_buffer(name), torch.from_numpy(np.array(array)))

        def forward(self, x: Any) -> Any:
            values: dict[str, Any] = {graph.inputs[0].name: x}
            values |= {name: getattr(self, _buffer(name)) for name in graph.constants}
            for node in graph.nodes:
                sizes = graph.constants[node.inputs[1]].tolist() if node.op in _AXES else None
                found = operations[node.op](node, sizes, *(values[name] for name in node.inputs))
                outputs = found if node.op == "Split" else (found,)
                values |= dict(zip(node.outputs, outputs, strict=True))
            scores = [values[port.name] for port in graph.outputs]
            return scores[0] if len(scores) == 1 else tuple(scores)

    return GraphModule().eval()


_AXES = ("Split", "Unsqueeze", "Squeeze", "ReduceSum")  # their second input must be known when the graph is traced


def _buffer(name: str) -> str:
    return name.replace(".", "_")


def _operations(torch: Any) -> dict[str, Callable[..., Any]]:
    """ONNX's operations by name: (node, constant second input, *tensors) -> tensor."""
    types = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool, 11: torch.float64}

    def plain(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda node, known, *tensors: function(*tensors)

    def divide(a: Any, b: Any) -> Any:
        return a / b if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")

    def gather(node: Node, known: Any, table: Any, at: Any) -> Any:
        return table.index_select(1, at) if node.attributes.get("axis") == 1 else table[at.long()]

    named = {
        "MatMul": "matmul",
        "Min": "minimum",
        "Max": "maximum",
        "GreaterOrEqual": "ge",
        "Equal": "eq",
        "Less": "lt",
    }
    named |= {"Mod": "remainder", "IsNaN": "isnan", "Sub": "sub", "Mul": "mul", "Where": "where"}
    same = ("Add", "Neg", "Floor", "Round", "Relu", "Tanh", "Exp")
    found = {op: plain(getattr(torch, word)) for op, word in (named | {op: op.lower() for op in same}).items()}
    return found | {
        "Identity": plain(lambda x: x.clone()),
        "Div": plain(divide),
        "Clip": plain(lambda x, low, high: torch.minimum(torch.maximum(x, low), high)),
        "Concat": lambda node, known, *parts: torch.cat(parts, dim=1),
        "Gather": gather,
        "Split": lambda node, known, x, sizes: torch.split(x, known, dim=node.attributes["axis"]),
        "Unsqueeze": lambda node, known, x, axes: x.unsqueeze(known[0]),
        "Squeeze": lambda node, known, x, axes: x.squeeze(known[0]),
        "ReduceSum": lambda node, known, x, axes: x.sum(known[0], keepdim=bool(node.attributes["keepdims"])).to(
            x.dtype
        ),
        "ReduceMax": lambda node, known, x: x.amax(1, keepdim=True),
        "Cast": lambda node, known, x: x.to(types[node.attributes["to"]]),
    }
