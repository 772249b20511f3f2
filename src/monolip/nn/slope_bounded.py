"""SlopeBounded: the paper's architecture, a Lipschitz network and one residual connection (Eq. 4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import PromiseError, StructureError
from ..slopes import SlopeBounds
from .constants import PromiseConstants, rounded_inwards
from .constrained import PromiseRecord
from .mlp import LipschitzMLP
from .precision import check_dtype, check_features, with_full_precision
from .trunks import check_outputs, group_by_radius, per_output
from .widths import check_widths

__all__ = ["LipschitzModule", "SlopeBounded"]


@runtime_checkable
class LipschitzModule(Protocol):
    """What SlopeBounded asks of a module: |g(x) - g(y)|_inf <= lipschitz_bound |x - y|_domain, at any parameters.

    `lipschitz_bound` is read at every forward pass, so a bound computed from the weights is fine. `domain` is the p of
    the input norm; any p >= 1 will do, since |.|_p <= |.|_1 (but only p = 1 lets slopes be chosen independently).
    """

    @property
    def lipschitz_bound(self) -> float: ...

    @property
    def domain(self) -> float: ...

    @property
    def out_features(self) -> int: ...


class SlopeBounded(PromiseRecord, PromiseConstants):
    r"""Eq. 4: f_k(x) = center_k . x + s_k g_k(radius * x) / |g|, hence lower <= df_k/dx_i <= upper for every x.

    The paper's f = g + lambda sum_{i in S} x_i is center = lambda on S, radius = lambda. The bound of g is asked of g
    (`lipschitz_bound`), never typed again.

    Args:
        module: a LipschitzModule, e.g. LipschitzMLP; or a sequence of them, one for each group of outputs whose radii
            agree up to a factor (`SlopeBounded.mlp` builds what is needed).
        slopes: the promised intervals, per feature or per (feature, output).

    Shape: (..., n_features) -> (..., out_features).

    Examples:
        >>> slopes = SlopeBounds.from_paper(1.0, [1, 0])
        >>> f = SlopeBounded(LipschitzMLP(2, hidden=(16, 16)), slopes)
        >>> x = torch.randn(100, 2, requires_grad=True)
        >>> (slope,) = torch.autograd.grad(f(x).sum(), x)
        >>> slopes.contains(slope, atol=1e-6)
        True
    """

    _fixed = frozenset({"slopes", "out_features", "outputs", "in_features"})

    def __init__(self, module: nn.Module | Sequence[nn.Module], slopes: SlopeBounds) -> None:
        super().__init__()
        modules = [module] if isinstance(module, nn.Module) or not isinstance(module, Iterable) else list(module)
        for candidate in modules:
            check_states_its_bound(candidate)
        self.out_features = sum(_outputs_of(m) for m in modules)
        check_outputs(slopes, self.out_features)
        self.slopes, self.in_features = slopes, slopes.n_features
        groups = group_by_radius(slopes, self.out_features)
        _check_trunks(groups, modules, slopes)
        self.outputs = [outputs for outputs, _ in groups]
        self._exact_factors = [factors for _, factors in groups]
        self._unit_factors = [bool((factors == 1.0).all()) for _, factors in groups]
        self.trunks = nn.ModuleList(modules)
        self.build_constants()
        order = np.argsort(np.concatenate(self.outputs))
        self._order = None if np.array_equal(order, np.arange(self.out_features)) else order.tolist()

    @classmethod
    def mlp(
        cls, slopes: SlopeBounds, out_features: int = 1, hidden: Sequence[int] = (32, 32), **options: Any
    ) -> SlopeBounded:
        """The paper's network with as many LipschitzMLP trunks as the intervals need; options as LipschitzMLP's."""
        (out_features,) = check_widths(out_features)
        check_outputs(slopes, out_features)
        groups = group_by_radius(slopes, out_features)
        return cls([LipschitzMLP(slopes.n_features, len(g), hidden, **options) for g, _ in groups], slopes)

    def _like(self) -> Tensor:
        """The first floating parameter; a module without one says nothing, and the constants keep their own type."""
        found = (parameter for parameter in self.trunks.parameters() if parameter.is_floating_point())
        like = next(found, self._buffers.get("_center"))
        like = torch.empty(0) if like is None else like
        check_dtype(like.dtype)
        return like

    def _constants(self, dtype: torch.dtype) -> dict[str, Tensor]:
        radius, center = per_output(self.slopes.radius, self.out_features), self.slopes.center
        constants = {"_center": torch.tensor(per_output(center, self.out_features).T.copy(), dtype=dtype, device="cpu")}
        for k, (outputs, factors) in enumerate(zip(self.outputs, self._exact_factors, strict=True)):
            constants[f"_radius_{k}"] = rounded_inwards(radius[:, outputs[0]], dtype, -math.inf)
            constants[f"_factor_{k}"] = rounded_inwards(factors, dtype, -math.inf)
        return constants

    def forward(self, x: Tensor) -> Tensor:
        """(..., n_features) -> (..., out_features)."""
        check_features(x, self.in_features, self.slopes)
        center: Tensor = self._center  # type: ignore[assignment]
        x = x.to(center.dtype)
        parts = []
        for k, trunk in enumerate(self.trunks):
            radius, factor = getattr(self, f"_radius_{k}"), getattr(self, f"_factor_{k}")
            bound = trunk.lipschitz_bound
            g = trunk(radius * x)
            g = g if isinstance(bound, float) and bound == 1.0 else g / bound
            parts.append(g if self._unit_factors[k] else factor * g)
        g = parts[0] if len(parts) == 1 else torch.cat(parts, -1)
        if self._order is not None:
            g = g[..., self._order]
        return with_full_precision(functional.linear, x, center, None, True) + g

    def freeze(self) -> Any:
        """An immutable FrozenNetwork of the present weights, in float64, its promise proved exactly."""
        from .freeze import freeze_slope_bounded

        return freeze_slope_bounded(self)

    def extra_repr(self) -> str:
        return f"promise:\n{self.slopes}"

    def promise_record(self) -> dict[str, Any]:
        names = self.slopes.feature_names
        return {
            "form": "paper",
            "lower": self.slopes.lower.tolist(),
            "upper": self.slopes.upper.tolist(),
            "feature_names": None if names is None else list(names),
        }

    @torch.no_grad()
    def wire_lattice(self, x: Tensor, minima: int, spread: float) -> None:
        """See `init.lattice_`."""
        from .lattice import wire_paper

        for k, trunk in enumerate(self.trunks):
            wire_paper(trunk, x * getattr(self, f"_radius_{k}"), minima)


def check_states_its_bound(module: nn.Module) -> None:
    """Refuse a module that states no Lipschitz bound: nothing could be promised about it."""
    if not isinstance(module, LipschitzModule):
        raise PromiseError(
            f"a module must state lipschitz_bound, domain and out_features to be given slopes; {type(module).__name__} "
            "does not; use LipschitzMLP, LipschitzSequential, or follow the LipschitzModule protocol."
        )
    bound, domain = module.lipschitz_bound, module.domain
    try:
        possible = 0 < float(bound) < math.inf and float(domain) >= 1
    except (TypeError, ValueError):  # e.g. a method that should have been a property
        possible = False
    if not possible:
        raise PromiseError(
            f"lipschitz_bound must be positive and finite and domain at least 1; {type(module).__name__} states "
            f"{bound} and {domain}; correct them."
        )


def _outputs_of(module: Any) -> int:
    return int(module.out_features)


def _check_trunks(groups: list[tuple[list[int], Any]], modules: list[nn.Module], slopes: SlopeBounds) -> None:
    wanted = [len(outputs) for outputs, _ in groups]
    given = [_outputs_of(module) for module in modules]
    if wanted != given:
        raise StructureError(
            f"one trunk serves outputs whose radii agree up to a factor; these intervals need trunks with {wanted} "
            f"outputs (for outputs {[outputs for outputs, _ in groups]}), got {given}; use SlopeBounded.mlp(slopes, "
            f"{sum(given)}), or pass a sequence of such modules."
        )
    for module in modules:
        features = getattr(module, "in_features", slopes.n_features)
        if features != slopes.n_features:
            raise StructureError(
                f"there must be one slope interval per input; got {slopes.n_features} intervals for {features} inputs; "
                "make them equal."
            )
