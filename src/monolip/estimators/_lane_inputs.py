"""Raw values straight into lanes: the input transform as tables that one compiled loop reads.

Between two knots most maps of a feature are constant (only u and one bin move), so a value costs one count of knots,
one row of constants and the few maps that move there. Categories and missing values are rows of constants alone.
The bits are those of InputTransform.evaluate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._count_knots import LANES, count_knots
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform

__all__ = ["GOOD", "LANES", "LaneTables", "fill_lanes", "lane_tables"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

GOOD, INFINITE, MISSING, TOO_LARGE = 0, 1, 2, 4
_MAX = float(np.finfo(np.float64).max)
# columns of LaneTables.columns
KNOTS_AT, N_KNOTS, CONSTANTS_AT, N_MODEL, FIRST, MOVING_AT, N_MOVING, HAS_RULE, UNBOUNDED = range(9)


class LaneTables(NamedTuple):
    """columns: (n_raw, 9), see above. A column's rows: stretches between knots, then missing; or its categories."""

    columns: IntArray
    knots: FloatArray
    constants: FloatArray  # flat (rows, n_model) of each column: values where nothing moves
    moving_map: IntArray  # flat (rows, n_moving) of each column: which of its maps move
    moving_piece: FloatArray  # flat (rows, n_moving, 5): how, as rows of PiecewiseLinear.pieces


def lane_tables(inputs: InputTransform, limit: float) -> LaneTables:
    """Tables of all columns. limit: what the networks clamp to; columns that could pass it are marked."""
    parts: list[tuple[FloatArray, FloatArray, IntArray, FloatArray]] = []
    columns, at = [], np.zeros(3, dtype=np.int64)
    for i, column in enumerate(inputs.columns):
        if isinstance(column, NumericColumn):
            part = _numeric(inputs, i, column)
            rule, unbounded = column.missing is not None, _can_pass(column, limit)
        else:
            none = np.zeros((len(column.table), 0), dtype=np.int64)
            part, rule, unbounded = (np.zeros(0), column.table, none, np.zeros((len(column.table), 0, 5))), True, False
        knots, constants, maps, _ = part
        where = (at[0], len(knots), at[1], column.n_model, inputs.starts[i], at[2], maps.shape[1], rule, unbounded)
        columns.append([int(v) for v in where])
        at += (len(knots), constants.size, maps.size)
        parts.append(part)
    flat = [np.concatenate([np.ravel(part[k]) for part in parts]) for k in range(4)]
    return LaneTables(np.array(columns, dtype=np.int64), flat[0], flat[1], flat[2].astype(np.int64), flat[3])


def _can_pass(column: NumericColumn, limit: float) -> bool:
    """Whether a model column could be larger than limit: it has a sloping tail, or a table entry beyond."""
    sloping = any(phi.left_slope or phi.right_slope for phi in column.maps)
    largest = max(float(np.abs(phi.values).max()) for phi in column.maps)
    return sloping or max(largest, *map(abs, column.missing or (0.0,)), abs(column.present or 0.0)) > limit


def _numeric(
    inputs: InputTransform, i: int, column: NumericColumn
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    knots, number = inputs.pieces_of(i)
    table = np.stack([phi.pieces[number[:, m]] for m, phi in enumerate(column.maps)], axis=1)
    constants = np.full((len(knots) + 2, column.n_model), np.nan if column.present is None else column.present)
    constants[:-1, : len(column.maps)] = table[:, :, 1]
    constants[-1] = np.nan if column.missing is None else column.missing
    active = [np.flatnonzero(stretch[:, 2]) for stretch in table]
    most = max(map(len, active))
    # a stretch with fewer moving maps repeats the first map, which is then computed twice: every row costs the same
    maps = np.zeros((len(constants), most), dtype=np.int64)
    pieces = np.zeros((len(constants), most, 5))
    for row, found in enumerate(active):
        maps[row, : len(found)] = found
        pieces[row] = table[row, maps[row]]
    pieces[-1, :, 1] = pieces[-1, :, 3] = pieces[-1, :, 4] = constants[-1, 0]
    return knots, constants, maps, pieces


@compiled(inner=True)
def fill_lanes(
    raw: FloatArray, at: int, row_stride: int, column_stride: int, count: int, tables: LaneTables, limit: float,
    value: FloatArray, place: IntArray, x: FloatArray,
) -> int:  # fmt: skip
    """x (n_model, lanes) of `count` rows from raw[at ...]; lanes past the end repeat the last row.

    value and place are scratch, one number a lane. Every loop runs over lanes and has no branch on data.
    """
    status = GOOD
    constants, maps, pieces = tables.constants, tables.moving_map, tables.moving_piece
    for i in range(tables.columns.shape[0]):
        column = tables.columns[i]
        n_model, first, n_moving = column[N_MODEL], column[FIRST] * LANES, column[N_MOVING]
        for lane in range(LANES):
            value[lane] = raw[at + min(lane, count - 1) * row_stride + i * column_stride]
        status |= _find_rows(tables.knots, column, value, place)
        if n_model > 1 or n_moving == 0:  # else the one map writes itself
            for lane in range(LANES):
                row = column[CONSTANTS_AT] + place[lane] * n_model
                for m in range(n_model):
                    x[first + m * LANES + lane] = constants[row + m]
        for q in range(n_moving):
            for lane in range(LANES):
                entry = column[MOVING_AT] + place[lane] * n_moving + q
                e = 5 * entry
                away = min(max(value[lane] - pieces[e], -_MAX), _MAX)
                y = min(max(pieces[e + 1] + away * pieces[e + 2], pieces[e + 3]), pieces[e + 4])
                x[first + maps[entry] * LANES + lane] = y
        if column[UNBOUNDED]:
            for k in range(first, first + n_model * LANES):
                status |= TOO_LARGE * int(abs(x[k]) > limit)
    return status


@compiled(inner=True)
def _find_rows(knots: FloatArray, column: IntArray, value: FloatArray, place: IntArray) -> int:
    """The table row of every lane's value: its stretch, the row of missing values, or its category."""
    status, n_knots = GOOD, column[N_KNOTS]
    if n_knots == 0:
        for lane in range(LANES):
            place[lane] = int(value[lane])
        return status
    count_knots(knots, column[KNOTS_AT], n_knots, value, place)
    for lane in range(LANES):
        v = value[lane]
        gone = v != v
        place[lane] = n_knots + 1 if gone else place[lane]
        value[lane] = 0.0 if gone else v
        status |= INFINITE * int(abs(v) > _MAX) | MISSING * int(gone) * (1 - column[HAS_RULE])
    return status
