"""Losses as a Newton step sees them: value, slope and curvature in f of every row. Others start from least squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CURVED", "Curved", "within_reach"]

FloatArray = NDArray[np.float64]

_STEEP = 30.0  # exponents: beyond, a loss under a log link is infinite in single precision anyway
_FLAT = 1e-3  # least curvature: where a probability is 0 or 1, steps would have no end


class Curved(NamedTuple):
    """values(f, y, parameter): loss of each row, up to a constant; derivatives: its slope and (expected) curvature."""

    values: Callable[[FloatArray, FloatArray, float], FloatArray]
    derivatives: Callable[[FloatArray, FloatArray, float], tuple[FloatArray, FloatArray]]


def within_reach(f: FloatArray) -> FloatArray:
    """Exponents that a loss can still be told from infinity with."""
    return np.minimum(np.maximum(f, -_STEEP), _STEEP)


def _logistic(f: FloatArray, y: FloatArray, _: float) -> tuple[FloatArray, FloatArray]:
    p = 1.0 / (1.0 + np.exp(-within_reach(f)))
    return p - y, np.maximum(p * (1.0 - p), _FLAT)


def _logistic_values(f: FloatArray, y: FloatArray, _: float) -> FloatArray:
    return np.maximum(f, 0.0) + np.log1p(np.exp(-np.abs(f))) - y * f


def _tweedie(f: FloatArray, y: FloatArray, power: float) -> tuple[FloatArray, FloatArray]:
    near = within_reach(f)
    curve = np.exp((2.0 - power) * near)
    return curve - y * np.exp((1.0 - power) * near), curve


def _tweedie_values(f: FloatArray, y: FloatArray, power: float) -> FloatArray:
    """Beyond the steepest exponent it goes on as a line: a step that leads there is still told from a shorter one."""
    near = within_reach(f)
    paid = near if power == 2.0 else np.exp((2.0 - power) * near) / (2.0 - power)
    earned = near if power == 1.0 else np.exp((1.0 - power) * near) / (1.0 - power)
    return paid - y * earned + (f - near) * _tweedie(f, y, power)[0]


def _of_power(power: float) -> Curved:
    return Curved(lambda f, y, _: _tweedie_values(f, y, power), lambda f, y, _: _tweedie(f, y, power))


CURVED: dict[str, Curved] = {
    "logistic": Curved(_logistic_values, _logistic),
    "poisson": _of_power(1.0),
    "gamma": _of_power(2.0),
    "tweedie": Curved(_tweedie_values, _tweedie),
}
