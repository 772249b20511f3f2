"""Activations that keep gradient norm: GroupSort (Eq. 12) and Householder (Eq. 13). Each answers `gain(p)`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..errors import StructureError
from ..ordered import check_group_size
from .fixed import FixedOptions
from .normalise import reflect
from .pair_sort import can_sort_pairs, sort_pairs
from .precision import FullPrecision, check_dtype
from .widths import check_widths

__all__ = ["GroupSort", "Householder"]


class GroupSort(FixedOptions):
    r"""Eq. 12: sorts ascending inside consecutive groups of `group_size`; 1-Lipschitz in every Lp.

    Args:
        group_size: units per group (not the number of groups); None sorts the whole vector.

    Shape: (..., n) -> (..., n), n a multiple of group_size.

    Examples:
        >>> GroupSort(2)(torch.tensor([3.0, 1.0, 2.0, 5.0]))
        tensor([1., 3., 2., 5.])
    """

    _fixed = frozenset({"group_size"})

    def __init__(self, group_size: int | None = 2) -> None:
        super().__init__()
        self.group_size = None if group_size is None else check_group_size(group_size, 0)  # every size divides 0

    def gain(self, p: float) -> float:
        """Lipschitz constant from Lp to Lp: sorting permutes, so 1 for every p."""
        return 1.0

    def size_for(self, width: int) -> int:
        return width if self.group_size is None else check_group_size(self.group_size, width)

    def forward(self, x: Tensor) -> Tensor:
        shape = x.shape
        size = self.size_for(shape[-1])
        if size == 1:
            return x
        groups = x.reshape(*shape[:-1], shape[-1] // size, size)
        if size == 2 and _prefers_comparisons(x):
            first, second = groups.unbind(-1)
            return torch.stack((torch.minimum(first, second), torch.maximum(first, second)), -1).view(shape)
        if size == 2 and can_sort_pairs(x):
            return sort_pairs(groups).view(shape)
        return groups.sort(-1).values.view(shape)

    def extra_repr(self) -> str:
        return f"group_size={self.group_size}"


def _prefers_comparisons(x: Tensor) -> bool:
    """Whether min and max beat a sort of pairs: when compiled, on a GPU, or on large inputs without a backward pass.

    With one, `sort_pairs` or a sort is faster: its gradient moves numbers and computes none. On a GPU sorting pairs is
    the slowest part of a network, 3 times slower than min and max.
    """
    return torch.compiler.is_compiling() or x.is_cuda or (x.numel() > 2048 and not x.requires_grad)


class Householder(FixedOptions, FullPrecision):
    r"""Eq. 13: z where z.v > 0, else the reflection z - 2 v (v.z) / (v.v), in groups of `group_size`.

    Its gain is 1 in L2 but up to sqrt(group_size) in L1 and Linf; the layer after it pays for that (see `normalise`),
    so a network with it keeps its bound at any direction. It starts as GroupSort-2 on the first pair of each group.

    Args:
        features: width of the layer.
        group_size: coordinates reflected together.
        learned: whether the directions are trained.
        directions: start values, shape (features // group_size, group_size).

    Examples:
        >>> Householder(4)(torch.tensor([3.0, 1.0, 2.0, 5.0])).detach().round(decimals=5)
        tensor([1., 3., 2., 5.])
    """

    _fixed = frozenset({"features", "group_size"})

    def __init__(
        self,
        features: int,
        group_size: int = 2,
        *,
        learned: bool = True,
        directions: Sequence[Sequence[float]] | Tensor | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        (features,) = check_widths(features)
        group_size = check_group_size(group_size, features)
        if group_size < 2:
            raise StructureError(f"a reflection needs at least 2 coordinates; got group_size={group_size}; use 2.")
        shape = (features // group_size, group_size)
        if directions is None:
            start = torch.zeros(shape, dtype=dtype)
            start[:, 0], start[:, 1] = -math.sqrt(0.5), math.sqrt(0.5)
        else:
            start = torch.as_tensor(directions).detach().clone()
            start = start.to(dtype or (start.dtype if start.is_floating_point() else torch.get_default_dtype()))
            if start.shape != shape or not bool((start.isfinite().all(-1) & (start != 0).any(-1)).all()):
                raise StructureError(
                    f"directions must be finite non-zero vectors, shape {shape}; got shape {tuple(start.shape)}; pass "
                    "one vector per group."
                )
        check_dtype(start.dtype)
        self.features, self.group_size, self.learned = features, group_size, learned
        self.directions = nn.Parameter(start, requires_grad=learned)

    def gain(self, p: float) -> float:
        """Lipschitz constant from Lp to Lp of the present directions: 1 for p = 2, at most sqrt(group_size) else."""
        if p == 2:
            return 1.0
        with torch.no_grad():
            v = self.directions.double()
            unit = v / v.norm(dim=-1, keepdim=True)
            reflection = (
                torch.eye(self.group_size, dtype=v.dtype, device=v.device) - 2 * unit[:, :, None] * unit[:, None]
            )
            return max(1.0, float(reflection.abs().sum(-1).max()))

    def forward(self, x: Tensor) -> Tensor:
        v = self.directions
        check_dtype(v.dtype)
        z = x.to(v.dtype).unflatten(-1, v.shape)
        along, reflected = reflect(z, v)
        return torch.where(along > 0, z, reflected).flatten(-2)

    def extra_repr(self) -> str:
        return f"{self.features}, group_size={self.group_size}, learned={self.learned}"
