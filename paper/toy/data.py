"""Noisy data of a monotone function of one variable: the noise grows towards the edges of the support."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["SUPPORT", "edge_trend", "noise_level", "realisation", "realisation_with_trend", "truth"]

FloatArray = NDArray[np.float64]

SUPPORT = (-1.0, 1.0)
EDGE = 0.6  # the outer part of the support, where the noise is largest


def truth(x: FloatArray) -> FloatArray:
    """tanh(2x) + x/10: increasing everywhere, nearly flat at both edges, slopes of at most 2.1."""
    return np.asarray(np.tanh(2.0 * x) + 0.1 * x)


def noise_level(x: FloatArray) -> FloatArray:
    """Standard deviation of the Gaussian noise: 0.05 in the middle, 0.4 at the edges."""
    return np.asarray(0.05 + 0.35 * x**2)


def realisation(seed: int, n: int) -> tuple[FloatArray, FloatArray]:
    """Sorted x, uniform on the support, and y = truth + noise."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(*SUPPORT, n))
    return x, truth(x) + noise_level(x) * rng.normal(size=n)


def edge_trend(x: FloatArray, y: FloatArray) -> float:
    """Least-squares slope of the points beyond EDGE on the right: what the data suggest at the edge of the support."""
    at = x > EDGE
    return float(np.polyfit(x[at], y[at], 1)[0])


def realisation_with_trend(sign: int, n: int) -> int:
    """The first seed whose data rise (+1) or fall (-1) clearly at the right edge: a rule, so that nothing is picked."""
    return next(seed for seed in range(1000) if sign * edge_trend(*realisation(seed, n)) > 0.75)
