"""The loops behind `losses`: plain functions, compiled one by one for the precision in use.

Each gradient writes out = weight * d loss / d f; each value returns sum weight * loss in double precision. Written
out rather than generated: a function made by a factory cannot be cached between processes. exp is here too, since
numba notices edits of this file only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

FloatArray = NDArray[Any]


def exponential(x: float) -> float:
    """exp(x) that vectorises: in float32 a polynomial (3e-7), held at exp(88) instead of infinity; NaN stays NaN."""
    return math.exp(x)


def _exponential(x: Any) -> Callable[[Any], Any]:
    def library(x: Any) -> Any:
        return math.exp(x)

    def polynomial(x: Any) -> Any:
        f = np.float32
        x = f(88.0) if x > f(88.0) else x
        x = f(-87.0) if x < f(-87.0) else x
        n = np.floor(x * f(1.4426950408889634) + f(0.5))
        r = x - n * f(0.693359375) + n * f(2.12194440e-4)  # ln 2 in two parts: the first times n is exact
        p = f(1.9875691500e-4)
        p = p * r + f(1.3981999507e-3)
        p = p * r + f(8.3334519073e-3)
        p = p * r + f(4.1665795894e-2)
        p = p * r + f(1.6666665459e-1)
        p = p * r + f(5.0000001201e-1)
        p = p * r * r + r + f(1.0)
        return p * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)

    return polynomial if x == types.float32 else library


overload(exponential)(_exponential)


def squared_value(f: FloatArray, y: FloatArray, weight: FloatArray, _: float) -> float:
    total = 0.0
    for i in range(f.size):
        total += weight[i] * (f[i] - y[i]) * (f[i] - y[i])
    return total


def squared_gradient(f: FloatArray, y: FloatArray, weight: FloatArray, out: FloatArray, _: float) -> None:
    for i in range(f.size):
        out[i] = weight[i] * ((f[i] - y[i]) + (f[i] - y[i]))


def absolute_value(f: FloatArray, y: FloatArray, weight: FloatArray, _: float) -> float:
    total = 0.0
    for i in range(f.size):
        total += weight[i] * abs(f[i] - y[i])
    return total


def absolute_gradient(f: FloatArray, y: FloatArray, weight: FloatArray, out: FloatArray, _: float) -> None:
    for i in range(f.size):
        out[i] = weight[i] * np.sign(f[i] - y[i])


def huber_value(f: FloatArray, y: FloatArray, weight: FloatArray, delta: float) -> float:
    total = 0.0
    for i in range(f.size):
        e = abs(np.float64(f[i]) - y[i])
        total += weight[i] * (0.5 * e * e if e <= delta else delta * (e - 0.5 * delta))
    return total


def huber_gradient(f: FloatArray, y: FloatArray, weight: FloatArray, out: FloatArray, delta: float) -> None:
    high, low = f.dtype.type(delta), f.dtype.type(-delta)
    for i in range(f.size):
        out[i] = weight[i] * min(max(f[i] - y[i], low), high)


def pinball_value(f: FloatArray, y: FloatArray, weight: FloatArray, quantile: float) -> float:
    total = 0.0
    for i in range(f.size):
        e = np.float64(y[i]) - f[i]
        total += weight[i] * max(quantile * e, (quantile - 1.0) * e)
    return total


def pinball_gradient(f: FloatArray, y: FloatArray, weight: FloatArray, out: FloatArray, quantile: float) -> None:
    below, above = f.dtype.type(-quantile), f.dtype.type(1.0 - quantile)
    for i in range(f.size):
        out[i] = weight[i] * (below if f[i] < y[i] else above)


def logistic_value(f: FloatArray, y: FloatArray, weight: FloatArray, _: float) -> float:
    total = 0.0
    for i in range(f.size):
        z = np.float64(f[i])
        total += weight[i] * (max(z, 0.0) + math.log1p(math.exp(-abs(z))) - y[i] * z)
    return total


def logistic_gradient(f: FloatArray, y: FloatArray, weight: FloatArray, out: FloatArray, _: float) -> None:
    one = f.dtype.type(1)
    for i in range(f.size):
        out[i] = weight[i] * (one / (one + exponential(-f[i])) - y[i])


def softmax_value(f: FloatArray, y: FloatArray, weight: FloatArray, temperature: float) -> float:
    lanes = y.size
    total = 0.0
    for lane in range(lanes):
        top = np.float64(f[lane])
        for k in range(lane, f.size, lanes):
            top = max(top, np.float64(f[k]))
        mass = 0.0
        for k in range(lane, f.size, lanes):
            mass += math.exp(temperature * (f[k] - top))
        total += weight[lane] * (math.log(mass) - temperature * (f[int(y[lane]) * lanes + lane] - top))
    return total


def softmax_gradient(f: FloatArray, y: FloatArray, weight: FloatArray, out: FloatArray, temperature: float) -> None:
    lanes = y.size
    t = f.dtype.type(temperature)
    for lane in range(lanes):
        top = f[lane]
        for k in range(lane, f.size, lanes):
            top = max(top, f[k])
        mass = f.dtype.type(0)
        for k in range(lane, f.size, lanes):
            out[k] = exponential(t * (f[k] - top))
            mass += out[k]
        scale = weight[lane] * t / mass
        for k in range(lane, f.size, lanes):
            out[k] *= scale
        out[int(y[lane]) * lanes + lane] -= weight[lane] * t


def poisson_value(f: FloatArray, y: FloatArray, weight: FloatArray, _: float) -> float:
    total = 0.0
    for i in range(f.size):
        total += weight[i] * (math.exp(np.float64(f[i])) - np.float64(y[i]) * f[i])
    return total


def poisson_gradient(f: FloatArray, y: FloatArray, weight: FloatArray, out: FloatArray, _: float) -> None:
    for i in range(f.size):
        out[i] = weight[i] * (exponential(f[i]) - y[i])


def gamma_value(f: FloatArray, y: FloatArray, weight: FloatArray, _: float) -> float:
    total = 0.0
    for i in range(f.size):
        total += weight[i] * (np.float64(y[i]) * math.exp(-np.float64(f[i])) + f[i])
    return total


def gamma_gradient(f: FloatArray, y: FloatArray, weight: FloatArray, out: FloatArray, _: float) -> None:
    one = f.dtype.type(1)
    for i in range(f.size):
        out[i] = weight[i] * (one - y[i] * exponential(-f[i]))


def tweedie_value(f: FloatArray, y: FloatArray, weight: FloatArray, power: float) -> float:
    a, b = 2.0 - power, 1.0 - power
    total = 0.0
    for i in range(f.size):
        z = np.float64(f[i])
        total += weight[i] * (math.exp(a * z) / a - y[i] * math.exp(b * z) / b)
    return total


def tweedie_gradient(f: FloatArray, y: FloatArray, weight: FloatArray, out: FloatArray, power: float) -> None:
    a, b = f.dtype.type(2.0 - power), f.dtype.type(1.0 - power)
    for i in range(f.size):
        out[i] = weight[i] * (exponential(a * f[i]) - y[i] * exponential(b * f[i]))
