"""Sixteen rows to columns in C, in registers: what a compiler makes of plain loops reads and writes each number alone.

registers     four of rows 0-3 | 4-7 and four of rows 8-11 | 12-15, eight columns of each row
three steps   numbers of two rows, then of four, side by side; then the quarters that belong to one column
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["turned"]

_ROWS, _WIDE = 16, 8
_LEAST = 5  # columns: compilers are as fast with fewer


def turned(name: str, n_raw: int) -> str:
    """NAME_turn(x, t): x[row * n_raw + column] -> t[column * 16 + row] where compilers shuffle; else plain loops."""
    M = name.upper()
    plain = [
        "    int k, l;",
        f"    {M}_EACH_LANE",
        f"        for (k = 0; k < {n_raw}; k++) t[k * {M}_LANES + l] = x[l * {n_raw} + k];",
    ]
    head = f"{M}_FUNCTION void {name}_turn(const float *{M}_RESTRICT x, float *{M}_RESTRICT t) {{"
    if n_raw < _LEAST:
        return "\n".join([head, *plain, "}", ""])
    lines = [f"#ifdef {M}_SHUFFLE", f"    {name}_half p, q;", f"    {name}_floats {', '.join(_names())};"]
    starts = [*range(0, n_raw - _WIDE, _WIDE), max(n_raw - _WIDE, 0)]  # the last group may overlap the one before
    for first in starts:
        lines += _group(M, n_raw, first)
    return "\n".join([head, *lines, "#else", *plain, "#endif", "}", ""])


def _names() -> list[str]:
    return [f"{letter}{k}" for letter in "zsc" for k in range(8)]


def _group(M: str, n_raw: int, first: int) -> Iterator[str]:
    """Eight columns from the first on."""
    for k in range(8):
        low = k if k < 4 else k + 4  # rows 0-3 with 4-7, 8-11 with 12-15
        yield from _load(M, n_raw, low, first, "p")
        yield from _load(M, n_raw, low + 4, first, "q")
        yield f"    z{k} = {_shuffle(M, 'p', 'q', list(range(16)))}"
    quarters = range(0, 16, 4)
    for k in (0, 2, 4, 6):
        a, b = f"z{k}", f"z{k + 1}"
        yield f"    s{k} = {_shuffle(M, a, b, [i for q in quarters for i in (q, q + 16, q + 1, q + 17)])}"
        yield f"    s{k + 1} = {_shuffle(M, a, b, [i for q in quarters for i in (q + 2, q + 18, q + 3, q + 19)])}"
    for k in (0, 4):
        for j in range(4):
            a, b, h = f"s{k + j // 2}", f"s{k + j // 2 + 2}", 2 * (j % 2)
            order = [i for q in quarters for i in (q + h, q + h + 1, q + h + 16, q + h + 17)]
            yield f"    c{k + j} = {_shuffle(M, a, b, order)}"
    for column in range(min(_WIDE, n_raw)):
        j, upper = column % 4, 4 * (column >= 4)
        order = [q + i for q in (upper, upper + 8, upper + 16, upper + 24) for i in range(4)]
        yield f"    z0 = {_shuffle(M, f'c{j}', f'c{j + 4}', order)}"
        yield f"    memcpy(t + {(first + column) * _ROWS}, &z0, sizeof z0);"


def _load(M: str, n_raw: int, row: int, first: int, into: str) -> Iterator[str]:
    """Eight numbers from the first column of a row on; the last of short rows are read from before, and moved."""
    start = row * n_raw + first
    beyond = max(start + _WIDE - _ROWS * n_raw, 0)
    yield f"    memcpy(&{into}, x + {start - beyond}, sizeof {into});"
    if beyond:
        yield f"    {into} = {_shuffle(M, into, into, [min(i + beyond, 7) for i in range(8)])}"


def _shuffle(M: str, a: str, b: str, order: list[int]) -> str:
    return f"{M}_SHUFFLE({a}, {b}, {', '.join(map(str, order))});"
