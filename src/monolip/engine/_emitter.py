"""Arithmetic on registers that the kernels of a step share: Adam's direction, a slope's step back into its box.

In single precision the direction takes no square root and no division, which together cost as much as all the rest:

    m / (sqrt(v) + eps)  is  m rsqrt(v + eps^2),     rsqrt(x) = a y' (c - x y'^2),  y' = y (b - x y^2)

with y from the bits of x. y' is right within 9e-4 and rsqrt within 8.1e-7, for all x up to 1.7e38. At v = 0 it is
finite, so that a weight without gradient stays where it is, and eps^2 keeps every rsqrt below 1 / eps.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from monolip.engine._vector import REGISTER_BYTES, broadcast, data_at, load, store

__all__ = ["BETA1", "BETA2", "EPSILON", "KEEP", "LIFT1", "LIFT2", "RATE", "SHARE", "Emitter"]

FAST = ("contract", "reassoc", "arcp", "afn", "nsz")
# what a step needs to know, an array of the kernels' precision; SHARE: of the new weights in their average
BETA1, BETA2, EPSILON, LIFT1, LIFT2, RATE, KEEP, SHARE = range(8)
MAGIC, ROOT_A, ROOT_B, ROOT_C = 0x5F0B3C00, 0.49999425, 1.891, 3.0000243
LARGEST = 1.7e38  # squares that overflowed count as this much: a direction of 0, not of infinity / infinity


class Emitter:
    """Arithmetic on registers of one kernel; constants of the step are loaded once, before its loop.

    The kernel's first arguments are arrays that share an offset, then comes the offset, then the step's constants.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, arrays: int) -> None:
        element = context.get_value_type(signature.args[0].dtype)
        self.builder, self.size = builder, 4 if isinstance(element, ir.FloatType) else 8
        self.vector = ir.VectorType(element, REGISTER_BYTES // self.size)
        self.index = args[arrays].type
        kinds = signature.args
        self.data = [data_at(context, builder, kinds[i], args[i], args[arrays]) for i in range(arrays)]
        step = data_at(context, builder, kinds[arrays + 1], args[arrays + 1], ir.Constant(self.index, 0))
        numbers = [builder.load(builder.gep(step, [ir.Constant(self.index, i)])) for i in range(SHARE + 1)]
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

    def loop(self, count: Any) -> Any:
        return cgutils.for_range(self.builder, count, intp=self.index)

    def registers(self, count: Any) -> Any:
        return self.builder.udiv(count, ir.Constant(self.index, self.vector.count))

    def place(self, number: Any) -> Any:
        return self.builder.mul(number, ir.Constant(self.index, self.vector.count))

    def moments(self, g: Any, first: Any, second: Any, at: Any) -> tuple[Any, Any]:
        """Both moments at first + at and second + at, moved by the gradient g."""
        s, one = self.step, self.constant(1.0)
        m = self.add(self.mul(s[BETA1], self.load(first, at)), self.mul(self.sub(one, s[BETA1]), g))
        square = self.mul(self.mul(self.sub(one, s[BETA2]), g), g)
        v = self.add(self.mul(s[BETA2], self.load(second, at)), square)
        self.store(m, first, at)
        self.store(v, second, at)
        return m, v

    def direction(self, m: Any, v: Any) -> Any:
        """Adam's direction for the moments m and v."""
        s = self.step
        lifted, length = self.mul(m, s[LIFT1]), self.mul(v, s[LIFT2])
        if self.size == 4:
            x = self.low(self.add(length, self.mul(s[EPSILON], s[EPSILON])), self.constant(LARGEST))
            root, factor = self._inverse_root(x)
            return self.mul(self.mul(self.mul(lifted, self.constant(ROOT_A)), root), factor)
        kind = f"llvm.sqrt.v{self.vector.count}f64"
        sqrt = cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(self.vector, [self.vector]), kind)
        root = self.add(self.builder.call(sqrt, [length], fastmath=FAST), s[EPSILON])
        return self.builder.fdiv(lifted, root, flags=FAST)

    def _inverse_root(self, x: Any) -> tuple[Any, Any]:
        """Two numbers whose product times ROOT_A is 1 / sqrt(x). In this order: y y alone could underflow."""
        b, whole, flags = self.builder, ir.VectorType(ir.IntType(32), self.vector.count), ("contract",)
        magic, one = (ir.Constant(whole, [value] * self.vector.count) for value in (MAGIC, 1))

        def correction(y: Any, c: float) -> Any:
            return b.fsub(self.constant(c), b.fmul(b.fmul(x, y, flags=flags), y, flags=flags), flags=flags)

        y = b.bitcast(b.sub(magic, b.lshr(b.bitcast(x, whole), one)), self.vector)
        y = b.fmul(y, correction(y, ROOT_B), flags=flags)
        return y, correction(y, ROOT_C)

    def slope(self, m: Any, v: Any, at: Any) -> tuple[Any, Any]:
        """(new weight, change) of slopes at `at` for their moments: decay, step, back into the box.

        The kernel's arrays begin with w, m, v, lower, upper.
        """
        w_data, _, _, lower, upper = self.data[:5]
        w, s = self.load(w_data, at), self.step
        moved = self.sub(self.mul(w, s[KEEP]), self.mul(s[RATE], self.direction(m, v)))
        new = self.low(self.high(moved, self.load(lower, at)), self.load(upper, at))
        self.store(new, w_data, at)
        return new, self.sub(new, w)
