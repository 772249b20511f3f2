"""One step of every parameter, row by row. Each rule ends inside its set, so the promise holds after every step.

    first layer    w -= rate * adam(g), then clipped to the slope box: free to move inwards even when saturated
    mixing rows    w *= exp(-rate * adam(g - g.w)), divided by its sum: never negative, sum 1
    signed rows    (paper form) adam on raw weights; the effective row is raw / max(1, sum |raw|)
    biases         adam

Centred gradients: with mu the running mean of the inputs, g - h mu^T is the gradient at fixed mean output (h is the
bias gradient); the bias then moves by -(change of w) . mu. Loops are short and separate on purpose: the vectoriser
gives up on loops over many arrays that it cannot prove distinct.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from monolip.engine._compile import compiled

__all__ = [
    "adam_direction",
    "centre",
    "centre_on_simplex",
    "mixing_step",
    "signed_step",
    "slope_step",
    "through_cap",
]

FloatArray = NDArray[Any]
FLOOR = 1e-7  # a mixing weight that reached zero could never come back under a multiplicative rule


def small_exponential(u: float) -> float:
    """exp(u) for |u| <= 1, to 1e-7: a factor that stays positive is all a step needs, in any precision."""
    return math.exp(u)


def _small_exponential(u: Any) -> Callable[[Any], Any]:
    real = np.float32 if u == types.float32 else np.float64

    def squared_three_times(u: Any) -> Any:
        r = u * real(0.125)
        p = real(1 / 120) * r + real(1 / 24)
        p = p * r + real(1 / 6)
        p = p * r + real(0.5)
        p = p * r + real(1.0)
        p = p * r + real(1.0)
        p *= p
        p *= p
        return p * p

    return squared_three_times


overload(small_exponential)(_small_exponential)


@compiled(fast=True, inner=True)
def centre(g: FloatArray, mean: FloatArray, bias_gradient: float) -> None:
    """g - h mu."""
    h = g.dtype.type(bias_gradient)
    for j in range(g.size):
        g[j] -= h * mean[j]


@compiled(fast=True, inner=True)
def centre_on_simplex(g: FloatArray, w: FloatArray, mean: FloatArray, bias_gradient: float) -> None:
    """g - h mu, less what only changes the row's sum: g - g.w."""
    h, dot = g.dtype.type(bias_gradient), g.dtype.type(0)
    for j in range(g.size):
        centred = g[j] - h * mean[j]
        dot += centred * w[j]
        g[j] = centred
    for j in range(g.size):
        g[j] -= dot


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
def adam_direction(g: FloatArray, m: FloatArray, v: FloatArray, h: FloatArray, fix1: float, fix2: float) -> None:
    """g becomes Adam's direction m / (sqrt(v) + eps) with the bias of the averages removed (fix = 1 / (1 - beta^t))."""
    real = h.dtype.type  # scalars are cast: one double among them would make every lane a double
    beta1, beta2, eps, lift1, lift2 = h[4], h[5], h[6], real(fix1), real(fix2)
    rest1, rest2 = real(1) - beta1, real(1) - beta2
    for j in range(g.size):
        m[j] = beta1 * m[j] + rest1 * g[j]
        v[j] = beta2 * v[j] + rest2 * g[j] * g[j]
        g[j] = (m[j] * lift1) / (np.sqrt(v[j] * lift2) + eps)


@compiled(fast=True, inner=True)
def slope_step(
    w: FloatArray,
    direction: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    mean: FloatArray,
    rate: float,
    keep: float,
) -> Any:
    """First-layer row: decay towards slope 0 (keep < 1), Adam step, back into the box. Returns (change of w) . mean."""
    shrink, step, moved = w.dtype.type(keep), w.dtype.type(rate), w.dtype.type(0)
    for j in range(w.size):
        new = min(max(w[j] * shrink - step * direction[j], lower[j]), upper[j])
        moved += (new - w[j]) * mean[j]
        w[j] = new
    return moved


@compiled(fast=True, inner=True)
def mixing_step(w: FloatArray, direction: FloatArray, mean: FloatArray, rate: float) -> Any:
    """Exponentiated step on the simplex. Returns (change of w) . mean."""
    one, least, step = w.dtype.type(1), w.dtype.type(FLOOR), w.dtype.type(rate)
    total, before, after = w.dtype.type(0), w.dtype.type(0), w.dtype.type(0)
    for j in range(w.size):
        u = min(max(-step * direction[j], -one), one)
        new = max(w[j] * small_exponential(u), least)
        total += new
        before += w[j] * mean[j]
        after += new * mean[j]
        w[j] = new
    scale = one / total
    for j in range(w.size):
        w[j] *= scale
    return after * scale - before


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
