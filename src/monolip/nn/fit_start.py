"""The network a fit starts from: what it must have to be trained, and one that is the same for every process."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from ..errors import InputError
from ..slope_set import SlopeSet
from ..slopes import SlopeBounds
from .convex_mlp import ConvexMLP

__all__ = ["require_trainable", "start_network"]


def start_network(
    slopes: SlopeBounds | SlopeSet, out_features: int = 1, hidden: Sequence[int] = (32, 32), *, seed: int = 0
) -> ConvexMLP:
    """A ConvexMLP that is the same for the same seed, on every machine with the same torch.

    Drawn apart from the caller's random numbers, which are left alone.

    Example:
        >>> a, b = (start_network(SlopeBounds([0.0], [1.0]), hidden=(8,), seed=3) for _ in range(2))
        >>> torch.equal(a.trunks[0].first.weight, b.trunks[0].first.weight)
        True
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ConvexMLP(slopes, out_features, hidden)


def require_trainable(model: nn.Module) -> None:
    """It can be frozen, something in it can be trained, and all of it is of one dtype: torch tells this in the middle.

    Example:
        >>> require_trainable(start_network(SlopeBounds([0.0], [1.0]), hidden=(8,)))
    """
    kind, parameters = type(model).__name__, dict(model.named_parameters())
    if not hasattr(model, "freeze"):
        raise InputError(f"fit trains networks that can be frozen; got {kind}; use monolip.nn.ConvexMLP.")
    if not any(parameter.requires_grad for parameter in parameters.values()):
        have = f"{len(parameters)} parameters, none with requires_grad" if parameters else "no parameters"
        raise InputError(
            f"fit trains the parameters of a network; got {kind} with {have}; call model.requires_grad_(True), or "
            "model.freeze() where nothing is to be trained."
        )
    first = {parameter.dtype: name for name, parameter in reversed(parameters.items())}
    if len(first) > 1:
        shown = ", ".join(f"{str(dtype).removeprefix('torch.')} ({name})" for dtype, name in reversed(first.items()))
        raise InputError(
            f"the parameters of a network that is fitted have one dtype; got {shown} in {kind}; call model.float() or "
            "model.double()."
        )
