"""LipschitzSequential: layers whose norms chain, with the Lipschitz bound computed from them, never passed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import PromiseError, StructureError
from ..norms import Norm, check_chain
from .activations import GroupSort, Householder
from .conv import LipschitzConv2d
from .linear import LipschitzLinear

__all__ = ["LipschitzSequential"]

# Element-wise, or rearranging: 1-Lipschitz in every Lp. (LeakyReLU only with a slope of at most 1.)
_UNIT_GAIN = (nn.ReLU, nn.Tanh, nn.Identity, nn.Hardtanh, nn.Flatten, nn.LeakyReLU)


class LipschitzSequential(nn.Module):
    r"""g = last . ... . first with |g(x) - g(y)|_inf <= lipschitz_bound |x - y|_domain, checked when built.

    Accepts LipschitzLinear, LipschitzConv2d, GroupSort, Householder and element-wise 1-Lipschitz activations of
    torch. Anything else states no Lipschitz constant and is refused.

    Example:
        >>> g = LipschitzSequential(
        ...     LipschitzLinear(3, 8, Norm.L1_TO_LINF, bound=2.0),
        ...     GroupSort(2),
        ...     LipschitzLinear(8, 1, Norm.LINF_TO_LINF),
        ... )
        >>> g.lipschitz_bound, g.domain
        (2.0, 1.0)
    """

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        constrained = list(self.constrained_layers())
        if not constrained or not isinstance(layers[0], LipschitzLinear | LipschitzConv2d):
            raise StructureError("a Lipschitz network starts with a constrained layer; got none; add LipschitzLinear.")
        check_chain([layer.norm for layer in constrained])
        for before, layer in pairwise(layers):
            if isinstance(layer, LipschitzLinear):
                layer.follow(before)
            elif isinstance(before, Householder):
                raise PromiseError(
                    f"the gain of Householder is paid by the LipschitzLinear after it; got {type(layer).__name__}; put "
                    "a LipschitzLinear there, or use GroupSort."
                )
        if isinstance(layers[-1], Householder):
            raise PromiseError("the gain of Householder is paid by the layer after it; got none; end with a layer.")

    def constrained_layers(self) -> Iterator[LipschitzLinear | LipschitzConv2d]:
        """The layers that carry a norm; raises for a layer that states no Lipschitz constant."""
        for layer in self.layers:
            if isinstance(layer, LipschitzLinear | LipschitzConv2d):
                yield layer
            elif not _has_unit_gain(layer):
                raise PromiseError(
                    f"every layer must state a Lipschitz constant; {type(layer).__name__} does not; use "
                    "LipschitzLinear, LipschitzConv2d, GroupSort, Householder or an element-wise activation of torch."
                )

    @property
    def lipschitz_bound(self) -> float:
        """Product of the layers' bounds (gains of Householder are paid inside the next layer)."""
        return math.prod(layer.bound for layer in self.constrained_layers())

    @property
    def domain(self) -> float:
        """p of the input norm."""
        return next(iter(self.constrained_layers())).norm.domain

    @property
    def norms(self) -> tuple[Norm, ...]:
        return tuple(layer.norm for layer in self.constrained_layers())

    @property
    def in_features(self) -> int:
        return int(next(iter(self.constrained_layers())).weight.shape[1])

    @property
    def out_features(self) -> int:
        return int(list(self.constrained_layers())[-1].weight.shape[0])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

    def freeze(self) -> Any:
        """An immutable FrozenNetwork of the present weights, in float64, its promise proved exactly."""
        from .freeze import freeze_lipschitz

        return freeze_lipschitz(self)

    @torch.no_grad()
    def wire_lattice(self, x: Tensor) -> None:
        """See `init.lattice_`."""
        from .lattice import wire_paper

        wire_paper(self, x)


def _has_unit_gain(layer: nn.Module) -> bool:
    if type(layer) is nn.LeakyReLU:
        return abs(layer.negative_slope) <= 1
    return type(layer) in (GroupSort, Householder, *_UNIT_GAIN)  # a subclass may do anything
