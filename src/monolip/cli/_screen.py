"""What a verb has to say, printed three ways: tables on a terminal, plain text in a pipe, JSON on request."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from monolip.cli._exits import one_line

__all__ = ["Answer", "number", "show", "tell"]

_COLOURS = {
    "increasing": "green", "decreasing": "cyan", "flat": "blue", "bounded": "blue", "PROVED": "bold green",
    "REJECTED": "bold red", "VIOLATED": "bold red", "missing": "yellow", "no": "red", "yes": "green",
}  # fmt: skip


@dataclass
class Answer:
    """Lines and tables in order, for people; data, for programs."""

    data: dict[str, Any] = field(default_factory=dict)
    parts: list[tuple[str, list[list[str]] | None]] = field(default_factory=list)

    def line(self, text: str = "") -> Answer:
        self.parts.append((text, None))
        return self

    def table(self, heading: str, cells: Sequence[Sequence[str]]) -> Answer:
        """cells: the head first."""
        self.parts.append((heading, [[one_line(cell) for cell in row] for row in cells]))
        return self


def show(answer: Answer, as_json: bool) -> None:
    """To standard output."""
    if as_json:
        print(json.dumps(_plain(answer.data), indent=1, allow_nan=False))
    elif sys.stdout.isatty():
        _show_rich(answer)
    else:
        for text, cells in answer.parts:
            print(
                "\n".join(([text] if text or cells is None else []) + ([] if cells is None else [*_lines(cells), ""]))
            )


def tell(text: str) -> None:
    """A remark to standard error: what is printed to standard output stays a result."""
    print(text, file=sys.stderr, flush=True)


def number(value: float | None, digits: int = 4) -> str:
    """Short text of a number; a dash for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:.{digits}g}"


def _lines(cells: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = _numeric(cells)
    return [
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)).rstrip()
        for row in cells
    ]


def _numeric(cells: list[list[str]]) -> list[bool]:
    """Columns of numbers are set to the right."""
    return [all(cell[:1] in "+-0123456789." or not cell for cell in column[1:]) for column in zip(*cells, strict=True)]


def _show_rich(answer: Answer) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    for text, cells in answer.parts:
        if cells is None:
            first, _, rest = text.partition(" ")
            console.print(Text.assemble((first, _COLOURS.get(first.rstrip(":"), "")), (" " if rest else "") + rest))
            continue
        if text:
            console.print(Text(text, style="bold"))
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="dim")
        for at, (head, right) in enumerate(zip(cells[0], _numeric(cells), strict=True)):
            whole = at == 0 and max(len(row[0]) for row in cells) <= 30  # names stay whole; other columns give way
            side = "right" if right else "left"
            table.add_column(Text(head), justify=side, overflow="fold", no_wrap=whole)  # type: ignore[arg-type]
        for row in cells[1:]:
            table.add_row(*(Text(cell, style=_COLOURS.get(cell.partition(" ")[0], "")) for cell in row))
        console.print(table)
        console.print()


def _plain(value: Any) -> Any:
    """JSON has no NaN and no numpy: those become null and numbers."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
