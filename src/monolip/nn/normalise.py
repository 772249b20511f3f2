r"""Every normalisation of section 3.2 in torch, with gradients; `monolip.norms.normalise` is its numpy reference."""

from __future__ import annotations

import torch
from torch import Tensor

from ..norms import Norm, Rule
from . import gradients

__all__ = ["normalise", "project_l1_ball", "sizes"]


def normalise(
    weight: Tensor,
    norm: Norm,
    bound: float = 1.0,
    *,
    rule: Rule = Rule.CAP,
    per_vector: bool = True,
    straight_through: bool = True,
    directions: Tensor | None = None,
) -> Tensor:
    r"""A feasible weight, |W'| <= bound (Eq. 9-11), through which gradients flow.

    Args:
        weight: (out, in).
        directions: of a Householder activation before this layer, shape (n_groups, group_size): the norm then counts
            both the passed and the reflected group, so that layer and activation together keep the bound.
        straight_through: see `gradients`; False gives the exact gradient.
    """
    if rule is Rule.PROJECT:
        projected = _projected(weight, norm, bound)
        return gradients.project(weight, projected) if straight_through else projected
    size = sizes(weight, norm, directions)
    if not per_vector:
        size = size.amax().reshape(1, 1)
    if rule is Rule.ALWAYS:
        return weight * (bound / torch.where(size > 0, size, torch.ones_like(size)))
    if rule is Rule.CAP:
        factor = bound / size.clamp(min=bound)
    else:
        factor = bound / size.clamp(min=1.0)
    return weight * (gradients.one_sided(factor) if straight_through else factor)


def sizes(weight: Tensor, norm: Norm, directions: Tensor | None = None) -> Tensor:
    """The norm of each constrained vector, shaped to divide the matrix: columns, entries or rows."""
    if directions is not None and norm is not Norm.L2_TO_LINF:
        return _sizes_after_reflection(weight, norm, directions)
    if norm is Norm.L1_TO_L1:
        return weight.abs().sum(0, keepdim=True)
    if norm is Norm.L1_TO_LINF:
        return weight.abs()
    if norm is Norm.LINF_TO_LINF:
        return weight.abs().sum(1, keepdim=True)
    return weight.square().sum(1, keepdim=True).sqrt()


def _sizes_after_reflection(weight: Tensor, norm: Norm, directions: Tensor) -> Tensor:
    r"""Each group g of inputs arrives passed or reflected, so a row w acts as w_g or as w_g R_g.

    Linf -> Linf: sum over groups of max(|w_g|_1, |w_g R_g|_1). The two L1 norms: the larger over both, per group.
    """
    groups = weight.reshape(weight.shape[0], *directions.shape)
    along = (groups * directions).sum(-1, keepdim=True) / directions.square().sum(-1, keepdim=True)
    both = torch.stack([groups, groups - 2.0 * along * directions]).abs()
    if norm is Norm.LINF_TO_LINF:
        return both.sum(-1).amax(0).sum(-1, keepdim=True)
    if norm is Norm.L1_TO_L1:
        largest = both.sum(1).amax(0).amax(-1, keepdim=True)
        return largest.expand(directions.shape).reshape(1, -1)
    return both.amax(0).amax(-1, keepdim=True).expand(groups.shape).reshape(weight.shape)


def _projected(weight: Tensor, norm: Norm, bound: float) -> Tensor:
    if norm is Norm.L1_TO_LINF:
        return weight.clamp(-bound, bound)
    if norm is Norm.L2_TO_LINF:
        return weight * (bound / sizes(weight, norm).clamp(min=bound))
    if norm is Norm.L1_TO_L1:
        return project_l1_ball(weight.T, bound).T
    return project_l1_ball(weight, bound)


def project_l1_ball(rows: Tensor, bound: float = 1.0) -> Tensor:
    """The nearest point of {v: sum |v| <= bound} to each row (sort and threshold)."""
    magnitude = rows.abs()
    ordered = magnitude.sort(dim=-1, descending=True).values
    count = torch.arange(1, rows.shape[-1] + 1, dtype=rows.dtype, device=rows.device)
    thresholds = (ordered.cumsum(-1) - bound) / count
    active = (ordered > thresholds).sum(-1, keepdim=True).clamp(min=1)
    t = thresholds.gather(-1, active - 1)
    inside = magnitude.sum(-1, keepdim=True) <= bound
    return torch.where(inside, rows, rows.sign() * (magnitude - t).clamp(min=0.0))
