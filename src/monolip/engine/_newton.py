"""Losses as a Newton step sees them: value, slope and curvature in f of every row. Others start from least squares."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._loss_kernels import exponential

__all__ = ["CURVED", "Curved", "derivatives", "of_loss", "value", "within_reach"]

FloatArray = NDArray[np.float64]

_STEEP = 30.0  # exponents: beyond, a loss under a log link is infinite in single precision anyway
_FLAT = 1e-3  # least curvature: where a probability is 0 or 1, steps would have no end


class Curved(NamedTuple):
    """Which loss: of two classes, or else of a positive target under a log link, with a power of its variance."""

    two_classes: bool
    power: float


CURVED: dict[str, Curved] = {
    "logistic": Curved(True, 0.0),
    "poisson": Curved(False, 1.0),
    "gamma": Curved(False, 2.0),
    "tweedie": Curved(False, math.nan),  # the loss's parameter
}


def of_loss(name: str, parameter: float) -> Curved:
    """A loss of those above."""
    return CURVED[name] if name != "tweedie" else Curved(False, parameter)


def within_reach(f: Any) -> Any:
    """Exponents that a loss can still be told from infinity with."""
    return np.minimum(np.maximum(f, -_STEEP), _STEEP)


@compiled(fast=True)
def derivatives(
    two_classes: bool, power: float, f: FloatArray, y: FloatArray, slope: FloatArray, curve: FloatArray
) -> None:
    """slope and (expected) curvature become those of each row's loss in f, (functions, n); exponentials are of single
    precision."""
    single: Any = np.float32
    for s in range(len(f)):
        if two_classes:
            for i in range(len(y)):
                other = exponential(single(min(max(-f[s, i], -_STEEP), _STEEP)))
                p = 1.0 / (1.0 + np.float64(other))
                slope[s, i], curve[s, i] = p - y[i], max(p * (1.0 - p), _FLAT)
        else:
            for i in range(len(y)):
                near = min(max(f[s, i], -_STEEP), _STEEP)
                curve[s, i] = np.float64(exponential(single((2.0 - power) * near)))
                slope[s, i] = curve[s, i] - y[i] * np.float64(exponential(single((1.0 - power) * near)))


@compiled(inner=True)
def value(two_classes: bool, power: float, f: float, y: float) -> float:
    """One row's loss, up to a constant. Beyond the steepest exponent it goes on as a line: a step that leads there is
    still told from a shorter one."""
    if two_classes:
        return max(f, 0.0) + math.log1p(math.exp(-abs(f))) - y * f
    near = min(max(f, -_STEEP), _STEEP)
    curve, other = math.exp((2.0 - power) * near), math.exp((1.0 - power) * near)
    paid = near if power == 2.0 else curve / (2.0 - power)
    earned = near if power == 1.0 else other / (1.0 - power)
    return paid - y * earned + (f - near) * (curve - y * other)
