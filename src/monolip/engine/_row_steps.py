"""Steps of rows of weights in one pass over memory: centred gradient, Adam's direction, the rule, all in registers.

    slope_row      w = clip(keep * w - rate * adam(g - h mu))                    a first-layer row (inputs side by side)
    slope_column   the same for weights of one input (units side by side)        h is one number a unit
    mixing_row     w = w * exp(-rate * adam(g - h mu - dot)) / sum               a mixing row

Each returns or collects (change of w) . mu, by which the bias follows. Written as vector instructions: loops over so
many arrays are more than the vectoriser takes, and these sum in the same order on every run.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from monolip.engine._vector import REGISTER_BYTES, broadcast, data_at, load, reduced, store

__all__ = ["mixing_row", "slope_column", "slope_row"]

FLOOR = 1e-7  # a mixing weight that reached zero could never come back under a multiplicative rule
FAST = ("contract", "reassoc", "arcp", "afn", "nsz")
# what a step needs to know, an array of the kernels' precision
BETA1, BETA2, EPSILON, LIFT1, LIFT2, RATE, KEEP = range(7)


class _Emitter:
    """Arithmetic on registers of one kernel; constants of the step are loaded once, before its loop."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, arrays: int) -> None:
        element = context.get_value_type(signature.args[0].dtype)
        self.builder, self.size = builder, 4 if isinstance(element, ir.FloatType) else 8
        self.vector = ir.VectorType(element, REGISTER_BYTES // self.size)
        self.index = args[arrays].type
        kinds = signature.args
        # arrays that share the offset `at`, then the offset, then the step's constants
        self.data = [data_at(context, builder, kinds[i], args[i], args[arrays]) for i in range(arrays)]
        step = data_at(context, builder, kinds[arrays + 1], args[arrays + 1], ir.Constant(self.index, 0))
        numbers = [builder.load(builder.gep(step, [ir.Constant(self.index, i)])) for i in range(7)]
        self.step = [broadcast(builder, number, self.vector) for number in numbers]

    def constant(self, value: float) -> Any:
        return ir.Constant(self.vector, [value] * self.vector.count)

    def load(self, pointer: Any, at: Any) -> Any:
        return load(self.builder, pointer, at, self.vector, self.size)

    def store(self, value: Any, pointer: Any, at: Any) -> None:
        store(self.builder, value, pointer, at, self.size)

    def add(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=FAST)

    def sub(self, a: Any, b: Any) -> Any:
        return self.builder.fsub(a, b, flags=FAST)

    def mul(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=FAST)

    def low(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def high(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def cell(self) -> Any:
        return cgutils.alloca_once_value(self.builder, ir.Constant(self.vector, None))

    def collect(self, cell: Any, value: Any) -> None:
        self.builder.store(self.add(self.builder.load(cell), value), cell)

    def direction(self, g: Any, first: Any, second: Any, at: Any) -> Any:
        """Adam's direction for the gradient g; the moments at first + at and second + at move."""
        s, one = self.step, self.constant(1.0)
        m = self.add(self.mul(s[BETA1], self.load(first, at)), self.mul(self.sub(one, s[BETA1]), g))
        square = self.mul(self.mul(self.sub(one, s[BETA2]), g), g)
        v = self.add(self.mul(s[BETA2], self.load(second, at)), square)
        self.store(m, first, at)
        self.store(v, second, at)
        kind = f"llvm.sqrt.v{self.vector.count}{'f32' if self.size == 4 else 'f64'}"
        root = cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(self.vector, [self.vector]), kind)
        length = self.add(self.builder.call(root, [self.mul(v, s[LIFT2])], fastmath=FAST), s[EPSILON])
        return self.builder.fdiv(self.mul(m, s[LIFT1]), length, flags=FAST)

    def loop(self, count: Any) -> Any:
        return cgutils.for_range(self.builder, count, intp=self.index)

    def registers(self, count: Any) -> Any:
        return self.builder.udiv(count, ir.Constant(self.index, self.vector.count))

    def place(self, number: Any) -> Any:
        return self.builder.mul(number, ir.Constant(self.index, self.vector.count))

    def slope(self, g: Any, at: Any) -> tuple[Any, Any]:
        """(new weight, change) of slopes at `at`: decay, step, back into the box."""
        w_data, _, first, second, lower, upper = self.data
        w, s = self.load(w_data, at), self.step
        moved = self.sub(self.mul(w, s[KEEP]), self.mul(s[RATE], self.direction(g, first, second, at)))
        new = self.low(self.high(moved, self.load(lower, at)), self.load(upper, at))
        self.store(new, w_data, at)
        return new, self.sub(new, w)


@intrinsic
def slope_row(typingctx, w, g, m, v, lower, upper, at, step, mean, mean_at, h, count):  # type: ignore[no-untyped-def]
    """One unit's slopes, at .. at + count (whole registers). Returns (change of w) . mean."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Emitter(context, builder, signature, args, 6)
        mean = data_at(context, builder, signature.args[8], args[8], args[9])
        h, total = broadcast(builder, args[10], e.vector), e.cell()
        with e.loop(e.registers(args[11])) as loop:
            at = e.place(loop.index)
            mu = e.load(mean, at)
            _, change = e.slope(e.sub(e.load(e.data[1], at), e.mul(h, mu)), at)
            e.collect(total, e.mul(change, mu))
        return reduced(builder, builder.load(total))

    i = types.intp
    return w.dtype(w, g, m, v, lower, upper, i, step, mean, i, w.dtype, i), codegen


@intrinsic
def slope_column(typingctx, w, g, m, v, lower, upper, at, step, h, moved, h_at, mu, count):  # type: ignore[no-untyped-def]
    """Slopes of `count` units (whole registers) in one input of mean mu; moved[h_at ...] += change of w * mu."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Emitter(context, builder, signature, args, 6)
        h = data_at(context, builder, signature.args[8], args[8], args[10])
        moved = data_at(context, builder, signature.args[9], args[9], ir.Constant(e.index, 0))
        mu = broadcast(builder, args[11], e.vector)
        with e.loop(e.registers(args[12])) as loop:
            at = e.place(loop.index)
            _, change = e.slope(e.sub(e.load(e.data[1], at), e.mul(e.load(h, at), mu)), at)
            e.store(e.add(e.load(moved, at), e.mul(change, mu)), moved, at)
        return context.get_dummy_value()

    i = types.intp
    return types.void(w, g, m, v, lower, upper, i, step, h, moved, i, w.dtype, i), codegen


def _small_exponential(e: _Emitter, u: Any) -> Any:
    """exp(u) for |u| <= 1, to 1e-7: the eighth power of exp(u / 8). A factor that stays positive is all that counts."""
    r = e.mul(u, e.constant(0.125))
    p = e.constant(1 / 120)
    for coefficient in (1 / 24, 1 / 6, 0.5, 1.0, 1.0):
        p = e.add(e.mul(p, r), e.constant(coefficient))
    for _ in range(3):
        p = e.mul(p, p)
    return p


@intrinsic
def mixing_row(typingctx, w, g, m, v, at, step, mean, mean_at, h, columns):  # type: ignore[no-untyped-def]
    """A mixing row of `columns` weights, padded to whole registers with zeros. Returns (change of w) . mean."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Emitter(context, builder, signature, args, 4)
        w, g, first, second = e.data
        mean = data_at(context, builder, signature.args[6], args[6], args[7])
        h, columns = broadcast(builder, args[8], e.vector), args[9]
        count = e.registers(builder.add(columns, ir.Constant(e.index, e.vector.count - 1)))
        numbers = ir.VectorType(ir.IntType(64), e.vector.count)
        ends = broadcast(builder, columns, numbers)

        def inside(at: Any) -> Any:
            lanes = ir.Constant(numbers, list(range(e.vector.count)))
            return builder.icmp_signed("<", builder.add(broadcast(builder, at, numbers), lanes), ends)

        zero, dot, total, before, after = e.constant(0.0), e.cell(), e.cell(), e.cell(), e.cell()
        with e.loop(count) as loop:
            at = e.place(loop.index)
            # padded weights are zero, so that what lies in the padding of g and mean counts nothing here
            e.collect(dot, e.mul(e.sub(e.load(g, at), e.mul(h, e.load(mean, at))), e.load(w, at)))
        off = broadcast(builder, reduced(builder, builder.load(dot)), e.vector)
        with e.loop(count) as loop:
            at = e.place(loop.index)
            old, mu = e.load(w, at), e.load(mean, at)
            u = e.mul(e.direction(e.sub(e.sub(e.load(g, at), e.mul(h, mu)), off), first, second, at), e.step[RATE])
            u = e.high(e.low(e.sub(zero, u), e.constant(1.0)), e.constant(-1.0))
            new = builder.select(inside(at), e.high(e.mul(old, _small_exponential(e, u)), e.constant(FLOOR)), zero)
            e.collect(total, new)
            e.collect(before, e.mul(old, mu))
            e.collect(after, e.mul(new, mu))
            e.store(new, w, at)
        scale = builder.fdiv(ir.Constant(e.vector.element, 1.0), reduced(builder, builder.load(total)))
        with e.loop(count) as loop:
            at = e.place(loop.index)
            e.store(e.mul(e.load(w, at), broadcast(builder, scale, e.vector)), w, at)
        sums = [reduced(builder, builder.load(cell)) for cell in (after, before)]
        return builder.fsub(builder.fmul(sums[0], scale), sums[1])

    i = types.intp
    return w.dtype(w, g, m, v, i, step, mean, i, w.dtype, i), codegen
