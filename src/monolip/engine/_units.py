"""What kernels with units side by side share: places in arrays (rows, stride), loops over them, sums in registers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from monolip.engine._training_layout import BIN_PAD
from monolip.engine._vector import REGISTER_BYTES, broadcast, load, store

__all__ = ["Units"]

FUSED = ("contract",)


class Units:
    """Loops over registers of units, and places in (rows, stride). kind: of an array of the kernel's numbers."""

    def __init__(self, context: Any, builder: Any, kind: Any, stride: Any) -> None:
        element = context.get_value_type(kind.dtype)
        self.builder, self.index, self.stride = builder, stride.type, stride
        self.size = 4 if isinstance(element, ir.FloatType) else 8
        self.vector = ir.VectorType(element, REGISTER_BYTES // self.size)
        self.per = BIN_PAD // self.vector.count  # registers of a chunk of units

    def number(self, value: int) -> Any:
        return ir.Constant(self.index, value)

    def loop(self, count: Any) -> Any:
        return cgutils.for_range(self.builder, count, intp=self.index)

    def pieces(self, length: int) -> Any:
        """A loop over the stride in pieces of so many units."""
        return self.loop(self.builder.udiv(self.stride, self.number(length)))

    def place(self, row: Any, unit: Any, register: int = 0) -> Any:
        at = self.builder.add(self.builder.mul(row, self.stride), unit)
        return self.builder.add(at, self.number(register * self.vector.count))

    def load(self, pointer: Any, at: Any) -> Any:
        return load(self.builder, pointer, at, self.vector, self.size)

    def store(self, value: Any, pointer: Any, at: Any) -> None:
        store(self.builder, value, pointer, at, self.size)

    def add_product(self, cell: Any, factor: Any, term: Any) -> None:
        product = self.builder.fmul(factor, term, flags=FUSED)
        self.builder.store(self.builder.fadd(self.builder.load(cell), product, flags=FUSED), cell)

    def many(self, pointer: Any) -> Any:
        return broadcast(self.builder, self.builder.load(pointer), self.vector)

    def cells(self, count: int) -> list[list[Any]]:
        return [[cgutils.alloca_once(self.builder, self.vector) for _ in range(self.per)] for _ in range(count)]
