"""The decision boundary in two features as a curve, and how jagged it is, as a number."""

from __future__ import annotations

from collections.abc import Callable

import contourpy
import numpy as np
from numpy.typing import NDArray

__all__ = ["boundary", "falling_steps", "grid", "turning"]

FloatArray = NDArray[np.float64]
Limits = tuple[tuple[float, float], tuple[float, float]]  # of the first and of the second feature


def grid(score: Callable[[FloatArray], FloatArray], limits: Limits, points: int) -> FloatArray:
    """Scores on a grid: rows are values of the second feature, columns of the first."""
    x, y = (np.linspace(*limit, points) for limit in limits)
    at = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return score(at).reshape(points, points)


def boundary(values: FloatArray, limits: Limits, cut: float) -> list[FloatArray]:
    """Lines of (x, y) along which the score crosses the cut."""
    x, y = (np.linspace(*limit, n) for limit, n in zip(limits, values.shape[::-1], strict=True))
    lines = contourpy.contour_generator(x, y, values).lines(cut)
    return [np.asarray(line) for line in lines]


def turning(lines: list[FloatArray], limits: Limits) -> float:
    """How far a walker along the boundary turns in all, in right angles, with each axis scaled to [0, 1].

    A straight line has 0 and a smooth bend from upright to level 1; a staircase has 2 for every step. Pieces shorter
    than a thousandth of the picture are joined first, so that the grid's own corners do not count.
    """
    low, size = np.array(limits)[:, 0], np.ptp(np.array(limits), axis=1)
    total = 0.0
    for line in lines:
        at = (line - low) / size
        kept = [at[0]]
        for point in at[1:]:
            if np.hypot(*(point - kept[-1])) > 1e-3:
                kept.append(point)
        step = np.diff(np.array(kept), axis=0)
        angle = np.arctan2(step[:, 1], step[:, 0])
        turn = np.abs((np.diff(angle) + np.pi) % (2 * np.pi) - np.pi)
        total += float(turn.sum())
    return total / (np.pi / 2)


def falling_steps(values: FloatArray, axis: int) -> float:
    """Share of the grid's steps along an axis at which the score falls."""
    return float(np.mean(np.diff(values, axis=axis) < 0.0))
