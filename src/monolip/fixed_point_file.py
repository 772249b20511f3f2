"""The file of a FixedPointNetwork: one sealed safetensors file of integers (sealed_format.py). Data, never code.

The structure names every tensor's role. What is read is checked as in frozen_file.py, and all rules again by
constructing the network.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fixed_point import FixedPointNetwork
from .fixed_point_columns import FixedCategory, FixedNumeric
from .fixed_point_format import FixedPointFormat
from .fixed_point_inputs import Column, FixedFree, FixedInputs
from .fixed_point_link import FixedLink
from .fixed_point_map import FixedMap
from .fixed_point_trunk import FixedTrunk
from .free_branch import FreeBranch
from .frozen_ends import _put_column, _take_column, read_link, written_link
from .input_transform import InputTransform
from .sealed_file import named_path, write_whole, writing_to
from .sealed_format import SealedFormat

__all__ = ["FORMAT", "VERSION", "digest_of", "load", "save", "take_apart"]

Tensors = dict[str, NDArray[Any]]

FORMAT, VERSION = "monolip.FixedPointNetwork", 2
_NO_LINK = {"name": "none", "labels": None, "positive": None, "target": None}
_SEALED = SealedFormat(FORMAT, VERSION, ("int64", "float64"))


def save(network: FixedPointNetwork, path: str | PathLike[str]) -> None:
    """Write atomically: a temporary file beside the target, then one rename."""
    target = named_path(path)
    with writing_to(target):
        write_whole(target, _SEALED.pack(*take_apart(network), network.digest))


def load(path: str | PathLike[str], *, max_bytes: int) -> FixedPointNetwork:
    """Read and check; every failure is a FrozenFileError that says what is wrong with the file."""
    return _SEALED.load(path, put_together, max_bytes=max_bytes)


def digest_of(network: FixedPointNetwork) -> str:
    """sha256 over canonical structure and little-endian bytes of every tensor, in name order."""
    return digest_from(*take_apart(network))


def digest_from(structure: dict[str, Any], tensors: Tensors) -> str:
    return _SEALED.digest(structure, tensors)


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
        "link": (_NO_LINK if link.link is None else written_link(link.link))
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
    meaning = None if named["name"] == "none" else read_link(named)
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
