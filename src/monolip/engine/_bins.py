"""Bins of a feature as table lookups: of a row's bins one is partly filled, those below are full, those above empty.

With W_k the slopes in bin k and t what the filled bin s holds, the bins together add to every unit

    sum_k W_k x_k = T_s + W_s t,        T_s = sum_{k < s} W_k full_k + sum_{k > s} W_k empty_k

so a row costs two table rows a feature, however many bins there are. Slopes lie input by input (bins, units), whole
registers of units side by side. The gradient goes the same way back: it is collected for T and W at s, and once a
step the sums over s give that of W. What makes the table is in _bin_steps.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from monolip.engine._emitter import ORDERED
from monolip.engine._training_layout import BIN_PAD, LANES
from monolip.engine._vector import REGISTER_BYTES, broadcast, data_at, load, store

__all__ = ["bin_gradient", "bin_outputs"]

FLAGS = ("contract", "reassoc", "nsz")


def _shape(context: Any, array_type: Any) -> tuple[int, Any]:
    element = context.get_value_type(array_type.dtype)
    size = 4 if isinstance(element, ir.FloatType) else 8
    return size, ir.VectorType(element, REGISTER_BYTES // size)


class _Walk:
    """The loop over rows and their features that both directions share."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, more: int) -> None:
        """args: w, w_at, `more` others, then units, stride, codes, rows, x, x_at."""
        w, w_at, stride, x, x_at = (args[i] for i in (0, 1, more + 3, more + 6, more + 7))
        kinds, zero = signature.args, ir.Constant(w_at.type, 0)
        self.builder, self.index, self.stride = builder, w_at.type, stride
        self.size, self.vector = _shape(context, kinds[0])
        self.per = BIN_PAD // self.vector.count  # registers of a chunk of units
        shapes = [context.make_array(kinds[i])(context, builder, args[i]).shape for i in (more + 4, more + 6)]
        self.features, self.width = (builder.extract_value(shape, 1) for shape in shapes)
        self.w = data_at(context, builder, kinds[0], w, w_at)
        self.units, self.codes, self.rows = (
            data_at(context, builder, kinds[more + i], args[more + i], zero) for i in (2, 4, 5)
        )
        self.x = data_at(context, builder, kinds[more + 6], x, x_at)

    def places(self, at: Any) -> list[Any]:
        steps = [ir.Constant(self.index, i * self.vector.count) for i in range(self.per)]
        return [self.builder.add(at, step) for step in steps]

    def load(self, pointer: Any, at: Any) -> Any:
        return load(self.builder, pointer, at, self.vector, self.size)

    def store(self, value: Any, pointer: Any, at: Any) -> None:
        store(self.builder, value, pointer, at, self.size)

    def emit(self, before: Any, each: Any, after: Any) -> None:
        """before(place of the row's units, shift); each(s, shift, t) for every feature; after(its place).

        shift: where the chunk of units begins.
        """
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
            before(units, shift)
            with loop(b, self.features, intp=self.index) as feature:
                s = b.zext(b.load(b.gep(code, [feature.index])), self.index)
                t = broadcast(b, b.load(b.gep(held, [feature.index])), self.vector)
                each(s, shift, t)
            after(units)


@intrinsic
def bin_outputs(typingctx, w, w_at, table, base, units, stride, codes, rows, x, x_at):  # type: ignore[no-untyped-def]
    """units (lanes, stride) += what the bins of 64 rows add; codes (n, features): s; x[row, x_at + feature]: t.

    base (stride,) is a part of every T, left out of the table.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        walk = _Walk(context, builder, signature, args, 2)
        zero = ir.Constant(walk.vector, None)
        start = ir.Constant(walk.index, 0)
        table, base = (data_at(context, builder, signature.args[i], args[i], start) for i in (2, 3))
        # two sums a register: each waits for its last addition
        cells = [[cgutils.alloca_once(builder, walk.vector) for _ in range(walk.per)] for _ in range(2)]

        def before(_: Any, shift: Any) -> None:
            for i, place in enumerate(walk.places(shift)):
                builder.store(walk.load(base, place), cells[0][i])
                builder.store(zero, cells[1][i])

        def each(s: Any, shift: Any, t: Any) -> None:
            for i, place in enumerate(walk.places(builder.add(builder.mul(s, walk.stride), shift))):
                total = builder.fadd(builder.load(cells[0][i]), walk.load(table, place), flags=FLAGS)
                builder.store(total, cells[0][i])
                product = builder.fmul(t, walk.load(walk.w, place), flags=FLAGS)
                builder.store(builder.fadd(builder.load(cells[1][i]), product, flags=FLAGS), cells[1][i])

        def after(units: Any) -> None:
            for i, place in enumerate(walk.places(units)):
                added = builder.fadd(*(builder.load(cells[k][i]) for k in range(2)), flags=FLAGS)
                walk.store(builder.fadd(walk.load(walk.units, place), added, flags=ORDERED), walk.units, place)

        walk.emit(before, each, after)
        return context.get_dummy_value()

    i = types.intp
    return types.void(w, i, table, base, units, i, codes, rows, x, i), codegen


@intrinsic
def bin_gradient(typingctx, g, g_at, sums, units, stride, codes, rows, x, x_at):  # type: ignore[no-untyped-def]
    """The way back: units (lanes, stride) are gradients d of 64 rows; sums[s] += d, g[s] += t d."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        walk = _Walk(context, builder, signature, args, 1)
        sums = data_at(context, builder, signature.args[2], args[2], ir.Constant(walk.index, 0))
        kept: list[Any] = []

        def before(units: Any, _: Any) -> None:
            kept[:] = [walk.load(walk.units, place) for place in walk.places(units)]

        def each(s: Any, shift: Any, t: Any) -> None:
            at = builder.add(builder.mul(s, walk.stride), shift)
            for d, place in zip(kept, walk.places(at), strict=True):
                for value, to in ((d, sums), (builder.fmul(t, d, flags=FLAGS), walk.w)):
                    walk.store(builder.fadd(walk.load(to, place), value, flags=FLAGS), to, place)

        walk.emit(before, each, lambda _: None)
        return context.get_dummy_value()

    i = types.intp
    return types.void(g, i, sums, units, i, codes, rows, x, i), codegen
