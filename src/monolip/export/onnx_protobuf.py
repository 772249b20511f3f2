"""The few messages of an ONNX file, written as protocol-buffer bytes with the standard library and numpy alone.

A message is a row of fields; a field is a key (number << 3 | wire type) and a varint, or a key, a length and bytes.
Written by hand because the graph needs a dozen message types, and so an export needs no package, gives the same bytes
on every machine, and cannot meet a protobuf of another version. Field numbers are those of onnx.proto (IR version 8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ELEMENT_TYPES", "attribute", "graph", "model", "node", "tensor", "value_info"]

ELEMENT_TYPES = {"float32": 1, "int32": 6, "int64": 7, "string": 8, "bool": 9, "float64": 11}
IR_VERSION = 8


def _varint(value: int) -> bytes:
    value &= 2**64 - 1  # negative numbers are ten bytes of two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _whole(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _each(field: int, values: Iterable[bytes | str]) -> bytes:
    return b"".join(_bytes(field, value) for value in values)


def tensor(name: str, array: NDArray[Any]) -> bytes:
    """TensorProto of a numeric array, its numbers as little-endian raw bytes."""
    dims = b"".join(_whole(1, size) for size in array.shape)
    raw = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
    return dims + _whole(2, ELEMENT_TYPES[array.dtype.name]) + _bytes(8, name) + _bytes(9, raw)


def attribute(name: str, value: Any) -> bytes:
    """AttributeProto of an int, or of a sequence of ints or of strings.

    >>> attribute("axis", 1).hex()
    '0a04617869731801a00102'
    """
    if isinstance(value, int):
        return _bytes(1, name) + _whole(3, value) + _whole(20, 2)
    if all(isinstance(item, str) for item in value):
        return _bytes(1, name) + _each(9, value) + _whole(20, 8)
    return _bytes(1, name) + b"".join(_whole(8, int(item)) for item in value) + _whole(20, 7)


def node(
    op: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Any],
    domain: str = "",
    name: str = "",
) -> bytes:
    """NodeProto."""
    parts = _each(1, inputs) + _each(2, outputs) + _bytes(3, name) + _bytes(4, op)
    parts += _each(5, (attribute(key, value) for key, value in attributes.items()))
    return parts + (_bytes(7, domain) if domain else b"")


def value_info(name: str, kind: str, shape: Sequence[int | str]) -> bytes:
    """ValueInfoProto: the name, element type and shape of an input or output; a string is a free dimension."""
    dims = [_whole(1, size) if isinstance(size, int) else _bytes(2, size) for size in shape]
    tensor_type = _whole(1, ELEMENT_TYPES[kind]) + _bytes(2, _each(1, dims))
    return _bytes(1, name) + _bytes(2, _bytes(1, tensor_type))


def graph(
    name: str, nodes: Iterable[bytes], tensors: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes]
) -> bytes:
    """GraphProto."""
    return _each(1, nodes) + _bytes(2, name) + _each(5, tensors) + _each(11, inputs) + _each(12, outputs)


def model(
    graph_bytes: bytes, opsets: Mapping[str, int], metadata: Mapping[str, str], producer: tuple[str, str], text: str
) -> bytes:
    """ModelProto: a whole file."""
    parts = _whole(1, IR_VERSION) + _bytes(2, producer[0]) + _bytes(3, producer[1]) + _bytes(6, text)
    parts += _bytes(7, graph_bytes)
    parts += _each(8, (_bytes(1, domain) + _whole(2, version) for domain, version in opsets.items()))
    return parts + _each(14, (_bytes(1, key) + _bytes(2, value) for key, value in metadata.items()))
