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
from monolip.engine._lane_lookup import LANES, PIECE, count_knots, evaluate_pieces, lookup_rows
from monolip.engine._lane_ops import copy_registers, transpose_square
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform

__all__ = ["GOOD", "LANES", "LaneTables", "fetch_lanes", "fill_lanes", "find_rows", "lane_tables"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

GOOD, INFINITE, MISSING, TOO_LARGE = 0, 1, 2, 4
_MAX = float(np.finfo(np.float64).max)
_SQUARE = 8  # float64 of a register
# columns of LaneTables.columns
KNOTS_AT, N_KNOTS, CONSTANTS_AT, N_CONSTANT, FIRST, MOVING_AT, N_MOVING, HAS_RULE, UNBOUNDED, N_MODEL = range(10)


class LaneTables(NamedTuple):
    """columns: (n_raw, 10), see above. A column's rows: stretches between knots, then missing; or its categories."""

    columns: IntArray
    knots: FloatArray
    constants: FloatArray  # flat (rows, n_constant) of each column: values where nothing moves, of its last maps
    moving_map: IntArray  # flat (rows, n_moving) of each column: which of its maps move; the first always does
    moving_piece: FloatArray  # flat (rows, n_moving, PIECE): how; see evaluate_pieces


class _Part(NamedTuple):
    """The tables of one column."""

    knots: FloatArray
    constants: FloatArray
    maps: IntArray
    pieces: FloatArray


def lane_tables(inputs: InputTransform, limit: float) -> LaneTables:
    """Tables of all columns. limit: what the networks clamp to; columns that could pass it are marked."""
    parts: list[_Part] = []
    columns, at = [], np.zeros(3, dtype=np.int64)
    for i, column in enumerate(inputs.columns):
        if isinstance(column, NumericColumn):
            part = _numeric(inputs, i, column)
            rule, unbounded = column.missing is not None, _can_pass(column, limit)
        else:
            none = np.zeros((len(column.table), 0), dtype=np.int64)
            part = _Part(np.zeros(0), column.table, none, np.zeros((*none.shape, PIECE)))
            rule, unbounded = True, False
        shape = part.constants.shape[1], inputs.starts[i], at[2], part.maps.shape[1]
        columns.append([int(v) for v in (at[0], len(part.knots), at[1], *shape, rule, unbounded, column.n_model)])
        at += (len(part.knots), part.constants.size, part.maps.size)
        parts.append(part)
    knots, constants, maps, pieces = (
        np.concatenate([np.ravel(table) for table in kind]) for kind in zip(*parts, strict=True)
    )
    return LaneTables(np.array(columns, dtype=np.int64), knots, constants, maps.astype(np.int64), pieces)


def _can_pass(column: NumericColumn, limit: float) -> bool:
    """Whether a model column could be larger than limit: it has a sloping tail, or a table entry beyond."""
    sloping = any(phi.left_slope or phi.right_slope for phi in column.maps)
    largest = max(float(np.abs(phi.values).max()) for phi in column.maps)
    return sloping or max(largest, *map(abs, column.missing or (0.0,)), abs(column.present or 0.0)) > limit


def _numeric(inputs: InputTransform, i: int, column: NumericColumn) -> _Part:
    knots, number = inputs.pieces_of(i)
    table = np.stack([phi.pieces[number[:, m]] for m, phi in enumerate(column.maps)], axis=1)
    constants = np.full((len(knots) + 2, column.n_model), np.nan if column.present is None else column.present)
    constants[:-1, : len(column.maps)] = table[:, :, 1]
    constants[-1] = np.nan if column.missing is None else column.missing
    moves = table[:, 1:, 2] != 0.0
    counts = moves.sum(axis=1)
    most = int(counts.max())
    # a stretch with fewer moving maps repeats the first map, which is then computed twice: every row costs the same
    maps = np.zeros((len(constants), 1 + most), dtype=np.int64)
    moving = 1 + np.argsort(~moves, axis=1, kind="stable")[:, :most]
    maps[:-1, 1:] = np.where(np.arange(most) < counts[:, None], moving, 0)
    pieces = np.zeros((len(constants), 1 + most, PIECE))
    pieces[:-1] = np.take_along_axis(table, maps[:-1, :, None], axis=1)[:, :, [0, 1, 2, 4]]
    pieces[-1, :, 1] = pieces[-1, :, 3] = constants[-1, 0]
    return _Part(knots, constants[:, 1:], maps, pieces)


@compiled(inner=True)
def fetch_lanes(
    raw: FloatArray, at: int, row_stride: int, column_stride: int, count: int, n_raw: int, lanes: FloatArray
) -> None:
    """lanes (n_raw, LANES) of `count` rows from raw[at ...]; lanes past the end repeat the last row."""
    if count == LANES and column_stride == 1 and n_raw >= _SQUARE:
        for column in range(0, n_raw, _SQUARE):
            first = min(column, n_raw - _SQUARE)  # the last square may overlap the one before
            for lane in range(0, LANES, _SQUARE):
                transpose_square(raw, at + lane * row_stride + first, row_stride, lanes, first * LANES + lane, LANES)
    elif count == LANES and row_stride == 1:
        for i in range(n_raw):
            copy_registers(raw, at + i * column_stride, lanes, i * LANES, LANES)
    else:
        for lane in range(LANES):
            row = at + min(lane, count - 1) * row_stride
            for i in range(n_raw):
                lanes[i * LANES + lane] = raw[row + i * column_stride]


@compiled(inner=True)
def fill_lanes(lanes: FloatArray, tables: LaneTables, limit: float, place: IntArray, x: FloatArray) -> int:
    """x (n_model, LANES) of raw values in lanes; place and the row of lanes after the last are scratch."""
    status, n_raw = GOOD, tables.columns.shape[0]
    for i in range(n_raw):
        column = tables.columns[i]
        first, n_moving = column[FIRST] * LANES, column[N_MOVING]
        status |= find_rows(tables.knots, column[KNOTS_AT], column[N_KNOTS], column[HAS_RULE], lanes, i * LANES, place)
        _put_constants(tables.constants, column, place, x)
        stride = n_moving * PIECE
        for q in range(n_moving):
            at = column[MOVING_AT] * PIECE + q * PIECE
            if q == 0:
                evaluate_pieces(tables.moving_piece, at, stride, place, lanes, i * LANES, x, first)
                continue
            evaluate_pieces(tables.moving_piece, at, stride, place, lanes, i * LANES, lanes, n_raw * LANES)
            for lane in range(LANES):
                moving = tables.moving_map[column[MOVING_AT] + place[lane] * n_moving + q]
                x[first + moving * LANES + lane] = lanes[n_raw * LANES + lane]
        if column[UNBOUNDED]:
            for k in range(first, first + column[N_MODEL] * LANES):
                status |= TOO_LARGE * int(abs(x[k]) > limit)
    return status


@compiled(inner=True)
def _put_constants(constants: FloatArray, column: IntArray, place: IntArray, x: FloatArray) -> None:
    """The rows of constants at `place` into a column's last maps, eight at a time."""
    n, at = column[N_CONSTANT], column[CONSTANTS_AT]
    first = (column[FIRST] + column[N_MODEL] - n) * LANES
    done = n // _SQUARE * _SQUARE
    for m in range(0, done, _SQUARE):
        lookup_rows(constants, at + m, n, place, x, first + m * LANES)
    for m in range(done, n):
        for lane in range(LANES):
            x[first + m * LANES + lane] = constants[at + place[lane] * n + m]


@compiled(inner=True)
def find_rows(
    knots: FloatArray, knots_at: int, n_knots: int, has_rule: int, lanes: FloatArray, at: int, place: IntArray
) -> int:
    """The table row of every lane's value: its stretch, the row of missing values (n_knots + 1), or its category."""
    status = GOOD
    if n_knots == 0:
        for lane in range(LANES):
            place[lane] = int(lanes[at + lane])
        return status
    if count_knots(knots, knots_at, n_knots, lanes, at, place) > 0:
        for lane in range(LANES):
            v = lanes[at + lane]
            status |= INFINITE * int(abs(v) > _MAX)
            if v != v:
                place[lane], lanes[at + lane] = n_knots + 1, 0.0
                status |= MISSING * (1 - has_rule)
    return status
