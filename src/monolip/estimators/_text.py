"""Cells as aligned text: what the tables of this package print as."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["text_table"]


def text_table(lines: Sequence[Sequence[str]]) -> str:
    """Rows of equal length, left-aligned.

    >>> print(text_table([["name", "n"], ["a", "1"]]))
    name  n
    a     1
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)
    return "\n".join(padded)
