"""TemperatureCrossEntropy: the loss with which networks of a small Lipschitz bound classify (Appendix A)."""

from __future__ import annotations

import math
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from ..errors import InputError, StructureError

__all__ = ["TemperatureCrossEntropy"]


class TemperatureCrossEntropy(nn.Module):
    r"""-log softmax(temperature * f)[y], averaged over rows: CE(tau) of Appendix A.

    Outputs of a network with Lipschitz bound 1 differ by no more than the inputs do, so that softmax(f) is close to
    uniform and its gradient never fades, however right f is. The temperature sets the margin that counts as sure,
    about 1 / temperature; it changes no slope of f, and no promise about f.

    Args:
        temperature: tau > 0; the paper's experiments use 256.
        reduction: "mean", "sum" or "none", as torch's own losses.

    Shape: outputs (..., n_classes) and labels (...,) of class numbers -> a scalar, or (...,) for "none".

    Examples:
        >>> import torch
        >>> loss = TemperatureCrossEntropy(256.0)
        >>> outputs, labels = torch.tensor([[0.01, 0.0], [0.0, 0.02]]), torch.tensor([0, 1])
        >>> loss(outputs, labels)
        tensor(0.0402)
    """

    def __init__(self, temperature: float = 256.0, *, reduction: Literal["mean", "sum", "none"] = "mean") -> None:
        super().__init__()
        is_number = isinstance(temperature, int | float) and not isinstance(temperature, bool)
        if not (is_number and math.isfinite(temperature) and temperature > 0):
            raise StructureError(
                f"a temperature must be positive and finite; got {temperature!r}; pass a number greater than 0."
            )
        if reduction not in ("mean", "sum", "none"):
            raise StructureError(f'a reduction is "mean", "sum" or "none"; got {reduction!r}; pass one of them.')
        self.temperature, self.reduction = float(temperature), reduction

    def forward(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """(..., n_classes) and (...,) -> the loss."""
        if outputs.dim() == 0 or outputs.shape[:-1] != labels.shape or outputs.shape[-1] < 2:
            raise InputError(
                "outputs must have one row of at least 2 classes for each label; got shapes "
                f"{tuple(outputs.shape)} and {tuple(labels.shape)}; pass outputs (..., n_classes) and labels (...,)."
            )
        if outputs.dim() < 3:
            return functional.cross_entropy(self.temperature * outputs, labels, reduction=self.reduction)
        flat = outputs.flatten(0, -2)
        loss = functional.cross_entropy(self.temperature * flat, labels.flatten(), reduction=self.reduction)
        return loss.reshape(labels.shape) if self.reduction == "none" else loss

    def extra_repr(self) -> str:
        return f"temperature={self.temperature:g}, reduction={self.reduction!r}"
