"""The file of a FixedPointNetwork: one safetensors file of integers, with a validated, versioned header.

Header: the metadata entry "monolip" is a JSON object {format, version, digest, structure}; the structure names every
tensor's role. What is read is checked as in frozen_file.py, and all rules again by constructing the network.
"""

from __future__ import annotations

import hashlib
import json
import os
import reprlib
import secrets
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .errors import FrozenFileError, MonolipError
from .fixed_point import FixedPointNetwork
from .fixed_point_columns import FixedCategory, FixedNumeric
from .fixed_point_format import FixedPointFormat
from .fixed_point_inputs import Column, FixedFree, FixedInputs
from .fixed_point_link import FixedLink
from .fixed_point_map import FixedMap
from .fixed_point_trunk import FixedTrunk
from .free_branch import FreeBranch
from .frozen_ends import _put_column, _take_column
from .frozen_file import _read, _strict_json
from .input_transform import InputTransform
from .output_link import OutputLink

__all__ = ["FORMAT", "VERSION", "digest_of", "load", "save", "take_apart"]

Tensors = dict[str, NDArray[Any]]

FORMAT, VERSION = "monolip.FixedPointNetwork", 1
_KEYS = {"format", "version", "digest", "structure"}


def save(network: FixedPointNetwork, path: str | PathLike[str]) -> None:
    """Write atomically: a temporary file beside the target, then one rename."""
    from safetensors.numpy import save as to_bytes

    structure, tensors = take_apart(network)
    header = {"format": FORMAT, "version": VERSION, "digest": network.digest, "structure": structure}
    data = to_bytes(tensors, metadata={"monolip": json.dumps(header, sort_keys=True)})
    target = Path(path)
    temporary = target.parent / f".monolip-{secrets.token_hex(8)}.part"
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: str | PathLike[str], *, max_bytes: int) -> FixedPointNetwork:
    """Read and check; every failure is a FrozenFileError that says what is wrong with the file."""
    data = _read(Path(path), max_bytes)
    header, tensors = _header(data, path), _tensors(data, path)
    computed = digest_from(header["structure"], tensors)
    if computed != header["digest"]:
        raise FrozenFileError(
            f"{path} does not match its digest: stored {reprlib.repr(header['digest'])}, computed {computed[:16]}...; "
            "the file was damaged or edited; get an undamaged copy."
        )
    try:
        network = put_together(header["structure"], tensors)
    except MonolipError as error:
        raise FrozenFileError(f"{path} holds a network that is not what it claims; {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        found = reprlib.repr(error)
        raise FrozenFileError(f"{path} has a malformed structure ({found}); get an undamaged copy.") from error
    if network.digest != computed:
        raise FrozenFileError(f"{path} is not written as monolip writes it; get a copy that save() made.")
    return network


def digest_of(network: FixedPointNetwork) -> str:
    """sha256 over canonical structure and little-endian bytes of every tensor, in name order."""
    return digest_from(*take_apart(network))


def digest_from(structure: dict[str, Any], tensors: Tensors) -> str:
    sha = hashlib.sha256(json.dumps([FORMAT, VERSION, structure], sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name]
        sha.update(f"|{name}|{array.shape}|".encode())
        sha.update(np.ascontiguousarray(array, dtype="<f8" if array.dtype.kind == "f" else "<i8").tobytes())
    return sha.hexdigest()


def _header(data: bytes, path: str | PathLike[str]) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    try:
        header = _strict_json(_strict_json(data[8 : 8 + length])["__metadata__"]["monolip"])
        good = set(header) == _KEYS and header["format"] == FORMAT and isinstance(header["structure"], dict)
        good = good and type(header["version"]) is int and header["version"] == VERSION
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        found = reprlib.repr(error)
        raise FrozenFileError(f"{path} has no readable monolip header ({found}); is it a monolip file?") from error
    if not good:
        raise FrozenFileError(
            f"{path} must hold {FORMAT} version {VERSION}; got {reprlib.repr(header.get('format'))} version "
            f"{reprlib.repr(header.get('version'))}; use the monolip that wrote it, or write it again."
        )
    return cast(dict[str, Any], header)


def _tensors(data: bytes, path: str | PathLike[str]) -> Tensors:
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    try:
        tensors = from_bytes(data)
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise FrozenFileError(f"{path} is damaged ({error}); get an undamaged copy.") from error
    other = [name for name, array in tensors.items() if array.dtype not in (np.dtype(np.int64), np.dtype(np.float64))]
    if other:
        raise FrozenFileError(f"{path} must hold int64 and float64 numbers only; {other[:3]} are not; write it again.")
    return cast(Tensors, tensors)


def take_apart(network: FixedPointNetwork) -> tuple[dict[str, Any], Tensors]:
    """A JSON structure and named tensors; the inverse of `put_together`."""
    tensors: Tensors = {"member_weights": network.member_weights}
    link, free = network.link, network.free
    structure: dict[str, Any] = {
        "format": network.format.as_dict(),
        "source": network.source,
        "columns": [_take_fixed(c, f"columns.{i}", tensors) for i, c in enumerate(network.inputs.columns)],
        "members": [
            [_take_trunk(trunk, f"member.{m}.trunk.{t}", tensors) for t, trunk in enumerate(member)]
            for m, member in enumerate(network.members)
        ],
        "link": {"name": link.name, "labels": list(link.link.labels) if link.link and link.link.labels else None}
        | {"unit": link.unit, "factor": link.factor, "shift": link.shift, "offset": link.offset.hex()},
        "free": None,
        "vectors": network.vectors is not None,
    }
    if free is not None:
        columns = [_take_column(column, f"free.columns.{i}", tensors) for i, column in enumerate(free.inputs.columns)]
        tensors["free.rates"] = free.rates
        for k, (weight, bias) in enumerate(zip(free.branch.weights, free.branch.biases, strict=True)):
            tensors[f"free.{k}.weight"], tensors[f"free.{k}.bias"] = weight, bias
        structure["free"] = {"columns": columns, "activations": list(free.branch.activations)} | {
            "limits": list(free.limits)
        }
    if network.vectors is not None:
        tensors["vectors.inputs"], tensors["vectors.outputs"] = network.vectors
    return structure, {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def _take_fixed(column: Column, prefix: str, tensors: Tensors) -> dict[str, Any]:
    if isinstance(column, FixedCategory):
        tensors[f"{prefix}.table"] = column.table
        return {"name": column.name, "categories": list(column.categories), "ordered": column.ordered}
    tensors[f"{prefix}.knots"] = np.concatenate([phi.knots for phi in column.maps])
    tensors[f"{prefix}.values"] = np.concatenate([phi.nodes for phi in column.maps])
    if column.missing is not None:
        tensors[f"{prefix}.missing"] = np.array(column.missing, dtype=np.int64)
    lengths = [phi.knots.size for phi in column.maps]
    return {"name": column.name, "knots": lengths, "missing": column.missing is not None, "present": column.present}


def _take_trunk(trunk: FixedTrunk, prefix: str, tensors: Tensors) -> dict[str, Any]:
    for k, (weight, bias) in enumerate(zip(trunk.weights, trunk.biases, strict=True)):
        tensors[f"{prefix}.{k}.weight"], tensors[f"{prefix}.{k}.bias"] = weight, bias
    if trunk.residual is not None:
        tensors[f"{prefix}.residual"] = trunk.residual
    form = "convex" if trunk.residual is None else "paper"
    return {"form": form, "group_sizes": list(trunk.group_sizes), "outputs": list(trunk.outputs)}


def put_together(structure: dict[str, Any], tensors: Tensors) -> FixedPointNetwork:
    columns = [_put_fixed(entry, f"columns.{i}", tensors) for i, entry in enumerate(structure["columns"])]
    members = tuple(
        tuple(_put_trunk(entry, f"member.{m}.trunk.{t}", tensors) for t, entry in enumerate(member))
        for m, member in enumerate(structure["members"])
    )
    named = structure["link"]
    labels = None if named["labels"] is None else tuple(named["labels"])
    meaning = None if named["name"] == "none" else OutputLink(named["name"], labels)
    link = FixedLink(meaning, named["unit"], named["factor"], named["shift"], float.fromhex(named["offset"]))
    free = None
    if structure["free"] is not None:
        entry = structure["free"]
        raw = tuple(_put_column(column, f"free.columns.{i}", tensors) for i, column in enumerate(entry["columns"]))
        count = range(len(entry["activations"]))
        weights = tuple(tensors[f"free.{k}.weight"] for k in count)
        branch = FreeBranch(weights, tuple(tensors[f"free.{k}.bias"] for k in count), tuple(entry["activations"]))
        free = FixedFree(InputTransform(raw), branch, tensors["free.rates"], tuple(entry["limits"]))
    vectors = (tensors["vectors.inputs"], tensors["vectors.outputs"]) if structure["vectors"] else None
    number_format, inputs = FixedPointFormat(**structure["format"]), FixedInputs(tuple(columns))
    weights_of = tensors["member_weights"]
    return FixedPointNetwork(number_format, inputs, members, weights_of, link, free, structure["source"], vectors)


def _put_fixed(entry: dict[str, Any], prefix: str, tensors: Tensors) -> Column:
    if "categories" in entry:
        return FixedCategory(entry["name"], tuple(entry["categories"]), tensors[f"{prefix}.table"], entry["ordered"])
    ends = np.cumsum([int(n) for n in entry["knots"]])[:-1]
    knots, nodes = (np.split(tensors[f"{prefix}.{part}"], ends) for part in ("knots", "values"))
    maps = tuple(FixedMap(k, v) for k, v in zip(knots, nodes, strict=True))
    missing = tuple(tensors[f"{prefix}.missing"].tolist()) if entry["missing"] else None
    return FixedNumeric(entry["name"], maps, missing, entry["present"])


def _put_trunk(entry: dict[str, Any], prefix: str, tensors: Tensors) -> FixedTrunk:
    layers = range(len(entry["group_sizes"]) + 1)
    weights, biases = (tuple(tensors[f"{prefix}.{k}.{part}"] for k in layers) for part in ("weight", "bias"))
    residual = tensors[f"{prefix}.residual"] if entry["form"] == "paper" else None
    return FixedTrunk(weights, biases, tuple(entry["group_sizes"]), tuple(entry["outputs"]), residual)
