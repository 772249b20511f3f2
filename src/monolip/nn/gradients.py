"""Gradients at a saturated constraint: free to move inwards, blocked outwards.

The exact gradient of a cap is zero (or tangent) once it saturates, so a weight that overshot can never come back
(trap 13). The straight-through gradients here drop only the part of a descent step that points further out.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

__all__ = ["clip", "one_sided", "project"]


class _OneSided(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(factor: Tensor) -> Tensor:
        return factor.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0].clamp(max=0.0)


def one_sided(factor: Tensor) -> Tensor:
    """The shrinking factor c of w' = c(w) w; its gradient passes only where descent would push w further out.

    dL/dc = g.w: negative means that the step -g would lengthen w. Then the exact (tangent) gradient is right. Else
    the step shortens w, and c may be treated as a constant: the weight moves inwards freely.
    """
    return _call(_OneSided.apply, factor)


class _Clip(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(w: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
        return torch.minimum(torch.maximum(w, lower), upper)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        w, lower, upper = ctx.saved_tensors
        outwards = ((w >= upper) & (grads[0] < 0)) | ((w <= lower) & (grads[0] > 0))
        return grads[0].masked_fill(outwards, 0.0), None, None


def clip(w: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """w clipped to [lower, upper]; the gradient is zero only where a descent step would leave the interval."""
    return _call(_Clip.apply, w, lower, upper)


class _Project(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(w: Tensor, projected: Tensor) -> Tensor:
        return projected.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        w, projected = ctx.saved_tensors
        grad, normal = grads[0], w - projected
        along = (grad * normal).sum(-1, keepdim=True).clamp(max=0.0)
        return grad - along / (normal * normal).sum(-1, keepdim=True).clamp(min=1e-30) * normal, None


def project(w: Tensor, projected: Tensor) -> Tensor:
    """`projected` (the nearest feasible rows to w); the gradient loses, per row, only its outward normal part."""
    return _call(_Project.apply, w, projected.detach())


def _call(function: Any, *args: Tensor) -> Tensor:
    result: Tensor = function(*args)
    return result
