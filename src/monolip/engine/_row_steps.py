"""Steps of rows of weights in few passes over memory: centred gradient, Adam's direction, the rule, all in registers.

    slope_columns  w = clip(keep * w - rate * adam(g - h mu))                   units side by side
    slope_rows     the same                                                     inputs side by side
    mixing_rows    w = w * exp(-rate * adam(g - h mu - dot)) / sum              inputs side by side

Each ends with (change of w) . mu, by which the bias follows. All rows of a block are one kernel, so that the constants
of the step stay in registers. Written as vector instructions: loops over so many arrays are more than the vectoriser
takes, and these sum in the same order on every run.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from monolip.engine._emitter import ORDERED, Emitter
from monolip.engine._shuffles import row_sums
from monolip.engine._vector import broadcast, data_at, reduced

__all__ = ["mixing_rows", "slope_columns", "slope_rows"]

FLOOR = 1e-7  # a mixing weight that reached zero could never come back under a multiplicative rule


class _Rows(Emitter):
    """The rows of a block: where they lie, the bias gradient of each, its bias, and running means of its inputs."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, arrays: int) -> None:
        """args: w, m, v, .., g (arrays that share the offset), the offset, the step's constants, mean, mean_at, bias_at
        (in w and in g), rows, stride."""
        super().__init__(context, builder, signature, args, arrays)
        kinds, (mean, mean_at, bias_at, self.rows, self.stride) = signature.args, args[arrays + 2 : arrays + 7]
        self.mean = data_at(context, builder, kinds[arrays + 2], mean, mean_at)
        self.bias = data_at(context, builder, kinds[0], args[0], bias_at)
        self.h = data_at(context, builder, kinds[arrays - 1], args[arrays - 1], bias_at)

    def number(self, pointer: Any, at: Any) -> Any:
        return self.builder.load(self.builder.gep(pointer, [at]))

    def many(self, pointer: Any, at: Any) -> Any:
        """A number in every lane."""
        return broadcast(self.builder, self.number(pointer, at), self.vector)

    def move_bias(self, row: Any, by: Any) -> None:
        moved = self.builder.fsub(self.number(self.bias, row), by)
        self.builder.store(moved, self.builder.gep(self.bias, [row]))

    def places(self, row: Any, register: Any) -> tuple[Any, Any]:
        """Of a register: in the rows, and in one of them."""
        at = self.place(register)
        return self.builder.add(self.builder.mul(row, self.stride), at), at

    def zero(self, *cells: Any) -> None:
        for cell in cells:
            self.builder.store(self.constant(0.0), cell)

    def slopes(self, here: Any, h: Any, mu: Any) -> Any:
        """A step of the slopes at `here`; returns (change of w) mu."""
        g = self.sub(self.load(self.data[5], here), self.mul(h, mu))
        _, change = self.slope(*self.moments(g, self.data[1], self.data[2], here), here)
        return self.mul(change, mu)


@intrinsic
def slope_columns(  # type: ignore[no-untyped-def]
    typingctx, w, m, v, lower, upper, g, at, step, mean, mean_at, bias_at, columns, stride, sums
):
    """Slopes of plain columns, (columns, stride) from `at` on; the units' biases follow. sums: room for a square.

    (change of w) . mu adds column k to sum k modulo a register's length, and these sums by halves, quarters, ...
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Rows(context, builder, signature, args, 6)
        n = e.vector.count
        sums = data_at(context, builder, signature.args[13], args[13], ir.Constant(e.index, 0))
        places = [ir.Constant(e.index, k * n) for k in range(n)]
        with e.loop(e.registers(e.stride)) as register:
            units = e.place(register.index)
            h = e.load(e.h, units)
            for place in places:
                e.store(e.constant(0.0), sums, place)
            with e.loop(e.rows) as column:
                here, mu = builder.add(builder.mul(column.index, e.stride), units), e.many(e.mean, column.index)
                to = e.place(builder.and_(column.index, ir.Constant(e.index, n - 1)))
                e.store(e.add(e.load(sums, to), e.slopes(here, h, mu)), sums, to)
            parts = [e.load(sums, place) for place in places]
            while len(parts) > 1:
                half = len(parts) // 2
                parts = [builder.fadd(parts[k], parts[k + half], flags=ORDERED) for k in range(half)]
            e.store(builder.fsub(e.load(e.bias, units), parts[0], flags=ORDERED), e.bias, units)
        return context.get_dummy_value()

    i = types.intp
    return types.void(w, m, v, lower, upper, g, i, step, mean, i, i, i, i, sums), codegen


@intrinsic
def slope_rows(  # type: ignore[no-untyped-def]
    typingctx, w, m, v, lower, upper, g, at, step, mean, mean_at, bias_at, rows, stride
):
    """Slopes of plain columns by rows, (rows, stride) from `at` on, whole registers; their biases follow."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Rows(context, builder, signature, args, 6)
        moved = e.cell()
        with e.loop(e.rows) as row:
            h = e.many(e.h, row.index)
            e.zero(moved)
            with e.loop(e.registers(e.stride)) as register:
                here, at = e.places(row.index, register.index)
                e.collect(moved, e.slopes(here, h, e.load(e.mean, at)))
            e.move_bias(row.index, reduced(builder, builder.load(moved)))
        return context.get_dummy_value()

    i = types.intp
    return types.void(w, m, v, lower, upper, g, i, step, mean, i, i, i, i), codegen


