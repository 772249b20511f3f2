"""Learning rates for paper form: hidden rows of L1 norm 1 have entries of about 1/width; their steps must follow."""

from __future__ import annotations

from typing import Any

from torch import nn

from .activations import Householder
from .linear import LipschitzLinear

__all__ = ["parameter_groups"]

_SHARE = (
    6.0  # full rate up to this fan-in; measured at depth 8, width 64: a tenth of the rate halves the error or better
)


def parameter_groups(model: nn.Module, lr: float) -> list[dict[str, Any]]:
    """Groups for any torch optimiser: hidden rows and reflections of paper form learn at lr * min(1, 6 / fan_in).

    Adam moves every entry by about lr, however small it is. In a row whose entries add up to 1 that is enormous when
    the row is wide, and wider networks would train worse. Convex form needs no such care (its rows are softmaxes).

    Examples:
        >>> import torch
        >>> from monolip.nn import LipschitzMLP
        >>> optimiser = torch.optim.Adam(parameter_groups(LipschitzMLP(3, hidden=(64, 64)), lr=0.01))
        >>> [group["lr"] for group in optimiser.param_groups]
        [0.01, 0.0009375, 0.0009375]
    """
    scaled: list[tuple[nn.Parameter, float]] = []
    for module in model.modules():
        layers = [m for m in module.children() if isinstance(m, LipschitzLinear | Householder)]
        if isinstance(module, nn.ModuleList):
            later = [m for m in layers if isinstance(m, LipschitzLinear)][1:]
            scaled += [(m.weight, _SHARE / m.in_features) for m in later]
            scaled += [(m.directions, _SHARE / m.features) for m in layers if isinstance(m, Householder)]
    small = {id(parameter) for parameter, _ in scaled}
    others = [parameter for parameter in model.parameters() if id(parameter) not in small]
    groups = [{"params": [parameter], "lr": lr * min(1.0, share)} for parameter, share in scaled]
    return [{"params": others, "lr": lr}, *groups]
