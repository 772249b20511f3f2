"""A fixed-point network on raw rows in one compiled pass: the integers of FixedPointNetwork.evaluate_raw, quickly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._integer_layers import add_products, end_layer, integer_layers, shift_down
from monolip.engine._lane_lookup import LANES, PIECE, evaluate_whole_pieces
from monolip.engine._lane_ops import transpose_square
from monolip.engine._lookup_sums import REGISTER, sum_lookups
from monolip.engine.integer_search import carried
from monolip.estimators._integer_tables import (
    END_TERM,
    FIRST_TERM,
    HAS_RULE,
    KNOTS_AT,
    LINES_AT,
    N_KNOTS,
    PIECES_AT,
    SLOT,
    IntegerTables,
    integer_tables,
)
from monolip.estimators._lane_inputs import GOOD, fetch_lanes, find_rows
from monolip.fixed_point import FixedPointNetwork

__all__ = ["IntegerPredictor"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Layers = tuple[FloatArray, IntArray, IntArray, IntArray, FloatArray, IntArray]


class _Scratch(NamedTuple):
    """Flat blocks of LANES rows."""

    lanes: FloatArray  # raw values
    place: IntArray  # of one raw column
    products: FloatArray  # integers of terms that are products
    moving: FloatArray  # integers of terms that are lines
    lines: IntArray  # where these begin
    sums: FloatArray  # of the first layer: (LANES, n_units)
    turned: FloatArray  # (n_units, LANES)
    hidden: FloatArray
    spare: FloatArray
    total: FloatArray


class IntegerPredictor:
    """Kernel and tables of a network that it `serves`."""

    def __init__(self, network: FixedPointNetwork) -> None:
        self.tables, self.layers = integer_tables(network), carried(network.packed())
        self.n_outputs = network.n_outputs

    @staticmethod
    def serves(network: FixedPointNetwork) -> bool:
        """Whether the kernel can evaluate it: convex form without a free branch, with sums that float64 carries."""
        convex = all(trunk.residual is None for member in network.members for trunk in member)
        return convex and network.free is None and "float64" in network.carriers

    def evaluate(self, raw: FloatArray, strides: tuple[int, int], out: IntArray) -> bool:
        """out (n, n_outputs) of flat rows with (row, column) strides, categories as row numbers of their table.

        False where a value is infinite, or missing without a rule; then `out` says nothing.
        """
        return evaluate_raw_rows(raw, *strides, self.tables, self.layers, self._scratch(), out) == GOOD

    def _scratch(self) -> _Scratch:
        n_raw, n_units, n_terms = len(self.tables.columns), len(self.tables.biases), len(self.tables.terms)
        width = int(self.layers[1][:, 0].max())
        return _Scratch(
            lanes=np.empty(n_raw * LANES),
            place=np.empty(LANES, np.int64),
            products=np.empty(n_terms * LANES),
            moving=np.empty(n_terms * LANES),
            lines=np.empty(n_terms * LANES, np.int64),
            sums=np.empty(max(n_units, n_raw) * LANES),
            turned=np.empty(n_units * LANES),
            hidden=np.empty(width * LANES),
            spare=np.empty(width * LANES),
            total=np.empty(self.n_outputs * LANES),
        )


@compiled(inner=True)
def _first_layer(tables: IntegerTables, s: _Scratch) -> int:
    """Sums of the first layers of all trunks into s.turned."""
    status, n_units = GOOD, len(tables.biases)
    n_products = tables.products.size // n_units
    for i in range(len(tables.columns)):
        c, at = tables.columns[i], i * LANES
        status |= find_rows(tables.knots, c[KNOTS_AT], c[N_KNOTS], c[HAS_RULE], s.lanes, at, s.place)
        for t in range(c[FIRST_TERM], c[END_TERM]):
            term = tables.terms[t]
            is_line, to = term[LINES_AT] >= 0, term[SLOT] * LANES
            x = s.moving if is_line else s.products
            evaluate_whole_pieces(tables.pieces, term[PIECES_AT], PIECE, s.place, s.lanes, at, x, to)
            if is_line:
                for lane in range(LANES):
                    s.lines[to + lane] = tables.lines[term[LINES_AT] + s.place[lane]]
    n_lines = len(tables.terms) - n_products
    sum_lookups(s.sums, tables.biases, tables.bases, tables.slopes, s.lines, s.moving, n_lines, n_units)
    for unit in range(0, n_units, REGISTER):
        for lane in range(0, LANES, REGISTER):
            transpose_square(s.sums, lane * n_units + unit, n_units, s.turned, unit * LANES + lane, LANES)
    add_products(tables.products, n_units, n_products, s.products, s.turned, LANES)
    return status


@compiled()
def evaluate_raw_rows(
    raw: FloatArray, row_stride: int, column_stride: int, tables: IntegerTables, layers: Layers, s: _Scratch,
    out: IntArray,
) -> int:  # fmt: skip
    """out (n, n_outputs): f in integers; GOOD, or what is wrong with a value."""
    params, plan, spans, outputs, shares, numbers = layers
    factor, limit, half = 2.0 ** -np.float64(numbers[0]), np.float64(numbers[1]), 2.0 ** np.float64(numbers[0] - 1)
    status, n_raw = GOOD, len(tables.columns)
    for start in range(0, len(out), LANES):
        count, at = min(LANES, len(out) - start), 0
        fetch_lanes(raw, start * row_stride, row_stride, column_stride, count, n_raw, s.lanes)
        status |= _first_layer(tables, s)
        s.total[:] = half
        for t in range(len(spans)):
            first, end, position, _ = spans[t]
            z, at = s.turned[at * LANES :], at + plan[first, 0]
            end_layer(z, plan[first], end - first > 1, factor, limit, LANES)
            z = integer_layers(params, plan[first + 1 : end], factor, limit, z, s.hidden, s.spare, LANES)
            for k in range(plan[end - 1, 0]):
                to = outputs[position + k] * LANES
                for lane in range(LANES):
                    s.total[to + lane] += shares[t] * z[k * LANES + lane]
        shift_down(s.total, s.total.size, factor, 0.0)
        for k in range(out.shape[1]):
            for lane in range(count):
                out[start + lane, k] = np.int64(s.total[k * LANES + lane])
    return status
