r"""Initialisation on the edge of the constraint: gradients that neither vanish nor explode, at any depth.

The usual random rows, divided by their norm, average away what they carry: mean |dg/dx| falls to 1e-2, 1e-4, 1e-8,
1e-16 of the bound at depths 2, 4, 8, 16. Here every later row starts close to a signed unit vector (a share `spread`
is spread at random), so that units are passed on, not averaged, and the product of norms starts at the bound.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from ..norms import Norm

__all__ = ["hinge_", "lattice_", "mixing_logits_", "saturating_", "spread_for_depth"]


def spread_for_depth(n_later_layers: int) -> float:
    """The share of each row that is spread, such that about half of the slope survives all later layers.

    >>> round(spread_for_depth(1), 3), round(spread_for_depth(15), 3)
    (0.5, 0.045)
    """
    return 1.0 - 0.5 ** (1.0 / max(1, n_later_layers))


@torch.no_grad()
def saturating_(weight: Tensor, norm: Norm, bound: float, spread: float = 0.0) -> Tensor:
    """Fill a weight whose norm is `bound`: entries for L1 -> Linf, near-permutations for the other norms."""
    if norm is Norm.L1_TO_LINF:
        return weight.uniform_(-bound, bound)
    if norm is Norm.L1_TO_L1:
        weight.copy_(_near_permutation(weight.shape[1], weight.shape[0], spread).T.to(weight))
    else:
        weight.copy_(_near_permutation(weight.shape[0], weight.shape[1], spread).to(weight))
        if norm is Norm.L2_TO_LINF:
            weight.div_(weight.norm(dim=1, keepdim=True))
    return weight.mul_(bound)


def _near_permutation(rows: int, columns: int, spread: float) -> Tensor:
    """Rows of L1 norm 1: a signed unit vector, a different one per row as far as there are, plus a spread share."""
    chosen = torch.cat([torch.randperm(columns) for _ in range(math.ceil(rows / columns))])[:rows]
    noise = torch.empty(rows, columns).uniform_(-1.0, 1.0)
    matrix = spread * noise / noise.abs().sum(1, keepdim=True).clamp(min=1e-12)
    sign = torch.randint(0, 2, (rows,)).float() * 2 - 1
    index = torch.arange(rows)
    matrix[index, chosen] = 0.0
    matrix[index, chosen] = sign * (1.0 - matrix.abs().sum(1))
    return matrix


@torch.no_grad()
def mixing_logits_(logits: Tensor, spread: float) -> Tensor:
    """Logits of mixing rows close to unit vectors: softmax gives 1 - spread to one unit, the rest shares `spread`."""
    rows, columns = logits.shape
    if columns == 1:
        return logits.zero_()
    chosen = torch.cat([torch.randperm(columns) for _ in range(math.ceil(rows / columns))])[:rows]
    logits.copy_(torch.empty(rows, columns).uniform_(-0.5, 0.5).to(logits))
    share = min(max(spread, 1e-3), 1.0 - 1.0 / columns)
    logits[torch.arange(rows), chosen] = math.log((1.0 - share) / (share / (columns - 1)))
    return logits


@torch.no_grad()
def hinge_(first: Any, x: Tensor, group_size: int, shuffle: bool = True) -> None:
    """Biases such that the units of each sort group meet at a row of x: kinks where the data are.

    Args:
        first: a first layer (with `effective_weight` and `bias`).
        x: rows of inputs, as the layer sees them.
    """
    n_groups = first.bias.numel() // group_size
    rows = torch.randperm(len(x))[:n_groups] if shuffle else torch.linspace(0, len(x) - 1, n_groups).round().long()
    rows = rows.repeat(math.ceil(n_groups / len(rows)))[:n_groups].repeat_interleave(group_size)
    weight = first.effective_weight
    first.bias.copy_(-(weight * x.to(weight)[rows.to(x.device)]).sum(1))


@torch.no_grad()
def lattice_(model: nn.Module, x: Tensor, *, minima: int = 1, spread: float = 1e-6) -> None:
    """Wire a ConvexMLP, LipschitzMLP or SlopeBounded as a lattice: minima of groups, then maxima, at rows of x.

    Theorem 3 builds every function as a max of minima; this starts training from such a tree, whose pieces sit where
    the data are. Useful for functions with many kinks at the full slope; ordinary data do not need it.

    Args:
        x: inputs, shape (n, n_features).
        minima: how many of the first hidden layers take minima; 0 starts from a maximum of affine functions.
        spread: what a mixing row leaves to the units it was not wired to, so that training can still find them.
    """
    model.wire_lattice(x, minima, spread)  # type: ignore[operator]  # each network knows its own layers
