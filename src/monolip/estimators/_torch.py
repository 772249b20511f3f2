"""Members of a fitted estimator as torch modules, and back: for fine-tuning, with the promise intact all the way.

torch is imported when one of these is called, never before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from monolip.convex import ConvexForm
from monolip.errors import FreezeError
from monolip.frozen import FrozenNetwork, Member

__all__ = ["from_modules", "to_modules"]

_SMALLEST = 1e-30  # a mixing weight of 0 has no logarithm; this one is as good and can still grow


def to_modules(network: FrozenNetwork) -> Any:
    """An nn.ModuleList of ConvexMLP in float64, one per member; f is their mean (weighted by member_weights)."""
    from torch import nn

    return nn.ModuleList([_module(network, member) for member in network.members])


def from_modules(network: FrozenNetwork, modules: Sequence[Any]) -> FrozenNetwork:
    """The network with other members: each frozen in float64, its promise proved again."""
    members = []
    if not isinstance(modules, Iterable):
        raise FreezeError(
            "members come as the list of modules that to_torch() gives, one a member; got one "
            f"{type(modules).__name__}; pass [module], or the whole list."
        )
    for module in modules:
        if getattr(module, "slopes", None) != network.bounds:
            raise FreezeError(
                "a module must keep the promise of the estimator it joins; got another promise; start from to_torch()."
            )
        members.append(module.freeze().members[0])
    return replace(network, members=tuple(members), member_weights=None)


def _module(network: FrozenNetwork, member: Member) -> Any:
    import torch

    from monolip.nn import ConvexMLP

    forms = [trunk.form for trunk in member]
    first = forms[0]
    assert all(isinstance(form, ConvexForm) for form in forms), "estimators train convex form"
    assert isinstance(first, ConvexForm)
    hidden = tuple(len(bias) for bias in first.biases[:-1])
    size = first.group_sizes[0] if first.group_sizes else 2
    module = ConvexMLP(network.bounds, network.n_outputs, hidden, group_size=size, dtype=torch.float64)
    by_outputs = {trunk.outputs: trunk.form for trunk in member}
    if {tuple(outputs) for outputs in module.outputs} != set(by_outputs):
        raise FreezeError("outputs that share intervals must share a trunk; this network's do not; fit it again.")
    with torch.no_grad():
        for outputs, trunk in zip(module.outputs, module.trunks, strict=True):
            form = by_outputs[tuple(outputs)]
            mixing: Any = trunk.mixing
            layers: list[Any] = [trunk.first, *mixing]
            for k, (layer, weight, bias) in enumerate(zip(layers, form.weights, form.biases, strict=True)):
                logits = weight if k == 0 else np.log(np.maximum(weight, _SMALLEST)) / layer.SHARPNESS
                layer.weight.copy_(torch.tensor(logits))
                layer.bias.copy_(torch.tensor(bias))
    return module
