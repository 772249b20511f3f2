"""From an activation pattern with a wrong slope to two points that prove it in exact rational arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.nn.verify_exact import Region
from monolip.nn.verify_layers import Layer, exact_outputs

__all__ = ["Witness", "region_witness", "sampled_witness", "witness_of"]

FloatArray = NDArray[np.float64]
_SAMPLES, _TRIES = 4096, 8


@dataclass(frozen=True)
class Witness:
    """Two float64 points of the box that differ in one feature; f of both, exact; they are the wrong way round."""

    low: FloatArray
    high: FloatArray
    f_low: Fraction
    f_high: Fraction

    @property
    def drop(self) -> Fraction:
        """By how much f goes the wrong way, exactly."""
        return abs(self.f_high - self.f_low)


def witness_of(
    layers: Sequence[Layer], box: FloatArray, pattern: Sequence[NDArray[np.bool_]], feature: int, output: int, sign: int
) -> Witness | None:
    """A pair inside the region of the pattern, as long as it fits; None where the region has no inside."""
    rows, offsets = _region(layers, pattern)
    point = _deepest(rows, offsets, box)
    if point is None:
        return None
    along = rows[:, feature]
    depth = rows @ point + offsets
    with np.errstate(divide="ignore", invalid="ignore"):
        up = float(np.min(np.where(along < 0, depth / -along, np.inf), initial=np.inf))
        down = float(np.min(np.where(along > 0, depth / along, np.inf), initial=np.inf))
    low, high = point.copy(), point.copy()
    low[feature] = max(box[0, feature], point[feature] - down)
    high[feature] = min(box[1, feature], point[feature] + up)
    f_low, f_high = exact_outputs(layers, low.tolist())[output], exact_outputs(layers, high.tolist())[output]
    if high[feature] > low[feature] and sign * (f_high - f_low) < 0:
        return Witness(low, high, f_low, f_high)
    return None


def region_witness(
    layers: Sequence[Layer], box: FloatArray, region: Region, feature: int, output: int, sign: int
) -> Witness | None:
    """A pair on the line through the region's point, its ends found exactly; None where no two floats lie there."""
    assert region.point is not None
    low, high = ([Fraction(v) for v in side] for side in box.tolist())
    half = [(b - a) / 2 for a, b in zip(low, high, strict=True)]
    x = [float(a + h * (u + 1)) for a, h, u in zip(low, half, region.point, strict=True)]
    u = [(Fraction(v) - a) / h - 1 for v, a, h in zip(x, low, half, strict=True)]  # of the rounded point
    ends = [Fraction(-1), Fraction(1)]
    for row, offset in zip(region.rows, region.offsets, strict=True):
        rest = offset + sum((r * v for k, (r, v) in enumerate(zip(row, u, strict=True)) if k != feature), Fraction(0))
        if row[feature]:
            side = 0 if row[feature] > 0 else 1
            ends[side] = (max, min)[side](ends[side], -rest / row[feature])
    bottom, top = (low[feature] + half[feature] * (end + 1) for end in ends)
    first, last = float(bottom), float(top)
    first = float(np.nextafter(first, np.inf)) if first < bottom else first
    last = float(np.nextafter(last, -np.inf)) if last > top else last
    if not box[0, feature] <= first < last <= box[1, feature]:
        return None
    pair = [
        [first if k == feature else v for k, v in enumerate(x)],
        [last if k == feature else v for k, v in enumerate(x)],
    ]
    f_low, f_high = (exact_outputs(layers, point)[output] for point in pair)
    return Witness(np.array(pair[0]), np.array(pair[1]), f_low, f_high) if sign * (f_high - f_low) < 0 else None


def sampled_witness(layers: Sequence[Layer], box: FloatArray, feature: int, output: int, sign: int) -> Witness | None:
    """The steepest wrong slope at random points of the box: for what the solver could not decide in time."""
    z = np.random.default_rng(0).uniform(box[0], box[1], (_SAMPLES, box.shape[1]))
    slope = np.zeros_like(z)
    slope[:, feature] = 1.0
    patterns = []
    for layer in layers:
        with np.errstate(all="ignore"):  # what overflows is no witness
            z, slope = z @ layer.weight.T + layer.bias, slope @ layer.weight.T
        on = z > 0 if layer.relu else np.ones(z.shape, np.bool_)
        patterns.append(on)
        z, slope = on * z, on * slope
    for row in np.argsort(sign * slope[:, output])[:_TRIES]:
        if sign * slope[row, output] < 0:
            witness = witness_of(layers, box, [on[row] for on in patterns], feature, output, sign)
            if witness is not None:
                return witness
    return None


def _region(layers: Sequence[Layer], pattern: Sequence[NDArray[np.bool_]]) -> tuple[FloatArray, FloatArray]:
    """rows x + offsets >= 0 where the ReLU units are on and off as in the pattern."""
    d = layers[0].weight.shape[1]
    slope, value = np.eye(d), np.zeros(d)
    rows, offsets = [np.zeros((0, d))], [np.zeros(0)]
    for layer, on in zip(layers, pattern, strict=True):
        slope, value = layer.weight @ slope, layer.weight @ value + layer.bias
        if layer.relu:
            side = np.where(on, 1.0, -1.0)
            rows.append(side[:, None] * slope)
            offsets.append(side * value)
            slope, value = on[:, None] * slope, on * value
    return np.vstack(rows), np.concatenate(offsets)


def _deepest(rows: FloatArray, offsets: FloatArray, box: FloatArray) -> FloatArray | None:
    """The point of the box farthest from all borders of the region; None where it has no inside."""
    size = np.linalg.norm(rows, axis=1)
    dead = size <= 1e-14  # constant units: no border, but their sign must be right
    if (offsets[dead] < 0).any():
        return None
    rows, offsets, size = rows[~dead], offsets[~dead], size[~dead]
    optimize: Any = import_module("scipy.optimize")
    d = box.shape[1]
    widths = box[1] - box[0]
    upper = np.hstack([-rows, size[:, None]])
    limits = [*zip(box[0], box[1], strict=True), (0.0, float(widths.max()) or 1.0)]
    found = optimize.linprog(np.append(np.zeros(d), -1.0), A_ub=upper, b_ub=offsets, bounds=limits, method="highs")
    if found.status != 0 or found.x[-1] <= 1e-12:
        return None
    return np.clip(np.asarray(found.x[:d], np.float64), box[0], box[1])
