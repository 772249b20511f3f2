"""Bins of a feature as table lookups: of a row's bins one is partly filled, those below are full, those above empty.

With W_k the slopes in bin k and t what the filled bin s holds, the bins together add to every unit

    sum_k W_k x_k = T_s + W_s t,        T_s = sum_{k < s} W_k full_k + sum_{k > s} W_k empty_k

so a row costs two table rows a feature, however many bins there are. Slopes lie input by input (bins, units), whole
registers of units side by side. The gradient goes the same way back: it is collected for T and W at s, and once a
step the sums over s give that of W. What makes the table is in _bin_steps.

Which bin each of the 64 rows has, and t, are kept feature by feature on the way forth. On the way back a feature of few
bins goes bin by bin: its sums stay in registers while its rows pass, instead of going to memory and back for each row.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from monolip.engine._emitter import ORDERED
from monolip.engine._training_layout import BIN_PAD, LANES
from monolip.engine._units import Units
from monolip.engine._vector import broadcast, data_at

__all__ = ["bin_gradient", "bin_outputs"]

FLAGS = ("contract", "reassoc", "nsz")
TOGETHER = 4  # rows
_LANE_BITS = ir.IntType(LANES)
FEW_BINS = 16  # up to here a bin of its own loop takes less time than its rows one by one


@intrinsic
def bin_outputs(  # type: ignore[no-untyped-def]
    typingctx, w, w_at, table, base, units, stride, codes, rows, x, x_at, of_lanes, held
):
    """units (lanes, stride) += what the bins of 64 rows add; codes (n, features): s; x[row, x_at + feature]: t.

    base (stride,) is a part of every T, left out of the table. of_lanes, held (features, lanes) become s and t.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, b, zero = signature.args, builder, ir.Constant(args[1].type, 0)
        u = Units(context, b, kinds[0], args[5])
        w, x = (data_at(context, b, kinds[i], args[i], args[i + 1]) for i in (0, 8))
        table, base, units, codes, rows, of_lanes, held = (
            data_at(context, b, kinds[i], args[i], zero) for i in (2, 3, 4, 6, 7, 10, 11)
        )
        features, width = (b.extract_value(context.make_array(kinds[i])(context, b, args[i]).shape, 1) for i in (6, 8))

        def add_bin(s: Any, t: Any, unit: Any, cells: list[list[Any]]) -> None:
            for i in range(u.per):
                place = u.place(s, unit, i)
                b.store(b.fadd(b.load(cells[0][i]), u.load(table, place), flags=FLAGS), cells[0][i])
                product = b.fmul(t, u.load(w, place), flags=FLAGS)
                b.store(b.fadd(b.load(cells[1][i]), product, flags=FLAGS), cells[1][i])

        # two sums a register and several rows: each waits for its last addition
        lines = [u.cells(2) for _ in range(TOGETHER)]
        with u.pieces(BIN_PAD) as piece, u.loop(u.number(LANES // TOGETHER)) as some:
            unit, start = b.mul(piece.index, u.number(BIN_PAD)), b.mul(some.index, u.number(TOGETHER))
            lanes = [b.add(start, u.number(r)) for r in range(TOGETHER)]
            numbers = [b.load(b.gep(rows, [lane])) for lane in lanes]
            places = [(b.gep(codes, [b.mul(n, features)]), b.gep(x, [b.mul(n, width)])) for n in numbers]
            for cells in lines:
                for i in range(u.per):
                    b.store(u.load(base, u.place(zero, unit, i)), cells[0][i])
                    b.store(ir.Constant(u.vector, None), cells[1][i])
            with u.loop(features) as feature:
                kept = b.mul(feature.index, u.number(LANES))
                for lane, (code, t_of), cells in zip(lanes, places, lines, strict=True):
                    s, t = b.load(b.gep(code, [feature.index])), b.load(b.gep(t_of, [feature.index]))
                    s, here = b.zext(s, u.index), b.add(kept, lane)
                    b.store(b.trunc(s, ir.IntType(32)), b.gep(of_lanes, [here]))
                    b.store(t, b.gep(held, [here]))
                    add_bin(s, broadcast(b, t, u.vector), unit, cells)
            for lane, cells in zip(lanes, lines, strict=True):
                for i in range(u.per):
                    added, place = b.fadd(*(b.load(line[i]) for line in cells), flags=FLAGS), u.place(lane, unit, i)
                    u.store(b.fadd(u.load(units, place), added, flags=ORDERED), units, place)
        return context.get_dummy_value()

    i = types.intp
    return types.void(w, i, table, base, units, i, codes, rows, x, i, of_lanes, held), codegen


class _Back:
    """The way back for one feature and chunk of units: sums[s] += d, g[s] += t d for its 64 rows."""

    def __init__(self, u: Units, g: Any, sums: Any, units: Any) -> None:
        self.u, self.to, self.units = u, (sums, g), units
        self.cells, self.rest = u.cells(2), cgutils.alloca_once(u.builder, _LANE_BITS)

    def terms(self, t: Any, lane: Any, unit: Any, register: int) -> tuple[Any, Any]:
        d = self.u.load(self.units, self.u.place(lane, unit, register))
        return d, self.u.builder.fmul(t, d, flags=FLAGS)

    def row_by_row(self, codes: Any, held: Any, unit: Any) -> None:
        u, b = self.u, self.u.builder
        with u.loop(u.number(LANES)) as lane:
            t, s = u.many(b.gep(held, [lane.index])), b.zext(b.load(b.gep(codes, [lane.index])), u.index)
            for i in range(u.per):
                place = u.place(s, unit, i)
                for to, term in zip(self.to, self.terms(t, lane.index, unit, i), strict=True):
                    u.store(b.fadd(u.load(to, place), term, flags=FLAGS), to, place)

    def bin_by_bin(self, codes: Any, held: Any, unit: Any, begin: Any, count: Any) -> None:
        u, b = self.u, self.u.builder
        whole = ir.VectorType(ir.IntType(32), LANES)
        codes = b.load(b.bitcast(codes, whole.as_pointer()))
        codes.align = 4
        with u.loop(count) as number:
            s = b.add(begin, number.index)
            wanted = broadcast(b, b.trunc(s, ir.IntType(32)), whole)
            rows = b.bitcast(b.icmp_unsigned("==", codes, wanted), _LANE_BITS)
            with b.if_then(b.icmp_unsigned("!=", rows, ir.Constant(_LANE_BITS, 0))):
                self.one_bin(rows, held, s, unit)

    def one_bin(self, rows: Any, held: Any, s: Any, unit: Any) -> None:
        """The rows whose bits are set, in their order."""
        u, b = self.u, self.u.builder
        places = [u.place(s, unit, i) for i in range(u.per)]
        for to, line in zip(self.to, self.cells, strict=True):
            for place, cell in zip(places, line, strict=True):
                b.store(u.load(to, place), cell)
        b.store(rows, self.rest)
        following, done = b.append_basic_block("row"), b.append_basic_block("done")
        b.branch(following)
        b.position_at_end(following)
        rows = b.load(self.rest)
        lane = b.cttz(rows, ir.Constant(ir.IntType(1), 1))
        rest = b.and_(rows, b.sub(rows, ir.Constant(_LANE_BITS, 1)))
        b.store(rest, self.rest)
        t = u.many(b.gep(held, [lane]))
        for i in range(u.per):
            for line, term in zip(self.cells, self.terms(t, lane, unit, i), strict=True):
                b.store(b.fadd(b.load(line[i]), term, flags=FLAGS), line[i])
        b.cbranch(b.icmp_unsigned("!=", rest, ir.Constant(_LANE_BITS, 0)), following, done)
        b.position_at_end(done)
        for to, line in zip(self.to, self.cells, strict=True):
            for place, cell in zip(places, line, strict=True):
                u.store(b.load(cell), to, place)


@intrinsic
def bin_gradient(typingctx, g, g_at, sums, units, stride, first, of_lanes, held):  # type: ignore[no-untyped-def]
    """The way back: units (lanes, stride) are gradients d of 64 rows; sums[s] += d, g[s] += t d.

    first: where each feature's bins begin, and their number; of_lanes, held: see `bin_outputs`.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, b, zero = signature.args, builder, ir.Constant(args[1].type, 0)
        u = Units(context, b, kinds[0], args[4])
        g = data_at(context, b, kinds[0], args[0], args[1])
        sums, units, first, codes, held = (data_at(context, b, kinds[i], args[i], zero) for i in (2, 3, 5, 6, 7))
        features = b.extract_value(context.make_array(kinds[6])(context, b, args[6]).shape, 0)
        back = _Back(u, g, sums, units)
        with u.pieces(BIN_PAD) as piece, u.loop(b.udiv(features, u.number(LANES))) as feature:
            unit, start = b.mul(piece.index, u.number(BIN_PAD)), b.mul(feature.index, u.number(LANES))
            code, t = (b.gep(array, [start]) for array in (codes, held))
            begin, end = (b.load(b.gep(first, [b.add(feature.index, u.number(i))])) for i in range(2))
            count = b.sub(end, begin)
            with b.if_else(b.icmp_signed("<=", count, u.number(FEW_BINS))) as (few, many):
                with few:
                    back.bin_by_bin(code, t, unit, begin, count)
                with many:
                    back.row_by_row(code, t, unit)
        return context.get_dummy_value()

    i = types.intp
    return types.void(g, i, sums, units, i, first, of_lanes, held), codegen
