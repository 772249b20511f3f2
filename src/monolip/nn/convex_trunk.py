"""ConvexTrunk: one chain of convex form, checked at every call to be nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import StructureError
from ..slope_set import SlopeSet
from . import init
from .activations import GroupSort
from .convex_layers import MixingLinear, SlopeLinear, describe
from .fixed import FixedOptions

__all__ = ["ConvexTrunk"]


class ConvexTrunk(FixedOptions):
    """first layer -> (GroupSort -> mixing layer)*: gradients are convex combinations of first-layer rows."""

    _fixed = frozenset({"promise"})

    def __init__(
        self, promise: SlopeSet, out_features: int, hidden: Sequence[int], group_size: int | None, **first: Any
    ) -> None:
        super().__init__()
        widths = (*hidden, out_features)
        dtype = first.get("dtype")
        layers: list[nn.Module] = [SlopeLinear(promise, widths[0], **first)]
        for before, after in pairwise(widths):
            GroupSort(group_size).size_for(before)
            layers += [GroupSort(group_size), MixingLinear(before, after, dtype=dtype)]
        self.promise = promise
        self.layers = nn.ModuleList(layers)
        self._checked: tuple[Any, ...] = ()
        self.reset_parameters()

    def keeps(self, promise: SlopeSet) -> bool:
        """Whether this trunk was built for that promise."""
        return describe(self.promise) == describe(promise)

    def check(self) -> tuple[Any, ...]:
        """The layers, refused if they are not this form; `forward` asks again, since `layers` can be changed."""
        layers = tuple(self.layers._modules.values())
        facts = (layers, tuple(map(type, layers)))  # types too: parametrising a layer changes its class
        if facts == self._checked:
            return layers
        found = list(facts[1])
        if found != [SlopeLinear, *[GroupSort, MixingLinear] * (len(found) // 2)]:
            names = ", ".join(kind.__name__ for kind in found)
            raise StructureError(
                "convex form is SlopeLinear, then GroupSort and MixingLinear in turn, none of them subclassed; got "
                f"{names or 'no layer'}; build a ConvexMLP with the layers you want."
            )
        first = self.layers[0]
        assert isinstance(first, SlopeLinear)
        if describe(first.promise) != describe(self.promise):
            raise StructureError(
                "the first layer must keep the promise of its network; got one with another promise; build a new "
                "ConvexMLP."
            )
        self._checked = facts
        return layers

    @property
    def first(self) -> SlopeLinear:
        self.check()
        layer = self.layers[0]
        assert isinstance(layer, SlopeLinear)
        return layer

    @property
    def mixing(self) -> list[MixingLinear]:
        self.check()
        return [layer for layer in self.layers if isinstance(layer, MixingLinear)]

    @property
    def group_sizes(self) -> tuple[int, ...]:
        sorts = [layer for layer in self.layers if isinstance(layer, GroupSort)]
        widths = [self.first.weight.shape[0], *[layer.weight.shape[0] for layer in self.mixing]]
        return tuple(sort.size_for(width) for sort, width in zip(sorts, widths, strict=False))

    def reset_parameters(self) -> None:
        self.first.reset_parameters()
        for layer in self.mixing:
            layer.reset_parameters(init.spread_for_depth(len(self.mixing)))
        if self.mixing:
            points = torch.randn_like(self.first.weight)
            init.hinge_(self.first, points, self.group_sizes[0])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.check():
            x = layer(x)
        return x
