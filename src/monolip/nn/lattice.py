"""Wiring a network as a lattice of its first-layer units (Theorem 3): minima of groups, then maxima."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..errors import StructureError
from . import init
from .activations import GroupSort, Householder
from .linear import LipschitzLinear

__all__ = ["wire_convex", "wire_paper"]


def wire_convex(trunk: Any, x: Tensor, minima: int, spread: float) -> None:
    """`init.lattice_` for one trunk of a ConvexMLP."""
    first = trunk.first
    _ridges_(first.weight, first._lower, first._upper, trunk.group_sizes[0] if trunk.mixing else 1)
    first.weight.copy_(first.constrain(first.weight))
    if not trunk.mixing:
        return
    init.hinge_(first, _ordered(x), trunk.group_sizes[0], shuffle=False)
    for k, layer in enumerate(trunk.mixing):
        chosen = _wiring(layer.weight, trunk.group_sizes[k], lowest=k < minima, last=k == len(trunk.mixing) - 1)
        share = (1 - spread) * chosen / chosen.sum(1, keepdim=True) + spread / chosen.shape[1]
        layer.weight.copy_(share.log() / layer.SHARPNESS)
        layer.bias.zero_()


def wire_paper(model: Any, x: Tensor, minima: int) -> None:
    """`init.lattice_` for a LipschitzMLP or LipschitzSequential."""
    layers = [layer for layer in model.layers if isinstance(layer, LipschitzLinear)]
    activations = [layer for layer in model.layers if isinstance(layer, GroupSort | Householder)]
    if len(activations) != len(layers) - 1 or len(layers) < 2:
        raise StructureError("a lattice needs GroupSort or Householder between all layers; got others; use GroupSort.")
    sizes = [_group_size(a, layer.out_features) for a, layer in zip(activations, layers, strict=False)]
    limit = torch.full_like(layers[0].weight[0], layers[0].bound)
    _ridges_(layers[0].weight, -limit, limit, sizes[0])
    init.hinge_(layers[0], _ordered(x) * getattr(model, "input_scale", 1.0), sizes[0], shuffle=False)
    for k, layer in enumerate(layers[1:]):
        chosen = _wiring(layer.weight, sizes[k], lowest=k < minima, last=k == len(layers) - 2)
        layer.weight.copy_(layer.bound * chosen / chosen.sum(1, keepdim=True))
        if layer.bias is not None:
            layer.bias.zero_()


def _ridges_(weight: Tensor, lower: Tensor, upper: Tensor, group_size: int) -> None:
    """Rows on the boundary of the box; inside a group every second row mirrors the one before: a minimum is a ridge."""
    center, radius = (lower + upper) / 2, (upper - lower) / 2
    away = torch.empty_like(weight).uniform_(-1.0, 1.0)
    away = away / away.abs().amax(1, keepdim=True).clamp(min=1e-6)
    if group_size > 1:
        pairs = away[: len(away) // 2 * 2].unflatten(0, (-1, 2))
        pairs[:, 1] = -pairs[:, 0]
    weight.copy_(center + radius * away)


def _ordered(x: Tensor) -> Tensor:
    """Rows by their first feature, so that evenly chosen rows cover the range."""
    return x[x[:, 0].argsort()]


def _wiring(weight: Tensor, group_size: int, lowest: bool, last: bool) -> Tensor:
    """0/1 rows over sorted groups: unit j takes the minimum (`lowest`) or maximum of group j."""
    rows, columns = weight.shape
    picked = 0 if lowest else group_size - 1
    groups = columns // group_size
    chosen = torch.zeros_like(weight)
    if last:  # the output averages the groups that are left: one, if widths shrink to a single group
        chosen[:, picked::group_size] = 1.0
        return chosen
    unit = torch.arange(rows, device=weight.device)
    chosen[unit, (unit % groups) * group_size + picked] = 1.0
    return chosen


def _group_size(activation: GroupSort | Householder, width: int) -> int:
    if isinstance(activation, GroupSort):
        return activation.size_for(width)
    if activation.group_size != 2:
        raise StructureError(
            f"a lattice needs Householder in pairs; got group_size={activation.group_size}; use group_size=2."
        )
    activation.directions.copy_(torch.tensor([-math.sqrt(0.5), math.sqrt(0.5)]).to(activation.directions))
    return 2
