"""ConvexMLP: the network monolip trains by default, its slopes inside the intervals by construction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import SlopeError
from ..slope_set import SlopeSet
from ..slopes import SlopeBounds
from . import init
from .activations import GroupSort
from .constrained import PromiseRecord
from .convex_layers import MixingLinear, SlopeLinear
from .mlp import check_widths
from .precision import check_features
from .trunks import check_outputs, group_outputs

__all__ = ["ConvexMLP"]


class ConvexTrunk(nn.Module):
    """first layer -> (GroupSort -> mixing layer)*: gradients are convex combinations of first-layer rows."""

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
        self.layers = nn.ModuleList(layers)
        self.reset_parameters()

    @property
    def first(self) -> SlopeLinear:
        layer = self.layers[0]
        assert isinstance(layer, SlopeLinear)
        return layer

    @property
    def mixing(self) -> list[MixingLinear]:
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
        for layer in self.layers:
            x = layer(x)
        return x


class ConvexMLP(PromiseRecord):
    r"""f with lower_ik <= df_k/dx_i <= upper_ik for every x, at any parameters (convex form, Theorem 1).

    Args:
        slopes: the promise: SlopeBounds, per feature or per (feature, output), or a SlopeSet.
        out_features: number of outputs. Those whose intervals agree up to a factor share a trunk; others get their own.
        hidden: widths of the hidden layers.
        group_size: units per sort group; None sorts whole layers.
        initial_slope: start no steeper than this, e.g. 1.0 for standardised data under a generous cap.
        gradient: "straight-through" (default) or "exact", at saturated slopes.

    Shape: (..., n_features) -> (..., out_features).

    Example:
        >>> f = ConvexMLP(SlopeBounds.from_monotonic_cst([+1, -1], max_slope=2.0), hidden=(16, 16))
        >>> x = torch.randn(100, 2, requires_grad=True)
        >>> (slope,) = torch.autograd.grad(f(x).sum(), x)
        >>> f.slopes.contains(slope, atol=1e-6)
        True
    """

    def __init__(
        self,
        slopes: SlopeBounds | SlopeSet,
        out_features: int = 1,
        hidden: Sequence[int] = (32, 32),
        *,
        group_size: int | None = 2,
        initial_slope: float | None = None,
        gradient: Literal["straight-through", "exact"] = "straight-through",
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(slopes, SlopeBounds | SlopeSet):
            raise SlopeError(
                f"slopes must be SlopeBounds or a SlopeSet; got {type(slopes).__name__}; use "
                "SlopeBounds.from_monotonic_cst([1, 0, -1], max_slope=...)."
            )
        bounds = slopes.bounds if isinstance(slopes, SlopeSet) else slopes
        widths = check_widths(bounds.n_features, out_features, hidden)
        check_outputs(bounds, out_features)
        self.promise, self.out_features = slopes, out_features
        self.outputs: list[list[int]] = []
        trunks = []
        for k, (outputs, factors) in enumerate(_groups(bounds, out_features)):
            promise = slopes if isinstance(slopes, SlopeSet) else SlopeSet(bounds.for_output(outputs[0]))
            first = {"initial_slope": initial_slope, "gradient": gradient, "dtype": dtype}
            trunks.append(ConvexTrunk(promise, len(outputs), widths, group_size, **first))
            self.outputs.append(outputs)
            factor = torch.tensor(factors, dtype=trunks[-1].first.weight.dtype)
            self.register_buffer(f"_factor_{k}", factor, persistent=False)
        self.trunks = nn.ModuleList(trunks)
        order = np.argsort(np.concatenate(self.outputs))
        self._order = None if np.array_equal(order, np.arange(out_features)) else order.tolist()

    @property
    def slopes(self) -> SlopeBounds:
        """The promised intervals."""
        return self.promise.bounds if isinstance(self.promise, SlopeSet) else self.promise

    @property
    def in_features(self) -> int:
        return self.slopes.n_features

    def factors(self, k: int) -> Tensor:
        """Output factors of trunk k: f = factor * trunk."""
        factor: Tensor = getattr(self, f"_factor_{k}")
        return factor

    def forward(self, x: Tensor) -> Tensor:
        """(..., n_features) -> (..., out_features)."""
        check_features(x, self.slopes.n_features, self.slopes.feature_names)
        if len(self.outputs) == 1 and len(self.outputs[0]) == 1:
            only: Tensor = self.trunks[0](x)
            return only
        parts = [trunk(x) * self.factors(k) for k, trunk in enumerate(self.trunks)]
        joined = parts[0] if len(parts) == 1 else torch.cat(parts, -1)
        return joined if self._order is None else joined[..., self._order]

    def freeze(self) -> Any:
        """An immutable FrozenNetwork of the present weights, in float64, its promise proved exactly."""
        from .freeze import freeze_convex

        return freeze_convex(self)

    def extra_repr(self) -> str:
        return f"promise:\n{self.promise}"

    def promise_record(self) -> dict[str, Any]:
        return {"form": "convex", "lower": self.slopes.lower.tolist(), "upper": self.slopes.upper.tolist()}

    @torch.no_grad()
    def wire_lattice(self, x: Tensor, minima: int, spread: float) -> None:
        """See `init.lattice_`."""
        from .lattice import wire_convex

        for trunk in self.trunks:
            assert isinstance(trunk, ConvexTrunk)
            wire_convex(trunk, x, minima, spread)


def _groups(bounds: SlopeBounds, out_features: int) -> list[tuple[list[int], Any]]:
    if bounds.n_outputs is None:
        return [(list(range(out_features)), np.ones(out_features))]
    return group_outputs(np.vstack([bounds.lower, bounds.upper]))
