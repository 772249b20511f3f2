"""Tables and spreads as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import Any

__all__ = ["spread", "table"]


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table; a cell is shown by str()."""
    lines = [list(head), *[[str(cell) for cell in row] for row in rows]]
    body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([body[0], "|" + "---|" * len(lines[0]), *body[1:]])


def spread(values: Sequence[float], form: str = ".3f") -> str:
    """Mean ± standard deviation over seeds (n - 1)."""
    if len(values) < 2:
        return format(fmean(values), form)
    return f"{format(fmean(values), form)} ± {format(stdev(values), form)}"
