"""Sums of lines of a table: what many inputs add to all units of a layer at once, for every row.

    out[n] = start[n] + sum over terms of (bases[at + n] + value * slopes[at + n])

Of numbers whose sums are exact in any order. `at` and `value` belong to one lane and term; the sums of many units stay
in registers while terms run, so a term costs what it takes to read its two lines.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._lane_lookup import LANES
from monolip.engine._vector import broadcast, data_at, load, store

__all__ = ["REGISTER", "sum_lookups"]

REGISTER = 8  # float64 of one
_MANY_REGISTERS = 8  # that are summed at once
_WORD, _FLOATS = ir.IntType(64), ir.VectorType(ir.DoubleType(), REGISTER)
_SHORT = ir.VectorType(ir.FloatType(), REGISTER)


def _sums(registers: int) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, out_at, start, unit, bases, slopes, places, values, lane, n_terms = args
        kinds = signature.args
        out_data = data_at(context, builder, kinds[0], out, out_at)
        start_data, base_data, slope_data = (
            data_at(context, builder, kind, array, unit)
            for kind, array in ((kinds[2], start), (kinds[4], bases), (kinds[5], slopes))
        )
        place_data, value_data = (
            data_at(context, builder, kind, array, lane) for kind, array in ((kinds[6], places), (kinds[7], values))
        )
        offsets = [ir.Constant(_WORD, REGISTER * r) for r in range(registers)]
        cells = [cgutils.alloca_once_value(builder, load(builder, start_data, o, _FLOATS, 8)) for o in offsets]
        short = kinds[5].dtype == types.float32
        with cgutils.for_range(builder, n_terms, intp=_WORD) as loop:
            term = builder.mul(loop.index, ir.Constant(_WORD, LANES))
            at = builder.load(builder.gep(place_data, [term]))
            value = broadcast(builder, builder.load(builder.gep(value_data, [term])), _FLOATS)
            for offset, cell in zip(offsets, cells, strict=True):
                place = builder.add(at, offset)
                slope = load(builder, slope_data, place, _SHORT if short else _FLOATS, 4 if short else 8)
                slope = builder.fpext(slope, _FLOATS) if short else slope
                total = builder.fadd(builder.load(cell), load(builder, base_data, place, _FLOATS, 8))
                product = builder.fmul(value, slope, flags=("contract",))
                builder.store(builder.fadd(total, product, flags=("contract",)), cell)
        for offset, cell in zip(offsets, cells, strict=True):
            store(builder, builder.load(cell), out_data, offset, 8)
        return context.get_dummy_value()

    def typed(  # type: ignore[no-untyped-def]
        typingctx, out, out_at, start, unit, bases, slopes, places, values, lane, n_terms
    ):
        i = types.int64
        return types.void(out, i, start, i, bases, slopes, places, values, i, i), codegen

    return intrinsic(typed)


_MANY, _ONE = _sums(_MANY_REGISTERS), _sums(1)


@compiled(inner=True)
def sum_lookups(
    out: NDArray[Any], start: NDArray[Any], bases: NDArray[Any], slopes: NDArray[Any], places: NDArray[Any],
    values: NDArray[Any], n_terms: int, n_units: int,
) -> None:  # fmt: skip
    """out (LANES, n_units), flat; start (n_units,); bases and slopes (lines, n_units), flat; places and values
    (n_terms, LANES), flat. n_units is a multiple of REGISTER."""
    for lane in range(LANES):
        unit = 0
        while unit + _MANY_REGISTERS * REGISTER <= n_units:
            _MANY(out, lane * n_units + unit, start, unit, bases, slopes, places, values, lane, n_terms)
            unit += _MANY_REGISTERS * REGISTER
        while unit < n_units:
            _ONE(out, lane * n_units + unit, start, unit, bases, slopes, places, values, lane, n_terms)
            unit += REGISTER
