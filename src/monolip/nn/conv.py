"""LipschitzConv2d: a convolution held to the Linf -> Linf norm."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from ..errors import StructureError
from ..norms import Norm
from . import gradients
from .constrained import ConstrainedLayer
from .linear import check_bound
from .precision import check_dtype, with_full_precision

__all__ = ["LipschitzConv2d"]


class LipschitzConv2d(ConstrainedLayer):
    r"""A 2-D convolution with |y|_inf <= bound |x|_inf: every kernel's sum of magnitudes is at most `bound`.

    An output pixel is one kernel applied to one window, so the row sum of the convolution's matrix is the kernel's L1
    norm. Zero padding only removes terms; reflecting or repeating pixels keeps the Linf norm.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode: as in nn.Conv2d.
        bound: the cap b > 0.
        gradient: "straight-through" or "exact".

    Shape: (n, in_channels, h, w) -> (n, out_channels, h', w').
    """

    _fixed = frozenset({"norm", "bound", "gradient"})

    norm = Norm.LINF_TO_LINF

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        *,
        bound: float = 1.0,
        stride: int | tuple[int, int] = 1,
        padding: int | str | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros",
        gradient: Literal["straight-through", "exact"] = "straight-through",
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_bound(bound, dtype)
        if gradient not in ("straight-through", "exact"):
            raise StructureError(f'gradient must be "straight-through" or "exact"; got {gradient!r}; use one of them.')
        self.bound, self.gradient = float(bound), gradient
        plain = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, True, padding_mode, dtype=dtype
        )
        self.weight, self.bias = nn.Parameter(plain.weight.detach()), plain.bias
        check_dtype(self.weight.dtype)
        with torch.no_grad():
            self.weight.div_(self.weight.abs().sum((1, 2, 3), keepdim=True)).mul_(self.bound)
        del plain.weight, plain.bias
        self._plain = (plain,)  # geometry only; a tuple, so that torch does not register it

    def constrain(self, weight: Tensor) -> Tensor:
        factor = self.bound / weight.abs().sum((1, 2, 3), keepdim=True).clamp(min=self.bound)
        return weight * (gradients.one_sided(factor) if self.gradient == "straight-through" else factor)

    def forward(self, x: Tensor) -> Tensor:
        convolve = self._plain[0]._conv_forward
        return with_full_precision(convolve, x, self._forward_weight(), self.bias, not self.training, True)

    def promise_record(self) -> dict[str, Any]:
        return {"norm": self.norm.name, "bound": self.bound, "convolution": True}

    def extra_repr(self) -> str:
        return f"{tuple(self.weight.shape)}, norm={self.norm.name}, bound={self.bound:g}"
