"""A network as one plain JSON document: every number exact, readable by a page of code in any language.

Floats are hexadecimal strings ("0x1.8p+1" is 3.0), integers of fixed point are integers. `json_reference.py` evaluates
the document with Python's standard library and so defines it; `monolip.schema.json` is its JSON schema.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip import fixed_point_file, frozen_file
from monolip.certify.certificate import certify
from monolip.errors import FreezeError, FrozenFileError
from monolip.export.json_reference import parsed, score
from monolip.export.onnx_parity import Artefact, Columns, measured
from monolip.export.onnx_source import ARITHMETICS, Network, features_of, is_ordered, network_for, write_file
from monolip.export.parity import ParityReport
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_format import FixedPointFormat
from monolip.frozen import FrozenNetwork
from monolip.frozen_file import put_together
from monolip.sealed_file import named_path, strict_json
from monolip.sealed_format import BEFORE, building_from, without_reserved

__all__ = ["document_of", "from_json", "to_json"]

FORMAT, VERSION = "monolip.json", 2
_KEYS = {"format", "version", "arithmetic", "digest", "certificate", "features", "limits", "structure", "tensors"}


def to_json(
    model: Any,
    path: str | PathLike[str],
    *,
    arithmetic: str = "float64",
    preset: str | FixedPointFormat = "wide",
    input_ranges: Any = None,
    rows: int = 60,
) -> ParityReport:
    """Write a network as JSON, evaluate the file by the standard-library reference, and return the parity report.

    Args:
        model: a fitted estimator, a FrozenNetwork or a FixedPointNetwork.
        path: of the file, which appears whole or not at all.
        arithmetic: "float64", "float32" (every weight exact in float32; sums still in float64) or "fixed-point".
        preset, input_ranges: of `compile_fixed_point`, where model is not a FixedPointNetwork already.
        rows: how many the report is measured on; plain Python is slow.
    """
    network = network_for(model, arithmetic, preset, input_ranges)
    if isinstance(network, FixedPointNetwork) and network.free is not None:
        raise FreezeError(
            "fixed point with a free branch runs partly in floats, for which JSON has no form; got one; use float64."
        )
    text = json.dumps(document_of(network, arithmetic), ensure_ascii=False, allow_nan=False)
    document = parsed(json.loads(text))

    def run(columns: Columns) -> NDArray[Any]:
        rows_ = zip(*(c.tolist() if isinstance(c, np.ndarray) else c for c in columns), strict=True)
        return np.array([score(document, list(row)) for row in rows_])

    exact = isinstance(network, FixedPointNetwork) or is_ordered(network)
    sums = "float64" if arithmetic == "float32" else arithmetic  # Python's floats are float64, whatever the weights
    report = measured(network, run, Artefact("json", sums, path, exact, "json_reference.py"), rows=rows, model=model)
    write_file(text.encode(), path)
    return report


def document_of(network: Network, arithmetic: str) -> dict[str, Any]:
    """The document of a network that can be certified; others raise CertificateError.

    Examples:
        >>> from monolip import ConvexForm, FrozenNetwork, SlopeBounds
        >>> from monolip.frozen import Trunk
        >>> form = ConvexForm(([[0.75]],), ([0.5],), ())
        >>> document = document_of(FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(form, (0,)),),)), "float64")
        >>> document["tensors"]["member.0.trunk.0.0.weight"]
        [['0x1.8000000000000p-1']]
    """
    structure, tensors = _taken_apart(network)
    return {
        "format": FORMAT,
        "version": VERSION,
        "arithmetic": "fixed-point" if isinstance(network, FixedPointNetwork) else arithmetic,
        "digest": network.digest,
        "certificate": certify(network).document["sha256"],
        "features": features_of(network),
        "limits": _limits(network),
        "structure": json.loads(json.dumps(structure)),
        "tensors": {name: _spelled(array) for name, array in tensors.items()},
    }


def _taken_apart(network: Network) -> tuple[dict[str, Any], Mapping[str, NDArray[Any]]]:
    if isinstance(network, FixedPointNetwork):
        return fixed_point_file.take_apart(network)
    return frozen_file.take_apart(network)


def from_json(path: str | PathLike[str], *, max_bytes: int = 2**31) -> FrozenNetwork | FixedPointNetwork:
    """The network of a document, its promise proved again; a damaged or edited document is a FrozenFileError."""
    place = named_path(path)
    size = place.stat().st_size
    if size > max_bytes:
        raise FrozenFileError(
            f"{path} has {size} bytes, more than max_bytes={max_bytes}; raise it if you trust the file."
        )
    try:
        document = strict_json(place.read_text(encoding="utf-8"))
        good = set(document) == _KEYS and (document["format"], document["version"]) == (FORMAT, VERSION)
        good = good and type(document["version"]) is int and document["arithmetic"] in ARITHMETICS
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FrozenFileError(f"{path} is no JSON document of a network ({reprlib.repr(error)}); check it.") from None
    if isinstance(document, dict) and (document.get("format"), document.get("version")) == (FORMAT, 1):
        raise FrozenFileError(
            f"{path} must hold {FORMAT} version {VERSION}; got version 1, of a model that may hold trees; read it with "
            f"{BEFORE}, or export the model again."
        )
    if not good:
        raise FrozenFileError(f"{path} must hold {FORMAT} version {VERSION}; got another; write it by to_json.")
    with building_from(path):
        structure = document["structure"] = without_reserved(document["structure"], path)
        tensors = {str(name): _read_tensor(value) for name, value in document["tensors"].items()}
        if "set.matrix" in tensors:  # an empty list of inequalities has lost its width
            tensors["set.matrix"] = tensors["set.matrix"].reshape(-1, tensors["lower"].shape[0])
        fixed = document["arithmetic"] == "fixed-point"
        network = fixed_point_file.put_together(structure, tensors) if fixed else put_together(structure, tensors)
        again = document_of(network, document["arithmetic"])
    same = _canonical(again) == _canonical(document)
    if document["arithmetic"] == "float32":  # a claim about the weights, which another reader may rely on
        same = same and isinstance(network, FrozenNetwork) and _is_float32(network)
    if not same:  # limits and names are derived from the network: an edited one would mislead other readers
        raise FrozenFileError(f"{path} does not match its digest; it was damaged or edited; get an undamaged copy.")
    return network


def _canonical(document: Any) -> str:
    """Text that differs wherever a reader could: 1, 1.0 and true are three things, though equal in Python."""
    return json.dumps(document, sort_keys=True)


def _is_float32(network: FrozenNetwork) -> bool:
    forms = [trunk.form for member in network.members for trunk in member]
    arrays = [array for form in forms for array in (*form.weights, *form.biases)]
    with np.errstate(over="ignore"):
        return all(np.array_equal(array.astype(np.float32).astype(np.float64), array) for array in arrays)


def _limits(network: Network) -> dict[str, Any]:
    """What is clamped: per trunk its inputs (floats), or all activations (fixed point that saturates)."""
    if isinstance(network, FixedPointNetwork):
        return {} if network.format.limit is None else {"activations": network.format.limit}
    members = enumerate(network.members)
    return {f"member.{m}.trunk.{t}": trunk.form.clamp_limit for m, member in members for t, trunk in enumerate(member)}


def _spelled(array: NDArray[Any]) -> Any:
    """Nested lists: integers as they are, floats in hexadecimal."""
    if array.ndim:
        return [_spelled(row) for row in array]
    return int(array) if array.dtype.kind == "i" else float(array).hex()


def _read_tensor(value: Any) -> NDArray[Any]:
    def number(item: Any) -> Any:
        if isinstance(item, list):
            return [number(part) for part in item]
        if isinstance(item, str):
            return float.fromhex(item)
        if type(item) is not int:
            raise ValueError("a number is an integer or a hexadecimal string")
        return item

    plain = number(value)
    return np.array(plain, dtype=np.int64 if _holds_integers(value) else np.float64)


def _holds_integers(value: Any) -> bool:
    while isinstance(value, list) and value:
        value = value[0]
    return type(value) is int
