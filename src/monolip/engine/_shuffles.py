"""Lanes of registers in another order; squares of registers transposed, and their rows added up."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from monolip.engine._emitter import ORDERED

__all__ = ["row_sums", "shuffled", "transposed"]


def shuffled(builder: Any, a: Any, b: Any, mask: list[int]) -> Any:
    """Lanes of a and b, counted on from those of a, by number."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(mask)), mask))


def _exchanged(builder: Any, a: Any, b: Any, apart: int) -> tuple[Any, Any]:
    """Parts of `apart` lanes: the even ones of a and b side by side, and the odd ones."""
    n = a.type.count
    keep = [j if not j & apart else n + j - apart for j in range(n)]
    swap = [j + apart if not j & apart else n + j for j in range(n)]
    return shuffled(builder, a, b, keep), shuffled(builder, a, b, swap)


def transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """The columns of a square of registers: rows are exchanged in halves, quarters, ..."""
    n = apart = len(rows)
    while apart > 1:
        apart //= 2
        for i in range(n):
            if not i & apart:
                rows[i], rows[i + apart] = _exchanged(builder, rows[i], rows[i + apart], apart)
    return rows


def row_sums(builder: Any, rows: list[Any]) -> Any:
    """The sum of each register of a square, in one register.

    Lanes are added by halves, then quarters, ..., as the machine adds up a single register, with the same bits.
    """
    apart = len(rows)
    while apart > 1:
        apart //= 2
        pairs = [_exchanged(builder, rows[i], rows[i + apart], apart) for i in range(apart)]
        rows = [builder.fadd(low, high, flags=ORDERED) for low, high in pairs]
    return rows[0]
