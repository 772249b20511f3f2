"""The first layer of one block of 64 rows, with units side by side: what plain columns add, and sorting in pairs.

Slopes lie column by column (columns, stride), those of bins after those of plain columns, and so do outputs, gradients
and biases of units. Rows of the table are then read where they lie, one number for all units, and a gradient is
as many products as there are columns; only what the next layer reads is turned into lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from monolip.engine._emitter import ORDERED
from monolip.engine._shuffles import shuffled
from monolip.engine._training_layout import BIN_PAD, LANES
from monolip.engine._units import Units
from monolip.engine._vector import FAR, data_at, prefetch

__all__ = ["add_unit_sums", "plain_gradient", "plain_outputs", "sort_units", "unsort_units"]

TOGETHER = 8  # rows, or columns: with two registers of units each, 16 sums hide the latency of the additions


@intrinsic
def plain_outputs(typingctx, w, w_at, bias_at, columns, x, rows, units, stride):  # type: ignore[no-untyped-def]
    """units (lanes, stride) = bias + x W for the rows of x named in `rows`; those named 64 places on are fetched."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, zero = signature.args, ir.Constant(args[1].type, 0)
        u, columns = Units(context, builder, kinds[0], args[7]), args[3]
        w, bias = (data_at(context, builder, kinds[0], args[0], at) for at in args[1:3])
        x, rows, units = (data_at(context, builder, kinds[i], args[i], zero) for i in (4, 5, 6))
        width = builder.extract_value(context.make_array(kinds[4])(context, builder, args[4]).shape, 1)
        cells = u.cells(TOGETHER)

        def row(number: Any) -> Any:
            return builder.gep(x, [builder.mul(builder.load(builder.gep(rows, [number])), width)])

        with u.pieces(BIN_PAD) as piece, u.loop(u.number(LANES // TOGETHER)) as some:
            unit, first = builder.mul(piece.index, u.number(BIN_PAD)), builder.mul(some.index, u.number(TOGETHER))
            lanes = [builder.add(first, u.number(i)) for i in range(TOGETHER)]
            for lane in lanes:
                prefetch(builder, row(builder.add(lane, u.number(LANES))), FAR)
            held = [row(lane) for lane in lanes]
            for i in range(u.per):
                start = u.load(bias, u.place(zero, unit, i))
                for line in cells:
                    builder.store(start, line[i])
            with u.loop(columns) as column:
                terms = [u.load(w, u.place(column.index, unit, i)) for i in range(u.per)]
                for pointer, line in zip(held, cells, strict=True):
                    factor = u.many(builder.gep(pointer, [column.index]))
                    for cell, term in zip(line, terms, strict=True):
                        u.add_product(cell, factor, term)
            for lane, line in zip(lanes, cells, strict=True):
                for i, cell in enumerate(line):
                    u.store(builder.load(cell), units, u.place(lane, unit, i))
        return context.get_dummy_value()

    i = types.intp
    return types.void(w, i, i, i, x, rows, units, i), codegen


@intrinsic
def plain_gradient(typingctx, g, g_at, columns, x, rows, units, stride):  # type: ignore[no-untyped-def]
    """g (columns, stride) += x^T d for the rows of x named in `rows`; units (lanes, stride) are d."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, zero = signature.args, ir.Constant(args[1].type, 0)
        u, columns = Units(context, builder, kinds[0], args[6]), args[2]
        g = data_at(context, builder, kinds[0], args[0], args[1])
        x, rows, units = (data_at(context, builder, kinds[i], args[i], zero) for i in (3, 4, 5))
        width = builder.extract_value(context.make_array(kinds[3])(context, builder, args[3]).shape, 1)
        last = builder.sub(columns, u.number(1))

        def tile(first: Any, unit: Any, count: int, cells: list[list[Any]]) -> None:
            """`count` columns from `first` on; where there are fewer the last one is done again, to the same bits."""
            places = [builder.add(first, u.number(c)) for c in range(count)]
            places = [builder.select(builder.icmp_signed("<", c, last), c, last) for c in places]
            for c, line in zip(places, cells, strict=False):
                for i, cell in enumerate(line):
                    builder.store(u.load(g, u.place(c, unit, i)), cell)
            with u.loop(u.number(LANES)) as lane:
                row = builder.gep(x, [builder.mul(builder.load(builder.gep(rows, [lane.index])), width)])
                terms = [u.load(units, u.place(lane.index, unit, i)) for i in range(u.per)]
                for c, line in zip(places, cells, strict=False):
                    factor = u.many(builder.gep(row, [c]))
                    for cell, term in zip(line, terms, strict=True):
                        u.add_product(cell, factor, term)
            for c, line in zip(places, cells, strict=False):
                for i, cell in enumerate(line):
                    u.store(builder.load(cell), g, u.place(c, unit, i))

        whole, cells = u.number(TOGETHER), u.cells(TOGETHER)
        with u.pieces(BIN_PAD) as piece:
            unit = builder.mul(piece.index, u.number(BIN_PAD))
            many = builder.udiv(builder.add(columns, u.number(TOGETHER // 2 - 1)), whole)
            with u.loop(many) as some:
                tile(builder.mul(some.index, whole), unit, TOGETHER, cells)
            done = builder.mul(many, whole)
            with builder.if_then(builder.icmp_signed("<", done, columns)):
                tile(done, unit, TOGETHER // 2, cells)
        return context.get_dummy_value()

    i = types.intp
    return types.void(g, i, i, x, rows, units, i), codegen


def _swapped(u: Units, z: Any) -> Callable[[Any], Any]:
    """Exchanges neighbours of a register in the pairs of z that are not in order."""
    n, b = u.vector.count, u.builder
    low, high = (shuffled(b, z, z, [j - j % 2 + side for j in range(n)]) for side in (0, 1))
    swap = b.fcmp_ordered("<", high, low)
    return lambda v: b.select(swap, shuffled(b, v, v, [j ^ 1 for j in range(n)]), v)


def _pairs(sort: bool) -> Any:
    """An intrinsic that sorts units in pairs, or brings gradients of what was sorted back to their units."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, zero = signature.args, ir.Constant(args[2].type, 0)
        u = Units(context, builder, kinds[0], args[2])
        z_data, other = (data_at(context, builder, kinds[i], args[i], zero) for i in (0, 1))
        with u.loop(u.number(LANES)) as lane, u.pieces(u.vector.count) as piece:
            at = u.place(lane.index, builder.mul(piece.index, u.number(u.vector.count)))
            z = u.load(z_data, at)
            if sort:
                u.store(_swapped(u, z)(z), other, at)
            else:
                u.store(_swapped(u, z)(u.load(other, at)), z_data, at)
        return context.get_dummy_value()

    def typed(typingctx, z, other, stride):  # type: ignore[no-untyped-def]
        return types.void(z, other, types.intp), codegen

    return intrinsic(typed)


# (z, a, stride): a = z sorted in pairs of units; (z, d, stride): z = gradient of z, where d is that of a
sort_units, unsort_units = _pairs(sort=True), _pairs(sort=False)


@intrinsic
def add_unit_sums(typingctx, units, stride, out, out_at):  # type: ignore[no-untyped-def]
    """out[out_at + unit] += sum over the lanes of units (lanes, stride), in the order of `lane_sum`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        u, zero = Units(context, builder, kinds[0], args[1]), ir.Constant(args[1].type, 0)
        units = data_at(context, builder, kinds[0], args[0], zero)
        out = data_at(context, builder, kinds[2], args[2], args[3])
        n = u.vector.count
        with u.pieces(n) as piece:
            at = builder.mul(piece.index, u.number(n))
            parts = []
            for first in range(n):
                part = u.load(units, u.place(u.number(first), at))
                for lane in range(first + n, LANES, n):
                    part = builder.fadd(part, u.load(units, u.place(u.number(lane), at)), flags=ORDERED)
                parts.append(part)
            while len(parts) > 1:
                half = len(parts) // 2
                parts = [builder.fadd(parts[i], parts[i + half], flags=ORDERED) for i in range(half)]
            u.store(builder.fadd(u.load(out, at), parts[0], flags=ORDERED), out, at)
        return context.get_dummy_value()

    i = types.intp
    return types.void(units, i, out, i), codegen
