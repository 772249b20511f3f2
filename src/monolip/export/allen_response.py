"""What LHCb's readers compute from their JSON, in float32 and in their order: the response before the sigmoid."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.errors import FrozenFileError

__all__ = ["allen_layers", "allen_response"]

Singles = NDArray[np.float32]


def allen_layers(document: Mapping[str, Any]) -> list[tuple[Singles, Singles]]:
    """Weights and biases in the order of the readers: layers by the number before `weight` or `bias`."""
    try:
        found: dict[int, dict[str, Singles]] = {}
        for key, value in document.items():
            if key.startswith("sigmanet.nn."):
                part = "bias" if key.endswith(".bias") else "weight"
                with np.errstate(over="ignore"):  # infinities are refused below
                    found.setdefault(int(key.split(".")[2]), {})[part] = np.array(value, dtype=np.float32)
        layers = [(found[k]["weight"], found[k]["bias"]) for k in sorted(found)]
        chained = all(b[0].shape[1] == len(a[1]) for a, b in pairwise(layers))
        shaped = all(w.ndim == 2 and w.size and b.shape == w.shape[:1] for w, b in layers)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise FrozenFileError(f"the document must hold sigmanet layers; {error!r}; check the file.") from None
    finite = all(np.isfinite(w).all() and np.isfinite(b).all() for w, b in layers)
    if not layers or not chained or not shaped or not finite:
        raise FrozenFileError("weights must be finite and chain from layer to layer; these do not; check the file.")
    return layers


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
