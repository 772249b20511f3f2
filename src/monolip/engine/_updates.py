"""Rules that step a parameter: what the fused rows of `_row_steps` do not cover. All end inside their set.

    signed rows    (paper form) adam on raw weights; the effective row is raw / max(1, sum |raw|)
    biases         adam

Centred gradients: with mu the running mean of the inputs, g - h mu^T is the gradient at fixed mean output (h is the
bias gradient); the bias then moves by -(change of w) . mu. Loops are short and separate on purpose: the vectoriser
gives up on loops over many arrays that it cannot prove distinct.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._emitter import BETA1, BETA2, EPSILON, KEEP, LIFT1, LIFT2, RATE, ROOT_A, ROOT_FLOOR, ROOT_SCALE

__all__ = ["adam_direction", "centre", "put_rates", "signed_step", "through_cap"]

FloatArray = NDArray[Any]


@compiled(fast=True, inner=True)
def put_rates(step: FloatArray, rate: float, decay: float, fix1: float, fix2: float) -> None:
    """What the rows of a layer need to know; fix: 1 / (1 - beta^t). A rate of 0 makes both roots infinite."""
    step[LIFT1], step[LIFT2], step[RATE], step[KEEP] = fix1, fix2, rate, 1.0 - rate * decay
    eps, scale = np.float64(step[EPSILON]), np.float64(ROOT_A * fix1 * rate)
    step[ROOT_SCALE], step[ROOT_FLOOR] = fix2 / (scale * scale), eps * eps / (scale * scale)


@compiled(fast=True, inner=True)
def centre(g: FloatArray, mean: FloatArray, bias_gradient: float) -> None:
    """g - h mu."""
    h = g.dtype.type(bias_gradient)
    for j in range(g.size):
        g[j] -= h * mean[j]


@compiled(fast=True, inner=True)
def through_cap(g: FloatArray, raw: FloatArray, effective: FloatArray) -> None:
    """Gradient of the effective row into one of the raw row: (g - (g . effective) sign(raw)) / sum |raw| if capped."""
    total, dot = g.dtype.type(0), g.dtype.type(0)
    for j in range(g.size):
        total += abs(raw[j])
        dot += g[j] * effective[j]
    if total > 1:
        scale = g.dtype.type(1) / total
        for j in range(g.size):
            g[j] = scale * (g[j] - dot * np.sign(raw[j]))


@compiled(fast=True, inner=True)
def adam_direction(g: FloatArray, m: FloatArray, v: FloatArray, step: FloatArray) -> None:
    """g becomes Adam's direction m / (sqrt(v) + eps), the bias of the averages removed (lift = 1 / (1 - beta^t))."""
    real = step.dtype.type  # scalars are cast: one double among them would make every lane a double
    beta1, beta2, eps, lift1, lift2 = step[BETA1], step[BETA2], step[EPSILON], step[LIFT1], step[LIFT2]
    rest1, rest2 = real(1) - beta1, real(1) - beta2
    for j in range(g.size):
        m[j] = beta1 * m[j] + rest1 * g[j]
        v[j] = beta2 * v[j] + rest2 * g[j] * g[j]
        g[j] = (m[j] * lift1) / (np.sqrt(v[j] * lift2) + eps)


@compiled(fast=True, inner=True)
def signed_step(raw: FloatArray, effective: FloatArray, direction: FloatArray, mean: FloatArray, rate: float) -> Any:
    """Adam on the raw row, then the cap: effective = raw / max(1, sum |raw|). Returns (change of effective) . mean."""
    total, step, before, after = raw.dtype.type(0), raw.dtype.type(rate), raw.dtype.type(0), raw.dtype.type(0)
    for j in range(raw.size):
        new = raw[j] - step * direction[j]
        total += abs(new)
        before += effective[j] * mean[j]
        after += new * mean[j]
        raw[j] = new
    scale = raw.dtype.type(1) / max(total, raw.dtype.type(1))
    for j in range(raw.size):
        effective[j] = scale * raw[j]
    return after * scale - before
