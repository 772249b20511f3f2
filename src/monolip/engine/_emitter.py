"""Arithmetic on registers that the kernels of a step share: Adam's direction, a slope's step back into its box.

In single precision the step takes no square root and no division, which together cost as much as all the rest:

    rate m / (sqrt(v) + eps)  is  m / sqrt((v + eps^2) / rate^2)
    1 / sqrt(x) = a y' (c - x y'^2),  y' = y (b - x y^2)

with y from the bits of x. y' is right within 9e-4 and the root within 8.1e-7, for x up to 1.7e38. At v = 0 it is
finite, so that a weight without gradient stays where it is, and eps keeps m from being divided by less.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from monolip.engine._vector import REGISTER_BYTES, broadcast, data_at, load, store

__all__ = [
    "BETA1",
    "BETA2",
    "EPSILON",
    "KEEP",
    "LIFT1",
    "LIFT2",
    "ORDERED",
    "RATE",
    "ROOT_A",
    "ROOT_FLOOR",
    "ROOT_SCALE",
    "SHARE",
    "Emitter",
]

FAST = ("contract", "reassoc", "arcp", "afn", "nsz")
ORDERED = ("nsz",)  # neither contracted nor in another order; operations that name no flag get them all from numba
# what a step needs to know, an array of the kernels' precision; SHARE: of the new weights in their average;
# the last two: x is v times one plus the other, the bias of the moments removed
BETA1, BETA2, EPSILON, LIFT1, LIFT2, RATE, KEEP, SHARE, ROOT_SCALE, ROOT_FLOOR = range(10)
MAGIC, ROOT_A, ROOT_B, ROOT_C = 0x5F0B3C00, 0.49999425, 1.891, 3.0000243
LARGEST = 0x7F000000  # 1.7e38: squares that overflowed count as this much; their weights stay in their box


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
        numbers = [builder.load(builder.gep(step, [ir.Constant(self.index, i)])) for i in range(ROOT_FLOOR + 1)]
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
        square = self.mul(g, g)
        m, v = self._towards(self.load(first, at), g, BETA1), self._towards(self.load(second, at), square, BETA2)
        self.store(m, first, at)
        self.store(v, second, at)
        return m, v

    def _towards(self, old: Any, new: Any, beta: int) -> Any:
        """beta old + (1 - beta) new, in the form that takes one product."""
        b, flags = self.builder, ("contract",)
        return b.fadd(b.fmul(self.step[beta], b.fsub(old, new, flags=flags), flags=flags), new, flags=flags)

    def step_of(self, m: Any, v: Any) -> Any:
        """rate times Adam's direction for the moments m and v."""
        s = self.step
        if self.size == 4:
            root, factor = self._inverse_root(self.add(self.mul(v, s[ROOT_SCALE]), s[ROOT_FLOOR]))
            return self.mul(self.mul(m, root), factor)
        kind = f"llvm.sqrt.v{self.vector.count}f64"
        sqrt = cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(self.vector, [self.vector]), kind)
        root = self.add(self.builder.call(sqrt, [self.mul(v, s[LIFT2])], fastmath=FAST), s[EPSILON])
        return self.mul(s[RATE], self.builder.fdiv(self.mul(m, s[LIFT1]), root, flags=FAST))

    def _inverse_root(self, x: Any) -> tuple[Any, Any]:
        """Two numbers whose product times ROOT_A is 1 / sqrt(x). In this order: y y alone could underflow."""
        b, whole, flags = self.builder, ir.VectorType(ir.IntType(32), self.vector.count), ("contract",)
        magic, one, most = (ir.Constant(whole, [value] * self.vector.count) for value in (MAGIC, 1, LARGEST))
        bits = b.bitcast(x, whole)
        bits = b.select(b.icmp_unsigned("<", bits, most), bits, most)  # infinity and NaN too
        x = b.bitcast(bits, self.vector)

        def correction(y: Any, c: float) -> Any:
            return b.fsub(self.constant(c), b.fmul(b.fmul(x, y, flags=flags), y, flags=flags), flags=flags)

        y = b.bitcast(b.sub(magic, b.lshr(bits, one)), self.vector)
        y = b.fmul(y, correction(y, ROOT_B), flags=flags)
        return y, correction(y, ROOT_C)

    def slope(self, m: Any, v: Any, at: Any) -> tuple[Any, Any]:
        """(new weight, change) of slopes at `at` for their moments: decay, step, back into the box.

        The kernel's arrays begin with w, m, v, lower, upper.
        """
        w_data, _, _, lower, upper = self.data[:5]
        w = self.load(w_data, at)
        moved = self.sub(self.mul(w, self.step[KEEP]), self.step_of(m, v))
        new = self.low(self.high(moved, self.load(lower, at)), self.load(upper, at))
        self.store(new, w_data, at)
        return new, self.sub(new, w)
