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

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from monolip.engine._emitter import ORDERED, SHARE, Emitter
from monolip.engine._training_layout import BIN_PAD
from monolip.engine._vector import broadcast, data_at

__all__ = ["step_bins", "tabulate_bins"]


class _Columns(Emitter):
    """The loops over BIN_PAD units, over features, and over their bins downwards; places are (bins, stride).

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
        # registers side by side, the one at work, and where the units of all of them begin
        self.together, self.now, self.units = range(BIN_PAD // self.vector.count), 0, zero
        self.rest, self.start = self.cells(), self.cells()

    def cells(self) -> list[Any]:
        """A cell for each of the registers side by side."""
        return [self.cell() for _ in self.together]

    def number(self, pointer: Any, k: Any) -> Any:
        return broadcast(self.builder, self.builder.load(self.builder.gep(pointer, [k])), self.vector)

    def emit(self, before: Any, clear: list[Any], first: Any, second: Any, after: Any) -> None:
        """before, after (place of the units); first and second (number of the bin, place), the last bin first.

        `second` also gets what `first` returned for the bin. Bins overlap: while one is in its second half the next is
        in its first, or each would wait for a long chain of operations. clear: cells to be zero when a feature begins.
        """
        b, one = self.builder, ir.Constant(self.index, 1)
        kept: dict[int, list[Any]] = {}
        with self.loop(b.udiv(self.stride, ir.Constant(self.index, BIN_PAD))) as chunk:
            self.units = b.mul(chunk.index, ir.Constant(self.index, BIN_PAD))
            for units in self.each():
                b.store(self.constant(0.0), self.start[self.now])
                before(units)
            with self.loop(self.features) as feature:
                begin, end = (b.load(b.gep(self.first, [at])) for at in (feature.index, b.add(feature.index, one)))
                for cells in (self.rest, *clear):
                    for cell in cells:
                        b.store(self.constant(0.0), cell)
                last = b.sub(end, one)
                for units in self.each():
                    values = first(last, self.bin(last, units))
                    kept[self.now] = [cgutils.alloca_once(b, self.vector) for _ in values]
                    self.keep(values, kept[self.now])
                with self.loop(b.sub(last, begin)) as passed:
                    k = b.sub(last, passed.index)
                    following = b.sub(k, one)
                    before_it = {i: [b.load(cell) for cell in kept[i]] for i in self.together}
                    for units in self.each():
                        self.keep(first(following, self.bin(following, units)), kept[self.now])
                    for units in self.each():
                        second(k, self.bin(k, units), *before_it[self.now])
                for units in self.each():
                    second(begin, self.bin(begin, units), *(b.load(cell) for cell in kept[self.now]))
            for units in self.each():
                self.store(b.load(self.start[self.now]), self.base, units)
                after(units)

    def each(self) -> Iterator[Any]:
        """The registers side by side, one after the other: the place of their units."""
        for register in self.together:
            self.now = register
            yield self.builder.add(self.units, ir.Constant(self.index, self.now * self.vector.count))

    def bin(self, k: Any, units: Any) -> Any:
        return self.builder.add(self.builder.mul(k, self.stride), units)

    def keep(self, values: Any, cells: list[Any]) -> None:
        for value, cell in zip(values, cells, strict=True):
            self.builder.store(value, cell)

    def tabulate(self, w: Any, full: Any, empty: Any, at: Any) -> None:
        """The table's row of a bin, less C, for the slopes w: made by itself, the same bits as while slopes step."""
        b = self.builder
        held = b.fmul(w, full, flags=ORDERED)
        row = b.fsub(b.load(self.rest[self.now]), held, flags=ORDERED)
        self.store(row, self.table, at)
        b.store(b.fadd(row, b.fmul(w, empty, flags=ORDERED), flags=ORDERED), self.rest[self.now])
        b.store(b.fadd(b.load(self.start[self.now]), held, flags=ORDERED), self.start[self.now])


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
    typingctx, w, m, v, lower, upper, g, average, at, step, stride, first, ends, table, base, sums, units, means, moved
):
    """All slopes in bins step, and `tabulate_bins` of the new ones; moved = (change of w) . means.

    g from `at` on, and sums (of d): (bins, stride); both become zero. units: h, (stride,).
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e, kinds = _Columns(context, builder, signature, args, 7), signature.args
        zero = ir.Constant(e.index, 0)
        sums, h_data, means, moved = (
            data_at(context, builder, kinds[i], args[i], at)
            for i, at in ((14, zero), (15, zero), (16, zero), (17, zero))
        )
        above, change, h = e.cells(), e.cells(), e.cells()

        def before(units: Any) -> None:
            builder.store(e.constant(0.0), change[e.now])
            builder.store(e.load(h_data, units), h[e.now])

        def gradient(k: Any, at: Any) -> Any:
            here, passed, total = e.load(sums, at), builder.load(above[e.now]), builder.load(h[e.now])
            below = e.sub(e.sub(total, here), passed)
            parts = [e.mul(e.number(e.full, k), passed), e.mul(e.number(e.empty, k), below)]
            g = e.add(e.load(e.data[5], at), e.add(*parts))
            e.collect(above[e.now], here)
            for used in (sums, e.data[5]):
                e.store(e.constant(0.0), used, at)
            return e.sub(g, e.mul(total, e.number(means, k)))

        def moments(k: Any, at: Any) -> tuple[Any, Any]:
            return e.moments(gradient(k, at), e.data[1], e.data[2], at)

        def step(k: Any, at: Any, m: Any, v: Any) -> None:
            new, by = e.slope(m, v, at)
            e.collect(change[e.now], e.mul(by, e.number(means, k)))
            old = e.load(e.data[6], at)
            e.store(e.add(old, e.mul(e.step[SHARE], e.sub(new, old))), e.data[6], at)
            e.tabulate(new, e.number(e.full, k), e.number(e.empty, k), at)

        e.emit(before, [above], moments, step, lambda units: e.store(builder.load(change[e.now]), moved, units))
        return context.get_dummy_value()

    i = types.intp
    arrays, out = (w, m, v, lower, upper, g, average), (first, ends, table, base)
    return types.void(*arrays, i, step, i, *out, sums, units, means, moved), codegen
