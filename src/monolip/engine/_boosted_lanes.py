"""What a boosted tree does most, as vector instructions: sums of rows by code, rows to the left, the best split.

Sums are pairs (G, H), code after code, MOST_CODES of them a feature. Everything is added in the order of rows, or of
codes: the bits are those of a plain loop. Of splits that gain the same the first is taken.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from monolip.engine._vector import broadcast, data_at, load, store

__all__ = ["MOST_CODES", "RIDGE", "TOGETHER", "add_by_code", "add_up", "best_split", "part_rows", "take_away"]

MOST_CODES = 64  # of a feature
RIDGE = 1.0
TOGETHER = 4  # features whose running sums are made at once: each would wait for its last addition
LANES = 8
BYTE, LONG, DOUBLE = ir.IntType(8), ir.IntType(64), ir.DoubleType()
PAIR, LONGS, DOUBLES = ir.VectorType(DOUBLE, 2), ir.VectorType(LONG, LANES), ir.VectorType(DOUBLE, LANES)


def _long(value: int) -> Any:
    return ir.Constant(LONG, value)


def _registers(builder: Any, count: Any) -> Any:
    """That hold so many numbers."""
    return builder.udiv(builder.add(count, _long(LANES - 1)), _long(LANES))


@intrinsic
def add_by_code(typingctx, sums, at, codes, width, rows, a, b, used, n_used, slopes):  # type: ignore[no-untyped-def]
    """sums[at + 2 * (MOST_CODES * u + code of used[u])] += slopes (n, 2), pairs, of rows a to b; codes: (n, width)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        b, (at, width, first, end, n_used) = builder, (args[k] for k in (1, 3, 5, 6, 8))
        cells, codes, rows, used, slopes = (
            data_at(context, b, signature.args[k], args[k], start)
            for k, start in ((0, at), (2, _long(0)), (4, first), (7, _long(0)), (9, _long(0)))
        )
        with cgutils.for_range(b, b.sub(end, first), intp=LONG) as loop:
            row = b.zext(b.load(b.gep(rows, [loop.index])), LONG)
            slope, own = load(b, slopes, b.shl(row, _long(1)), PAIR, 8), b.gep(codes, [b.mul(row, width)])
            with cgutils.for_range(b, n_used, intp=LONG) as feature:
                column = b.zext(b.load(b.gep(used, [feature.index])), LONG)
                code = b.zext(b.load(b.gep(own, [column])), LONG)
                place = b.shl(b.add(b.mul(feature.index, _long(MOST_CODES)), code), _long(1))
                store(b, b.fadd(load(b, cells, place, PAIR, 8), slope), cells, place, 8)
        return context.get_dummy_value()

    i = types.intp
    return types.void(sums, i, codes, i, rows, i, i, used, i, slopes), codegen


@intrinsic
def take_away(typingctx, sums, at, other, count):  # type: ignore[no-untyped-def]
    """sums[at + i] -= sums[other + i] for i < count, and up to the next multiple of LANES."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one, two = (data_at(context, builder, signature.args[0], args[0], at) for at in args[1:3])
        with cgutils.for_range(builder, _registers(builder, args[3]), intp=LONG) as loop:
            place = builder.mul(loop.index, _long(LANES))
            less, part = (load(builder, data, place, DOUBLES, 8) for data in (one, two))
            store(builder, builder.fsub(less, part), one, place, 8)
        return context.get_dummy_value()

    return types.void(sums, types.intp, types.intp, types.intp), codegen


@intrinsic
def part_rows(typingctx, codes, width, column, code, rows, first, end, spare):  # type: ignore[no-untyped-def]
    """Rows below the code come first, the others are in spare, both in their order; where these begin.

    No branch depends on a row.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        b, (width, column, bar, first, end) = builder, (args[k] for k in (1, 2, 3, 5, 6))
        codes, rows, spare = (
            data_at(context, b, signature.args[k], args[k], start)
            for k, start in ((0, column), (4, _long(0)), (7, _long(0)))
        )
        left, right = (cgutils.alloca_once_value(b, value) for value in (first, _long(0)))
        with cgutils.for_range(b, b.sub(end, first), intp=LONG) as loop:
            row = b.load(b.gep(rows, [b.add(first, loop.index)]))
            here = b.zext(b.load(b.gep(codes, [b.mul(b.zext(row, LONG), width)])), LONG)
            goes_right = b.zext(b.icmp_unsigned(">=", here, bar), LONG)
            to_left, to_right = b.load(left), b.load(right)
            b.store(row, b.gep(rows, [to_left]))
            b.store(row, b.gep(spare, [to_right]))
            b.store(b.add(to_left, b.sub(_long(1), goes_right)), left)
            b.store(b.add(to_right, goes_right), right)
        return b.load(left)

    i = types.intp
    return i(codes, i, i, i, rows, i, i, spare), codegen


