"""Bins of a feature as table lookups: of a row's bins one is partly filled, those below are full, those above empty.

With W_k the slopes in bin k and t what the filled bin s holds, the bins together add to every unit

    sum_k W_k x_k = T_s + W_s t,        T_s = sum_{k < s} W_k full_k + sum_{k > s} W_k empty_k

so a row costs two table rows a feature, however many bins there are. Slopes lie input by input (bins, units), whole
registers of units side by side. The gradient goes the same way back: it is collected for T and W at s, and once a
step the sums over s give that of W.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from monolip.engine._training_layout import BIN_PAD, LANES
from monolip.engine._vector import REGISTER_BYTES, broadcast, data_at, load, store

__all__ = ["bin_gradient", "bin_outputs", "bin_table", "collect_bins"]

FLAGS = ("contract", "reassoc", "nsz")


def _shape(context: Any, array_type: Any) -> tuple[int, Any]:
    element = context.get_value_type(array_type.dtype)
    size = 4 if isinstance(element, ir.FloatType) else 8
    return size, ir.VectorType(element, REGISTER_BYTES // size)


class _Columns:
    """The loop over features and chunks of units, with a loop over a feature's bins inside: register sums stay."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        w, w_at, stride, _, ends, table = args
        kinds, zero = signature.args, ir.Constant(w_at.type, 0)
        self.builder, self.index, self.stride = builder, w_at.type, stride
        self.size, self.vector = _shape(context, kinds[0])
        self.w = data_at(context, builder, kinds[0], w, w_at)
        self.first = data_at(context, builder, kinds[3], args[3], zero)
        shapes = [context.make_array(kinds[i])(context, builder, args[i]).shape for i in (3, 4)]
        self.features = builder.sub(builder.extract_value(shapes[0], 0), ir.Constant(self.index, 1))
        self.empty = data_at(context, builder, kinds[4], ends, zero)
        self.full = builder.gep(self.empty, [builder.extract_value(shapes[1], 1)])
        self.table = data_at(context, builder, kinds[5], table, zero)

    def cell(self) -> Any:
        return cgutils.alloca_once(self.builder, self.vector)

    def load(self, pointer: Any, at: Any) -> Any:
        return load(self.builder, pointer, at, self.vector, self.size)

    def store(self, value: Any, pointer: Any, at: Any) -> None:
        store(self.builder, value, pointer, at, self.size)

    def end(self, pointer: Any, bin_number: Any) -> Any:
        return broadcast(self.builder, self.builder.load(self.builder.gep(pointer, [bin_number])), self.vector)

    def add(self, cell: Any, value: Any) -> None:
        self.builder.store(self.builder.fadd(self.builder.load(cell), value, flags=FLAGS), cell)

    def emit(self, cells: list[Any], first_pass: Any, second_pass: Any) -> None:
        """Both passes are called as (number of the bin, its place) for every bin, one pass after the other."""
        b, loop = self.builder, cgutils.for_range
        one, per = ir.Constant(self.index, 1), ir.Constant(self.index, self.vector.count)
        with (
            loop(b, self.features, intp=self.index) as feature,
            loop(b, b.udiv(self.stride, per), intp=self.index) as chunk,
        ):
            start, end = (b.load(b.gep(self.first, [at])) for at in (feature.index, b.add(feature.index, one)))
            for cell in cells:
                b.store(ir.Constant(self.vector, None), cell)
            for each in (first_pass, second_pass):
                with loop(b, b.sub(end, start), intp=self.index) as number:
                    k = b.add(start, number.index)
                    each(k, b.add(b.mul(k, self.stride), b.mul(chunk.index, per)))


def _columns_type(w: Any, first: Any, ends: Any, table: Any) -> Any:
    i = types.intp
    return types.void(w, i, i, first, ends, table)


@intrinsic
def bin_table(typingctx, w, w_at, stride, first, ends, table):  # type: ignore[no-untyped-def]
    """table[s] = T_s for every bin; first: where each feature's bins begin, and their number; ends (2, bins)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        c = _Columns(context, builder, signature, args)
        sums = [c.cell(), c.cell()]  # of empty bins not yet passed, of full bins passed

        def before(k: Any, at: Any) -> None:
            c.add(sums[0], builder.fmul(c.end(c.empty, k), c.load(c.w, at), flags=FLAGS))

        def each(k: Any, at: Any) -> None:
            w = c.load(c.w, at)
            c.add(sums[0], builder.fneg(builder.fmul(c.end(c.empty, k), w, flags=FLAGS)))
            total = builder.fadd(builder.load(sums[0]), builder.load(sums[1]), flags=FLAGS)
            c.store(total, c.table, at)
            c.add(sums[1], builder.fmul(c.end(c.full, k), w, flags=FLAGS))

        c.emit(sums, before, each)
        return context.get_dummy_value()

    return _columns_type(w, first, ends, table), codegen


@intrinsic
def collect_bins(typingctx, g, g_at, stride, first, ends, table):  # type: ignore[no-untyped-def]
    """g[k] += full_k sum_{s > k} table[s] + empty_k sum_{s < k} table[s]; table (gradient of T) becomes zero."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        c = _Columns(context, builder, signature, args)
        above, below = c.cell(), c.cell()

        def before(k: Any, at: Any) -> None:
            c.add(above, c.load(c.table, at))

        def each(k: Any, at: Any) -> None:
            here = c.load(c.table, at)
            c.add(above, builder.fneg(here))
            parts = [(c.full, above), (c.empty, below)]
            high, low = (builder.fmul(c.end(p, k), builder.load(cell), flags=FLAGS) for p, cell in parts)
            c.store(builder.fadd(c.load(c.w, at), builder.fadd(high, low, flags=FLAGS), flags=FLAGS), c.w, at)
            c.add(below, here)
            c.store(ir.Constant(c.vector, None), c.table, at)

        c.emit([above, below], before, each)
        return context.get_dummy_value()

    return _columns_type(g, first, ends, table), codegen


