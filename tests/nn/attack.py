"""Ways to attack a promise: parameters far outside, slopes by autograd, writes that bypass torch's bookkeeping."""

from __future__ import annotations

import numpy as np
import torch

from monolip import SlopeBounds
from monolip.nn import Householder

__all__ = ["ROUNDING", "jacobian", "saturate_", "slack", "two_sided"]

ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-5}  # stated rounding of slopes, relative to the largest promised


@torch.no_grad()
def saturate_(model, scale=1e3):
    """Weights (not biases, which would push every kink away) multiplied by `scale`; random Householder directions."""
    for name, parameter in model.named_parameters():
        if name.endswith("weight"):
            parameter.mul_(scale)
        elif name.endswith("bias"):
            parameter.normal_()
    for module in model.modules():
        if isinstance(module, Householder):
            module.directions.normal_()
    return model


def jacobian(f, x):
    """df_k/dx_i at every row of x by autograd, shape (n, n_outputs, n_features)."""
    x = x.detach().clone().requires_grad_()
    y = f(x)
    return torch.stack([torch.autograd.grad(y[:, k].sum(), x, retain_graph=True)[0] for k in range(y.shape[1])], 1)


def slack(slopes, dtype):
    """What rounding may cost: relative to the largest slope promised."""
    return ROUNDING[dtype] * max(np.abs(slopes.lower).max(), np.abs(slopes.upper).max())


def two_sided(n_features=3, scale=2.0):
    """Increasing, decreasing, free, increasing, ...: intervals whose ends differ in every feature."""
    size = scale * (1.0 + np.arange(n_features) / 3)
    sign = np.resize([1, -1, 0], n_features)
    return SlopeBounds(np.where(sign > 0, 0.0, -size), np.where(sign < 0, 0.0, size))
