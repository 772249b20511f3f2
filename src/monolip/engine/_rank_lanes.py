"""Eight features of rows of ranks side by side in registers: thresholds that are drawn, and what each of them gains.

A row of ranks is a multiple of LANES long. Every lane adds up its rows one after the other, as a loop over that feature
alone would: the bits are the same. What has no rows to the left gains -inf, so that columns of zeros may fill up a row.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from monolip.engine._random_lanes import LANES, random_bits
from monolip.engine._vector import broadcast, data_at, load, store

__all__ = ["LANES", "draw_thresholds", "gains_of_even", "gains_of_weighted", "swap_ranks"]

INT, LONG, DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
INTS, LONGS, DOUBLES = (ir.VectorType(kind, LANES) for kind in (INT, LONG, DOUBLE))


def _same(vector: Any, value: Any) -> Any:
    return ir.Constant(vector, [value] * LANES)


@intrinsic
def draw_thresholds(typingctx, x, x_at, rows, width, state, cut, cut_at):  # type: ignore[no-untyped-def]
    """cut[cut_at + lane] of rows x[x_at + row * width + lane]: above the least rank, at most the largest.

    Lane k draws the k-th number that follows a state.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x, x_at, rows, width, state, cut, cut_at = args
        data, zero = data_at(context, builder, signature.args[0], x, x_at), ir.Constant(x_at.type, 0)
        first = load(builder, data, zero, INTS, 4)
        low, high = (cgutils.alloca_once_value(builder, first) for _ in range(2))
        with cgutils.for_range(builder, rows, intp=x_at.type) as loop:
            ranks = load(builder, data, builder.mul(loop.index, width), INTS, 4)
            for cell, sign in ((low, "<"), (high, ">")):
                known = builder.load(cell)
                builder.store(builder.select(builder.icmp_signed(sign, ranks, known), ranks, known), cell)
        least = builder.load(low)
        span = builder.sub(builder.load(high), least)
        part = builder.lshr(builder.mul(random_bits(builder, state), builder.zext(span, LONGS)), _same(LONGS, 32))
        above = builder.zext(builder.icmp_signed(">", span, _same(INTS, 0)), INTS)
        found = builder.add(builder.add(least, above), builder.trunc(part, INTS))
        store(builder, found, data_at(context, builder, signature.args[5], cut, cut_at), zero, 4)
        return context.get_dummy_value()

    i = types.intp
    return types.void(x, i, i, i, types.uint64, cut, i), codegen


class _Sums:
    """What rows to the left of eight thresholds add up to, and all of them."""

    def __init__(self, builder: Any, weighted: bool) -> None:
        self.builder, self.weighted = builder, weighted
        self.count = cgutils.alloca_once_value(builder, _same(INTS, 0))
        self.left = [cgutils.alloca_once_value(builder, _same(DOUBLES, 0.0)) for _ in range(1 + weighted)]
        self.all = [cgutils.alloca_once_value(builder, ir.Constant(DOUBLE, 0.0)) for _ in range(1 + weighted)]

    def add(self, is_left: Any, values: list[Any]) -> None:
        b = self.builder
        b.store(b.sub(b.load(self.count), b.sext(is_left, INTS)), self.count)
        for value, left, total in zip(values, self.left, self.all, strict=True):
            part = b.select(is_left, broadcast(b, value, DOUBLES), _same(DOUBLES, 0.0))
            b.store(b.fadd(b.load(left), part), left)
            b.store(b.fadd(b.load(total), value), total)

    def found(self, rows: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Counts, then of values and weights those to the left and all; rows that weigh one are counted."""
        b, count = self.builder, self.builder.load(self.count)
        sums, total = b.load(self.left[0]), b.load(self.all[0])
        if self.weighted:
            return count, sums, b.load(self.left[1]), total, b.load(self.all[1])
        return count, sums, b.sitofp(count, DOUBLES), total, b.sitofp(rows, DOUBLE)


def _gains(builder: Any, found: tuple[Any, Any, Any, Any, Any], rows: Any, min_leaf: Any) -> Any:
    """sums^2 / weight of both sides, -inf where one of them is too small."""
    b, (count, sums, left, total, mass) = builder, found
    right, rest = b.fsub(broadcast(b, mass, DOUBLES), left), b.fsub(broadcast(b, total, DOUBLES), sums)
    gain = b.fadd(b.fdiv(b.fmul(sums, sums), left), b.fdiv(b.fmul(rest, rest), right))
    fewest, others = (broadcast(b, b.trunc(n, INT), INTS) for n in (min_leaf, rows))
    fits = b.and_(
        b.and_(b.icmp_signed(">=", count, fewest), b.icmp_signed(">=", b.sub(others, count), fewest)),
        b.and_(*(b.fcmp_ordered(">", weight, _same(DOUBLES, 0.0)) for weight in (left, right))),
    )
    return b.select(fits, gain, _same(DOUBLES, float("-inf")))


def _gain_kernel(weighted: bool) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x_at, rows, width, cut_at, row, min_leaf = (args[k] for k in (1, 2, 3, 5, 8, 9))
        zero = ir.Constant(x_at.type, 0)

        def at(number: int, offset: Any) -> Any:
            return data_at(context, builder, signature.args[number], args[number], offset)

        data, cuts, gains, counts, totals = at(0, x_at), at(4, cut_at), at(10, cut_at), at(11, cut_at), at(12, zero)
        columns = [at(number, row) for number in ((6, 7) if weighted else (6,))]
        bars, sums = load(builder, cuts, zero, INTS, 4), _Sums(builder, weighted)
        with cgutils.for_range(builder, rows, intp=x_at.type) as loop:
            ranks = load(builder, data, builder.mul(loop.index, width), INTS, 4)
            values = [builder.load(builder.gep(column, [loop.index])) for column in columns]
            sums.add(builder.icmp_signed("<", ranks, bars), values)
        found = sums.found(rows)
        store(builder, _gains(builder, found, rows, min_leaf), gains, zero, 8)
        store(builder, found[0], counts, zero, 4)
        for k, value in enumerate(found[3:]):
            builder.store(value, builder.gep(totals, [ir.Constant(x_at.type, k)]))
        return context.get_dummy_value()

    def typed(  # type: ignore[no-untyped-def]
        typingctx, x, x_at, rows, width, cut, cut_at, wy, w, row, min_leaf, gains, counts, totals
    ):
        i = types.intp
        return types.void(x, i, i, i, cut, i, wy, w, i, i, gains, counts, totals), codegen

    return intrinsic(typed)


# (x, x_at, rows, width, cut, cut_at, wy, w, row, min_leaf, gains, counts, totals): what each of eight thresholds gains,
# and how many rows lie below it, at cut_at; totals: of wy and w over all rows. Of even rows all weights are one
gains_of_even, gains_of_weighted = _gain_kernel(weighted=False), _gain_kernel(weighted=True)


@intrinsic
def swap_ranks(typingctx, x, one, two):  # type: ignore[no-untyped-def]
    """LANES ranks from `one` on and from `two` on change places."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x, one, two = args
        data = data_at(context, builder, signature.args[0], x, ir.Constant(one.type, 0))
        a, b = (load(builder, data, at, INTS, 4) for at in (one, two))
        store(builder, a, data, two, 4)
        store(builder, b, data, one, 4)
        return context.get_dummy_value()

    return types.void(x, types.intp, types.intp), codegen
