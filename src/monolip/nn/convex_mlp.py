"""ConvexMLP: the network monolip trains by default, its slopes inside the intervals by construction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import SlopeError, StructureError
from ..slope_set import SlopeSet
from ..slopes import SlopeBounds
from .constants import PromiseConstants, rounded_inwards
from .constrained import PromiseRecord
from .convex_trunk import ConvexTrunk
from .precision import check_features
from .trunks import check_outputs, group_outputs
from .widths import check_widths

__all__ = ["ConvexMLP"]


class ConvexMLP(PromiseRecord, PromiseConstants):
    r"""f with lower_ik <= df_k/dx_i <= upper_ik for every x, at any parameters (convex form, Theorem 1).

    Args:
        slopes: the promise: SlopeBounds, per feature or per (feature, output), or a SlopeSet.
        out_features: number of outputs. Those whose intervals agree up to a factor share a trunk; others get their own.
        hidden: widths of the hidden layers.
        group_size: units per sort group; None sorts whole layers.
        initial_slope: start no steeper than this, e.g. 1.0 for standardised data under a generous cap.
        gradient: "straight-through" (default) or "exact", at saturated slopes.

    Shape: (..., n_features) -> (..., out_features).

    Examples:
        >>> f = ConvexMLP(SlopeBounds.from_monotonic_cst([+1, -1], max_slope=2.0), hidden=(16, 16))
        >>> x = torch.randn(100, 2, requires_grad=True)
        >>> (slope,) = torch.autograd.grad(f(x).sum(), x)
        >>> f.slopes.contains(slope, atol=1e-6)
        True
    """

    _fixed = frozenset({"promise", "slopes", "out_features", "outputs", "in_features"})

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
        widths, (out_features,) = check_widths(hidden), check_widths(out_features)
        check_outputs(bounds, out_features)
        self.promise, self.in_features, self.out_features = slopes, bounds.n_features, out_features
        groups = _groups(bounds, out_features)
        self.outputs = [outputs for outputs, _ in groups]
        self._exact_factors = [factors for _, factors in groups]
        first = {"initial_slope": initial_slope, "gradient": gradient, "dtype": dtype}
        sizes = [len(outputs) for outputs in self.outputs]
        made = [ConvexTrunk(self._promise_of(k), n, widths, group_size, **first) for k, n in enumerate(sizes)]
        self.trunks = nn.ModuleList(made)
        self._checked: tuple[nn.Module, ...] = tuple(made)
        self.build_constants()
        order = np.argsort(np.concatenate(self.outputs))
        self._order = None if np.array_equal(order, np.arange(out_features)) else order.tolist()

    @property
    def slopes(self) -> SlopeBounds:
        """The promised intervals."""
        return self.promise.bounds if isinstance(self.promise, SlopeSet) else self.promise

    def _promise_of(self, k: int) -> SlopeSet:
        """What trunk k keeps: the set, or the intervals of the first output it serves."""
        if isinstance(self.promise, SlopeSet):
            return self.promise
        return SlopeSet(self.promise.for_output(self.outputs[k][0]))

    def _like(self) -> Tensor:
        return next(self.trunks.parameters())

    def _constants(self, dtype: torch.dtype) -> dict[str, Tensor]:
        return {f"_factor_{k}": rounded_inwards(f, dtype, -math.inf) for k, f in enumerate(self._exact_factors)}

    def _check(self) -> None:
        """Every trunk keeps its part of the promise; `forward` asks again, since `trunks` can be changed."""
        trunks = tuple(self.trunks._modules.values())
        if trunks == self._checked:
            return
        promises = [self._promise_of(k) for k in range(len(self.outputs))]
        keeps = [type(trunk) is ConvexTrunk and trunk.keeps(p) for trunk, p in zip(trunks, promises, strict=False)]
        if len(trunks) != len(promises) or not all(keeps):
            raise StructureError(
                f"each of the {len(promises)} trunks of a ConvexMLP must keep its part of the promise; got other ones ("
                f"{', '.join(type(trunk).__name__ for trunk in trunks) or 'none'}); build a new ConvexMLP."
            )
        self._checked = trunks

    def factors(self, k: int) -> Tensor:
        """Output factors of trunk k: f = factor * trunk."""
        factor: Tensor = getattr(self, f"_factor_{k}")
        return factor

    def forward(self, x: Tensor) -> Tensor:
        """(..., n_features) -> (..., out_features)."""
        check_features(x, self.in_features, self.promise)
        self._check()
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
        names = self.slopes.feature_names
        return {
            "form": "convex",
            "lower": self.slopes.lower.tolist(),
            "upper": self.slopes.upper.tolist(),
            "feature_names": None if names is None else list(names),
            "group_sizes": [trunk.group_sizes for trunk in self.trunks],
        }

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
    return group_outputs(bounds.lower, bounds.upper)
