"""The two layers of convex form: a first layer with rows in the slope set, and mixing layers on the simplex."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import SlopeError
from ..norms import Norm, Rule
from ..slope_projection import project_rows
from ..slope_set import SlopeSet
from . import gradients, init
from .constants import PromiseConstants, rounded_inwards
from .constrained import ConstrainedLayer
from .linear import check_choices
from .precision import check_dtype, with_full_precision
from .widths import check_widths

__all__ = ["MixingLinear", "SlopeLinear", "describe"]


class SlopeLinear(ConstrainedLayer, PromiseConstants):
    r"""x -> W' x + b, every row of W' inside the slope set: each unit is an affine function with allowed slopes.

    Args:
        promise: the set the rows are kept in (a box is clipped, other sets are projected onto).
        out_features: number of units.
        initial_slope: start with slopes no steeper than this (None: anywhere in the set).
        gradient: "straight-through" (a saturated slope may always move inwards) or "exact".
    """

    _fixed = frozenset({"promise", "gradient", "initial_slope"})

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
        _check_promise(promise, initial_slope)
        (out_features,) = check_widths(out_features)
        self.promise, self.gradient, self.initial_slope = promise, gradient, initial_slope
        dtype = dtype or torch.get_default_dtype()
        check_dtype(dtype)
        self.weight = nn.Parameter(torch.empty(out_features, promise.n_features, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(out_features, dtype=dtype))
        self._is_box, self._ball = promise.is_box, math.inf if promise.l2_radius is None else promise.l2_radius
        self.build_constants()
        self.reset_parameters()

    def _like(self) -> Tensor:
        return self.weight

    def _constants(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """The box in the layer's type, rounded inwards; what a projection needs besides, in float64."""
        lower, upper, matrix, limits, _ = self.promise.parts()
        constants = {
            "_lower": rounded_inwards(lower, dtype, math.inf),
            "_upper": rounded_inwards(upper, dtype, -math.inf),
        }
        if not self.promise.is_box:
            matrix, limits = _with_entries_near_one(matrix, limits)
            wide = {"_matrix": matrix, "_limits": limits, "_anchor": self.promise.anchor}
            constants |= {name: torch.tensor(np.array(value), device="cpu") for name, value in wide.items()}
        return constants

    def sources(self) -> tuple[Tensor, ...]:
        constants = self._buffers.values()  # every one is set; `self.buffers()` would cost microseconds per call
        return (self.weight, *(constant for constant in constants if constant is not None))

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Slopes anywhere in the set (or up to `initial_slope`), biases zero."""
        lower, upper = self._lower, self._upper
        if self.initial_slope is not None:
            lower, upper = lower.clamp(min=-self.initial_slope), upper.clamp(max=self.initial_slope)
            lower, upper = torch.minimum(lower, self._upper), torch.maximum(upper, self._lower)
        share = torch.rand_like(self.weight)
        self.weight.copy_(lower * (1 - share) + upper * share)  # upper - lower may overflow
        self.weight.copy_(self.constrain(self.weight))
        self.bias.zero_()

    def constrain(self, weight: Tensor) -> Tensor:
        if self._is_box:
            straight_through = self.gradient == "straight-through"
            return (gradients.clip if straight_through else torch.clamp)(weight, self._lower, self._upper)
        # in float64: the projection multiplies matrices, which autocast and TF32 would do in half precision
        box = self._lower.double(), self._upper.double()
        wide: Tensor = project_rows(weight.double(), *box, self._matrix, self._limits, self._ball, self._anchor)
        projected = wide.to(weight.dtype)
        return gradients.project(weight, projected) if self.gradient == "straight-through" else projected

    def forward(self, x: Tensor) -> Tensor:
        return with_full_precision(functional.linear, x, self._forward_weight(), self.bias, not self.training)

    def promise_record(self) -> dict[str, Any]:
        return describe(self.promise)

    def extra_repr(self) -> str:
        return f"{self.promise.n_features}, {self.weight.shape[0]}"


def describe(promise: SlopeSet) -> dict[str, Any]:
    """A slope set as checkpoints record it."""
    matrix, limits = promise.inequalities
    return {
        "lower": promise.bounds.lower.tolist(), "upper": promise.bounds.upper.tolist(), "matrix": matrix.tolist(),
        "limits": limits.tolist(), "l2_radius": promise.l2_radius,
    }  # fmt: skip


def _check_promise(promise: Any, initial_slope: Any) -> None:
    if not isinstance(promise, SlopeSet):
        raise SlopeError(f"a first layer keeps a SlopeSet; got {type(promise).__name__}; use SlopeSet(bounds).")
    if initial_slope is None:
        return
    is_number = isinstance(initial_slope, int | float) and not isinstance(initial_slope, bool)
    if not is_number or not initial_slope >= 0:
        raise SlopeError(f"initial_slope must be None or a number, 0 or more; got {initial_slope!r}; pass e.g. 1.0.")


def _with_entries_near_one(matrix: Any, limits: Any) -> tuple[Any, Any]:
    """The same inequalities, each divided by the power of two (an exact operation) that makes its largest entry 1/2-1.

    Squares of coefficients such as 1e-170 or 1e200 would vanish or overflow. A limit that would overflow is one no
    slope can reach.
    """
    _, exponent = np.frexp(np.abs(matrix).max(axis=1, initial=0.0))
    with np.errstate(over="ignore"):
        scaled = np.ldexp(limits, -exponent)
    return np.ldexp(matrix, -exponent[:, None]), scaled.clip(-1e300, 1e300)


class MixingLinear(ConstrainedLayer):
    r"""z -> V z + b with mixing rows V = softmax(SHARPNESS * weight): v >= 0, sum v = 1.

    `weight` holds logits, so that an Adam step on them multiplies the mixing weights: an exponentiated step. The
    sharpness lets one learning rate serve slopes and logits alike (measured: the maximum of 8 inputs is fitted to
    4e-4 with it, to 0.4 without).
    """

    _fixed = frozenset({"SHARPNESS"})

    SHARPNESS = 20.0

    def __init__(self, in_features: int, out_features: int, *, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        in_features, out_features = check_widths((in_features, out_features))
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
        largest = weight.detach().amax(-1, keepdim=True)  # subtracted first: 20 * 1e38 would overflow
        return (self.SHARPNESS * (weight - largest)).softmax(-1)

    def forward(self, z: Tensor) -> Tensor:
        return with_full_precision(functional.linear, z, self._forward_weight(), self.bias, not self.training)

    def promise_record(self) -> dict[str, Any]:
        return {"form": "convex", "mixing": "softmax"}

    def extra_repr(self) -> str:
        return f"{self.weight.shape[1]}, {self.weight.shape[0]}"
