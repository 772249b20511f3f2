r"""From the tensors a runtime is given to model columns: maps of numbers, tables of categories, missing values.

    piece i = number of knots <= x           comparisons of x with all knots of a map, added up
    floats:        u = clamp(v_i + (x - k_i) slope_i, low_i, high_i)
    fixed point:   u = clamp(V_i + Round((x' - k_i) rate_i), V_i, V_{i+1}),  x' = x clamped to the knots

All in float64, by the operations of `PiecewiseLinear` and `FixedMap` in their order: the same bits. Maps are evaluated
together, in groups of like numbers of knots, padded with infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.export.onnx_categories import is_text, lookup
from monolip.export.onnx_graph import Graph
from monolip.fixed_point_columns import FixedCategory, FixedNumeric
from monolip.fixed_point_map import FixedMap
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.piecewise_linear import PiecewiseLinear

__all__ = ["Raw", "any_of", "model_columns", "raw_tensors"]

Column = NumericColumn | CategoryColumn | FixedNumeric | FixedCategory
Map = PiecewiseLinear | FixedMap
FloatArray = NDArray[np.float64]

_MAX = float(np.finfo(np.float64).max)


@dataclass
class Raw:
    """What a runtime is given: all numbers as one float64 tensor, and one tensor per column of strings.

    Args:
        numbers: name of the tensor (rows, n_numbers); None without numbers.
        place: column of `numbers` for each column that is there, by name.
        texts: name of the tensor (rows, 1) of each column of strings, by name.
        refused: flags (rows, 1), true where a column without a rule for missing values is missing.
    """

    numbers: str | None
    place: dict[str, int]
    texts: dict[str, str]
    refused: list[str]


def raw_tensors(graph: Graph, columns: Sequence[Column], kind: str) -> Raw:
    """Declare the inputs: one tensor "X" if all columns are numbers, else one input per column, under its name."""
    texts = {c.name for c in columns if is_text(c)}
    numbers = [c.name for c in columns if c.name not in texts]
    place = {name: k for k, name in enumerate(numbers)}
    if not texts:
        x = graph.input("X", kind, len(numbers))
        return Raw(_wide(graph, x, kind), place, {}, [])
    given = {c.name: graph.input(c.name, "string" if c.name in texts else kind, 1) for c in columns}
    joined = [given[name] for name in numbers]
    x = "" if not joined else joined[0] if len(joined) == 1 else graph.add("Concat", *joined, axis=1)
    return Raw(_wide(graph, x, kind) if x else None, place, {name: given[name] for name in sorted(texts)}, [])


def model_columns(graph: Graph, columns: Sequence[Column], raw: Raw) -> str:
    """Model columns in float64, (rows, n_model)."""
    numeric = [c for c in columns if isinstance(c, NumericColumn | FixedNumeric)]
    blocks, places, start = [], [], 0
    starts = np.cumsum([0, *[c.n_model for c in columns]])
    if numeric:
        blocks.append(_numbers(graph, numeric, raw))
        for c, first in zip(columns, starts, strict=False):
            places += list(range(first, first + c.n_model)) if c in numeric else []
    for c, first in zip(columns, starts, strict=False):
        if isinstance(c, CategoryColumn | FixedCategory):
            text = raw.texts.get(c.name)
            given = text or _pick(graph, raw, [c.name])
            blocks.append(lookup(graph, c, given))
            places += list(range(first, first + c.n_model))
    joined = blocks[0] if len(blocks) == 1 else graph.add("Concat", *blocks, axis=1)
    order = np.argsort(places)
    start = int((np.diff(order) < 0).any())
    return graph.add("Gather", joined, graph.constant(order, "int64"), axis=1) if start else joined


def _wide(graph: Graph, x: str, kind: str) -> str:
    return x if kind == "float64" else graph.cast(x, "float64")


def _pick(graph: Graph, raw: Raw, names: Sequence[str]) -> str:
    """The columns of these names, in this order, repeated where a name is."""
    places = [raw.place[name] for name in names]
    assert raw.numbers is not None
    if places == list(range(len(raw.place))):
        return raw.numbers
    return graph.add("Gather", raw.numbers, graph.constant(places, "int64"), axis=1)


def _numbers(graph: Graph, columns: Sequence[Any], raw: Raw) -> str:
    names = [c.name for c in columns for _ in range(c.n_model)]
    maps: list[Map] = [phi for c in columns for phi in _maps(c)]
    missing = [v for c in columns for v in (c.missing or (0.0,) * c.n_model)]
    x = _pick(graph, raw, [c.name for c in columns])
    absent = graph.add("IsNaN", x)
    x = graph.add("Where", absent, _f64(graph, 0.0), x)
    strict = [k for k, c in enumerate(columns) if c.missing is None]
    if strict:
        raw.refused.append(any_of(graph, absent, None if len(strict) == len(columns) else strict))
    u = _evaluate(graph, maps, x, [k for k, c in enumerate(columns) for _ in range(c.n_model)])
    if len(strict) == len(columns):
        return u
    if len(names) > len(columns):
        spread = [k for k, c in enumerate(columns) for _ in range(c.n_model)]
        absent = graph.add("Gather", absent, graph.constant(spread, "int64"), axis=1)
    return graph.add("Where", absent, _f64(graph, [missing]), u)


def any_of(graph: Graph, flags: str, columns: list[int] | None) -> str:
    """(rows, 1): whether any of these columns of flags is true."""
    if columns is not None:
        flags = graph.add("Gather", flags, graph.constant(columns, "int64"), axis=1)
    most = graph.add("ReduceMax", graph.cast(flags, "int32"), axes=[1], keepdims=1)
    return graph.cast(most, "bool")


def _maps(column: Any) -> list[Map]:
    """The maps of a column; its indicator of presence is a constant one."""
    if column.present is None:
        return list(column.maps)
    knot, value = np.zeros(1), np.array([column.present])
    fixed = isinstance(column, FixedNumeric)
    return [*column.maps, FixedMap(knot, value) if fixed else PiecewiseLinear(knot, value)]


def _evaluate(graph: Graph, maps: Sequence[Map], x: str, source: Sequence[int]) -> str:
    """All maps, each of its source column of x; like numbers of knots together."""
    width = {k: 1 << (phi.knots.size - 1).bit_length() for k, phi in enumerate(maps)}
    groups = [[k for k in width if width[k] == w] for w in sorted(set(width.values()))]
    parts = []
    for group in groups:
        places = [source[k] for k in group]
        given = graph.add("Gather", x, graph.constant(places, "int64"), axis=1)
        parts.append(_like_maps(graph, [maps[k] for k in group], given))
    joined = parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)
    order = np.argsort([k for group in groups for k in group])
    return joined if len(parts) == 1 else graph.add("Gather", joined, graph.constant(order, "int64"), axis=1)


def _like_maps(graph: Graph, maps: Sequence[Map], x: str) -> str:
    """One map per column of x; tables are padded to the largest number of knots."""
    g, size = graph, max(phi.knots.size for phi in maps)
    knots = np.full((len(maps), size), np.inf)
    table = np.zeros((len(maps), size + 1, 5))
    for k, phi in enumerate(maps):
        knots[k, : phi.knots.size] = phi.knots
        table[k, : phi.knots.size + 1] = phi.pieces
    fixed = isinstance(maps[0], FixedMap)
    ends = [[phi.knots[0] for phi in maps], [phi.knots[-1] for phi in maps]] if fixed else [[-_MAX], [_MAX]]
    x = g.add("Min", g.add("Max", x, _f64(g, [ends[0]])), _f64(g, [ends[1]]))
    x = g.add("Unsqueeze", x, g.constant([2], "int64"))
    passed = g.cast(g.add("GreaterOrEqual", x, _f64(g, knots)), "int32")
    count = g.add("ReduceSum", passed, g.constant([2], "int64"), keepdims=0)
    at = g.add("Add", count, g.constant([np.arange(len(maps)) * (size + 1)], "int32"))
    pieces = g.add("Gather", _f64(g, table.reshape(-1, 5)), at, axis=0)  # a row per number: faster than five tables
    anchor, value, slope, low, high = g.add_many("Split", 5, pieces, g.constant([1] * 5, "int64"), axis=2)
    away = g.add("Sub", x, anchor)
    if not fixed:
        away = g.add("Min", g.add("Max", away, _f64(g, -_MAX)), _f64(g, _MAX))
    rise = g.add("Mul", away, slope)
    u = g.add("Add", value, g.add("Round", rise) if fixed else rise)
    return g.add("Squeeze", g.add("Min", g.add("Max", u, low), high), g.constant([2], "int64"))


def _f64(graph: Graph, values: Any) -> str:
    return graph.constant(values, "float64")
