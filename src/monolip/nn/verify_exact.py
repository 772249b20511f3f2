"""The smallest slope of a small ReLU network over a box, in rational arithmetic: every reachable pattern is visited."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from monolip.nn.verify_layers import Layer
from monolip.nn.verify_simplex import OutOfTimeError, Row, inside

__all__ = ["ExactLayer", "Region", "exact_minimum", "on_unit_box", "region_of"]

MAX_UNITS = 12
_MAX_WEIGHTS = 20_000  # beyond, rational numbers take longer than the solver
_ZERO = Fraction(0)


@dataclass(frozen=True)
class ExactLayer:
    """A Layer in rational numbers."""

    weight: list[Row]
    bias: Row
    relu: bool


@dataclass(frozen=True)
class Region:
    """Where rows u + offsets > 0, u in the unit box: the inside of an activation pattern's region. point: in it.

    slope: of the network there, in the direction's sense and the user's units.
    """

    rows: tuple[Row, ...] = ()
    offsets: tuple[Fraction, ...] = ()
    point: Row | None = None
    slope: Fraction = _ZERO


@dataclass(frozen=True)
class _Node:
    """The units decided so far. slopes, values: of what the layer takes; done: (slope, value) of its own units."""

    region: Region
    at: int
    slopes: list[Row]
    values: Row
    done: tuple[tuple[Row, Fraction], ...] = ()


def on_unit_box(layers: Sequence[Layer], box: NDArray[np.float64]) -> tuple[ExactLayer, ...]:
    """The same function of u in [-1, 1]^d, exactly: x = middle + u * half."""
    made = []
    for layer in layers:
        rows = [list(map(Fraction, row)) for row in layer.weight.tolist()]
        made.append(ExactLayer(rows, list(map(Fraction, layer.bias.tolist())), layer.relu))
    low, high = ([Fraction(v) for v in side] for side in box.tolist())
    half = [(b - a) / 2 for a, b in zip(low, high, strict=True)]
    middle = [(b + a) / 2 for a, b in zip(low, high, strict=True)]
    first = made[0]
    bias = [b + _dot(row, middle) for row, b in zip(first.weight, first.bias, strict=True)]
    weight = [[w * h for w, h in zip(row, half, strict=True)] for row in first.weight]
    return (ExactLayer(weight, bias, first.relu), *made[1:])


def region_of(layers: Sequence[ExactLayer], pattern: Sequence[NDArray[np.bool_]], until: float) -> Region | None:
    """The region of one pattern with a point far inside it; None where it has no inside, which is a proof."""
    d = len(layers[0].weight[0])
    region, slopes, values = Region(), _unit_rows(d), [_ZERO] * d
    for layer, states in zip(layers, pattern, strict=True):
        done = []
        for row, bias, on in zip(layer.weight, layer.bias, states.tolist(), strict=True):
            slope, value = _combine(row, slopes), _dot(row, values) + bias
            if layer.relu:
                sides = _sides(slope, value)
                if bool(on) not in sides:
                    return None
                if len(sides) == 2:
                    region = _cut(region, slope, value, on)
            done.append((slope, value) if on or not layer.relu else ([_ZERO] * d, _ZERO))
        slopes, values = [slope for slope, _ in done], [value for _, value in done]
    point = inside(region.rows, region.offsets, d, until, deep=True)
    return None if point is None else replace(region, point=point)


def exact_minimum(
    layers: Sequence[ExactLayer], half: Fraction, feature: int, output: int, sign: int, floor: Fraction, until: float
) -> tuple[Fraction, Region | None] | None:
    """(bound, region): no slope is below bound; region: where it is, if below floor. None: too large, or no time.

    Without a region, bound >= floor: proved in rational arithmetic. Subtrees whose slopes stay above by interval
    bounds are not entered; a pattern is left out only where its region has no inside, or its slope is not needed.
    """
    units = sum(len(layer.bias) for layer in layers if layer.relu)
    if sum(len(row) for layer in layers for row in layer.weight) > _MAX_WEIGHTS:
        return None
    d, factor = len(layers[0].weight[0]), sign / half
    bound: Fraction | None = None
    best: Region | None = None
    stack = [_Node(Region(point=[_ZERO] * d), 0, _unit_rows(d), [_ZERO] * d)]
    try:
        while stack:
            if time.perf_counter() > until:
                return None
            node = stack.pop()
            low, high = _slope_bounds(layers, node, feature, output)
            least = min(low * factor, high * factor)
            if least >= floor or (best is not None and least >= best.slope):
                bound = least if bound is None else min(bound, least)
            elif node.at == len(layers):
                best = replace(node.region, slope=least)
            elif units > MAX_UNITS:
                return None
            else:
                stack += _children(layers[node.at], node, until)
    except OutOfTimeError:
        return None
    if best is not None:
        return best.slope, best
    return (floor if bound is None else bound), None


def _children(layer: ExactLayer, node: _Node, until: float) -> list[_Node]:
    """The next unit on and off, as far as either has an inside."""
    k, d = len(node.done), len(node.slopes[0])
    if k == len(layer.bias):
        return [_Node(node.region, node.at + 1, [slope for slope, _ in node.done], [value for _, value in node.done])]
    slope, value = _combine(layer.weight[k], node.slopes), _dot(layer.weight[k], node.values) + layer.bias[k]
    sides = _sides(slope, value) if layer.relu else (True,)
    made = []
    for on in sides:
        region: Region | None = node.region
        if len(sides) == 2:
            region = _cut(node.region, slope, value, on)
            assert node.region.point is not None
            here = _dot(slope, node.region.point) + value
            if here == 0 or (here > 0) != on:  # else the point lies on this side
                point = inside(region.rows, region.offsets, d, until)
                region = None if point is None else replace(region, point=point)
        if region is not None:
            own = (slope, value) if on else ([_ZERO] * d, _ZERO)
            made.append(replace(node, region=region, done=(*node.done, own)))
    return made


def _sides(slope: Row, value: Fraction) -> tuple[bool, ...]:
    """Whether a unit can be on, off or both inside the box. A unit that is 0 everywhere counts as off."""
    reach = sum(map(abs, slope))
    if value - reach >= 0 and (reach or value):
        return (True,)
    return (False,) if value + reach <= 0 else (True, False)


def _cut(region: Region, slope: Row, value: Fraction, on: bool) -> Region:
    row, offset = (slope, value) if on else ([-v for v in slope], -value)
    return replace(region, rows=(*region.rows, row), offsets=(*region.offsets, offset))


def _slope_bounds(
    layers: Sequence[ExactLayer], node: _Node, feature: int, output: int
) -> tuple[Fraction, Fraction]:  # fmt: skip
    """Interval bounds of the output's slope, with the units of the node decided."""
    bounds = [(slope[feature], slope[feature]) for slope in node.slopes]
    for at in range(node.at, len(layers)):
        layer, decided = layers[at], node.done if at == node.at else ()
        found = [(slope[feature], slope[feature]) for slope, _ in decided]
        for row in layer.weight[len(decided) :]:
            ends = [(w * a, w * b) if w > 0 else (w * b, w * a) for w, (a, b) in zip(row, bounds, strict=True) if w]
            low, high = sum((a for a, _ in ends), _ZERO), sum((b for _, b in ends), _ZERO)
            found.append((min(low, _ZERO), max(high, _ZERO)) if layer.relu else (low, high))
        bounds = found
    return bounds[output]


def _unit_rows(d: int) -> list[Row]:
    return [[Fraction(j == k) for k in range(d)] for j in range(d)]


def _dot(row: Row, values: Row) -> Fraction:
    return sum((w * v for w, v in zip(row, values, strict=True) if w and v), _ZERO)


def _combine(row: Row, slopes: list[Row]) -> Row:
    columns = list(zip(*((w, slope) for w, slope in zip(row, slopes, strict=True) if w), strict=True))
    if not columns:
        return [_ZERO] * len(slopes[0])
    weights, chosen = columns
    return [sum((w * s[k] for w, s in zip(weights, chosen, strict=True)), _ZERO) for k in range(len(slopes[0]))]
