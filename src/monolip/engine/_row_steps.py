"""Steps of rows of weights in few passes over memory: centred gradient, Adam's direction, the rule, all in registers.

    slope_row                           w = clip(keep * w - rate * adam(g - h mu))     inputs side by side
    mixing_dot, _factors, scale_row     w = w * exp(-rate * adam(g - h mu - dot)) / sum

Each way ends with (change of w) . mu, by which the bias follows. Written as vector instructions: loops over so many
arrays are more than the vectoriser takes, and these sum in the same order on every run.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from monolip.engine._emitter import Emitter
from monolip.engine._vector import broadcast, data_at, reduced

__all__ = ["mixing_dot", "mixing_factors", "scale_row", "slope_row"]

FLOOR = 1e-7  # a mixing weight that reached zero could never come back under a multiplicative rule


@intrinsic
def slope_row(typingctx, w, m, v, lower, upper, g, at, step, mean, mean_at, h, count):  # type: ignore[no-untyped-def]
    """One unit's slopes, at .. at + count (whole registers). Returns (change of w) . mean."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = Emitter(context, builder, signature, args, 6)
        mean = data_at(context, builder, signature.args[8], args[8], args[9])
        h, total = broadcast(builder, args[10], e.vector), e.cell()
        with e.loop(e.registers(args[11])) as loop:
            at = e.place(loop.index)
            mu = e.load(mean, at)
            g = e.sub(e.load(e.data[5], at), e.mul(h, mu))
            _, change = e.slope(*e.moments(g, e.data[1], e.data[2], at), at)
            e.collect(total, e.mul(change, mu))
        return reduced(builder, builder.load(total))

    i = types.intp
    return w.dtype(w, m, v, lower, upper, g, i, step, mean, i, w.dtype, i), codegen


def _small_exponential(e: Emitter, u: Any) -> Any:
    """exp(u) for |u| <= 1, to 1e-7: the eighth power of exp(u / 8). A factor that stays positive is all that counts."""
    r = e.mul(u, e.constant(0.125))
    p = e.constant(1 / 120)
    for coefficient in (1 / 24, 1 / 6, 0.5, 1.0, 1.0):
        p = e.add(e.mul(p, r), e.constant(coefficient))
    for _ in range(3):
        p = e.mul(p, p)
    return p


class _Mixing(Emitter):
    """What the three passes over a mixing row share: how many registers it has, and which of their lanes count."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, arrays: int, columns: Any) -> None:
        super().__init__(context, builder, signature, args, arrays)
        self.count = self.registers(builder.add(columns, ir.Constant(self.index, self.vector.count - 1)))
        self.numbers = ir.VectorType(ir.IntType(64), self.vector.count)
        self.ends = broadcast(builder, columns, self.numbers)

    def inside(self, at: Any) -> Any:
        b, lanes = self.builder, ir.Constant(self.numbers, list(range(self.vector.count)))
        return b.icmp_signed("<", b.add(broadcast(b, at, self.numbers), lanes), self.ends)

    def total(self, cell: Any) -> Any:
        return reduced(self.builder, self.builder.load(cell))


@intrinsic
def mixing_dot(typingctx, w, g, at, step, mean, mean_at, h, columns):  # type: ignore[no-untyped-def]
    """(g - h mean) . w for a mixing row of `columns` weights, padded to whole registers with zeros."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Mixing(context, builder, signature, args, 2, args[7])
        mean = data_at(context, builder, signature.args[4], args[4], args[5])
        h, dot = broadcast(builder, args[6], e.vector), e.cell()
        with e.loop(e.count) as loop:
            at = e.place(loop.index)
            # padded weights are zero, so that what lies in the padding of g and mean counts nothing here
            e.collect(dot, e.mul(e.sub(e.load(e.data[1], at), e.mul(h, e.load(mean, at))), e.load(e.data[0], at)))
        return e.total(dot)

    i = types.intp
    return w.dtype(w, g, i, step, mean, i, w.dtype, i), codegen


@intrinsic
def mixing_factors(  # type: ignore[no-untyped-def]
    typingctx, w, m, v, g, at, step, mean, mean_at, h, columns, dot, sums, sums_at
):
    """The row times the factors of its step, not yet scaled; sums from sums_at on: its sum, new . mean, old . mean."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e, kinds = _Mixing(context, builder, signature, args, 4, args[9]), signature.args
        w, first, second, g = e.data
        mean, sums = (data_at(context, builder, kinds[i], args[i], args[i + 1]) for i in (6, 11))
        h, dot = (broadcast(builder, args[i], e.vector) for i in (8, 10))
        zero, cells = e.constant(0.0), [e.cell() for _ in range(3)]
        with e.loop(e.count) as loop:
            at = e.place(loop.index)
            old, mu = e.load(w, at), e.load(mean, at)
            moments = e.moments(e.sub(e.sub(e.load(g, at), e.mul(h, mu)), dot), first, second, at)
            u = e.high(e.low(e.sub(zero, e.step_of(*moments)), e.constant(1.0)), e.constant(-1.0))
            new = builder.select(e.inside(at), e.high(e.mul(old, _small_exponential(e, u)), e.constant(FLOOR)), zero)
            for cell, value in zip(cells, (new, e.mul(new, mu), e.mul(old, mu)), strict=True):
                e.collect(cell, value)
            e.store(new, w, at)
        for k, cell in enumerate(cells):
            builder.store(e.total(cell), builder.gep(sums, [ir.Constant(e.index, k)]))
        return context.get_dummy_value()

    i = types.intp
    return types.void(w, m, v, g, i, step, mean, i, w.dtype, i, w.dtype, sums, i), codegen


@intrinsic
def scale_row(typingctx, w, at, step, columns, scale):  # type: ignore[no-untyped-def]
    """The row times a number."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Mixing(context, builder, signature, args, 1, args[3])
        with e.loop(e.count) as loop:
            at = e.place(loop.index)
            e.store(e.mul(e.load(e.data[0], at), broadcast(builder, args[4], e.vector)), e.data[0], at)
        return context.get_dummy_value()

    i = types.intp
    return types.void(w, i, step, i, w.dtype), codegen
