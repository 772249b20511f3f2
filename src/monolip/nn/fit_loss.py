"""One module from rows and targets to the mean loss: what is compiled, recorded and wrapped for data parallelism.

In training, and nowhere else, matrix products may run in bfloat16: the effective weights are computed in float32 and
only then rounded, gradients reach float32 parameters, and what is frozen are the float32 parameters in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import InputError, PrecisionError
from .activations import GroupSort
from .convex_mlp import ConvexMLP
from .convex_trunk import ConvexTrunk
from .fit_plan import FitPlan

__all__ = ["MeanLoss", "as_target"]


class MeanLoss(nn.Module):
    """(rows, targets) -> the mean of the plan's loss, in the plan's precision.

    Example:
        >>> from monolip import SlopeBounds
        >>> f = ConvexMLP(SlopeBounds([0.0], [1.0]), hidden=(4,))
        >>> loss = MeanLoss(f, FitPlan())(torch.ones(3, 1), torch.zeros(3, 1))
        >>> torch.allclose(loss, f(torch.ones(1, 1)).square())
        True
    """

    def __init__(self, model: nn.Module, plan: FitPlan) -> None:
        super().__init__()
        if plan.precision == "bf16" and type(model) is not ConvexMLP:
            raise PrecisionError(
                f"bf16 training knows the layers of a ConvexMLP; got {type(model).__name__}; use precision='tf32'."
            )
        self.model, self.plan = model, plan
        device = next(model.parameters()).device.type
        self._narrow = plan.precision == "bf16" and device == "cuda"  # a CPU computes in the network's own type

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        f = narrow_forward(self.model, x) if self._narrow else self.model(x)
        if self.plan.loss == "squared":
            return functional.mse_loss(f, y)
        if self.plan.loss == "logistic":
            return functional.binary_cross_entropy_with_logits(f, y)
        return functional.cross_entropy(f, y)


def narrow_forward(model: Any, x: Tensor) -> Tensor:
    """ConvexMLP.forward with bfloat16 products of float32 effective weights; the last layer of a trunk in float32."""
    model._check()
    parts = [_narrow_trunk(trunk, x) * model.factors(k) for k, trunk in enumerate(model.trunks)]
    joined = parts[0] if len(parts) == 1 else torch.cat(parts, -1)
    return joined if model._order is None else joined[..., model._order]


def _narrow_trunk(trunk: ConvexTrunk, x: Tensor) -> Tensor:
    layers = trunk.check()
    z = x.bfloat16()
    for layer in layers[:-1]:
        if isinstance(layer, GroupSort):
            z = layer(z)
        else:
            z = functional.linear(z, layer.effective_weight.bfloat16(), layer.bias.bfloat16())
    last = layers[-1]
    return functional.linear(z.to(last.weight.dtype), last.effective_weight, last.bias)


def as_target(y: Any, plan: FitPlan, n_outputs: int, like: Tensor) -> Tensor:
    """Targets in the shape and type the loss takes: (n, outputs) floats, or (n,) class numbers."""
    target = y if isinstance(y, Tensor) else torch.as_tensor(np.require(y, requirements=["C", "W"]))
    if plan.loss == "cross-entropy":
        if target.dim() != 1 or target.is_floating_point() or bool(((target < 0) | (target >= n_outputs)).any()):
            raise InputError(
                f"cross-entropy takes one class number a row, 0 to {n_outputs - 1} as the network has outputs; got "
                f"{target.dtype} of shape {tuple(target.shape)}; number the classes as integers from 0."
            )
        return target.long()
    target = target.to(like.dtype)
    target = target[:, None] if target.dim() == 1 else target
    if target.dim() != 2 or target.shape[1] != n_outputs:
        raise InputError(
            f"targets are numbers, one a row and output ({n_outputs} outputs); got shape {tuple(target.shape)}; give "
            "the network as many outputs, or choose among the targets."
        )
    if not bool(target.isfinite().all()):
        raise InputError(
            f"targets are finite numbers; got NaN or infinity in {int((~target.isfinite()).any(1).sum())} of "
            f"{len(target)} rows; remove rows without a target."
        )
    if plan.loss == "logistic" and not bool(((target >= 0) & (target <= 1)).all()):
        raise InputError("logistic targets lie between 0 and 1; got others; encode the two classes as 0 and 1.")
    return target
