"""Counterexamples made small: the shortest step that still shows at least half of the drop, found by bisection.

If the score falls from a to b, it falls from a to m or from m to b, for any m between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.audit_search import Found, Rows, Search

__all__ = ["replay", "shrink"]

FloatArray = NDArray[np.float64]

_BY_VALUE, _BY_STEP = 30, 70  # halvings of the distance, then of the number of single steps between the ends


def shrink(search: Search, batch: int, limit: int) -> list[Found]:
    """Up to `limit` pairs for each (feature, output), at least half from rows of X where there are so many.

    Ends beyond the data are brought back where the pair still falls, columns exchanged in breeding are put back where
    it falls by half as much, then its ends are moved together. Pairs that do not fall again in a batch of `batch`
    rows are left out, and so are repeats.
    """
    small: list[Found] = []
    for j, output in sorted({key[:2] for key in search.found}):
        own, bred = search.found.get((j, output, True), []), search.found.get((j, output, False), [])
        chosen = [*own[: max(limit - len(bred), limit - limit // 2)], *bred][:limit]
        for start in range(0, len(chosen), batch):
            group = _Group(search, chosen[start : start + batch], batch)
            group.into_range()
            group.put_back()
            group.move_together()
            small += group.pairs()
    return sorted(small, key=lambda pair: -pair.drop)


class _Group:
    """Pairs of one feature and output, scored side by side in a batch of fixed size."""

    def __init__(self, search: Search, group: list[Found], batch: int) -> None:
        self.search, self.group, self.n = search, group, len(group)
        self.feature, self.output = search.features[group[0].feature], group[0].output
        self.sign = int(search.signs[self.feature.position, self.output])
        self.places = np.arange(batch) % self.n
        self.rows = Rows(np.stack([p.parents for p in group]), np.stack([p.moved for p in group]))
        self.low, self.high = np.array([p.low for p in group]), np.array([p.high for p in group])
        self.at_low, self.at_high = self.score(self.rows, self.low), self.score(self.rows, self.high)
        self.falls = self.at_low - self.at_high > search.tolerance
        self.need = np.maximum((self.at_low - self.at_high) / 2, search.tolerance)

    def score(self, rows: Rows, values: FloatArray) -> FloatArray:
        """The score in the sense of the direction: it should not fall from low to high."""
        table = self.search.build(Rows(rows.parents[self.places], rows.moved[self.places]))
        table = table.with_column(self.feature.position, self.feature.steps, values[self.places])
        return self.sign * self.search.scores(table)[: self.n, self.output]

    def into_range(self) -> None:
        """Ends beyond the values seen in X: back to them, where a thousandth of the fall remains."""
        seen = self.feature.observed
        low, high = np.clip(self.low, seen[0], seen[-1]), np.clip(self.high, seen[0], seen[-1])
        at_low, at_high = self.score(self.rows, low), self.score(self.rows, high)
        drop = at_low - at_high
        good = self.falls & (drop > self.search.tolerance) & (drop >= 1e-3 * (self.at_low - self.at_high))
        self.low, self.high = np.where(good, low, self.low), np.where(good, high, self.high)
        self.at_low, self.at_high = np.where(good, at_low, self.at_low), np.where(good, at_high, self.at_high)
        self.need = np.maximum((self.at_low - self.at_high) / 2, self.search.tolerance)

    def put_back(self) -> None:
        """Columns of other rows, one after the other: back to the row's own where the pair still falls."""
        main = np.array([pair.main_row for pair in self.group])
        for c in range(self.search.table.n_columns):
            foreign = (self.rows.parents[:, c] != main) | ~np.isnan(self.rows.moved[:, c])
            if c == self.feature.position or not foreign.any():
                continue
            tried = Rows(self.rows.parents.copy(), self.rows.moved.copy())
            tried.parents[:, c], tried.moved[:, c] = main, np.nan
            at_low, at_high = self.score(tried, self.low), self.score(tried, self.high)
            good = foreign & (at_low - at_high >= self.need) & (at_low - at_high > self.search.tolerance)
            self.rows.parents[good], self.rows.moved[good] = tried.parents[good], tried.moved[good]
            self.at_low, self.at_high = np.where(good, at_low, self.at_low), np.where(good, at_high, self.at_high)

    def move_together(self) -> None:
        steps, going = self.feature.steps, self.falls.copy()
        for k in range(_BY_VALUE + _BY_STEP):
            a, b = steps.place(self.low), steps.place(self.high)
            halves = steps.snap(self.low / 2 + self.high / 2)
            counted = steps.value(a // 2 + b // 2 + (a % 2 + b % 2) // 2)  # a + b may not fit 64 bits
            between = (halves > self.low) & (halves < self.high) & (k < _BY_VALUE)
            middle = np.where(between, halves, counted)
            going &= (middle > self.low) & (middle < self.high)
            if not going.any():
                return
            going &= self._halve(np.where(going, middle, self.low), going)

    def _halve(self, middle: FloatArray, going: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Keep the half that falls more, where it falls enough."""
        at, least = self.score(self.rows, middle), self.search.tolerance
        left, right = self.at_low - at, at - self.at_high
        to_left = going & (left >= right) & (left >= self.need) & (left > least)
        to_right = going & ~to_left & (right >= self.need) & (right > least)
        self.high, self.at_high = np.where(to_left, middle, self.high), np.where(to_left, at, self.at_high)
        self.low, self.at_low = np.where(to_right, middle, self.low), np.where(to_right, at, self.at_low)
        return to_left | to_right

    def pairs(self) -> list[Found]:
        """What still falls, each (row, step, scores) once."""
        found: dict[tuple[float, ...], Found] = {}
        for r in np.flatnonzero(self.falls):
            low, high, drop = float(self.low[r]), float(self.high[r]), float(self.at_low[r] - self.at_high[r])
            rows: dict[str, Any] = {"parents": self.rows.parents[r], "moved": self.rows.moved[r]}
            pair = replace(self.group[r], **rows, low=low, high=high, drop=drop)
            found.setdefault((pair.main_row, low, high, float(self.at_low[r]), float(self.at_high[r])), pair)
        return list(found.values())


def replay(search: Search, pairs: Sequence[Found], start: bool) -> Rows:
    """The rows of the pairs at the start or at the end of the step in which the score should not fall."""
    parents, moved = np.stack([p.parents for p in pairs]), np.stack([p.moved for p in pairs])
    for r, pair in enumerate(pairs):
        moved[r, pair.feature] = search.ends(pair)[0 if start else 1]
    return Rows(parents, moved)