@intrinsic
def add_up(typingctx, sums, at, room, to, count):  # type: ignore[no-untyped-def]
    """room[to ...] = running sums over so many codes of the TOGETHER features from sums[at] on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data, room = (data_at(context, builder, signature.args[k], args[k], args[k + 1]) for k in (0, 2))
        totals = [cgutils.alloca_once_value(builder, ir.Constant(PAIR, None)) for _ in range(TOGETHER)]
        with cgutils.for_range(builder, args[4], intp=LONG) as loop:
            for k, cell in enumerate(totals):
                place = builder.add(builder.shl(loop.index, _long(1)), _long(2 * MOST_CODES * k))
                total = builder.fadd(builder.load(cell), load(builder, data, place, PAIR, 8))
                builder.store(total, cell)
                store(builder, total, room, place, 8)
        return context.get_dummy_value()

    i = types.intp
    return types.void(sums, i, room, i, i), codegen


class _Splits:
    """Eight splits of a leaf at a time. ends: all_g, all_h, low, high, smallest, as registers."""

    def __init__(self, builder: Any, ends: list[Any]) -> None:
        self.b, self.ends = builder, ends
        self.ridge, self.half, self.zero = (ir.Constant(DOUBLES, [v] * LANES) for v in (RIDGE, 0.5, 0.0))

    def pairs(self, data: Any, place: Any) -> tuple[Any, Any]:
        """G and H of eight codes."""
        one, two = (load(self.b, data, self.b.add(place, _long(k)), DOUBLES, 8) for k in (0, LANES))
        masks = ([2 * k + odd for k in range(LANES)] for odd in (0, 1))
        kind = ir.VectorType(ir.IntType(32), LANES)
        g, h = (self.b.shuffle_vector(one, two, ir.Constant(kind, mask)) for mask in masks)
        return g, h

    def _value(self, g: Any, h: Any) -> Any:
        """min(max(-g / h, low), high)."""
        b, (low, high) = self.b, self.ends[2:4]
        value = b.fdiv(b.fneg(g), h)
        value = b.select(b.fcmp_ordered(">", low, value), low, value)
        return b.select(b.fcmp_ordered("<", high, value), high, value)

    def _part(self, g: Any, h: Any, value: Any) -> Any:
        """value * (g + 0.5 h value)."""
        b = self.b
        return b.fmul(value, b.fadd(g, b.fmul(b.fmul(self.half, h), value)))

    def gains(self, g: Any, h: Any, direction: Any) -> tuple[Any, Any]:
        """What they gain, and whether they leave enough to both sides and keep the direction."""
        b, (all_g, all_h, _, _, smallest) = self.b, self.ends
        rest, others = b.fsub(all_g, g), b.fsub(all_h, h)
        left_h, right_h = b.fadd(h, self.ridge), b.fadd(others, self.ridge)
        left, right = self._value(g, left_h), self._value(rest, right_h)
        gain = b.fsub(b.fneg(self._part(g, left_h, left)), self._part(rest, right_h, right))
        enough = b.and_(*(b.fcmp_ordered(">=", side, smallest) for side in (h, others)))
        ordered = b.fcmp_ordered(">=", b.fmul(direction, b.fsub(right, left)), self.zero)
        return gain, b.and_(enough, ordered)


def _first_of_best(builder: Any, gains: Any, places: Any) -> tuple[Any, Any]:
    """Of eight lanes the largest gain, and the least place that has it."""
    b = builder
    gain, place = (b.extract_element(part, ir.Constant(ir.IntType(32), 0)) for part in (gains, places))
    for k in range(1, LANES):
        other, there = (b.extract_element(part, ir.Constant(ir.IntType(32), k)) for part in (gains, places))
        sooner = b.and_(b.fcmp_ordered("==", other, gain), b.icmp_signed("<", there, place))
        better = b.or_(b.fcmp_ordered(">", other, gain), sooner)
        gain, place = b.select(better, other, gain), b.select(better, there, place)
    return gain, place


@intrinsic
def best_split(typingctx, sums, at, room, n_used, limits, directions, ends, most):  # type: ignore[no-untyped-def]
    """MOST_CODES * u + c of the first split that gains most, and more than `most`; a number beyond all of them if none.

    sums, at; room: as `add_up` left it. limits, directions: (n_used,) number of splits, and 1, -1 or 0. ends: as in
    _Splits, as numbers. A code without rows splits nothing: H to its left counts as 0.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        b, kinds = builder, signature.args
        data, room, limits, directions, ends = (
            data_at(context, b, kinds[k], args[k], start)
            for k, start in ((0, args[1]), (2, _long(0)), (4, _long(0)), (5, _long(0)), (6, _long(0)))
        )
        splits = _Splits(b, [broadcast(b, b.load(b.gep(ends, [_long(k)])), DOUBLES) for k in range(5)])
        best = cgutils.alloca_once_value(b, broadcast(b, args[7], DOUBLES))
        found = cgutils.alloca_once_value(b, ir.Constant(LONGS, [2**31] * LANES))
        with cgutils.for_range(b, args[3], intp=LONG) as feature:
            limit, first = b.load(b.gep(limits, [feature.index])), b.mul(feature.index, _long(MOST_CODES))
            direction = broadcast(b, b.load(b.gep(directions, [feature.index])), DOUBLES)
            with cgutils.for_range(b, _registers(b, limit), intp=LONG) as loop:
                code = b.mul(loop.index, _long(LANES))
                lanes = b.add(broadcast(b, code, LONGS), ir.Constant(LONGS, list(range(LANES))))
                place = b.shl(b.add(first, code), _long(1))
                (g, h), (_, own) = splits.pairs(room, place), splits.pairs(data, place)
                h = b.select(b.fcmp_unordered("!=", own, splits.zero), h, splits.zero)
                gain, fits = splits.gains(g, h, direction)
                fits = b.and_(fits, b.icmp_signed("<", lanes, broadcast(b, limit, LONGS)))
                better = b.and_(fits, b.fcmp_ordered(">", gain, b.load(best)))
                b.store(b.select(better, gain, b.load(best)), best)
                b.store(b.select(better, b.add(lanes, broadcast(b, first, LONGS)), b.load(found)), found)
        return _first_of_best(b, b.load(best), b.load(found))[1]

    i = types.intp
    return i(sums, i, room, i, limits, directions, ends, types.float64), codegen
