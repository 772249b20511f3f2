"""The search: sweep a feature through its values at many rows, and breed rows where the score falls most.

All values of a sweep are scored as separate batches of the same rows: a pair is compared at the same position of two
batches of equal size, so that a model whose bits depend on the batch is not blamed for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from monolip.certify.audit_grid import Feature, common_grid, local_grid, zoom
from monolip.certify.audit_model import Scorer
from monolip.certify.audit_table import Table

__all__ = ["Budget", "Found", "Search", "worst_drops"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

Judged = tuple[FloatArray, FloatArray]

_POOL, _KEPT, _ZOOMS = 64, 40, 3
_GRADIENTS = 4  # for each row that is bred
_OTHERS = 4  # columns without a direction that are moved in one generation
_LARGEST_GRID, _AROUND = 256, 45  # values of the common grid; those around a row's own and of the zooms


@dataclass
class Budget:
    """Evaluations (rows scored) and seconds that a search may take."""

    max_evaluations: int
    max_seconds: float | None
    evaluations: int = 0
    started: float = field(default_factory=time.perf_counter)
    out_of_time: bool = False
    turn_ends: int | None = None  # evaluations after which it is another feature's turn

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    @property
    def left(self) -> int:
        """Evaluations until the end, or the end of the turn."""
        return (self.max_evaluations if self.turn_ends is None else self.turn_ends) - self.evaluations

    def give_turn(self, n_waiting: int) -> None:
        """A fair share of what is left to one of the features that are waiting."""
        self.turn_ends = None
        self.turn_ends = self.evaluations + self.left // n_waiting

    def is_spent(self, needed: int = 1) -> bool:
        """Whether there is no time left, or not so many evaluations."""
        self.out_of_time |= self.max_seconds is not None and self.seconds > self.max_seconds
        return self.out_of_time or self.left < needed


@dataclass(frozen=True)
class Found:
    """A pair that falls. parents: the row of X each column comes from; moved: values set in other columns (NaN: none).

    low < high: the feature's values. drop: by how much the score goes the wrong way between them.
    """

    parents: IntArray
    moved: FloatArray
    feature: int
    output: int
    low: float
    high: float
    drop: float

    @property
    def main_row(self) -> int:
        """The row of X most other columns come from."""
        others = np.delete(self.parents, self.feature)
        return int(np.bincount(others).argmax()) if len(others) else int(self.parents[0])


@dataclass
class Rows:
    """Rows to sweep: where each column comes from, and values set in it. Shapes (n, d)."""

    parents: IntArray
    moved: FloatArray

    @classmethod
    def of(cls, rows: IntArray, d: int) -> Rows:
        return cls(np.tile(rows[:, None], (1, d)), np.full((len(rows), d), np.nan))


class Search:
    """State of one audit: what was found, which rows of X are affected, and the pool of the worst rows."""

    def __init__(
        self, scorer: Scorer, table: Table, features: list[Feature], signs: IntArray, tolerance: float,
        budget: Budget, rng: np.random.Generator, tell: Callable[[Budget], None],
    ) -> None:  # fmt: skip
        self.scorer, self.table, self.signs, self.tolerance = scorer, table, signs, tolerance
        self.budget, self.rng, self.tell = budget, rng, tell
        self.features = {feature.position: feature for feature in features}
        self.others: dict[int, Feature] = {}  # columns without a direction that may be moved
        self.found: dict[tuple[int, int, bool], list[Found]] = {}  # (feature, output, whether the row is one of X)
        self.drops: dict[tuple[int, int], FloatArray] = {}  # (feature, output) -> worst drop of each row of X
        self.pools: dict[int, tuple[Rows, FloatArray]] = {}
        self.pairs = self.nan_scores = 0

    def scores(self, table: Table) -> FloatArray:
        self.budget.evaluations += table.n_rows
        found = self.scorer.scores(table.native)[0]
        self.nan_scores += int(np.isnan(found).sum())
        return found

    def build(self, rows: Rows) -> Table:
        columns = self.features | self.others
        moved = {j: (feature.steps, rows.moved[:, j]) for j, feature in columns.items()}
        return self.table.mixed(rows.parents, moved)

    def ends(self, pair: Found) -> tuple[float, float]:
        """Where the step starts and ends in which the score should not fall: a decreasing feature steps down."""
        up = self.signs[pair.feature, pair.output] > 0
        return (pair.low, pair.high) if up else (pair.high, pair.low)

    def sweep(self, table: Table, feature: Feature, values: FloatArray) -> FloatArray:
        """Scores (m, n, outputs) of the rows with the feature set to values[:, 0], values[:, 1], ...; values (n, m)."""
        found = []
        for column in values.T:
            found.append(self.scores(table.with_column(feature.position, feature.steps, column)))
            self.tell(self.budget)
        self.pairs += (values.shape[1] - 1) * len(values) * int(np.count_nonzero(self.signs[feature.position]))
        return np.stack(found)

    def round(self, feature: Feature, rows: Rows, size: int, of_data: bool) -> None:
        """Sweep these rows along one feature, over the common grid and around their own values."""
        j, table = feature.position, self.build(rows)
        own = table.numbers(j, feature.steps)
        known = ~np.isnan(own)  # a missing value has no place in an order
        rows, own = Rows(rows.parents[known], rows.moved[known]), own[known]
        if not known.all():
            table = self.build(rows) if known.any() else table
        worst = np.zeros((len(known), self.signs.shape[1]))
        if known.any():
            grid = common_grid(feature, size, self.rng)
            swept = np.tile(grid, (len(own), 1))
            scores = np.zeros(swept.shape[::-1])
            for k in range(2 + _ZOOMS):  # the grid, then closer and closer, then around the row's own values
                if self.budget.is_spent(2 * len(own)):
                    break
                last = k == 1 + _ZOOMS
                swept = local_grid(feature, own) if last else zoom(feature, swept, scores, self.rng) if k else swept
                swept = _thinned(swept, self.budget.left // len(own))
                drops, scores = self._judge(rows, table, feature, swept, of_data)
                worst[known] = np.maximum(worst[known], drops)
        if of_data:
            self.drops |= {(j, k): worst[:, k] for k in range(worst.shape[1])}
        self._breed(j, rows, worst[known].max(axis=1))

    def _judge(self, rows: Rows, table: Table, feature: Feature, values: FloatArray, of_data: bool) -> Judged:
        """Worst drops (n, outputs) over a sweep of the rows, what falls kept; and scores in one direction's sense."""
        scores, j = self.sweep(table, feature, values), feature.position
        worst = np.zeros((len(values), self.signs.shape[1]))
        for output in np.flatnonzero(self.signs[j]):
            drop, first, last = worst_drops(self.signs[j, output] * scores[:, :, output])
            worst[:, output] = drop
            bad = np.flatnonzero(drop > self.tolerance)
            bad = bad[np.argsort(-drop[bad], kind="stable")][:_KEPT]
            kept = self.found.setdefault((j, int(output), of_data), [])
            for r in bad:
                ends = float(values[r, first[r]]), float(values[r, last[r]])
                kept.append(Found(rows.parents[r], rows.moved[r], j, int(output), *ends, float(drop[r])))
            kept.sort(key=lambda one: -one.drop)
            del kept[_KEPT:]
        chosen = self.rng.choice(np.flatnonzero(self.signs[j]))
        return worst, self.signs[j, chosen] * scores[:, :, chosen]

    def _breed(self, j: int, rows: Rows, worst: FloatArray) -> None:
        """Keep the rows with the largest drops as parents of the next round."""
        parents, moved = rows.parents, rows.moved
        if j in self.pools:
            old, drops = self.pools[j]
            parents, moved = np.vstack([old.parents, parents]), np.vstack([old.moved, moved])
            worst = np.concatenate([drops, worst])
        best = np.argsort(-worst, kind="stable")[:_POOL]
        self.pools[j] = Rows(parents[best], moved[best]), worst[best]

    def children(self, feature: Feature, n: int) -> Rows:
        """n new rows: the worst ones with some columns exchanged; without any, mixtures of rows of X."""
        d, rng = self.table.n_columns, self.rng
        pool, drops = self.pools[feature.position]
        good = np.flatnonzero(drops > 0)
        strangers = rng.integers(self.table.n_rows, size=(n, d))
        start = Rows.of(rng.integers(self.table.n_rows, size=n), d)
        if len(good):
            chosen = rng.choice(good, n - n // 4)  # a quarter starts afresh, so that one family does not take all
            start.parents[: len(chosen)], start.moved[: len(chosen)] = pool.parents[chosen], pool.moved[chosen]
        swap = rng.random((n, d)) < rng.choice([0.1, 0.3, 0.6], size=(n, 1))
        parents, moved = np.where(swap, strangers, start.parents), np.where(swap, np.nan, start.moved)
        chance = rng.choice([0.05, 0.15, 0.5], size=n)  # corners of several columns need several to move
        some = rng.permutation(list(self.others))[:_OTHERS].tolist() if self.others else []
        for j, other in [*self.features.items(), *((j, self.others[j]) for j in some)]:
            at = np.flatnonzero(rng.random(n) < chance)
            if j != feature.position and len(at):
                moved[at, j] = rng.choice(common_grid(other, 64, rng), len(at))
        rows = Rows(parents, moved)
        return rows if self.scorer.gradient is None else self._steepest(feature, rows, n)

    def _steepest(self, feature: Feature, rows: Rows, n: int) -> Rows:
        """Of four times as many mixtures of rows, those whose gradient points the wrong way the most."""
        strangers = (_GRADIENTS - 1) * n
        many = Rows.of(self.rng.integers(self.table.n_rows, size=strangers), self.table.n_columns)
        swap = self.rng.random(many.parents.shape) < 0.3
        mixed = np.where(swap, self.rng.integers(self.table.n_rows, size=swap.shape), many.parents)
        rows = Rows(np.vstack([rows.parents, mixed]), np.vstack([rows.moved, many.moved]))
        assert self.scorer.gradient is not None
        self.budget.evaluations += len(rows.parents)
        slopes = np.asarray(self.scorer.gradient(self.build(rows).native), dtype=np.float64)
        slopes = slopes.reshape(len(rows.parents), -1, self.table.n_columns)[:, :, feature.position]
        wrong = np.max(-slopes * self.signs[feature.position][: slopes.shape[1]], axis=1)
        best = np.argsort(-np.nan_to_num(wrong), kind="stable")[:n]
        return Rows(rows.parents[best], rows.moved[best])

    def run(self, rows: IntArray, n_rounds: int) -> None:
        """The rows of X first, then generations of their worst."""
        order = list(self.features.values())
        share = self.budget.left // (n_rounds * len(order))
        n = max(len(rows), min(512, self.table.n_rows * 8))
        bred = (2 if self.scorer.gradient is None else 2 + _GRADIENTS) * n
        for k in range(n_rounds):
            for at, feature in enumerate(order):
                self.budget.give_turn(len(order) - at)
                if self.budget.is_spent(bred if k else 2 * len(rows)):
                    continue
                batch = Rows.of(rows, self.table.n_columns) if k == 0 else self.children(feature, n)
                size = int(np.clip(share // len(batch.parents) - _AROUND, 16, _LARGEST_GRID))
                self.round(feature, batch, size, of_data=k == 0)
        self.budget.turn_ends = None


def _thinned(values: FloatArray, count: int) -> FloatArray:
    """Of each row's sorted values (n, m) as many as can be scored, from the first to the last."""
    m = values.shape[1]
    return values if m <= count else values[:, np.linspace(0, m - 1, count).round().astype(np.int64)]


def worst_drops(scores: FloatArray) -> tuple[FloatArray, IntArray, IntArray]:
    """For each column of scores (m, n), which should not fall along m: the largest fall, and where it starts and ends.

    >>> worst_drops(np.array([[1.0], [3.0], [2.0], [2.5]]))
    (array([1.]), array([1]), array([2]))
    """
    m, n = scores.shape
    known = np.where(np.isnan(scores), -np.inf, scores)
    peaks = np.maximum.accumulate(known, axis=0)
    with np.errstate(invalid="ignore"):
        drops = np.where(np.isnan(scores), 0.0, peaks - known)
    drops = np.nan_to_num(drops, nan=0.0, posinf=np.inf)  # infinity less infinity is no fall
    last = np.argmax(drops, axis=0)
    columns = np.arange(n)
    before = np.where(np.arange(m)[:, None] <= last, known, -np.inf)
    first = m - 1 - np.argmax(before[::-1], axis=0)  # the last place of the peak: the shortest step
    first = np.where(drops[last, columns] > 0, first, last)
    return drops[last, columns], first, last