def _small_exponential(e: Emitter, u: Any) -> Any:
    """exp(u) for |u| <= 1, to 1e-7: the eighth power of exp(u / 8). A factor that stays positive is all that counts."""
    r = e.mul(u, e.constant(0.125))
    p = e.constant(1 / 120)
    for coefficient in (1 / 24, 1 / 6, 0.5, 1.0, 1.0):
        p = e.add(e.mul(p, r), e.constant(coefficient))
    for _ in range(3):
        p = e.mul(p, p)
    return p


class _Mixing(_Rows):
    """Rows of `columns` weights, padded to whole registers with zeros.

    sums: room for four numbers a row and three registers, in sets of a register's length of rows. Registers to be added
    up wait there until all rows have theirs: together they are added in a quarter of the time.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        super().__init__(context, builder, signature, args, 4)
        columns, zero = args[11], ir.Constant(self.index, 0)
        more = ir.Constant(self.index, self.vector.count - 1)
        self.count = self.registers(builder.add(columns, more))
        self.numbers = ir.VectorType(ir.IntType(64), self.vector.count)
        self.ends = broadcast(builder, columns, self.numbers)
        self.sets = self.registers(builder.add(self.rows, more))
        self.sums = data_at(context, builder, signature.args[12], args[12], zero)
        self.waiting = builder.gep(self.sums, [self.part(4)])
        self.cells = [self.cell() for _ in range(3)]

    def inside(self, at: Any) -> Any:
        b, lanes = self.builder, ir.Constant(self.numbers, list(range(self.vector.count)))
        return b.icmp_signed("<", b.add(broadcast(b, at, self.numbers), lanes), self.ends)

    def part(self, number: int) -> Any:
        """Where all rows keep: the sums of their weights, new . mean, old . mean, (g - h mean) . old."""
        return self.builder.mul(self.place(self.sets), ir.Constant(self.index, number))

    def in_part(self, number: int, row: Any) -> Any:
        return self.builder.add(self.part(number), row)

    def wait(self, number: int, row: Any) -> None:
        """The register of a row that is to be added up."""
        self.store(self.builder.load(self.cells[number]), self.waiting, self.place(self.in_part(number, row)))

    def add_up(self, number: int, part: int) -> None:
        """The registers that wait, row by row, into a part of the sums."""
        with self.loop(self.sets) as some:
            first = self.place(some.index)
            rows = [self.builder.add(first, ir.Constant(self.index, r)) for r in range(self.vector.count)]
            registers = [self.load(self.waiting, self.place(self.in_part(number, row))) for row in rows]
            self.store(row_sums(self.builder, registers), self.sums, self.in_part(part, first))

    def centred(self, here: Any, at: Any, h: Any) -> Any:
        return self.sub(self.load(self.data[3], here), self.mul(h, self.load(self.mean, at)))

    def dots(self) -> None:
        """(g - h mean) . w of every row."""
        with self.loop(self.rows) as row:
            h = self.many(self.h, row.index)
            self.zero(self.cells[0])
            with self.loop(self.count) as register:
                here, at = self.places(row.index, register.index)
                # padded weights are zero, so that what lies in the padding of g and mean counts nothing here
                self.collect(self.cells[0], self.mul(self.centred(here, at, h), self.load(self.data[0], here)))
            self.wait(0, row.index)
        self.add_up(0, 3)

    def factors(self) -> None:
        """Every row times the factors of its step, not yet scaled, and its sums."""
        w, first, second, _ = self.data
        nothing = self.constant(0.0)
        with self.loop(self.rows) as row:
            h, dot = self.many(self.h, row.index), self.many(self.sums, self.in_part(3, row.index))
            self.zero(*self.cells)
            with self.loop(self.count) as register:
                here, at = self.places(row.index, register.index)
                old, mu = self.load(w, here), self.load(self.mean, at)
                moments = self.moments(self.sub(self.centred(here, at, h), dot), first, second, here)
                u = self.sub(nothing, self.step_of(*moments))
                u = self.high(self.low(u, self.constant(1.0)), self.constant(-1.0))
                new = self.high(self.mul(old, _small_exponential(self, u)), self.constant(FLOOR))
                new = self.builder.select(self.inside(at), new, nothing)
                for cell, value in zip(self.cells, (new, self.mul(new, mu), self.mul(old, mu)), strict=True):
                    self.collect(cell, value)
                self.store(new, w, here)
            for part in range(3):
                self.wait(part, row.index)
        for part in range(3):
            self.add_up(part, part)

    def scale(self) -> None:
        """Every row divided by its sum; biases follow."""
        one = ir.Constant(self.vector.element, 1.0)
        with self.loop(self.rows) as row:
            total, new, old = (self.number(self.sums, self.in_part(part, row.index)) for part in range(3))
            scale = self.builder.fdiv(one, total)
            factor = broadcast(self.builder, scale, self.vector)
            with self.loop(self.count) as register:
                here, _ = self.places(row.index, register.index)
                self.store(self.mul(self.load(self.data[0], here), factor), self.data[0], here)
            self.move_bias(row.index, self.sub(self.mul(new, scale), old))


@intrinsic
def mixing_rows(  # type: ignore[no-untyped-def]
    typingctx, w, m, v, g, at, step, mean, mean_at, bias_at, rows, stride, columns, sums
):
    """Mixing rows, (rows, stride) from `at` on, in three passes over all of them: within one, rows need not wait for
    each other. sums: see `_Mixing`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Mixing(context, builder, signature, args)
        e.dots()
        e.factors()
        e.scale()
        return context.get_dummy_value()

    i = types.intp
    return types.void(w, m, v, g, i, step, mean, i, i, i, i, i, sums), codegen
