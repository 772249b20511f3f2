"""splitmix64 in registers: the eight numbers that follow a state, and rows drawn by them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from monolip.engine._vector import broadcast, data_at

__all__ = ["LANES", "STEP", "draw_rows", "random_bits"]

LANES = 8
LONG = ir.IntType(64)
LONGS = ir.VectorType(LONG, LANES)
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def random_bits(builder: Any, state: Any) -> Any:
    """32 bits each of the next eight states, see `extra_trees.next_random`."""

    def same(value: int) -> Any:
        return ir.Constant(LONGS, [value] * LANES)

    steps = ir.Constant(LONGS, [(k + 1) * STEP % 2**64 for k in range(LANES)])
    z = builder.add(broadcast(builder, state, LONGS), steps)
    for shift, factor in ((30, FIRST), (27, SECOND)):
        z = builder.mul(builder.xor(z, builder.lshr(z, same(shift))), same(factor))
    return builder.lshr(builder.xor(z, builder.lshr(z, same(31))), same(32))


@intrinsic
def draw_rows(typingctx, given, registers, state, bar, rows, others, past):  # type: ignore[no-untyped-def]
    """Of LANES * registers given rows those whose number is below the bar go to rows, the rest to others[past ...], all
    in their order; how many the first are. No branch depends on a row; the place after the last of each is written to.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        b, (registers, state, bar, past), zero = builder, (args[k] for k in (1, 2, 3, 6)), ir.Constant(LONG, 0)
        given, rows, others = (
            data_at(context, b, signature.args[k], args[k], at) for k, at in ((0, zero), (4, zero), (5, past))
        )
        cells = [cgutils.alloca_once_value(b, zero) for _ in range(2)]
        with cgutils.for_range(b, registers, intp=LONG) as loop:
            first = b.mul(loop.index, ir.Constant(LONG, LANES))
            bits = random_bits(b, b.add(state, b.mul(first, ir.Constant(LONG, STEP))))
            seen = b.bitcast(b.icmp_unsigned("<", bits, broadcast(b, bar, LONGS)), ir.IntType(LANES))
            for k in range(LANES):
                row = b.load(b.gep(given, [b.add(first, ir.Constant(LONG, k))]))
                is_seen = b.zext(b.trunc(b.lshr(seen, ir.Constant(seen.type, k)), ir.IntType(1)), LONG)
                is_other = b.sub(ir.Constant(LONG, 1), is_seen)
                for cell, to, one in zip(cells, (rows, others), (is_seen, is_other), strict=True):
                    place = b.load(cell)
                    b.store(row, b.gep(to, [place]))
                    b.store(b.add(place, one), cell)
        return b.load(cells[0])

    i, n = types.intp, types.uint64
    return i(given, i, n, n, rows, others, i), codegen
