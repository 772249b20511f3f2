r"""Every normalisation of section 3.2 in torch, with gradients; `monolip.norms.normalise` is its numpy reference."""

from __future__ import annotations

import torch
from torch import Tensor

from ..norms import Norm, Rule
from . import gradients

__all__ = ["normalise", "project_l1_ball", "reflect", "sizes"]


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
        return _projected(weight, norm, bound, straight_through)
    size = sizes(weight, norm, directions)
    if not per_vector:
        size = size.amax().reshape(1, 1)
    if rule is Rule.ALWAYS:
        return _on_the_boundary(weight, size, bound, straight_through and norm is Norm.L1_TO_LINF and per_vector)
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
    scale = _largest(weight)  # squares of entries near 1e-23 vanish in float32, those near 1e20 overflow
    return scale * torch.linalg.vector_norm(weight / scale, dim=1, keepdim=True)


def _sizes_after_reflection(weight: Tensor, norm: Norm, directions: Tensor) -> Tensor:
    r"""Each group g of inputs arrives passed or reflected, so a row w acts as w_g or as w_g R_g.

    Linf -> Linf: sum over groups of max(|w_g|_1, |w_g R_g|_1). The two L1 norms: the larger over both, per group.
    """
    groups = weight.reshape(weight.shape[0], *directions.shape)
    both = torch.stack([groups, reflect(groups, directions)[1]]).abs()
    if norm is Norm.LINF_TO_LINF:
        return both.sum(-1).amax(0).sum(-1, keepdim=True)
    if norm is Norm.L1_TO_L1:
        largest = both.sum(1).amax(0).amax(-1, keepdim=True)
        return largest.expand(directions.shape).reshape(1, -1)
    return both.amax(0).amax(-1, keepdim=True).expand(groups.shape).reshape(weight.shape)


def reflect(z: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """v.z per group and the reflection z - 2 v (v.z) / (v.v), Eq. 13; a direction of zero reflects nothing.

    Directions are divided by their largest entry first: the same reflections, and no square overflows or vanishes.
    """
    v = directions / _largest(directions)
    along = (z * v).sum(-1, keepdim=True)
    return along, z - 2.0 * along / v.square().sum(-1, keepdim=True).clamp(min=1.0) * v


def _largest(vectors: Tensor) -> Tensor:
    """The largest magnitude in each row, as a constant; 1 for a row of zeros."""
    size = vectors.detach().abs().amax(-1, keepdim=True)
    return torch.where(size > 0, size, torch.ones_like(size))


def _on_the_boundary(weight: Tensor, size: Tensor, bound: float, entries: bool) -> Tensor:
    """b W / |W|; where vectors are single `entries`, b sign(W) has no gradient, so the one-sided one is used.

    A vector too short to have digits (below 1e-31 in float32) counts as that short: it stays inside the boundary.
    """
    kind = torch.finfo(size.dtype)
    size = size.clamp(min=kind.tiny / kind.eps * max(1.0, bound))
    return weight * gradients.one_sided(bound / size) if entries else weight / size * bound


def _projected(weight: Tensor, norm: Norm, bound: float, straight_through: bool) -> Tensor:
    """Rule.PROJECT; the normal along which a straight-through gradient is cut is an entry's, a column's or a row's."""
    if norm is Norm.L1_TO_LINF:
        limit = torch.full_like(weight, bound)
        return gradients.clip(weight, -limit, limit) if straight_through else weight.clamp(-bound, bound)
    vectors = weight.T if norm is Norm.L1_TO_L1 else weight
    if norm is Norm.L2_TO_LINF:
        projected = weight * (bound / sizes(weight, norm).clamp(min=bound))
    else:
        projected = project_l1_ball(vectors, bound)
    result = gradients.project(vectors, projected) if straight_through else projected
    return result.T if norm is Norm.L1_TO_L1 else result


def project_l1_ball(rows: Tensor, bound: float = 1.0) -> Tensor:
    """The nearest point of {v: sum |v| <= bound} to each row (sort and threshold)."""
    magnitude = rows.abs()
    ordered = magnitude.sort(dim=-1, descending=True).values
    count = torch.arange(1, rows.shape[-1] + 1, dtype=rows.dtype, device=rows.device)
    thresholds = (ordered.cumsum(-1) - bound) / count
    active = (ordered > thresholds).sum(-1, keepdim=True).clamp(min=1)
    t = thresholds.gather(-1, active - 1)
    inside = magnitude.sum(-1, keepdim=True) <= bound
    nearest = torch.where(inside, rows, rows.sign() * (magnitude - t).clamp(min=0.0))
    # |v| - t cancels where rows are long, so the sum may miss the bound by far more than an ulp: scale it back
    return nearest * (bound / nearest.detach().abs().sum(-1, keepdim=True).clamp(min=bound))
