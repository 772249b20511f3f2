"""LipschitzMLP: g of the paper, a fully connected network with a Lipschitz bound (Eq. 7, 8, 11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ..errors import StructureError
from ..norms import Norm, Rule
from . import init
from .activations import GroupSort, Householder
from .linear import LipschitzLinear, check_bound
from .sequential import LipschitzSequential
from .widths import check_widths

__all__ = ["LipschitzMLP"]


class LipschitzMLP(LipschitzSequential):
    r"""g with |g(x) - g(y)| <= bound |x - y|_1 in every output (Eq. 3 with p = 1), at any parameters.

    Args:
        in_features, out_features: number of inputs and outputs.
        hidden: widths of the hidden layers.
        bound: lambda, the Lipschitz constant of the whole network.
        norms: one Norm per layer, one Norm for all, or None for the (1,inf)-then-inf scheme (Eq. 11). They must chain.
        budget: "input" spends the whole bound on the inputs, g(bound * x) with layers of norm 1 (trains best);
            "layers" gives every layer bound^(1/D) (Eq. 9).
        activation: "groupsort", "householder", "relu", or a function of the width that returns a module.
        group_size: units per sort (or reflection) group.
        rule, per_vector, gradient, enforce: see LipschitzLinear.

    Shape: (..., in_features) -> (..., out_features).

    Examples:
        >>> g = LipschitzMLP(3, 1, hidden=(16, 16), bound=2.0)
        >>> g.lipschitz_bound, [norm.name for norm in g.norms]
        (2.0, ['L1_TO_LINF', 'LINF_TO_LINF', 'LINF_TO_LINF'])
        >>> x = torch.randn(100, 3, requires_grad=True)
        >>> (slope,) = torch.autograd.grad(g(x).sum(), x)
        >>> bool((slope.abs() <= 2.0 + 1e-6).all())
        True
    """

    _fixed = frozenset({"bound", "budget"})

    def __init__(
        self,
        in_features: int,
        out_features: int = 1,
        hidden: Sequence[int] = (32, 32),
        *,
        bound: float = 1.0,
        norms: Norm | Sequence[Norm] | None = None,
        budget: Literal["input", "layers"] = "input",
        activation: str | Callable[[int], nn.Module] = "groupsort",
        group_size: int | None = 2,
        rule: Rule = Rule.CAP,
        per_vector: bool = True,
        gradient: Literal["straight-through", "exact"] = "straight-through",
        enforce: Literal["forward", "step"] = "forward",
        dtype: torch.dtype | None = None,
    ) -> None:
        check_bound(bound, dtype)
        if budget not in ("input", "layers"):
            raise StructureError(f'budget must be "input" or "layers"; got {budget!r}; use one of them.')
        widths = check_widths((in_features, *check_widths(hidden), out_features))
        depth = len(widths) - 1
        share = 1.0 if budget == "input" else float(bound) ** (1.0 / depth)
        chain = _norms_for(norms, depth)
        options: dict[str, Any] = {"rule": rule, "per_vector": per_vector, "gradient": gradient, "enforce": enforce}
        layers: list[nn.Module] = []
        for k in range(depth):
            if k:
                layers.append(make_activation(activation, widths[k], group_size, dtype))
            layers.append(LipschitzLinear(widths[k], widths[k + 1], chain[k], bound=share, dtype=dtype, **options))
        super().__init__(*layers)
        self.bound, self.budget = float(bound), budget
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start on the edge of the constraint, with kinks at points a standard normal input would have."""
        linear = [layer for layer in self.layers if isinstance(layer, LipschitzLinear)]
        spread = init.spread_for_depth(len(linear) - 1)
        for layer in linear:
            layer.reset_parameters(spread)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        if len(linear) > 1:
            first = linear[0]
            points = torch.randn(first.out_features, first.in_features).to(first.weight) * self.input_scale
            init.hinge_(first, points, _group_size(self.layers[1], first.out_features))

    @property
    def input_scale(self) -> float:
        """What inputs are multiplied by: the whole bound where the budget is spent at the input."""
        return self.bound if self.budget == "input" else 1.0

    def forward(self, x: Tensor) -> Tensor:
        if self.input_scale != 1.0:
            x = x.to(next(self.constrained_layers()).weight.dtype) * self.input_scale
        return super().forward(x)

    def extra_repr(self) -> str:
        return f"bound={self.bound:g}, budget={self.budget!r}"

    def promise_record(self) -> dict[str, Any]:
        return {**super().promise_record(), "bound": self.bound, "budget": self.budget}


def make_activation(
    activation: str | Callable[[int], nn.Module], width: int, group_size: int | None, dtype: torch.dtype | None = None
) -> nn.Module:
    """An activation for a layer of this width; group_size None means one group over the whole layer."""
    if callable(activation):
        return activation(width)
    if activation == "groupsort":
        GroupSort(group_size).size_for(width)  # refuses a size that does not divide the width, here and not later
        return GroupSort(group_size)
    if activation == "householder":
        return Householder(width, width if group_size is None else group_size, dtype=dtype)
    if activation == "relu":
        return nn.ReLU()
    raise StructureError(
        f'activation must be "groupsort", "householder", "relu" or a function of the width; got {activation!r}; '
        "use one of them."
    )


def _norms_for(norms: Norm | Sequence[Norm] | None, depth: int) -> tuple[Norm, ...]:
    if norms is None:
        return (Norm.L1_TO_LINF, *[Norm.LINF_TO_LINF] * (depth - 1))
    if isinstance(norms, Norm):
        if (
            norms is Norm.L1_TO_L1
        ):  # the last layer as L1 -> Linf: the same for one output, no shared budget for several
            return (*[Norm.L1_TO_L1] * (depth - 1), Norm.L1_TO_LINF)
        return (norms, *[Norm.LINF_TO_LINF] * (depth - 1))
    chain = tuple(norms)
    if len(chain) != depth:
        raise StructureError(f"there must be one norm per layer; got {len(chain)} for {depth} layers; pass {depth}.")
    return chain


def _group_size(activation: nn.Module, width: int) -> int:
    if isinstance(activation, GroupSort):
        return activation.size_for(width)
    return activation.group_size if isinstance(activation, Householder) else 1
