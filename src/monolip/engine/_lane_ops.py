"""Operations on the 64 lanes of a row: sums, dot products, sorting of pairs, copies and transposes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from monolip.engine._shuffles import transposed
from monolip.engine._vector import NEAR, REGISTER_BYTES, data_at, load, prefetch, reduced, store

__all__ = [
    "copy_registers",
    "gather_square",
    "lane_dot",
    "lane_sum",
    "sort_pair",
    "transpose_square",
    "unsort_pair",
]

LANES = 64


def _shape(context: Any, array_type: Any) -> tuple[int, Any]:
    """Bytes of an element and the register type of a flat array."""
    element = context.get_value_type(array_type.dtype)
    size = 4 if isinstance(element, ir.FloatType) else 8
    return size, ir.VectorType(element, REGISTER_BYTES // size)


@intrinsic
def lane_dot(typingctx, a, a_at, b, b_at):  # type: ignore[no-untyped-def]
    """sum over 64 lanes of a[a_at + n] * b[b_at + n]."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size, vector = _shape(context, signature.args[0])
        a_data = data_at(context, builder, signature.args[0], args[0], args[1])
        b_data = data_at(context, builder, signature.args[2], args[2], args[3])
        total = ir.Constant(vector, None)
        for start in range(0, LANES, vector.count):
            at = ir.Constant(args[1].type, start)
            left, right = (load(builder, data, at, vector, size) for data in (a_data, b_data))
            product = builder.fmul(left, right, flags=("contract",))
            total = builder.fadd(total, product, flags=("contract", "reassoc"))
        return reduced(builder, total)

    return a.dtype(a, types.intp, b, types.intp), codegen


@intrinsic
def lane_sum(typingctx, a, a_at):  # type: ignore[no-untyped-def]
    """sum over 64 lanes of a[a_at + n]."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size, vector = _shape(context, signature.args[0])
        data = data_at(context, builder, signature.args[0], args[0], args[1])
        total = ir.Constant(vector, None)
        for start in range(0, LANES, vector.count):
            total = builder.fadd(total, load(builder, data, ir.Constant(args[1].type, start), vector, size))
        return reduced(builder, total)

    return a.dtype(a, types.intp), codegen


@intrinsic
def transpose_square(typingctx, x, x_at, ldx, y, y_at, ldy):  # type: ignore[no-untyped-def]
    """y[j, i] = x[i, j] for one square of a register's length."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x, x_at, ldx, y, y_at, ldy = args
        size, vector = _shape(context, signature.args[0])
        n, index = vector.count, x_at.type
        source = data_at(context, builder, signature.args[0], x, x_at)
        target = data_at(context, builder, signature.args[3], y, y_at)
        rows = [load(builder, source, builder.mul(ldx, ir.Constant(index, i)), vector, size) for i in range(n)]
        for i, row in enumerate(transposed(builder, rows)):
            store(builder, row, target, builder.mul(ldy, ir.Constant(index, i)), size)
        return context.get_dummy_value()

    i = types.intp
    return types.void(x, i, i, y, i, i), codegen


@intrinsic
def gather_square(typingctx, x, rows, first, column, width, turned):  # type: ignore[no-untyped-def]
    """Rows rows[first], rows[first + 1], ... of a table x (n, width), one register from `column` on:

    into turned (width, lanes). The rows a register's length further on in `rows` are fetched
    into the cache meanwhile: rows of a batch lie all over the table.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x, numbers, first, column, width, turned = args
        size, vector = _shape(context, signature.args[0])
        n, index = vector.count, first.type
        table = data_at(context, builder, signature.args[0], x, column)
        names = data_at(context, builder, signature.args[1], numbers, first)
        lanes = builder.add(builder.mul(column, ir.Constant(index, LANES)), first)
        target = data_at(context, builder, signature.args[5], turned, lanes)
        rows = []
        for i in range(n):
            here, ahead = (builder.load(builder.gep(names, [ir.Constant(index, i + k)])) for k in (0, n))
            prefetch(builder, builder.gep(table, [builder.mul(ahead, width)]), NEAR)
            rows.append(load(builder, table, builder.mul(here, width), vector, size))
        for i, row in enumerate(transposed(builder, rows)):
            store(builder, row, target, ir.Constant(index, i * LANES), size)
        return context.get_dummy_value()

    i = types.intp
    return types.void(x, rows, i, i, i, turned), codegen


@intrinsic
def sort_pair(typingctx, z, z_at, a, a_at):  # type: ignore[no-untyped-def]
    """Rows z_at and z_at + 64 of z, sorted lane by lane, into rows a_at and a_at + 64 of a."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size, vector = _shape(context, signature.args[0])
        source = data_at(context, builder, signature.args[0], args[0], args[1])
        target = data_at(context, builder, signature.args[2], args[2], args[3])
        for start in range(0, LANES, vector.count):
            low, high = (ir.Constant(args[1].type, start + row) for row in (0, LANES))
            p, q = (load(builder, source, at, vector, size) for at in (low, high))
            swap = builder.fcmp_ordered("<", q, p)
            store(builder, builder.select(swap, q, p), target, low, size)
            store(builder, builder.select(swap, p, q), target, high, size)
        return context.get_dummy_value()

    return types.void(z, types.intp, a, types.intp), codegen


@intrinsic
def unsort_pair(typingctx, z, z_at, d, out, at):  # type: ignore[no-untyped-def]
    """Undo sort_pair for gradients: rows at, at + 64 of d are exchanged into out in the lanes where z was swapped."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size, vector = _shape(context, signature.args[0])
        source = data_at(context, builder, signature.args[0], args[0], args[1])
        given = data_at(context, builder, signature.args[2], args[2], args[4])
        target = data_at(context, builder, signature.args[3], args[3], args[4])
        for start in range(0, LANES, vector.count):
            low, high = (ir.Constant(args[1].type, start + row) for row in (0, LANES))
            p, q = (load(builder, source, place, vector, size) for place in (low, high))
            u, v = (load(builder, given, place, vector, size) for place in (low, high))
            swap = builder.fcmp_ordered("<", q, p)
            store(builder, builder.select(swap, v, u), target, low, size)
            store(builder, builder.select(swap, u, v), target, high, size)
        return context.get_dummy_value()

    return types.void(z, types.intp, d, out, types.intp), codegen


@intrinsic
def copy_registers(typingctx, x, x_at, y, y_at, count):  # type: ignore[no-untyped-def]
    """y[y_at : y_at + count] = x[x_at : x_at + count]; count is a multiple of 16."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size, vector = _shape(context, signature.args[0])
        source = data_at(context, builder, signature.args[0], args[0], args[1])
        target = data_at(context, builder, signature.args[2], args[2], args[3])
        step = ir.Constant(args[1].type, vector.count)
        with cgutils.for_range(builder, builder.sdiv(args[4], step), intp=args[1].type) as loop:
            at = builder.mul(loop.index, step)
            store(builder, load(builder, source, at, vector, size), target, at, size)
        return context.get_dummy_value()

    i = types.intp
    return types.void(x, i, y, i, i), codegen
