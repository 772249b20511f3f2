"""The network every process of a fit starts from: drawn from a seed, the caller's random numbers left alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..slope_set import SlopeSet
from ..slopes import SlopeBounds
from .convex_mlp import ConvexMLP

__all__ = ["start_network"]


def start_network(
    slopes: SlopeBounds | SlopeSet, out_features: int = 1, hidden: Sequence[int] = (32, 32), *, seed: int = 0
) -> ConvexMLP:
    """A ConvexMLP that is the same for the same seed, on every machine with the same torch.

    Example:
        >>> a, b = (start_network(SlopeBounds([0.0], [1.0]), hidden=(8,), seed=3) for _ in range(2))
        >>> torch.equal(a.trunks[0].first.weight, b.trunks[0].first.weight)
        True
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ConvexMLP(slopes, out_features, hidden)
