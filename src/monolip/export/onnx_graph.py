"""A graph of tensor operations, in ONNX's vocabulary: written to a file by to_onnx, interpreted by to_torch.

One lowering for both: a network becomes a list of nodes with constants, whatever runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip._version import __version__
from monolip.errors import StructureError
from monolip.export import onnx_protobuf as protobuf

__all__ = ["OPSET", "Graph", "Node", "Port"]

OPSET = 13  # of ai.onnx: the first with all that is needed, so that the oldest runtimes can read the file
ML_OPSET = 2  # of ai.onnx.ml: LabelEncoder, for categories that are strings
_PREFIX = "monolip."


class Node(NamedTuple):
    """One operation."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    domain: str


class Port(NamedTuple):
    """An input or output: its name, element type ("float32", "float64", "string") and number of columns."""

    name: str
    kind: str
    columns: int


@dataclass
class Graph:
    """Nodes in order of evaluation, constants by name, inputs and outputs.

    Args:
        kind: element type of the layers: "float32" or "float64".

    Examples:
        >>> g = Graph("float64")
        >>> x = g.input("X", "float64", 1)
        >>> g.output("score", g.add("Max", x, g.constant([[0.0]])), 1)
        >>> [node.op for node in g.nodes]
        ['Max', 'Identity']
    """

    kind: str
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    _known: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)
    _count: int = 0

    def _fresh(self) -> str:
        self._count += 1
        return f"{_PREFIX}{self._count}"

    def constant(self, values: ArrayLike, kind: str | None = None) -> str:
        """A constant of the given type (that of the layers by default); equal constants are stored once."""
        array = np.ascontiguousarray(np.asarray(values, dtype=kind or self.kind))
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._known:
            self._known[key] = self._fresh()
            self.constants[self._known[key]] = array
        return self._known[key]

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Append a node with one output, and return that output's name."""
        return self.add_many(op, 1, *inputs, domain=domain, **attributes)[0]

    def add_many(self, op: str, count: int, *inputs: str, domain: str = "", **attributes: Any) -> list[str]:
        """Append a node with several outputs."""
        outputs = tuple(self._fresh() for _ in range(count))
        self.nodes.append(Node(op, inputs, outputs, attributes, domain))
        return list(outputs)

    def with_row(self, op: str, x: str, row: ArrayLike) -> str:
        """x op row, op "Add" or "Mul", for x (rows, n) or (rows, 1) and a constant row of n numbers.

        ONNX Runtime drops operations with one neutral number, and counts as neutral what is nearly so (release 1.31: a
        float64 product by 1 + 1e-8). Such a number is given twice, which is left alone, and a column thrown away.
        """
        values = np.asarray(row, dtype=self.kind).reshape(1, -1)
        neutral = values.size == 1 and any(0 < abs(float(values[0, 0]) - value) < 1e-2 for value in (0.0, 1.0))
        if not neutral:
            return self.add(op, x, self.constant(values))
        twice = self.add(op, x, self.constant(np.repeat(values, 2, axis=1)))
        return self.add("Gather", twice, self.constant([0], "int64"), axis=1)

    def cast(self, name: str, kind: str) -> str:
        return self.add("Cast", name, to=protobuf.ELEMENT_TYPES[kind])

    def input(self, name: str, kind: str, columns: int) -> str:
        self._check(name)
        self.inputs.append(Port(name, kind, columns))
        return name

    def output(self, name: str, value: str, columns: int, kind: str | None = None) -> None:
        """Give a value its public name; the value has the type of the layers unless `kind` says otherwise.

        Inputs keep theirs: where a feature is called like an output, that becomes model_score, for example.
        """
        while name in {port.name for port in self.inputs}:
            name = f"model_{name}"
        self._check(name)
        self.outputs.append(Port(name, kind or self.kind, columns))
        self.nodes.append(Node("Identity", (value,), (name,), {}, ""))

    def _check(self, name: str) -> None:
        taken = {port.name for port in (*self.inputs, *self.outputs)}
        if not name or name in taken or name.startswith(_PREFIX):
            raise StructureError(
                f"inputs and outputs of an ONNX graph have distinct names; got {name!r}, which is empty, used or "
                "reserved; rename the feature."
            )

    def to_bytes(self, metadata: Mapping[str, str], text: str) -> bytes:
        """The file."""
        nodes = [
            protobuf.node(n.op, n.inputs, n.outputs, n.attributes, n.domain, f"{n.op}_{k}")
            for k, n in enumerate(self.nodes)
        ]
        tensors = [protobuf.tensor(name, array) for name, array in self.constants.items()]
        ports = [
            [protobuf.value_info(p.name, p.kind, ["rows", p.columns]) for p in group]
            for group in (self.inputs, self.outputs)
        ]
        opsets = {"": OPSET} | ({"ai.onnx.ml": ML_OPSET} if any(n.domain for n in self.nodes) else {})
        body = protobuf.graph("monolip", nodes, tensors, *ports)
        return protobuf.model(body, opsets, metadata, ("monolip", __version__), text)
