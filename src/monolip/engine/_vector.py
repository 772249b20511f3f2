"""Register tiles: the one product behind evaluation, gradients and training, written as vector instructions.

    C[r, n] = start[r, n] + sum_k A[r * a_row + k * a_col] * B[k * ldb + n]      r < rows, n < vectors * width

or, for rows of a table named by number, B[number[k] * ldb + n]; what is named 64 places further on is then fetched
into the cache meanwhile.

The start is C itself, or bias[r] in every lane, or zero; k ascends. `rows * vectors` accumulators stay in registers
while k runs. Arrays are flat with explicit offsets, so that no slice is made per tile. numba's loop vectoriser cannot
be trusted to find this shape; vector instructions say it. The ordered tile multiplies, rounds, adds, rounds; the
fused one may contract both into one instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["FAR", "NEAR", "REGISTER_BYTES", "broadcast", "data_at", "load", "prefetch", "reduced", "store", "tile"]

NAMED_AHEAD = 64
NEAR, FAR = 3, 2  # caches: of the first level, of the second
REGISTER_BYTES = 64  # machines with shorter registers split these vectors; results are the same bits


def data_at(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> Any:
    """Pointer to element `offset` of a flat array."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [offset])


def load(builder: Any, pointer: Any, offset: Any, vector: Any, size: int) -> Any:
    """A register from pointer + offset; only the alignment of one element is promised."""
    address = builder.bitcast(builder.gep(pointer, [offset]), vector.as_pointer())
    value = builder.load(address)
    value.align = size
    return value


def store(builder: Any, value: Any, pointer: Any, offset: Any, size: int) -> None:
    """A register to pointer + offset."""
    address = builder.bitcast(builder.gep(pointer, [offset]), value.type.as_pointer())
    builder.store(value, address).align = size


def broadcast(builder: Any, scalar: Any, vector: Any) -> Any:
    """A register that holds one number in every lane."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


_broadcast = broadcast  # the name other kernels know


def reduced(builder: Any, vector: Any) -> Any:
    """The sum of a register's lanes, in the order the machine likes."""
    kind = "f32" if isinstance(vector.type.element, ir.FloatType) else "f64"
    name = f"llvm.vector.reduce.fadd.v{vector.type.count}{kind}"
    signature = ir.FunctionType(vector.type.element, [vector.type.element, vector.type])
    function = cgutils.get_or_insert_function(builder.module, signature, name)
    return builder.call(function, [ir.Constant(vector.type.element, 0.0), vector], fastmath=("reassoc",))


def prefetch(builder: Any, pointer: Any, cache: int) -> None:
    """Ask for a line of memory that will be read soon, into the NEAR or the FAR cache."""
    flag, address = ir.IntType(32), ir.IntType(8).as_pointer()
    signature = ir.FunctionType(ir.VoidType(), [address, flag, flag, flag])
    function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
    read, keep, data = (ir.Constant(flag, n) for n in (0, cache, 1))
    builder.call(function, [builder.bitcast(pointer, address), read, keep, data])


def _emit(
    context: Any, builder: Any, signature: Any, args: Any, rows: int, vectors: int, fused: bool, start: str, ways: int
) -> Any:
    """The instructions of one tile."""
    c, c_at, ldc, a, a_at, a_row, a_col, b, b_at, ldb, depth, bias, bias_at = args
    named = start == "named"  # then `bias` holds the numbers
    element = context.get_value_type(signature.args[0].dtype)
    size = 4 if isinstance(element, ir.FloatType) else 8
    vector = ir.VectorType(element, REGISTER_BYTES // size)
    index, flags = c_at.type, ("contract",) if fused else ()
    c_data = data_at(context, builder, signature.args[0], c, c_at)
    a_data = data_at(context, builder, signature.args[3], a, a_at)
    b_data = data_at(context, builder, signature.args[7], b, b_at)
    bias_data = data_at(context, builder, signature.args[11], bias, bias_at)
    lanes = [ir.Constant(index, v * vector.count) for v in range(vectors)]
    places = [builder.add(builder.mul(ldc, ir.Constant(index, r)), n) for r in range(rows) for n in lanes]

    def first(number: int) -> Any:
        if start == "bias":
            row = ir.Constant(index, number // vectors)
            return broadcast(builder, builder.load(builder.gep(bias_data, [row])), vector)
        return ir.Constant(vector, None) if start == "zero" else load(builder, c_data, places[number], vector, size)

    # stack cells: LLVM turns them into registers, which spares writing the loop's phi nodes by hand
    cells = [
        [cgutils.alloca_once_value(builder, ir.Constant(vector, None) if way else first(i)) for i in range(len(places))]
        for way in range(ways)
    ]
    with cgutils.for_range(builder, builder.udiv(depth, ir.Constant(index, ways)), intp=index) as loop:
        for way in range(ways):
            k = builder.add(builder.mul(loop.index, ir.Constant(index, ways)), ir.Constant(index, way))
            here = builder.load(builder.gep(bias_data, [k])) if named else k
            line, column = builder.mul(here, ldb), builder.mul(k, a_col)
            if named:
                ahead = builder.load(builder.gep(bias_data, [builder.add(k, ir.Constant(index, NAMED_AHEAD))]))
                for n in lanes:
                    prefetch(builder, builder.gep(b_data, [builder.add(builder.mul(ahead, ldb), n)]), FAR)
            terms = [load(builder, b_data, builder.add(line, n), vector, size) for n in lanes]
            for r in range(rows):
                at = builder.add(column, builder.mul(a_row, ir.Constant(index, r)))
                factor = broadcast(builder, builder.load(builder.gep(a_data, [at])), vector)
                for v, term in enumerate(terms):
                    cell = cells[way][r * vectors + v]
                    product = builder.fmul(factor, term, flags=flags)
                    builder.store(builder.fadd(builder.load(cell), product, flags=flags), cell)
    for i, place in enumerate(places):
        total = builder.load(cells[0][i])
        for way in range(1, ways):
            total = builder.fadd(total, builder.load(cells[way][i]))
        store(builder, total, c_data, place, size)
    return context.get_dummy_value()


def tile(
    rows: int, vectors: int, *, fused: bool, start: Literal["sum", "named", "bias", "zero"], ways: int = 1
) -> Callable[..., None]:
    """A compiled tile of one shape: tile(C, c_at, ldc, A, a_at, a_row, a_col, B, b_at, ldb, depth, bias, bias_at).

    start "named" adds to C, as "sum" does, and takes `bias` for the numbers of rows.
    ways: small tiles sum k in so many interleaved parts (depth a multiple of it), or each sum would wait for the last.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _emit(context, builder, signature, args, rows, vectors, fused, start, ways)

    def typed(  # type: ignore[no-untyped-def]
        typingctx, c, c_at, ldc, a, a_at, a_row, a_col, b, b_at, ldb, depth, bias, bias_at
    ):
        i = types.intp
        return types.void(c, i, i, a, i, i, i, b, i, i, i, bias, i), codegen

    return intrinsic(typed)  # type: ignore[no-any-return]
