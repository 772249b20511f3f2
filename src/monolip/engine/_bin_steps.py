"""A step of the slopes in bins, and the table that rows look up, in one pass over memory.

With W_k the slopes in bin k of a feature, `full` and `empty` what bins hold, d_s the gradient of a unit summed over
the rows whose bin s is partly filled and g_s the sum of t d over them (see _bins), the gradient and the table are

    dL/dW_k = g_k + full_k sum_{s > k} d_s + empty_k sum_{s < k} d_s
    T_s     = C + rest_s - full_s W_s,     rest_s = sum_{k > s} (empty_k - full_k) W_k,     C = sum_k full_k W_k

Bins are passed from the last one down, and each is read and written once: the sum above is running, the one below is
what is left of the sum over all rows, which is the bias gradient h; then the slope steps, its average follows, and
its new value goes into the next step's table. C of all features is one number a unit: where the lookup starts.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from monolip.engine._emitter import ORDERED, SHARE, Emitter
from monolip.engine._vector import broadcast, data_at

__all__ = ["step_bins", "tabulate_bins"]


class _Columns(Emitter):
    """The loops over registers of units, over features, and over their bins downwards; places are (bins, stride).

    args: arrays that share the offset, the offset, the step's constants, then stride, first, ends, table, base.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, arrays: int) -> None:
        super().__init__(context, builder, signature, args, arrays)
        kinds, zero, self.stride = signature.args, ir.Constant(self.index, 0), args[arrays + 2]
        first, ends, table, base = range(arrays + 3, arrays + 7)
        self.first, self.empty, self.table, self.base = (
            data_at(context, builder, kinds[i], args[i], zero) for i in (first, ends, table, base)
        )
        shapes = [context.make_array(kinds[i])(context, builder, args[i]).shape for i in (first, ends)]
        self.features = builder.sub(builder.extract_value(shapes[0], 0), ir.Constant(self.index, 1))
        self.full = builder.gep(self.empty, [builder.extract_value(shapes[1], 1)])
        self.rest, self.start = self.cell(), self.cell()

    def number(self, pointer: Any, k: Any) -> Any:
        return broadcast(self.builder, self.builder.load(self.builder.gep(pointer, [k])), self.vector)

    def emit(self, before: Any, clear: list[Any], first: Any, second: Any, after: Any) -> None:
        """before, after (place of the units); first and second (number of the bin, place), the last bin first.

        `second` also gets what `first` returned for the bin. Bins overlap: while one is in its second half the next is
        in its first, or each would wait for a long chain of operations. clear: cells to be zero when a feature begins.
        """
        b, one = self.builder, ir.Constant(self.index, 1)
        with self.loop(self.registers(self.stride)) as chunk:
            units = self.place(chunk.index)
            b.store(self.constant(0.0), self.start)
            before(units)
            with self.loop(self.features) as feature:
                begin, end = (b.load(b.gep(self.first, [at])) for at in (feature.index, b.add(feature.index, one)))
                for cell in (self.rest, *clear):
                    b.store(self.constant(0.0), cell)
                last = b.sub(end, one)
                values = first(last, self.bin(last, units))
                cells = [cgutils.alloca_once(b, self.vector) for _ in values]
                self.keep(values, cells)
                with self.loop(b.sub(last, begin)) as passed:
                    k = b.sub(last, passed.index)
                    following, values = b.sub(k, one), [b.load(cell) for cell in cells]
                    self.keep(first(following, self.bin(following, units)), cells)
                    second(k, self.bin(k, units), *values)
                second(begin, self.bin(begin, units), *(b.load(cell) for cell in cells))
            self.store(b.load(self.start), self.base, units)
            after(units)

    def bin(self, k: Any, units: Any) -> Any:
        return self.builder.add(self.builder.mul(k, self.stride), units)

    def keep(self, values: Any, cells: list[Any]) -> None:
        for value, cell in zip(values, cells, strict=True):
            self.builder.store(value, cell)

    def tabulate(self, w: Any, full: Any, empty: Any, at: Any) -> None:
        """The table's row of a bin, less C, for the slopes w: made by itself, the same bits as while slopes step."""
        b = self.builder
        held = b.fmul(w, full, flags=ORDERED)
        row = b.fsub(b.load(self.rest), held, flags=ORDERED)
        self.store(row, self.table, at)
        b.store(b.fadd(row, b.fmul(w, empty, flags=ORDERED), flags=ORDERED), self.rest)
        b.store(b.fadd(b.load(self.start), held, flags=ORDERED), self.start)


@intrinsic
def tabulate_bins(typingctx, w, at, step, stride, first, ends, table, base):  # type: ignore[no-untyped-def]
    """table[s] = T_s - C for every bin, base = sum of all C. first: where each feature's bins begin, and their number.

    ends: (2, bins), what an empty bin and a full one hold; w, from `at` on, and table: (bins, stride); base: (stride,).
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Columns(context, builder, signature, args, 1)

        def row(k: Any, at: Any, w: Any) -> None:
            e.tabulate(w, e.number(e.full, k), e.number(e.empty, k), at)

        e.emit(lambda _: None, [], lambda _, at: (e.load(e.data[0], at),), row, lambda _: None)
        return context.get_dummy_value()

    i = types.intp
    return types.void(w, i, step, i, first, ends, table, base), codegen


@intrinsic
def step_bins(  # type: ignore[no-untyped-def]
    typingctx, w, m, v, lower, upper, g, average, at, step, stride, first, ends, table, base, sums, h_at, means, moved
):
    """All slopes in bins step, and `tabulate_bins` of the new ones; moved = (change of w) . means.

    g from `at` on, and sums (of d): (bins, stride); both become zero. g from h_at on: h, (stride,).
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e, kinds = _Columns(context, builder, signature, args, 7), signature.args
        zero = ir.Constant(e.index, 0)
        sums, h_data, means, moved = (
            data_at(context, builder, kinds[i], args[i], at)
            for i, at in ((14, zero), (5, args[15]), (16, zero), (17, zero))
        )
        above, change, h = e.cell(), e.cell(), e.cell()

        def before(units: Any) -> None:
            builder.store(e.constant(0.0), change)
            builder.store(e.load(h_data, units), h)

        def gradient(k: Any, at: Any) -> Any:
            here, passed, total = e.load(sums, at), builder.load(above), builder.load(h)
            below = e.sub(e.sub(total, here), passed)
            parts = [e.mul(e.number(e.full, k), passed), e.mul(e.number(e.empty, k), below)]
            g = e.add(e.load(e.data[5], at), e.add(*parts))
            e.collect(above, here)
            for used in (sums, e.data[5]):
                e.store(e.constant(0.0), used, at)
            return e.sub(g, e.mul(total, e.number(means, k)))

        def moments(k: Any, at: Any) -> tuple[Any, Any]:
            return e.moments(gradient(k, at), e.data[1], e.data[2], at)

        def step(k: Any, at: Any, m: Any, v: Any) -> None:
            new, by = e.slope(m, v, at)
            e.collect(change, e.mul(by, e.number(means, k)))
            old = e.load(e.data[6], at)
            e.store(e.add(old, e.mul(e.step[SHARE], e.sub(new, old))), e.data[6], at)
            e.tabulate(new, e.number(e.full, k), e.number(e.empty, k), at)

        e.emit(before, [above], moments, step, lambda units: e.store(builder.load(change), moved, units))
        return context.get_dummy_value()

    i = types.intp
    arrays, out = (w, m, v, lower, upper, g, average), (first, ends, table, base)
    return types.void(*arrays, i, step, i, *out, sums, i, means, moved), codegen