class _Walk:
    """The loop over rows and their features that both directions share."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        w, w_at, _, _, stride, _, _, x, x_at = args
        kinds, zero = signature.args, ir.Constant(w_at.type, 0)
        self.builder, self.index, self.stride = builder, w_at.type, stride
        self.size, self.vector = _shape(context, kinds[0])
        self.per = BIN_PAD // self.vector.count  # registers of a chunk of units
        shapes = [context.make_array(kinds[i])(context, builder, args[i]).shape for i in (5, 7)]
        self.features, self.width = (builder.extract_value(shape, 1) for shape in shapes)
        self.w = data_at(context, builder, kinds[0], w, w_at)
        self.table, self.units, self.codes, self.rows = (
            data_at(context, builder, kinds[i], args[i], zero) for i in (2, 3, 5, 6)
        )
        self.x = data_at(context, builder, kinds[7], x, x_at)

    def places(self, at: Any) -> list[Any]:
        steps = [ir.Constant(self.index, i * self.vector.count) for i in range(self.per)]
        return [self.builder.add(at, step) for step in steps]

    def load(self, pointer: Any, at: Any) -> Any:
        return load(self.builder, pointer, at, self.vector, self.size)

    def store(self, value: Any, pointer: Any, at: Any) -> None:
        store(self.builder, value, pointer, at, self.size)

    def emit(self, before: Any, each: Any, after: Any) -> None:
        """before(place of the row's units); each(place in the tables, t) for every feature; after(place)."""
        b, loop = self.builder, cgutils.for_range
        pad = ir.Constant(self.index, BIN_PAD)
        with (
            loop(b, b.udiv(self.stride, pad), intp=self.index) as chunk,
            loop(b, ir.Constant(self.index, LANES), intp=self.index) as lane,
        ):
            shift = b.mul(chunk.index, pad)
            row = b.load(b.gep(self.rows, [lane.index]))
            code = b.gep(self.codes, [b.mul(row, self.features)])
            held = b.gep(self.x, [b.mul(row, self.width)])
            units = b.add(b.mul(lane.index, self.stride), shift)
            before(units)
            with loop(b, self.features, intp=self.index) as feature:
                s = b.zext(b.load(b.gep(code, [feature.index])), self.index)
                t = broadcast(b, b.load(b.gep(held, [feature.index])), self.vector)
                each(b.add(b.mul(s, self.stride), shift), t)
            after(units)


def _typed(w: Any, table: Any, units: Any, codes: Any, rows: Any, x: Any) -> Any:
    i = types.intp
    return types.void(w, i, table, units, i, codes, rows, x, i)


@intrinsic
def bin_outputs(typingctx, w, w_at, table, units, stride, codes, rows, x, x_at):  # type: ignore[no-untyped-def]
    """units (lanes, stride) = what the bins of 64 rows add; codes (n, features): s; x[row, x_at + feature]: t."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        walk = _Walk(context, builder, signature, args)
        zero = ir.Constant(walk.vector, None)
        # two sums a register: each waits for its last addition
        cells = [[cgutils.alloca_once(builder, walk.vector) for _ in range(walk.per)] for _ in range(2)]

        def before(_: Any) -> None:
            for cell in cells[0] + cells[1]:
                builder.store(zero, cell)

        def each(at: Any, t: Any) -> None:
            for i, place in enumerate(walk.places(at)):
                total = builder.fadd(builder.load(cells[0][i]), walk.load(walk.table, place), flags=FLAGS)
                builder.store(total, cells[0][i])
                product = builder.fmul(t, walk.load(walk.w, place), flags=FLAGS)
                builder.store(builder.fadd(builder.load(cells[1][i]), product, flags=FLAGS), cells[1][i])

        def after(units: Any) -> None:
            for i, place in enumerate(walk.places(units)):
                parts = [builder.load(cells[k][i]) for k in range(2)]
                walk.store(builder.fadd(*parts, flags=FLAGS), walk.units, place)

        walk.emit(before, each, after)
        return context.get_dummy_value()

    return _typed(w, table, units, codes, rows, x), codegen


@intrinsic
def bin_gradient(typingctx, g, g_at, table, units, stride, codes, rows, x, x_at):  # type: ignore[no-untyped-def]
    """The way back: units (lanes, stride) are gradients of 64 rows; table[s] += d, g[s] += t d."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        walk = _Walk(context, builder, signature, args)
        kept: list[Any] = []

        def before(units: Any) -> None:
            kept[:] = [walk.load(walk.units, place) for place in walk.places(units)]

        def each(at: Any, t: Any) -> None:
            for d, place in zip(kept, walk.places(at), strict=True):
                walk.store(builder.fadd(walk.load(walk.table, place), d, flags=FLAGS), walk.table, place)
                product = builder.fmul(t, d, flags=FLAGS)
                walk.store(builder.fadd(walk.load(walk.w, place), product, flags=FLAGS), walk.w, place)

        walk.emit(before, each, lambda _: None)
        return context.get_dummy_value()

    return _typed(g, table, units, codes, rows, x), codegen
