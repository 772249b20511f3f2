"""The network being trained, in either form, and the same network on pixels.

Both have width 1024, depth 3 and Lipschitz bound 1. The trunk is trained on whitened coordinates u (see `Whitening`);
`on_pixels` writes the product of its first layer and the whitening into the first layer of a new network.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from monolip import SlopeBounds
from monolip.nn import ConvexMLP, LipschitzMLP, SlopeBounded
from paper.appendix_a.tasks import Task
from paper.appendix_a.whitening import Whitening

__all__ = ["constrained_layers", "new_trunk", "on_pixels"]


def new_trunk(form: str, n_inputs: int, n_outputs: int, width: int) -> LipschitzMLP | ConvexMLP:
    """A network with slopes in [-1, 1], in "paper" form or "convex" form."""
    if form == "paper":
        return LipschitzMLP(n_inputs, n_outputs, (width, width))
    return ConvexMLP(SlopeBounds(np.full(n_inputs, -1.0), np.full(n_inputs, 1.0)), n_outputs, (width, width))


def constrained_layers(trunk: nn.Module) -> list[Any]:
    """First layer, then the later ones."""
    if isinstance(trunk, ConvexMLP):
        inside: Any = trunk.trunks[0]
        return [inside.first, *inside.mixing]
    assert isinstance(trunk, LipschitzMLP)
    return list(trunk.constrained_layers())


@torch.no_grad()
def on_pixels(trunk: LipschitzMLP | ConvexMLP, whitening: Whitening, task: Task) -> nn.Module:
    """f(x) = trunk(u, radius * goodness) + center * goodness as one public network, float64, in evaluation mode."""
    layers, device = constrained_layers(trunk), whitening.mean.device
    sizes = (task.n_inputs, task.n_classes, len(layers[0].bias))
    if isinstance(trunk, LipschitzMLP):
        inside = new_trunk("paper", *sizes).double().to(device)
        _copy(layers, constrained_layers(inside), whitening)
        return (inside if task.goodness is None else SlopeBounded(inside, task.slopes)).eval()
    network = ConvexMLP(task.slopes, task.n_classes, (sizes[2], sizes[2])).double().to(device)
    for outputs, part in zip(network.outputs, network.trunks, strict=True):
        own: Any = part
        targets = [own.first, *own.mixing]
        last = nn.Linear(1, 1)  # the rows of the last layer that this part of the outputs needs
        last.weight, last.bias = nn.Parameter(layers[-1].weight[outputs]), nn.Parameter(layers[-1].bias[outputs])
        _copy([*layers[:-1], last], targets, whitening)
        if task.goodness is not None:  # sorting and averaging commute with adding one function to every unit
            own.first.weight[:, -1] = own.first.weight[:, -1] * task.radius + task.center[outputs[0]]
    return network.eval()


def _copy(sources: list[Any], targets: list[Any], whitening: Whitening) -> None:
    for source, target in zip(sources, targets, strict=True):
        target.weight.copy_(source.weight)
        target.bias.copy_(source.bias)
    first, d = targets[0], len(whitening.mean)
    first.weight.copy_(first.weight.clamp(-1.0, 1.0))
    first.weight[:, :d] = first.weight[:, :d] @ whitening.matrix
    first.bias.sub_(first.weight[:, :d] @ whitening.mean)
