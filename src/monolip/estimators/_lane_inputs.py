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
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform

__all__ = ["GOOD", "LANES", "LaneTables", "fill_lanes", "lane_tables"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LANES = 32  # float64 lanes of the ordered kernels
GOOD, INFINITE, MISSING, TOO_LARGE = 0, 1, 2, 4
_MAX = float(np.finfo(np.float64).max)


class LaneTables(NamedTuple):
    """columns: (n_raw, 6): where knots start, how many, where constants start, model columns, the first, first row."""

    columns: IntArray
    knots: FloatArray
    constants: FloatArray  # rows of every column, one after the other: stretches, then missing; or categories
    moving: IntArray  # of row r: entries moving[r] .. moving[r + 1] of the next two
    moving_map: IntArray
    moving_piece: FloatArray  # flat (entries, 5): rows of PiecewiseLinear.pieces


def lane_tables(inputs: InputTransform) -> LaneTables:
    """Tables of all columns; a column without a rule for missing values has a NaN there."""
    columns, knots, constants, moving = [], [np.zeros(0)], [np.zeros(0)], [0]
    maps: list[int] = []
    pieces: list[FloatArray] = []
    for i, column in enumerate(inputs.columns):
        at = (sum(map(len, knots)), sum(map(len, constants)), len(moving) - 1)
        if isinstance(column, NumericColumn):
            edges, number = inputs.pieces_of(i)
            table = np.stack([phi.pieces[number[:, m]] for m, phi in enumerate(column.maps)], axis=1)
            rows = np.full((len(edges) + 2, column.n_model), np.nan if column.present is None else column.present)
            rows[:-1, : len(column.maps)] = table[:, :, 1]
            rows[-1] = np.nan if column.missing is None else column.missing
            for stretch in table:
                active = np.flatnonzero(stretch[:, 2])
                maps += active.tolist()
                pieces += list(stretch[active])
                moving.append(len(maps))
            moving.append(len(maps))
        else:
            edges, rows = np.zeros(0), column.table
            moving += [len(maps)] * len(rows)
        columns.append((at[0], len(edges), at[1], column.n_model, int(inputs.starts[i]), at[2]))
        knots.append(_padded(edges))
        constants.append(rows.ravel())
    return LaneTables(
        np.array(columns, dtype=np.int64),
        np.concatenate(knots),
        np.concatenate(constants),
        np.array(moving, dtype=np.int64),
        np.array(maps, dtype=np.int64),
        np.array(pieces).reshape(-1),
    )


def _padded(knots: FloatArray) -> FloatArray:
    """At least 63 knots, 2^p - 1, filled up with infinity: a search of p steps without branches."""
    size = 0 if not knots.size else max(64, 2 ** int(knots.size).bit_length()) - 1
    return np.concatenate([knots, np.full(size - knots.size, np.inf)])


@compiled(inner=True)
def fill_lanes(
    raw: FloatArray, at: int, row_stride: int, column_stride: int, count: int, tables: LaneTables, limit: float,
    value: FloatArray, place: IntArray, x: FloatArray,
) -> int:  # fmt: skip
    """x (n_model, lanes) of `count` rows from raw[at ...]; lanes past the end repeat the last row.

    value and place are scratch of one number a lane. Loops are short and without branches on data, which would be
    mispredicted half of the time.
    """
    status = GOOD
    constants, moving, which, piece = tables.constants, tables.moving, tables.moving_map, tables.moving_piece
    for i in range(tables.columns.shape[0]):
        knots_at, n_knots = tables.columns[i, 0], tables.columns[i, 1]
        base, n_model = tables.columns[i, 2], tables.columns[i, 3]
        first, row = tables.columns[i, 4] * LANES, tables.columns[i, 5]
        for lane in range(LANES):
            value[lane] = raw[at + min(lane, count - 1) * row_stride + i * column_stride]
        if n_knots == 0:
            for lane in range(LANES):
                place[lane] = int(value[lane])
        else:
            status |= _places(tables.knots, knots_at, n_knots, value, place)
        for lane in range(LANES):
            at_row = place[lane]
            for m in range(n_model):
                x[first + m * LANES + lane] = constants[base + at_row * n_model + m]
            for entry in range(moving[row + at_row], moving[row + at_row + 1]):
                e = 5 * entry
                away = min(max(value[lane] - piece[e], -_MAX), _MAX)
                y = min(max(piece[e + 1] + away * piece[e + 2], piece[e + 3]), piece[e + 4])
                x[first + which[entry] * LANES + lane] = y
                status |= TOO_LARGE * int(abs(y) > limit)
            status |= MISSING * int(x[first + lane] != x[first + lane])
    return status


@compiled(inner=True)
def _places(knots: FloatArray, at: int, n_knots: int, value: FloatArray, place: IntArray) -> int:
    """Number of knots <= value in every lane; one more than there can be where the value is missing."""
    status, start = GOOD, 32
    while 2 * start <= n_knots:
        start *= 2
    for lane in range(LANES):
        v, k, step = value[lane], at, start
        while step > 32:
            k += step * int(knots[k + step - 1] <= v)
            step >>= 1
        k += 32 * int(knots[k + 31] <= v)
        k += 16 * int(knots[k + 15] <= v)
        k += 8 * int(knots[k + 7] <= v)
        k += 4 * int(knots[k + 3] <= v)
        k += 2 * int(knots[k + 1] <= v)
        k += int(knots[k] <= v)
        place[lane] = k - at
    for lane in range(LANES):
        v = value[lane]
        place[lane] = n_knots + 1 if v != v else min(place[lane], n_knots)
        status |= INFINITE * int(abs(v) > _MAX)
    return status
