"""Columns of a FrozenNetwork to columns of a FixedPointNetwork: declared ranges, cut maps, integer nodes and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import FreezeError, InputError, StructureError
from monolip.fixed_point_columns import FixedCategory, FixedNumeric
from monolip.fixed_point_inputs import Column
from monolip.fixed_point_map import FixedMap
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.piecewise_linear import PiecewiseLinear

__all__ = ["Range", "declared_ranges", "float_columns", "integer_column", "largest_values"]

FloatArray = NDArray[np.float64]
Range = tuple[float, float]

_BEYOND = 4.0  # widths of the training data that a linear column is declared beyond it, on either side


def float_columns(frozen: FrozenNetwork) -> tuple[list[NumericColumn | CategoryColumn], InputTransform | None]:
    """Raw columns with a promise, and the transform of those that enter the free branch."""
    if frozen.inputs is not None:
        columns, starts = list(frozen.inputs.columns), frozen.inputs.starts
    else:
        names = [*(frozen.slopes.feature_names or [f"x{j}" for j in range(frozen.n_features)])]
        names += frozen.free_names or [f"free{j}" for j in range(frozen.n_free_features)]
        columns = [NumericColumn(name, (PiecewiseLinear([0.0], [0.0], 1.0, 1.0),)) for name in names]  # type: ignore[arg-type]
        starts = np.arange(len(columns) + 1)
    count = int(np.searchsorted(starts, frozen.n_features))
    if starts[count] != frozen.n_features:
        raise FreezeError(
            f"a raw column enters the trunks or the free branch, not both; {columns[count - 1].name!r} enters both; "
            "split it into two columns."
        )
    free = InputTransform(tuple(columns[count:])) if frozen.free_branch else None
    return columns[:count], free


def declared_ranges(columns: list[NumericColumn | CategoryColumn], given: Any) -> list[Range | None]:
    """The range of each numeric column in raw units: as given, or where its maps move, or around the training data."""
    asked = _as_mapping(columns, given)
    unknown = set(asked) - {column.name for column in columns if isinstance(column, NumericColumn)}
    if unknown:
        raise InputError(f"input_ranges names numeric columns with a promise; got {sorted(unknown)[:5]}; correct it.")
    return [None if isinstance(c, CategoryColumn) else asked.get(c.name) or _own_range(c) for c in columns]


def _as_mapping(columns: list[NumericColumn | CategoryColumn], given: Any) -> dict[str, Range]:
    if given is None:
        return {}
    names = [column.name for column in columns if isinstance(column, NumericColumn)]
    try:
        pairs = dict(given) if isinstance(given, Mapping) else dict(zip(names, given, strict=True))
        found = {name: (float(low), float(high)) for name, (low, high) in pairs.items()}
    except (TypeError, ValueError) as error:
        raise InputError(
            f"input_ranges is {{name: (low, high)}}, or a pair for each numeric column; {error}; pass one."
        ) from None
    for name, (low, high) in found.items():
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InputError(f"a declared range is finite, low < high; got ({low}, {high}) for {name!r}; correct it.")
    return found


def _own_range(column: NumericColumn) -> Range:
    low, high = min(phi.knots[0] for phi in column.maps), max(phi.knots[-1] for phi in column.maps)
    sloping = any(phi.left_slope or phi.right_slope for phi in column.maps)
    if not sloping:
        return float(low), float(high)
    if column.seen is None:
        raise InputError(
            f"column {column.name!r} goes on for ever, and sums in integers need a range; got none; pass "
            f"input_ranges={{{column.name!r}: (low, high)}}, beyond which inputs are clamped."
        )
    first, last = column.seen[0], column.seen[-1]
    width = (last - first) or abs(first) or 1.0
    return min(float(low), first - _BEYOND * width), max(float(high), last + _BEYOND * width)


def _integer_map(phi: PiecewiseLinear, rate: float, low: float, high: float) -> FixedMap:
    """phi in units of 1 / rate between low and high, and flat beyond, as the declared range says."""
    slope = phi.left_slope * rate
    if phi.knots.size == 1 and phi.left_slope == phi.right_slope > 0 and math.frexp(slope)[0] == 0.5:
        first, last = math.floor(Fraction(low) * Fraction(slope)), math.ceil(Fraction(high) * Fraction(slope))
        if max(abs(first), abs(last)) < 2**53:  # a line with whole nodes at both ends: its slope stays exact
            knot, value = Fraction(float(phi.knots[0])), Fraction(float(phi.values[0]))
            node = round((Fraction(first) / Fraction(slope) - knot) * Fraction(slope) + value * Fraction(rate))
            return FixedMap(np.array([first, last]) / slope, [node, node + last - first])  # type: ignore[arg-type]
    ends = [low] if low > phi.knots[0] or phi.left_slope else []
    ends += [high] if high < phi.knots[-1] or phi.right_slope else []
    kept = phi.knots[(phi.knots >= low) & (phi.knots <= high)]
    knots = np.unique(np.concatenate([ends, kept]))
    knots = knots if knots.size else np.array([low])
    return FixedMap(knots, np.rint(phi.evaluate(knots) * rate).astype(np.int64))


def largest_values(column: NumericColumn | CategoryColumn, span: Range | None) -> list[float]:
    """Largest magnitude of each model column inside the declared range."""
    if isinstance(column, CategoryColumn):
        return [float(v) for v in np.abs(column.table).max(axis=0)]
    assert span is not None
    found = [float(np.abs(phi.evaluate(np.array(span))).max()) for phi in column.maps]
    if column.present is not None:
        found.append(max(abs(column.present), abs((column.missing or (0.0,))[-1])))
    return found


def integer_column(column: NumericColumn | CategoryColumn, span: Range | None, rates: FloatArray) -> Column:
    """The column in integers. rates: units per unit of each model column."""
    if isinstance(column, CategoryColumn):
        table = np.rint(column.table * rates).astype(np.int64)
        return FixedCategory(column.name, column.categories, table, column.ordered)
    assert span is not None
    try:
        maps = [_integer_map(phi, r, *span) for phi, r in zip(column.maps, rates.tolist(), strict=False)]
    except StructureError as error:
        raise StructureError(f"column {column.name!r} has no integer form; {error}") from None
    present = None if column.present is None else round(column.present * float(rates[-1]))
    return FixedNumeric(column.name, tuple(maps), _missing(column, maps, rates), present)


def _missing(column: NumericColumn, maps: list[FixedMap], rates: FloatArray) -> tuple[int, ...] | None:
    """Integers of a missing value; "lowest" in a line without end is the end of its declared range."""
    if column.missing is None:
        return None
    ends = [(float(phi.nodes[0]), float(phi.nodes[-1])) for phi in maps]
    ends += [(-math.inf, math.inf)] * (column.present is not None)
    scaled = [v * rate for v, rate in zip(column.missing, rates.tolist(), strict=True)]
    return tuple(round(min(max(v, low), high)) for v, (low, high) in zip(scaled, ends, strict=True))
