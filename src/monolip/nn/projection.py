"""Projection after each optimiser step (Gouk et al., Algorithm 2): stored weights are feasible between steps.

Layers built with `enforce="step"` register here. One hook, which every torch optimiser calls at the end of `step()`,
projects the registered weights in place, the last step included; `state_dict()` does so too, for loops that write
weights by hand. So `weight` is feasible once `optimizer.step()` has returned. It need not be while a step is under
way: a closure (LBFGS) and an optimiser's own step hooks run before the projection. There, as everywhere, the forward
pass and `effective_weight` are feasible, projected or not.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

__all__ = ["project_", "watch"]

_WATCHED: WeakKeyDictionary[Any, None] = WeakKeyDictionary()
_hook: Any = None


def watch(layer: nn.Module) -> None:
    """Project `layer` after every optimiser step that touches a parameter its effective weight depends on."""
    global _hook
    if _hook is None:
        _hook = register_optimizer_step_post_hook(_after_step)
    _WATCHED[layer] = None


@torch.no_grad()
def project_(module: nn.Module) -> None:
    """Write the effective weight over the stored weight of every `enforce="step"` layer inside `module`.

    Call it after changing weights by hand; optimisers are followed automatically.
    """
    for layer in module.modules():
        if layer in _WATCHED:
            _project_layer(layer)


def _project_layer(layer: Any) -> None:
    feasible = layer.constrain(layer.weight)
    if not torch.equal(feasible, layer.weight):  # a write would invalidate a graph that waits for its backward pass
        layer.weight.copy_(feasible)


@torch.no_grad()
def _after_step(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    stepped = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    for layer in list(_WATCHED):
        if any(id(source) in stepped for source in layer.sources()):
            _project_layer(layer)
