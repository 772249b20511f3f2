"""Networks in training as tensors, bit for bit: what a resumed fit goes on from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine.trainer import NetworkArrays
from monolip.estimators.stream._refining import Networks, Standing

__all__ = ["pack_standing", "unpack_standing"]

Tensors = dict[str, NDArray[Any]]


def pack_standing(standing: Standing) -> tuple[Tensors, dict[str, Any]]:
    """The inverse of unpack_standing."""
    tensors: Tensors = {}
    shapes = {name: _pack(name, getattr(standing, name), tensors) for name in ("networks", "best")}
    losses = [float(loss).hex() for loss in standing.losses]
    words = {"done": standing.done, "losses": losses, "rows": standing.rows, "finished": standing.finished}
    return tensors, {**words, "visited": standing.visited, **shapes}


def unpack_standing(state: tuple[Tensors, dict[str, Any]]) -> Standing:
    """Where training stood."""
    tensors, words = state
    networks, best = (_unpack(name, words[name], tensors) for name in ("networks", "best"))
    losses = [float.fromhex(loss) for loss in words["losses"]]
    counts = int(words["done"]), losses, list(words["rows"]), bool(words["finished"]), int(words.get("visited", 0))
    return Standing(networks, best, *counts)


def _pack(name: str, networks: Networks, tensors: Tensors) -> list[Any]:
    shapes: list[Any] = []
    for member, network in enumerate(networks):
        if network is None:
            shapes.append(None)
            continue
        for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
            tensors[f"{name}.{member}.weight.{k}"] = np.asarray(weight, np.float64)
            tensors[f"{name}.{member}.bias.{k}"] = np.asarray(bias, np.float64)
        shapes.append([len(network.weights), list(network.group_sizes), network.fan_in])
    return shapes


def _unpack(name: str, shapes: list[Any], tensors: Tensors) -> Networks:
    found: list[NetworkArrays | None] = []
    for member, shape in enumerate(shapes):
        if shape is None:
            found.append(None)
            continue
        layers, sizes, fan_in = shape
        weights = tuple(tensors[f"{name}.{member}.weight.{k}"] for k in range(layers))
        biases = tuple(tensors[f"{name}.{member}.bias.{k}"] for k in range(layers))
        found.append(NetworkArrays(weights, biases, tuple(sizes), fan_in, None))
    return tuple(found)
