"""The reference package (monotonicnetworks 1.5.1), built as its paper describes: (1,inf)-then-inf, GroupSort-2."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

__all__ = ["reference_network"]


def reference_network(widths: Sequence[int], bound: float = 1.0) -> nn.Module:
    """g with a share bound^(1/D) per layer; `GroupSort` there takes the number of groups."""
    from monotonicnetworks import GroupSort, LipschitzLinear

    depth = len(widths) - 1
    layers: list[nn.Module] = []
    for k, (before, after) in enumerate(pairwise(widths)):
        if k:
            layers.append(GroupSort(before // 2))
        kind = "inf" if k else "one-inf"
        layers.append(LipschitzLinear(before, after, kind=kind, lipschitz_const=bound ** (1.0 / depth)))
    return nn.Sequential(*layers)
