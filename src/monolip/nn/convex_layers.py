"""The two layers of convex form: a first layer with rows in the slope set, and mixing layers on the simplex."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..norms import Norm, Rule
from ..slope_projection import project_rows
from ..slope_set import SlopeSet
from . import gradients, init
from .constrained import ConstrainedLayer
from .linear import check_choices
from .precision import check_dtype, with_full_precision

__all__ = ["MixingLinear", "SlopeLinear"]


class SlopeLinear(ConstrainedLayer):
    r"""x -> W' x + b, every row of W' inside the slope set: each unit is an affine function with allowed slopes.

    Args:
        promise: the set the rows are kept in (a box is clipped, other sets are projected onto).
        out_features: number of units.
        initial_slope: start with slopes no steeper than this (None: anywhere in the set).
        gradient: "straight-through" (a saturated slope may always move inwards) or "exact".
    """

    _lower: Tensor
    _upper: Tensor
    _matrix: Tensor
    _limits: Tensor
    _anchor: Tensor

    def __init__(
        self,
        promise: SlopeSet,
        out_features: int,
        *,
        initial_slope: float | None = None,
        gradient: Literal["straight-through", "exact"] = "straight-through",
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_choices(Norm.L1_TO_LINF, Rule.CAP, gradient, "forward")
        self.promise, self.gradient, self.initial_slope = promise, gradient, initial_slope
        dtype = dtype or torch.get_default_dtype()
        check_dtype(dtype)
        self.weight = nn.Parameter(torch.empty(out_features, promise.n_features, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(out_features, dtype=dtype))
        lower, upper, matrix, limits, self._ball = promise.parts()
        constants = {"lower": lower, "upper": upper, "matrix": matrix, "limits": limits, "anchor": promise.anchor}
        for name, value in constants.items():  # constants of the promise, not of the checkpoint: never loaded
            self.register_buffer(f"_{name}", _inwards(name, value, dtype), persistent=False)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Slopes anywhere in the set (or up to `initial_slope`), biases zero."""
        lower, upper = self._lower, self._upper
        if self.initial_slope is not None:
            lower, upper = lower.clamp(min=-self.initial_slope), upper.clamp(max=self.initial_slope)
            lower, upper = torch.minimum(lower, self._upper), torch.maximum(upper, self._lower)
        self.weight.copy_(lower + (upper - lower) * torch.rand_like(self.weight))
        self.weight.copy_(self.constrain(self.weight))
        self.bias.zero_()

    def constrain(self, weight: Tensor) -> Tensor:
        if self.promise.is_box and self.gradient == "straight-through":
            return gradients.clip(weight, self._lower, self._upper)
        # in float64: the projection multiplies matrices, which autocast and TF32 would do in half precision
        constants = (self._lower, self._upper, self._matrix, self._limits, self._anchor)
        lower, upper, matrix, limits, anchor = (constant.double() for constant in constants)
        wide: Tensor = project_rows(weight.double(), lower, upper, matrix, limits, self._ball, anchor)
        projected = wide.to(weight.dtype)
        return gradients.project(weight, projected) if self.gradient == "straight-through" else projected

    def forward(self, x: Tensor) -> Tensor:
        return with_full_precision(functional.linear, x, self.forward_weight(), self.bias, not self.training)

    def promise_record(self) -> dict[str, Any]:
        matrix, limits = self.promise.inequalities
        box = self.promise.bounds
        return {
            "lower": box.lower.tolist(), "upper": box.upper.tolist(), "matrix": matrix.tolist(),
            "limits": limits.tolist(), "l2_radius": self.promise.l2_radius,
        }  # fmt: skip

    def extra_repr(self) -> str:
        return f"{self.promise.n_features}, {self.weight.shape[0]}"


def _inwards(name: str, value: Any, dtype: torch.dtype) -> Tensor:
    """A constant in the layer's type; in float32 an interval is rounded inwards, never out of the promise."""
    rounded = torch.tensor(value, dtype=dtype)
    exact = torch.tensor(value, dtype=torch.float64)
    inside = {"lower": (rounded.double() < exact, math.inf), "upper": (rounded.double() > exact, -math.inf)}
    if name in inside:
        outside, direction = inside[name]
        rounded = torch.where(outside, torch.nextafter(rounded, torch.tensor(direction, dtype=dtype)), rounded)
    return rounded


class MixingLinear(ConstrainedLayer):
    r"""z -> V z + b with mixing rows V = softmax(SHARPNESS * weight): v >= 0, sum v = 1.

    `weight` holds logits, so that an Adam step on them multiplies the mixing weights: an exponentiated step. The
    sharpness lets one learning rate serve slopes and logits alike (measured: the maximum of 8 inputs is fitted to
    4e-4 with it, to 0.4 without).
    """

    SHARPNESS = 20.0

    def __init__(self, in_features: int, out_features: int, *, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features, dtype=dtype))
        check_dtype(self.weight.dtype)
        self.bias = nn.Parameter(torch.zeros(out_features, dtype=dtype))
        self.reset_parameters(0.5)

    def reset_parameters(self, spread: float) -> None:
        init.mixing_logits_(self.weight, spread)
        with torch.no_grad():
            self.weight.div_(self.SHARPNESS)
            self.bias.zero_()

    def constrain(self, weight: Tensor) -> Tensor:
        return (self.SHARPNESS * weight).softmax(-1)

    def forward(self, z: Tensor) -> Tensor:
        return with_full_precision(functional.linear, z, self.forward_weight(), self.bias, not self.training)

    def promise_record(self) -> dict[str, Any]:
        return {"form": "convex", "mixing": "softmax"}

    def extra_repr(self) -> str:
        return f"{self.weight.shape[1]}, {self.weight.shape[0]}"
