r"""Whether a region of a box has an inside, in rational arithmetic: the simplex method with Bland's rule.

    max t   subject to   rows u + offsets >= t,  1 - u >= t,  1 + u >= t

The region has an inside if and only if the optimum is above 0; no rounding, so thin regions are not lost.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction

__all__ = ["OutOfTimeError", "inside"]

Row = list[Fraction]


class OutOfTimeError(Exception):
    """Raised where an exact computation passes its deadline; `verify` turns it into another method or "undecided"."""


def inside(rows: Sequence[Row], offsets: Sequence[Fraction], d: int, until: float, deep: bool = False) -> Row | None:
    """A point of (-1, 1)^d with rows u + offsets > 0; None where there is none. deep: far from the borders.

    Examples:
        >>> one, thin = Fraction(1), Fraction(1, 10**30)
        >>> [inside([[one], [-one]], [-one / 2, one / 2 + width], 1, float("inf")) is None for width in (thin, -thin)]
        [False, True]
    """
    kept, limits = _scaled(rows, offsets)
    for j in range(d):
        for side in (1, -1):
            kept.append([Fraction(side * (k == j)) for k in range(d)])
            limits.append(Fraction(1))
    # v = u + 1 >= 0 and t = shift + s: at v = 0, s = 0 every constraint holds, so the method starts there
    room = [limit - sum(row) for row, limit in zip(kept, limits, strict=True)]
    shift = min(room)
    table = [[*(-value for value in row), Fraction(1), limit - shift] for row, limit in zip(kept, room, strict=True)]
    goal = [*([Fraction(0)] * d), Fraction(1), Fraction(0)]
    free, basic = list(range(d + 1)), list(range(d + 1, d + 1 + len(table)))
    while deep or shift - goal[-1] <= 0:
        columns = [c for c in range(d + 1) if goal[c] > 0]
        if not columns:
            break
        c = min(columns, key=lambda at: free[at])
        falling = [r for r in range(len(table)) if table[r][c] > 0]
        r = min(falling, key=lambda at: (table[at][-1] / table[at][c], basic[at]))
        if time.perf_counter() > until:
            raise OutOfTimeError
        _pivot(table, goal, r, c)
        free[c], basic[r] = basic[r], free[c]
    if shift - goal[-1] <= 0:
        return None
    values = dict(zip(basic, (row[-1] for row in table), strict=True))
    return [values.get(j, Fraction(0)) - 1 for j in range(d)]


def _scaled(rows: Sequence[Row], offsets: Sequence[Fraction]) -> tuple[list[Row], Row]:
    """Rows of size 1 in the sum of magnitudes: t then measures depth alike for all."""
    kept, limits = [], []
    for row, offset in zip(rows, offsets, strict=True):
        size = sum(map(abs, row)) or abs(offset) or Fraction(1)
        kept.append([value / size for value in row])
        limits.append(offset / size)
    return kept, limits


def _pivot(table: list[Row], goal: Row, r: int, c: int) -> None:
    """Exchange a basic and a free variable; column c then stands for the one that left."""
    chosen = table[r]
    one = 1 / chosen[c]
    for row in (*table, goal):
        factor = row[c]
        if row is chosen or not factor:
            continue
        factor *= one
        for k, value in enumerate(chosen):
            if value and k != c:
                row[k] -= factor * value
        row[c] = -factor
    for k, value in enumerate(chosen):
        chosen[k] = value * one
    chosen[c] = one
