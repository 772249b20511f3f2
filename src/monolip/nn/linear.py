"""LipschitzLinear: a linear layer held to an operator norm (Eq. 9-11)."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import SlopeError, StructureError
from ..norms import Norm, Rule
from . import init
from .activations import Householder
from .constrained import ConstrainedLayer
from .normalise import normalise
from .precision import check_dtype, with_full_precision
from .projection import project_, watch
from .widths import check_widths

__all__ = ["LipschitzLinear"]


class LipschitzLinear(ConstrainedLayer):
    r"""z -> W' z + b with |W'| <= bound in the given norm, whatever the parameters are.

    Args:
        in_features, out_features: as in nn.Linear.
        norm: the operator norm, with its domain and codomain.
        bound: the cap b > 0.
        rule: how an infeasible weight becomes feasible (`monolip.norms.Rule`).
        per_vector: constrain each column, entry or row by itself (Eq. 10), not the whole matrix (Eq. 9).
        gradient: "straight-through" (a saturated weight may always move inwards) or "exact".
        enforce: "forward" constrains in the forward pass; "step" also projects the stored weight, so that `weight`
            itself is feasible whenever `optimizer.step()` has returned (see `project_`).

    Shape: (..., in_features) -> (..., out_features).

    Examples:
        >>> layer = LipschitzLinear(3, 2, Norm.LINF_TO_LINF, bound=0.5)
        >>> _ = layer.weight.data.fill_(100.0)
        >>> round(Norm.LINF_TO_LINF.of(layer.effective_weight.detach()), 6)
        0.5
    """

    _fixed = frozenset({"in_features", "out_features", "norm", "bound", "rule", "per_vector", "gradient", "enforce"})

    def __init__(
        self,
        in_features: int,
        out_features: int,
        norm: Norm,
        *,
        bound: float = 1.0,
        rule: Rule = Rule.CAP,
        per_vector: bool = True,
        gradient: Literal["straight-through", "exact"] = "straight-through",
        enforce: Literal["forward", "step"] = "forward",
        bias: bool = True,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        check_bound(bound, dtype)
        check_choices(norm, rule, gradient, enforce)
        self.in_features, self.out_features = in_features, out_features = check_widths((in_features, out_features))
        self.norm, self.bound, self.rule, self.per_vector = norm, float(bound), rule, per_vector
        self.gradient, self.enforce = gradient, enforce
        self._after: tuple[Householder, ...] = ()  # a tuple, so that torch does not register it as a submodule
        self.weight = nn.Parameter(torch.empty(out_features, in_features, dtype=dtype, device=device))
        self.bias = nn.Parameter(torch.zeros(out_features, dtype=dtype, device=device)) if bias else None
        check_dtype(self.weight.dtype)
        if enforce == "step":
            watch(self)
        self.reset_parameters()

    def reset_parameters(self, spread: float = 0.0) -> None:
        """Start on the edge of the constraint (see `init.saturating_`)."""
        init.saturating_(self.weight, self.norm, self.bound, spread)
        project_(self)

    def follow(self, activation: nn.Module) -> None:
        """Count the gain of the activation before this layer inside this layer's norm (Householder only)."""
        if not isinstance(activation, Householder):
            return
        if activation.features != self.in_features:
            raise StructureError(
                f"a Householder activation of width {activation.features} cannot feed {self.in_features} inputs; "
                "make them equal."
            )
        if self.rule is Rule.PROJECT:
            raise StructureError(
                "the Euclidean projection knows no Householder gain; got rule=PROJECT after Householder; use Rule.CAP."
            )
        self._after = (activation,)

    def constrain(self, weight: Tensor) -> Tensor:
        return normalise(
            weight,
            self.norm,
            self.bound,
            rule=self.rule,
            per_vector=self.per_vector,
            straight_through=self.gradient == "straight-through",
            directions=self._after[0].directions if self._after else None,
        )

    def sources(self) -> tuple[Tensor, ...]:
        return (self.weight, self._after[0].directions) if self._after else (self.weight,)

    def forward(self, x: Tensor) -> Tensor:
        return with_full_precision(functional.linear, x, self._forward_weight(), self.bias, not self.training)

    def promise_record(self) -> dict[str, Any]:
        return {"norm": self.norm.name, "bound": self.bound, "rule": self.rule.name, "per_vector": self.per_vector}

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        project_(self)
        return super().state_dict(*args, **kwargs)

    def _load_from_state_dict(self, *args: Any) -> None:
        super()._load_from_state_dict(*args)
        project_(self)

    def __setstate__(self, state: dict[str, Any]) -> None:  # after unpickling and deepcopy: watch the copy as well
        super().__setstate__(state)
        if self.enforce == "step":
            watch(self)
            project_(self)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, norm={self.norm.name}, bound={self.bound:g}"


def check_bound(bound: float, dtype: torch.dtype | None = None) -> None:
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not (math.isfinite(bound) and bound > 0):
        raise SlopeError(f"a bound must be positive and finite; got {bound!r}; pass a number greater than 0.")
    dtype = dtype or torch.get_default_dtype()
    check_dtype(dtype)
    kind = torch.finfo(dtype)
    if not kind.tiny <= bound <= kind.max / 4:  # sums and ranges of weights must not overflow
        raise SlopeError(
            f"a bound must have all its digits in {dtype} ({kind.tiny:.1e} to {kind.max / 4:.1e}); got {bound!r}; "
            "rescale the inputs or use dtype=torch.float64."
        )


def check_choices(norm: Norm, rule: Rule, gradient: str, enforce: str) -> None:
    if not isinstance(norm, Norm) or not isinstance(rule, Rule):
        raise StructureError(f"norm and rule must be a Norm and a Rule; got {norm!r} and {rule!r}; use the enums.")
    if gradient not in ("straight-through", "exact"):
        raise StructureError(f'gradient must be "straight-through" or "exact"; got {gradient!r}; use one of them.')
    if enforce not in ("forward", "step"):
        raise StructureError(f'enforce must be "forward" or "step"; got {enforce!r}; use one of them.')
    if enforce == "step" and rule in (Rule.CAP_THEN_SCALE,):
        raise StructureError(
            "cap-then-scale maps feasible weights to other weights, so it cannot be applied again and again; got it "
            'with enforce="step"; use Rule.CAP or Rule.PROJECT.'
        )
