"""Precision: constrained layers compute in float32 or float64, whatever surrounds them.

Half precision and TF32 break slope bounds silently (trap 11): in bfloat16 a published model falls on 19 % of steps of
a whole standard deviation. So half-precision parameters are refused, half-precision inputs and autocast are upcast,
and where float32 matrix products may run in TF32 or bfloat16, evaluation is done in float64 instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError, PrecisionError

__all__ = ["FullPrecision", "check_dtype", "check_features", "may_be_reduced", "with_full_precision"]

_ALLOWED = (torch.float32, torch.float64)


def check_dtype(dtype: torch.dtype) -> None:
    if dtype not in _ALLOWED:
        raise PrecisionError(
            f"constrained layers hold float32 or float64 parameters; got {dtype}, in which slopes leave their interval "
            "silently; keep this module in float32 (inputs of any float type are accepted and upcast)."
        )


@torch.compiler.assume_constant_result  # flags of the process, not tensors: torch.compile may read them while tracing
def may_be_reduced(device: str, convolution: bool = False) -> bool:
    """Whether torch may run float32 products on this device in TF32 or bfloat16 (cuDNN convolutions: by default)."""
    try:
        if convolution and device == "cuda":
            return bool(torch.backends.cudnn.allow_tf32)
        if convolution:
            precision = getattr(getattr(torch.backends.mkldnn, "conv", None), "fp32_precision", "none")
            return precision not in ("none", "ieee")
        return torch.get_float32_matmul_precision() != "highest"
    except RuntimeError:  # torch does not answer where its old and its new switches were both used: assume the worst
        return True


def with_full_precision(
    product: Callable[[Tensor, Tensor, Tensor | None], Tensor],
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    evaluating: bool,
    convolution: bool = False,
) -> Tensor:
    """product(x, weight, bias) in the weight's own type, autocast switched off; in float64 where TF32 is allowed.

    `evaluating` says that the result is a prediction, not a training step: training in TF32 costs no promise, because
    weights are constrained in full precision and frozen in float64.
    """
    dtype, device = weight.dtype, weight.device.type
    widen = evaluating and dtype == torch.float32 and may_be_reduced(device, convolution)
    if widen:
        weight, bias = weight.double(), None if bias is None else bias.double()
    if x.dtype is not weight.dtype:
        x = x.to(weight.dtype)
    if device != "meta" and torch.is_autocast_enabled(device):
        with torch.autocast(device, enabled=False):
            result = product(x, weight, bias)
    else:
        result = product(x, weight, bias)
    return result.to(dtype) if widen else result


def check_features(x: Any, n_features: int, promise: Any) -> None:
    """A tensor whose last axis holds the features; a wrong width must not be broadcast, nor end in a torch error."""
    if isinstance(x, Tensor) and x.dim() and x.shape[-1] == n_features:
        return
    if not isinstance(x, Tensor):
        raise InputError(f"a module takes a torch tensor; got {type(x).__name__}; use torch.as_tensor(...).")
    names = getattr(promise, "bounds", promise).feature_names
    shown = f" ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''})" if names else ""
    raise InputError(
        f"inputs must have {n_features} features{shown} in their last axis; got shape {tuple(x.shape)}; reorder or "
        "reshape."
    )


class FullPrecision(nn.Module):
    """A module that refuses `.half()`, `.bfloat16()` and `.to(dtype=...)` below float32."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        for tensor in (*self.parameters(recurse=False), *self.buffers(recurse=False)):
            if tensor.is_floating_point():
                check_dtype(fn(torch.empty(0, dtype=tensor.dtype, device=tensor.device)).dtype)
                break
        return super()._apply(fn, recurse)
