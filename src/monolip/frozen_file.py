"""The file of a FrozenNetwork: one sealed safetensors file (sealed_format.py). Data, never code.

The structure names every tensor's role. Everything read is checked: sizes before reading, then names, types, shapes,
the digest over structure and bytes, and at last, by constructing the network, the promise itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .convex import ConvexForm
from .errors import FrozenFileError
from .free_branch import FreeBranch
from .frozen import FrozenNetwork, Trunk
from .frozen_ends import put_ends, take_ends
from .norms import Norm
from .paper_form import Activation, PaperForm, Rectify, Reflect, Sort
from .sealed_file import named_path, write_whole, writing_to
from .sealed_format import MAX_HEADER, SealedFormat
from .slope_set import SlopeSet
from .slopes import SlopeBounds

__all__ = ["digest_of", "load", "put_together", "save", "take_apart", "write_model"]

Tensors = dict[str, NDArray[np.float64]]

FORMAT, VERSION = "monolip.FrozenNetwork", 2
_SEALED = SealedFormat(FORMAT, VERSION, ("float64",))
_MAX_HEADER = MAX_HEADER
_CODE = (".pkl", ".pickle", ".joblib", ".pt", ".pth")  # who sees these names would unpickle the file


def save(network: FrozenNetwork, path: str | PathLike[str], extra: Mapping[str, str] | None = None) -> None:
    """Write atomically: a temporary file beside the target, then one rename. extra: further entries of metadata."""
    write_model(path, _SEALED.pack(*take_apart(network), network.digest, extra=extra, max_header=_MAX_HEADER))


def write_model(path: str | PathLike[str], data: bytes) -> None:
    """The bytes of a model file, under a name that nobody takes for code."""
    target = named_path(path)
    if target.suffix.lower() in _CODE:
        raise FrozenFileError(f"a model file is data, no pickle; got the name {target.name!r}; end it in .safetensors.")
    with writing_to(target):
        write_whole(target, data)


def load(path: str | PathLike[str], *, max_bytes: int) -> FrozenNetwork:
    """Read and re-prove; every failure is a FrozenFileError that says what is wrong with the file."""
    return _SEALED.load(path, put_together, max_bytes=max_bytes)


def digest_of(network: FrozenNetwork) -> str:
    """sha256 over canonical structure and little-endian bytes of every tensor, in name order."""
    return _SEALED.digest(*take_apart(network))


def take_apart(network: FrozenNetwork) -> tuple[dict[str, Any], Tensors]:
    """A JSON structure and named tensors; the inverse of `put_together`."""
    tensors: Tensors = {}
    bounds = network.bounds
    tensors["lower"], tensors["upper"] = bounds.lower, bounds.upper
    structure: dict[str, Any] = {"feature_names": bounds.feature_names, "free_names": network.free_names}
    if isinstance(network.promise, SlopeSet):
        tensors["set.matrix"], tensors["set.limits"] = network.promise.inequalities
        structure["l2_radius"] = network.promise.l2_radius
    structure["slope_set"] = isinstance(network.promise, SlopeSet)
    tensors["member_weights"] = cast(NDArray[np.float64], network.member_weights)
    structure["members"] = [
        [_take_trunk(trunk, f"member.{m}.trunk.{t}", tensors) for t, trunk in enumerate(member)]
        for m, member in enumerate(network.members)
    ]
    branch = network.free_branch
    structure["free_branch"] = list(branch.activations) if branch else None
    if branch:
        _store_layers(branch, "free", tensors)
    ends = take_ends(network, tensors)
    if any(ends.values()):
        structure["ends"] = ends
    return structure, {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def _store_layers(form: ConvexForm | PaperForm | FreeBranch, prefix: str, tensors: Tensors) -> None:
    for k, (weight, bias) in enumerate(zip(form.weights, form.biases, strict=True)):
        tensors[f"{prefix}.{k}.weight"], tensors[f"{prefix}.{k}.bias"] = weight, bias


def _take_trunk(trunk: Trunk, prefix: str, tensors: Tensors) -> dict[str, Any]:
    form = trunk.form
    _store_layers(form, prefix, tensors)
    entry: dict[str, Any] = {"outputs": list(trunk.outputs), "layers": len(form.weights)}
    if isinstance(form, ConvexForm):
        return {**entry, "form": "convex", "group_sizes": list(form.group_sizes)}
    for name in ("center", "radius", "scale"):
        tensors[f"{prefix}.{name}"] = getattr(form, name)
    for k, activation in enumerate(form.activations):
        if isinstance(activation, Reflect):
            tensors[f"{prefix}.{k}.directions"] = activation.directions
    words = [f"sort {a.group_size}" if isinstance(a, Sort) else type(a).__name__.lower() for a in form.activations]
    return {**entry, "form": "paper", "activations": words, "norms": [norm.name for norm in form.norms]}


def put_together(structure: dict[str, Any], tensors: Tensors) -> FrozenNetwork:
    """The network again, and its promise proved again."""
    names = structure["feature_names"]
    bounds = SlopeBounds(tensors["lower"], tensors["upper"], names and tuple(names))
    promise: SlopeBounds | SlopeSet = bounds
    if structure["slope_set"]:
        promise = SlopeSet(bounds, tensors["set.matrix"], tensors["set.limits"], structure["l2_radius"])
    members = tuple(
        tuple(_make_trunk(entry, f"member.{m}.trunk.{t}", tensors) for t, entry in enumerate(member))
        for m, member in enumerate(structure["members"])
    )
    branch = None
    if structure["free_branch"] is not None:
        branch = FreeBranch(
            *_load_layers(len(structure["free_branch"]), "free", tensors), tuple(structure["free_branch"])
        )
    free_names = structure["free_names"]
    ends = put_ends(structure["ends"], tensors) if "ends" in structure else {}
    return FrozenNetwork(promise, members, tensors["member_weights"], branch, free_names and tuple(free_names), **ends)


def _load_layers(count: int, prefix: str, tensors: Tensors) -> tuple[Any, Any]:
    layers = range(int(count))
    return [tensors[f"{prefix}.{k}.weight"] for k in layers], [tensors[f"{prefix}.{k}.bias"] for k in layers]


def _make_trunk(entry: dict[str, Any], prefix: str, tensors: Tensors) -> Trunk:
    weights, biases = _load_layers(entry["layers"], prefix, tensors)
    outputs = tuple(int(k) for k in entry["outputs"])
    if entry["form"] == "convex":
        return Trunk(ConvexForm(weights, biases, tuple(entry["group_sizes"])), outputs)
    activations: list[Activation] = []
    for k, word in enumerate(entry["activations"]):
        if word == "reflect":
            activations.append(Reflect(tensors[f"{prefix}.{k}.directions"]))
        else:
            activations.append(Rectify() if word == "rectify" else Sort(int(word.removeprefix("sort "))))
    norms = tuple(Norm[name] for name in entry["norms"])
    parts = (tensors[f"{prefix}.{name}"] for name in ("center", "radius", "scale"))
    return Trunk(PaperForm(weights, biases, tuple(activations), norms, *parts), outputs)
