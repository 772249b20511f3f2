"""What LHCb's readers compute from their JSON, in float32 and in their order: the response before the sigmoid."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.errors import FrozenFileError

__all__ = ["allen_layers", "allen_response", "numbers_of"]

Singles = NDArray[Any]  # float32
MOST_LAYERS = 64  # readers have a handful; the search for a chain of norms grows with their square
_KEY = re.compile(r"sigmanet\.nn\.([0-9]{1,4})\.(weight|bias|parametrizations\.weight\.original)")


def allen_layers(document: Mapping[str, Any]) -> list[tuple[Singles, Singles]]:
    """Weights and biases in the order of the readers: layers by the number before `weight` or `bias`."""
    found: dict[int, dict[str, Singles]] = {}
    for key, value in document.items():
        if not key.startswith("sigmanet.") or key == "sigmanet.sigma":
            continue
        match = _KEY.fullmatch(key)
        if match is None:
            raise FrozenFileError(f"layers are called sigmanet.nn.0.weight and .bias; got {key!r:.80}; check the file.")
        layer, part = found.setdefault(int(match[1]), {}), "bias" if match[2] == "bias" else "weight"
        if part in layer:
            raise FrozenFileError(f"a layer has one {part}; got {key!r:.80} again under another name; check the file.")
        layer[part] = numbers_of(value, 1 if part == "bias" else 2, key)
    if not 1 <= len(found) <= MOST_LAYERS or any(len(layer) < 2 for layer in found.values()):
        raise FrozenFileError(
            f"a file holds 1 to {MOST_LAYERS} sigmanet layers, weight and bias each; got {len(found)}; check the file."
        )
    layers = [(found[k]["weight"], found[k]["bias"]) for k in sorted(found)]
    chained = all(b[0].shape[1] == len(a[1]) for a, b in pairwise(layers))
    if not chained or not all(w.size and b.shape == w.shape[:1] for w, b in layers):
        raise FrozenFileError("weights must chain from layer to layer; these do not; check the file.")
    return layers


def numbers_of(value: Any, ndim: int, name: str) -> Singles:
    """Nested lists of finite JSON numbers, `ndim` deep and rectangular, as float32; nothing is converted silently."""

    def is_plain(item: Any, depth: int) -> bool:
        if depth == 0:
            return type(item) in (int, float)
        return isinstance(item, list) and all(is_plain(part, depth - 1) for part in item)

    array = np.zeros(())
    if is_plain(value, ndim):
        try:
            with np.errstate(over="ignore"):  # infinities are refused below
                array = np.array(value, dtype=np.float32)
        except (ValueError, OverflowError):  # rows of several lengths, integers beyond any float
            pass
    if array.ndim != ndim or not np.isfinite(array).all():
        raise FrozenFileError(
            f"{name!r:.80} holds finite float32 numbers in {ndim} axes; got {reprlib.repr(value)}; check the file."
        )
    return array


def allen_response(document: Mapping[str, Any], x: ArrayLike, constraints: ArrayLike) -> Singles:
    """g(x) + sigma * dot(x, constraints). Shape (n, d) -> (n, 1).

    >>> nn = {"sigmanet.nn.0.weight": [[1.0], [-1.0]], "sigmanet.nn.0.bias": [0.0, 0.0], "sigmanet.sigma": [1.0]}
    >>> nn |= {"sigmanet.nn.2.weight": [[0.0, 1.0]], "sigmanet.nn.2.bias": [0.0]}
    >>> allen_response(nn, [[-3.0], [2.0]], [1]).ravel()
    array([0., 4.], dtype=float32)
    """
    rows = np.asarray(x, dtype=np.float32)
    z = rows
    if "variables_constraints" in document:
        low, high = np.array(document["variables_constraints"], dtype=np.float32).T
        z = np.clip(rows, low, high)
    layers = allen_layers(document)
    for k, (weight, bias) in enumerate(layers):
        total = np.broadcast_to(bias, (len(z), len(bias))).copy()
        for j in range(weight.shape[1]):
            total = total + z[:, j : j + 1] * weight[:, j]
        z = total
        if k < len(layers) - 1:
            pairs = z.reshape(len(z), -1, 2)
            z = np.stack([pairs.min(axis=2), pairs.max(axis=2)], axis=2).reshape(len(z), -1)
    sigma = np.float32(document["sigmanet.sigma"][0])
    if sigma == 0:
        return np.asarray(z)
    dot = np.zeros(len(z), dtype=np.float32)
    for j, c in enumerate(np.asarray(constraints, dtype=np.float32)):
        dot = dot + rows[:, j] * c
    return np.asarray(z + (sigma * dot)[:, None])
