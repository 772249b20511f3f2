"""The file of a FrozenNetwork: one safetensors file with a validated, versioned header. Data, never code.

Header: the safetensors metadata entry "monolip" is a JSON object {format, version, digest, structure}; the structure
names every tensor's role. Everything read is checked: sizes before reading, then names, types, shapes, the digest
over structure and bytes, and at last, by constructing the network, the promise itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import reprlib
import secrets
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .convex import ConvexForm
from .errors import FrozenFileError, MonolipError
from .free_branch import FreeBranch
from .frozen import FrozenNetwork, Trunk
from .frozen_ends import put_ends, take_ends
from .norms import Norm
from .paper_form import Activation, PaperForm, Rectify, Reflect, Sort
from .slope_set import SlopeSet
from .slopes import SlopeBounds

__all__ = ["digest_of", "load", "save", "take_apart"]

Tensors = dict[str, NDArray[np.float64]]

FORMAT, VERSION = "monolip.FrozenNetwork", 1
_MAX_HEADER = 64 * 2**20
_CODE = (".pkl", ".pickle", ".joblib", ".pt", ".pth")  # who sees these names would unpickle the file


def save(network: FrozenNetwork, path: str | PathLike[str], extra: Mapping[str, str] | None = None) -> None:
    """Write atomically: a temporary file beside the target, then one rename. extra: further entries of metadata."""
    from safetensors.numpy import save as to_bytes

    structure, tensors = take_apart(network)
    header = {"format": FORMAT, "version": VERSION, "digest": network.digest, "structure": structure}
    data = to_bytes(tensors, metadata={**(extra or {}), "monolip": json.dumps(header, sort_keys=True)})
    if (length := int.from_bytes(data[:8], "little")) > _MAX_HEADER:
        allowed = f"a model file has at most {_MAX_HEADER} bytes of names and categories"
        raise FrozenFileError(f"{allowed}; got {length}; merge rare categories, or shorten their names.")
    target = Path(path)
    if target.suffix.lower() in _CODE:
        raise FrozenFileError(f"a model file is data, no pickle; got the name {target.name!r}; end it in .safetensors.")
    temporary = target.parent / f".monolip-{secrets.token_hex(8)}.part"
    try:
        with temporary.open("xb") as file:  # an ordinary new file, with the permissions the user's umask gives
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: str | PathLike[str], *, max_bytes: int) -> FrozenNetwork:
    """Read and re-prove; every failure is a FrozenFileError that says what is wrong with the file."""
    data = _read(Path(path), max_bytes)
    header = _header(data, path)
    tensors = _tensors(data, path)
    computed = _digest(header["structure"], tensors)
    if computed != header["digest"]:  # over what was read, before anything is built from it
        raise FrozenFileError(
            f"{path} does not match its digest: stored {reprlib.repr(header['digest'])}, computed {computed[:16]}...; "
            "the file was damaged or edited; get an undamaged copy."
        )
    try:
        network = _put_together(header["structure"], tensors)
    except MonolipError as error:
        raise FrozenFileError(f"{path} holds a network that is not what it claims; {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        found = reprlib.repr(error)
        raise FrozenFileError(f"{path} has a malformed structure ({found}); get an undamaged copy.") from error
    if network.digest != computed:  # True for 1, -0.0 for 0.0, fields or tensors that belong to no network
        raise FrozenFileError(f"{path} is not written as monolip writes it; get a copy that save() made.")
    return network


def digest_of(network: FrozenNetwork) -> str:
    """sha256 over canonical structure and little-endian bytes of every tensor, in name order."""
    return _digest(*take_apart(network))


def _digest(structure: dict[str, Any], tensors: Tensors) -> str:
    sha = hashlib.sha256(json.dumps([FORMAT, VERSION, structure], sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name]
        sha.update(f"|{name}|{array.shape}|".encode())
        sha.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return sha.hexdigest()


def _read(path: Path, max_bytes: int) -> bytes:
    if path.exists() and not path.is_file():  # a pipe or a device has no size to check
        raise FrozenFileError(f"a model is an ordinary file; {path} is not one; name the file that save() wrote.")
    size = path.stat().st_size
    if size > max_bytes:
        raise FrozenFileError(
            f"{path} has {size} bytes, more than max_bytes={max_bytes}; raise it if you trust the file."
        )
    with path.open("rb") as file:
        data = file.read(size)  # no more than was checked, should it grow meanwhile
    if len(data) < 8:
        raise FrozenFileError(f"{path} is not a monolip file: it has only {len(data)} bytes; get an undamaged copy.")
    length = int.from_bytes(data[:8], "little")
    if length > min(_MAX_HEADER, len(data) - 8):
        raise FrozenFileError(
            f"{path} claims a header of {length} bytes in a file of {len(data)}; it is truncated, damaged or not a "
            "monolip file; get an undamaged copy."
        )
    return data


def _header(data: bytes, path: str | PathLike[str]) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    try:
        metadata = _strict_json(data[8 : 8 + length]).get("__metadata__", {})
        header = _strict_json(metadata["monolip"])
        found = (header["format"], header["version"])
        complete = set(header) == {"format", "version", "digest", "structure"} and isinstance(header["structure"], dict)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FrozenFileError(
            f"{path} has no readable monolip header ({reprlib.repr(error)}); is it a monolip file?"
        ) from error
    if found[0] != FORMAT or type(found[1]) is not int or found[1] != VERSION or not complete:
        raise FrozenFileError(
            f"{path} must hold {FORMAT} version {VERSION}; got {reprlib.repr(found[0])} version "
            f"{reprlib.repr(found[1])}{'' if complete else ' with missing or unknown fields'}; "
            "use the monolip that wrote it, or write it again."
        )
    return cast(dict[str, Any], header)


def _strict_json(text: str | bytes) -> Any:
    """JSON in which no key stands twice: readers must not differ in what they see."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a key stands twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)


def _tensors(data: bytes, path: str | PathLike[str]) -> Tensors:
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    try:
        tensors = from_bytes(data)
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise FrozenFileError(f"{path} is damaged ({error}); get an undamaged copy.") from error
    other = [name for name, array in tensors.items() if array.dtype != np.float64]
    if other:
        raise FrozenFileError(f"{path} must hold float64 numbers only; {other[:3]} are not; write it again.")
    return cast(Tensors, tensors)


def take_apart(network: FrozenNetwork) -> tuple[dict[str, Any], Tensors]:
    """A JSON structure and named tensors; the inverse of `_put_together`."""
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


def _put_together(structure: dict[str, Any], tensors: Tensors) -> FrozenNetwork:
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
