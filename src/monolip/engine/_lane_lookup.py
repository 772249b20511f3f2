"""Tables read by 32 values at once: which stretch a value lies in, what a table says there, and a line through it.

In vector instructions, without a branch on data; numba's own vectoriser finds none of the three. Each lane loads its
row of a table whole, and squares of rows are turned into lanes in registers: two instructions a number, where fetching
the numbers of each lane one by one takes five.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from monolip.engine._shuffles import shuffled, transposed
from monolip.engine._vector import _broadcast, data_at, load, store

__all__ = [
    "LANES",
    "PIECE",
    "clamped",
    "count_knots",
    "evaluate_pieces",
    "evaluate_whole_pieces",
    "lookup_rows",
    "whole_numbers",
]

LANES = 32  # float64 lanes of the ordered kernels
PIECE = 4  # numbers of a piece: anchor, value there, slope, highest
_WIDTH = 8
_WORD = ir.IntType(64)
_FLOATS, _WORDS = ir.VectorType(ir.DoubleType(), _WIDTH), ir.VectorType(_WORD, _WIDTH)
_MAX = float(np.finfo(np.float64).max)
_GROUPS = range(0, LANES, _WIDTH)


def _word(number: int) -> Any:
    return ir.Constant(_WORD, number)


def _constant(number: float) -> Any:
    return ir.Constant(_FLOATS, [number] * _WIDTH)


@intrinsic
def count_knots(typingctx, knots, at, count, value, value_at, place):  # type: ignore[no-untyped-def]
    """place (32,) int64: how many of knots[at : at + count] are <= value[value_at ...], 0 for NaN.

    Returns how many registers hold a value that is not finite; the caller says what such values mean.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        knots, at, count, value, value_at, place = args
        knot_data = data_at(context, builder, signature.args[0], knots, at)
        value_data = data_at(context, builder, signature.args[3], value, value_at)
        place_data = data_at(context, builder, signature.args[5], place, _word(0))
        values = [load(builder, value_data, _word(group), _FLOATS, 8) for group in _GROUPS]
        totals = [cgutils.alloca_once_value(builder, ir.Constant(_WORDS, None)) for _ in _GROUPS]
        passed = cgutils.alloca_once_value(builder, ir.Constant(_WORDS, None))
        with cgutils.for_range(builder, count, intp=_WORD) as loop:
            knot = _broadcast(builder, builder.load(builder.gep(knot_data, [loop.index])), _FLOATS)
            number = builder.add(builder.load(passed), ir.Constant(_WORDS, [1] * _WIDTH))
            builder.store(number, passed)
            for have, total in zip(values, totals, strict=True):
                above = builder.fcmp_ordered(">=", have, knot)  # false for NaN. Knots ascend: the last one counts
                builder.store(builder.select(above, number, builder.load(total)), total)
        odd = _word(0)
        for group, have, total in zip(_GROUPS, values, totals, strict=True):
            store(builder, builder.load(total), place_data, _word(group), 8)
            itself = builder.fsub(have, have)  # 0, or NaN for infinity and NaN
            bits = builder.bitcast(builder.fcmp_unordered("uno", itself, itself), ir.IntType(_WIDTH))
            odd = builder.add(odd, builder.zext(builder.icmp_unsigned("!=", bits, bits.type(0)), _WORD))
        return odd

    i = types.int64
    return i(knots, i, i, value, i, place), codegen


def _rows(builder: Any, table: Any, stride: Any, places: Any, group: int, vector: Any) -> list[Any]:
    """Row places[group + r] of a table, one a lane."""
    found = (builder.load(builder.gep(places, [_word(group + r)])) for r in range(_WIDTH))
    return [load(builder, table, builder.mul(place, stride), vector, 8) for place in found]


@intrinsic
def lookup_rows(typingctx, table, at, stride, place, out, out_at):  # type: ignore[no-untyped-def]
    """out[out_at + m * LANES + lane] = table[at + place[lane] * stride + m] for m < 8."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table, at, stride, place, out, out_at = args
        table_data = data_at(context, builder, signature.args[0], table, at)
        place_data = data_at(context, builder, signature.args[3], place, _word(0))
        out_data = data_at(context, builder, signature.args[4], out, out_at)
        for group in _GROUPS:
            rows = _rows(builder, table_data, stride, place_data, group, _FLOATS)
            for m, column in enumerate(transposed(builder, rows)):
                store(builder, column, out_data, _word(m * LANES + group), 8)
        return context.get_dummy_value()

    i = types.int64
    return types.void(table, i, i, place, out, i), codegen


def _turned_pieces(builder: Any, rows: list[Any]) -> list[Any]:
    """Four registers, one a number of a piece, from eight half registers, one a lane."""
    pairs = [shuffled(builder, rows[r], rows[r + 4], list(range(_WIDTH))) for r in range(4)]
    even, odd = [0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]
    early, late = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
    columns = {}
    for first, mask in enumerate((even, odd)):
        left, right = (shuffled(builder, pairs[r], pairs[r + 1], mask) for r in (0, 2))
        columns[first] = shuffled(builder, left, right, early)
        columns[first + 2] = shuffled(builder, left, right, late)
    return [columns[number] for number in range(PIECE)]


def clamped(builder: Any, x: Any, low: Any, high: Any) -> Any:
    """A register between two others."""
    x = builder.select(builder.fcmp_ordered("<", x, low), low, x)
    return builder.select(builder.fcmp_ordered(">", x, high), high, x)


def whole_numbers(builder: Any, how: str, x: Any) -> Any:
    """A register of whole numbers; how: "rint", the nearest ones, ties to even, or "floor"."""
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(x.type, [x.type]), f"llvm.{how}.v8f64")
    return builder.call(function, [x])


def _pieces(whole: bool) -> Any:
    """An intrinsic that draws lines through pieces of a table; whole: what a line adds is a whole number."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pieces, at, stride, place, value, value_at, out, out_at = args
        piece_data = data_at(context, builder, signature.args[0], pieces, at)
        place_data = data_at(context, builder, signature.args[3], place, _word(0))
        value_data = data_at(context, builder, signature.args[4], value, value_at)
        out_data = data_at(context, builder, signature.args[6], out, out_at)
        least, most = _constant(-_MAX), _constant(_MAX)
        for group in _GROUPS:
            rows = _rows(builder, piece_data, stride, place_data, group, ir.VectorType(ir.DoubleType(), PIECE))
            anchor, base, slope, highest = _turned_pieces(builder, rows)
            x = load(builder, value_data, _word(group), _FLOATS, 8)
            away = clamped(builder, builder.fsub(x, anchor), least, most)
            added = builder.fmul(away, slope)
            y = builder.fadd(base, whole_numbers(builder, "rint", added) if whole else added)
            store(builder, clamped(builder, y, least, highest), out_data, _word(group), 8)
        return context.get_dummy_value()

    def typed(typingctx, pieces, at, stride, place, value, value_at, out, out_at):  # type: ignore[no-untyped-def]
        i = types.int64
        return types.void(pieces, i, i, place, value, i, out, i), codegen

    return intrinsic(typed)


# (pieces, at, stride, place, value, value_at, out, out_at): out[out_at + lane] is `PiecewiseLinear.evaluate`, or
# `FixedMap.evaluate`, the same bits, with the piece at pieces[at + place * stride]: v + (x - k) * s, never fused, then
# at most the piece's highest value. The lowest is v itself: right of its anchor a piece only adds to it; left of all
# knots only the least float is below.
evaluate_pieces, evaluate_whole_pieces = _pieces(whole=False), _pieces(whole=True)
