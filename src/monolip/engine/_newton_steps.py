"""Newton steps of additive starts: to the solution of a least-squares problem each, or part of the way to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._descent import descend
from monolip.engine._newton import value

__all__ = ["newton_steps"]

FloatArray = NDArray[np.float64]

NEAR = 2.0  # change of f in any row up to which curvature, and so a Newton step, can be trusted
HALVINGS = 8  # of a step that makes things worse; one that still does is not made
NOISE = 1e-6  # part of the loss that sums in single precision do not tell


@compiled(inner=True)
def _linear(
    x: NDArray[Any], w: FloatArray, less: FloatArray, constant: float, line: NDArray[Any], f: FloatArray
) -> None:
    """f = (w - less) . x + constant, in x's precision; x: (d, n), columns of the table."""
    for i in range(line.size):
        line[i] = 0.0
    for j in range(w.size):
        slope = line.dtype.type(w[j] - less[j])
        if slope != 0.0:
            for i in range(line.size):
                line[i] += x[j, i] * slope
    for i in range(line.size):
        f[i] = line[i] + constant


@compiled(inner=True)
def _cost(
    two_classes: bool, power: float, f: FloatArray, part: float, change: FloatArray, y: FloatArray,
    weight: FloatArray, strength: float, penalty: FloatArray, w: FloatArray,
) -> float:  # fmt: skip
    """What is minimised, at f + part * change; rows without weight are not looked at."""
    total = 0.0
    for j in range(w.size):
        total += strength * penalty[j] * w[j] * w[j] / 2.0
    for i in range(f.size):
        if weight[i] != 0.0:
            total += weight[i] * value(two_classes, power, f[i] + part * change[i], y[i])
    return total


@compiled(inner=True)
def _is_near(change: FloatArray) -> bool:
    far = 0
    for i in range(change.size):
        far += not abs(change[i]) <= NEAR
    return far == 0


@compiled()
def newton_steps(
    two_classes: bool, power: float, x: NDArray[Any], y: FloatArray, offset: FloatArray, weights: FloatArray,
    gram: NDArray[Any], moment: FloatArray, mean: FloatArray, middle: FloatArray, strength: float,
    penalty: FloatArray, lower: FloatArray, upper: FloatArray, reach: FloatArray, tolerance: FloatArray,
    slopes: FloatArray, constants: FloatArray, line: NDArray[Any], rows: FloatArray, room: FloatArray,
) -> None:  # fmt: skip
    """slopes and constants, a row for each start, move to the solutions of least-squares problems under one penalty.

    A step that leads far and would make things worse is halved, or not made. x: (d, n), columns of the table; reach:
    (d,), the largest size of each; line: (n,), rows: (2, n) and room: (4, d), to work in, row 0 of the last one zeros.
    """
    here, change, zeros, new, there, rest = rows[0], rows[1], room[0], room[1], room[2], room[3]
    for s in range(len(slopes)):
        w, constant, last, most, part = slopes[s], constants[s], middle[s], 0.0, 1.0
        for j in range(w.size):
            new[j] = w[j]
        descend(s, gram, moment, strength, penalty, lower, upper, new, tolerance[s], rest)
        for j in range(w.size):
            last -= mean[s, j] * new[j]
            most += abs(new[j] - w[j]) * reach[j]
            there[j] = new[j]
        made = most + abs(last - constant) <= NEAR
        if not made:
            _linear(x, new, w, last - constant, line, change)
            made = _is_near(change)
        if not made:
            _linear(x, w, zeros, constant, line, here)
            for i in range(here.size):
                here[i] += offset[i]
            before = _cost(two_classes, power, here, 0.0, change, y, weights[s], strength, penalty, w)
            for _ in range(HALVINGS):
                cost = _cost(two_classes, power, here, part, change, y, weights[s], strength, penalty, there)
                if cost <= before + NOISE * abs(before):
                    made = True
                    break
                part /= 2.0
                for j in range(w.size):
                    there[j] = min(max(w[j] + part * (new[j] - w[j]), lower[j]), upper[j])
        if made:
            constants[s] = constant + part * (last - constant)
            for j in range(w.size):
                w[j] = there[j]
