"""LipschitzSequential: layers whose norms chain, with the Lipschitz bound computed from them, never passed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from ..errors import PromiseError, StructureError
from ..norms import Norm, check_chain
from .activations import GroupSort, Householder
from .constrained import PromiseRecord
from .conv import LipschitzConv2d
from .linear import LipschitzLinear

__all__ = ["LipschitzSequential"]

# Element-wise, or rearranging: 1-Lipschitz in every Lp. So is LeakyReLU, with a slope of at most 1.
_UNIT_GAIN = (nn.ReLU, nn.Tanh, nn.Identity, nn.Hardtanh, nn.Flatten)


class LipschitzSequential(PromiseRecord):
    r"""g = last . ... . first with |g(x) - g(y)|_inf <= lipschitz_bound |x - y|_domain, checked when built.

    Accepts LipschitzLinear, LipschitzConv2d, GroupSort, Householder and element-wise 1-Lipschitz activations of
    torch. Anything else states no Lipschitz constant and is refused.

    Examples:
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
        self._checked: tuple[tuple[Any, ...], ...] = ()
        self._product = 1.0
        self._check()

    def _check(self) -> None:
        """Refuse layers that do not compose; `forward` asks again, since `layers` can be changed after construction."""
        if self._checked and _facts(self.layers) == self._checked:
            return
        layers = tuple(self.layers)
        constrained = [layer for layer in layers if _is_constrained(layer)]
        if not constrained or layers[0] is not constrained[0]:
            raise StructureError("a Lipschitz network starts with a constrained layer; got none; add LipschitzLinear.")
        check_chain([layer.norm for layer in constrained])
        paid: dict[nn.Module, nn.Module] = {}
        for before, layer in pairwise(layers):
            if isinstance(layer, LipschitzLinear):
                if isinstance(before, Householder) and paid.setdefault(layer, before) is not before:
                    raise StructureError(
                        "a layer pays for the gain of one Householder activation; this one follows two of them; give "
                        "each its own LipschitzLinear."
                    )
                layer.follow(before)
            elif isinstance(before, Householder):
                raise PromiseError(
                    f"the gain of Householder is paid by the LipschitzLinear after it; got {type(layer).__name__}; put "
                    "a LipschitzLinear there, or use GroupSort."
                )
        if isinstance(layers[-1], Householder):
            raise PromiseError("the gain of Householder is paid by the layer after it; got none; end with a layer.")
        self._product = math.prod([layer.bound for layer in constrained])  # a layer's bound is fixed: no later change
        self._checked = _facts(layers)

    def constrained_layers(self) -> Iterator[LipschitzLinear | LipschitzConv2d]:
        """The layers that carry a norm."""
        self._check()
        return (layer for layer in self.layers if isinstance(layer, LipschitzLinear | LipschitzConv2d))

    @property
    def input_scale(self) -> float:
        """What inputs are multiplied by before the first layer."""
        return 1.0

    @property
    def lipschitz_bound(self) -> float:
        """Input scale times the product of the layers' bounds (the next layer pays for the gain of a Householder)."""
        self._check()
        return self.input_scale * self._product

    @property
    def domain(self) -> float:
        """p of the input norm."""
        return next(self.constrained_layers()).norm.domain

    @property
    def norms(self) -> tuple[Norm, ...]:
        return tuple(layer.norm for layer in self.constrained_layers())

    @property
    def in_features(self) -> int:
        return int(next(self.constrained_layers()).weight.shape[1])

    @property
    def out_features(self) -> int:
        return int(list(self.constrained_layers())[-1].weight.shape[0])

    def forward(self, x: Tensor) -> Tensor:
        self._check()
        for layer in self.layers:
            x = layer(x)
        return x

    def freeze(self) -> Any:
        """An immutable FrozenNetwork of the present weights, in float64, its promise proved exactly."""
        from .freeze import freeze_lipschitz

        return freeze_lipschitz(self)

    def promise_record(self) -> dict[str, Any]:
        others = [layer for layer in self.layers if not _is_constrained(layer)]
        return {"norms": [norm.name for norm in self.norms], "activations": [_describe(layer) for layer in others]}

    @torch.no_grad()
    def wire_lattice(self, x: Tensor, minima: int, spread: float) -> None:
        """See `init.lattice_`."""
        from .lattice import wire_paper

        wire_paper(self, x, minima)


def _facts(layers: Iterable[nn.Module]) -> tuple[tuple[Any, ...], ...]:
    """What the check depends on and torch lets people change: the layers, their classes, slopes and reflections."""
    return tuple((layer, type(layer), _changeable(layer)) for layer in layers)


def _changeable(layer: nn.Module) -> Any:
    if isinstance(layer, LipschitzLinear):
        return layer._after
    return layer.negative_slope if isinstance(layer, nn.LeakyReLU) else None


def _describe(activation: nn.Module) -> str:
    """An activation as checkpoints record it; the directions of a Householder are parameters, not options."""
    if isinstance(activation, Householder):
        return f"Householder(group_size={activation.group_size})"
    return repr(activation)


def _is_constrained(layer: nn.Module) -> TypeGuard[LipschitzLinear | LipschitzConv2d]:
    """Whether a layer carries a norm; raises for one that states no Lipschitz constant. A subclass may do anything."""
    if type(layer) in (LipschitzLinear, LipschitzConv2d):
        return True
    flat = type(layer) is nn.LeakyReLU and abs(layer.negative_slope) <= 1
    if not flat and type(layer) not in (GroupSort, Householder, *_UNIT_GAIN):
        raise PromiseError(
            f"every layer must state a Lipschitz constant; {type(layer).__name__} does not; use LipschitzLinear, "
            "LipschitzConv2d, GroupSort, Householder or an element-wise activation of torch, none of them subclassed."
        )
    return False
