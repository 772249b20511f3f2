"""Moving rows into a convex set of slopes; written once for numpy arrays and torch tensors (no numpy call inside)."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["dykstra", "project_rows"]

# The pull towards the anchor makes any number of sweeps sound: few do in training, many give the nearest point.
_SWEEPS = 30


def dykstra(rows: Any, lower: Any, upper: Any, matrix: Any, limits: Any, ball: float, sweeps: int) -> Any:
    """Nearest point of the intersection, by cyclic projections with memory. numpy arrays and torch tensors alike."""
    squares = (matrix * matrix).sum(-1) + 1e-300
    point, memory = rows, [0.0 * rows for _ in range(len(limits) + 2)]
    for _ in range(sweeps):
        for k in range(len(limits) + 2):
            if k == len(limits) and ball == math.inf:
                continue
            moved = point + memory[k]
            if k < len(limits):
                excess = (moved @ matrix[k] - limits[k]).clip(min=0.0) / squares[k]
                point = moved - excess[..., None] * matrix[k]
            elif k == len(limits):
                norm = (moved * moved).sum(-1)[..., None] ** 0.5
                point = moved / (norm / ball).clip(min=1.0)
            else:
                point = moved.clip(lower, upper)
            memory[k] = moved - point
    return point


def project_rows(
    rows: Any, lower: Any, upper: Any, matrix: Any, limits: Any, ball: float, anchor: Any, sweeps: int = _SWEEPS
) -> Any:
    """Dykstra, then a pull along the segment to the anchor as far as needed: feasible however few sweeps were made."""
    near = rows.clip(lower, upper)
    if len(limits) or ball != math.inf:
        near = dykstra(rows, lower, upper, matrix, limits, ball, sweeps)
        away = near - anchor
        share = 1.0 + 0.0 * away.sum(-1)
        for k in range(len(limits)):
            room = limits[k] - anchor @ matrix[k]  # > 0: the anchor lies inside
            share = share - (share - room / (away @ matrix[k]).clip(min=room)).clip(min=0.0)
        if ball != math.inf:
            share = share - (share - _reach_of_ball(anchor, away, ball)).clip(min=0.0)
        near = (anchor + share[..., None] * away).clip(lower, upper)
    return near


def _reach_of_ball(anchor: Any, away: Any, ball: float) -> Any:
    """The largest t <= 1 with |anchor + t away|_2 <= ball: a quadratic, written so that away = 0 gives 1."""
    a, b, c = (away * away).sum(-1), (anchor * away).sum(-1), ball * ball - (anchor * anchor).sum(-1)
    return c / (b + (b * b + a * c) ** 0.5).clip(min=c)
