r"""What an additive start leaves over, and whether finer bins, or features together, would explain it.

Rows are cut into cells: stretches along a feature, rows of one value never apart, or what a few stretches of two
features have in common. Where the start fits, what it leaves over (the slope g of the loss) adds up to about nothing
in each of them:

    sum over cells of (sum g)^2 / sum h,    h = curvature of the loss times its dispersion

is then about the number of cells, give or take the root of twice as many. What is beyond that, over the number of
rows, is the part of what the start leaves over that the cells would explain.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from monolip.cached import cached_property
from monolip.engine.additive import Additive, slope_and_curvature
from monolip.engine.problem import Problem
from monolip.estimators._misfit_sums import any_bends, multiply, pair_sums, quarter_codes
from monolip.estimators._raw_column import RawColumn
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawTable

__all__ = ["Misfit"]

FloatArray = NDArray[np.float64]
Singles = NDArray[np.float32]
Codes = NDArray[np.intp]

MAX_ROWS = 4096
STRETCHES, FEWEST = 64, 8  # along a feature, and rows in each
QUARTERS = 4  # stretches of a feature, or of its categories, that are crossed with those of another
CELLS = QUARTERS + 1  # and what is missing
MOST_FEATURES, MOST_OUTER = 32, 16  # that are crossed with each other; also by their outer quarters
MOST_TOLD, FEWEST_TOLD = 64, 512  # that are asked which of them matter; rows they are asked of
BLOCK = 256  # rows whose products are made at once
TOGETHER = 2**14  # numbers that are put in order at once: of few features, as the first that bends is enough
MOST_PAIRS = 80  # that are crossed with pairs: those of 13 features
TOLD = 6.0  # standard deviations of a pair whose features a network is tried with: few rows have odd cells
CLEAR = 4.5  # standard deviations of one contrast
SURE = 5.0  # standard deviations: there may be many features
PLAIN_PAIR, BEYOND = 7.5, 0.7  # standard deviations of a pair that no chance explains; beyond the largest of contrasts
LEAST = 0.02  # of what the start leaves over: less is not worth finer bins


class Misfit:
    """Slope and spread of the loss at (some of) the rows, with what their features are cut by."""

    def __init__(self, start: Additive, problem: Problem, table: RawTable, schema: Schema) -> None:
        n = table.n_rows
        places = np.arange(n) if n <= MAX_ROWS else np.linspace(0, n - 1, MAX_ROWS).astype(np.int64)
        self.slope, curvature = slope_and_curvature(start, problem, places.astype(np.int32))
        counts = curvature > 0
        size = np.square(self.slope[counts] / np.sqrt(curvature[counts]))
        self.dispersion = float(size.mean()) if len(size) else 0.0
        self.spread = curvature * self.dispersion
        self.rows = problem.rows_kept(places.astype(np.int32))
        self.table, self.schema = table, schema

    @cached_property
    def _numeric(self) -> NDArray[np.bool_]:
        """Which features are numbers."""
        return np.array([categories is None for categories in self.schema.categories])

    @cached_property
    def _numbers(self) -> FloatArray:
        """Of the features that are, (features, rows)."""
        columns = [self.table.columns[j].values for j in self._numeric.nonzero()[0].tolist()]
        numbers = np.empty((len(columns), len(self.rows)))
        for values, found in zip(columns, numbers, strict=True):
            values.take(self.rows, out=found, mode="clip")  # all are there; without a copy only so
        return numbers

    @property
    def says_something(self) -> bool:
        return len(self.rows) >= 2 * FEWEST and 0.0 < self.dispersion < math.inf

    def bends(self) -> bool:
        """Whether there is a numeric feature along which the start is off, beyond chance and by more than a little."""
        if not self.says_something:
            return False
        x, n = self._numbers, len(self.rows)
        firsts = np.linspace(0, n, min(STRETCHES, n // FEWEST), endpoint=False).astype(np.int64)
        together = max(1, TOGETHER // n)
        some = (x[at : at + together] for at in range(0, len(x), together))
        # rows without a value are the last stretch
        return any(any_bends(one, one.argsort(), firsts, self.slope, self.spread, SURE, LEAST) for one in some)

    def is_noise(self) -> bool:
        """Whether nothing explains what is left: no feature in quarters, no two of them, no three or four in halves.

        False where there is no telling.
        """
        return self._is_looked_at and not (self._largest > SURE or self._contrast > CLEAR)

    def is_hardly_more(self) -> bool:
        """Whether nothing explains it beyond all doubt, and there are no features to try again with (see `told`): of
        many features and few rows, some look as if they explained something. Of m contrasts of noise the largest is
        about the root of 2 log m."""
        if not self._is_looked_at or self._largest > PLAIN_PAIR or self.told().any():
            return False
        chance = math.sqrt(2.0 * math.log(_number_of_contrasts(len(self.table.columns))))
        return not self._contrast > max(CLEAR, chance + BEYOND)

    @property
    def _is_looked_at(self) -> bool:
        return self.says_something and len(self.table.columns) <= MOST_FEATURES

    def told(self) -> NDArray[np.bool_]:
        """Features whose quarters, alone or together with those of another, explain something: (features,)."""
        if not self.says_something or len(self.rows) < FEWEST_TOLD or len(self.table.columns) > MOST_TOLD:
            return np.zeros(len(self.table.columns), bool)
        return np.asarray((self._pairs > TOLD).any(axis=1))

    @cached_property
    def _pairs(self) -> FloatArray:
        return _quarters(*self._cut)

    @property
    def _largest(self) -> float:
        return float(self._pairs.max())

    @cached_property
    def _contrast(self) -> float:
        return _largest_contrast(*self._cut)

    @cached_property
    def _cut(self) -> tuple[Codes, Singles, Singles]:
        """Quarters of all features, (features, rows), and what is left over in the rows."""
        codes = np.empty((len(self.table.columns), len(self.rows)), np.intp)
        codes[self._numeric] = _quarters_of(self._numbers)
        for j in (~self._numeric).nonzero()[0].tolist():
            codes[j] = _frequent(self.table.columns[j], self.rows)
        scale = max(float(np.abs(self.slope).max()), math.sqrt(float(self.spread.max())))  # squares may overflow
        slope, spread = (self.slope / scale).astype(np.float32), (self.spread / scale / scale).astype(np.float32)
        return codes, slope, spread


def _quarters(codes: Codes, slope: Singles, spread: Singles) -> FloatArray:
    """Standard deviations by which the quarters of a feature, or of two together, explain more than chance would:
    (features, features)."""
    n = len(codes)
    sums, sizes = np.zeros((2, n, CELLS, n, CELLS), np.float32)
    pair_sums(codes, slope, spread, sums, sizes)
    filled = sizes > 0
    statistic = np.divide(np.square(sums), sizes, out=np.zeros_like(sums), where=filled)
    total, number = statistic.sum(axis=(1, 3), dtype=np.float64), filled.sum(axis=(1, 3))
    found = (total - number) / np.sqrt(2.0 * np.maximum(number, 1))
    return np.asarray(np.maximum(found, found.T))  # below the diagonal there is nothing


def _largest_contrast(codes: Codes, slope: Singles, spread: Singles) -> float:
    """Standard deviations by which contrasts of three or four features, multiplied, go along with what is left, the
    most of all: pairs need not show that.

    A contrast is high against low; of not too many features also the outer quarters against the inner ones.
    """
    n, rows = codes.shape
    above = np.count_nonzero(codes >= np.arange(1, CELLS)[:, None, None], axis=2) / rows
    cut = np.abs(above - 0.5).argmin(axis=0)  # as near to half of the rows as may be
    signs = ((codes > cut[:, None]) - above[cut, np.arange(n)][:, None]).astype(np.float32)
    contrasts = signs
    if n <= MOST_OUTER:
        outer = ((codes == 0) | (codes == QUARTERS - 1)).astype(np.float32)
        contrasts = np.concatenate([signs, outer - outer.mean(axis=1, keepdims=True)])
    first, second, apart = _pairs(n, len(contrasts))
    largest = _largest_product(contrasts, first, second, slope, spread, apart, four=False)
    if n * (n - 1) // 2 > MOST_PAIRS:
        return largest
    first, second, apart = _pairs(n, n)
    four = apart[:, first] & apart[:, second]
    return max(largest, _largest_product(signs, first, second, slope, spread, four, four=True))


def _number_of_contrasts(n: int) -> int:
    """That `_largest_contrast` looks at, of n features: of three, and of four two by two."""
    three = math.comb(n, 3) * (8 if n <= MOST_OUTER else 1)
    return max(1, three + (3 * math.comb(n, 4) if n * (n - 1) // 2 <= MOST_PAIRS else 0))


@lru_cache(maxsize=16)
def _pairs(n: int, contrasts: int) -> tuple[Codes, Codes, NDArray[np.bool_]]:
    """Contrasts of two of n features, by number, each (pairs,), and which contrasts are of neither of the two, (pairs,
    contrasts). Contrast k is one of feature k modulo n."""
    first, second = np.triu_indices(contrasts, 1)
    two = first % n != second % n
    first, second = first[two], second[two]
    owners = np.arange(contrasts) % n
    return first, second, (owners != (first % n)[:, None]) & (owners != (second % n)[:, None])


def _largest_product(
    contrasts: Singles, first: Codes, second: Codes, slope: Singles, spread: Singles, apart: NDArray[np.bool_],
    four: bool,
) -> float:  # fmt: skip
    """How well a pair of contrasts, multiplied with a third one (four: with another pair) that is apart from it, goes
    along with what is left, in standard deviations. A few rows at a time: their products stay in the cache."""
    sums, sizes = np.zeros(apart.shape, np.float32), np.zeros(apart.shape, np.float32)
    room = np.empty((3, len(first), min(BLOCK, len(slope))), np.float32)
    for at in range(0, len(slope), BLOCK):
        some = contrasts[:, at : at + BLOCK]
        products, weighted, squares = room[:, :, : some.shape[1]]
        rows = slice(at, at + BLOCK)
        multiply(some, first, second, slope[rows], spread[rows], products, weighted, squares)
        others = products if four else some
        sums += weighted @ others.T
        sizes += squares @ np.square(others).T
    sizes *= apart
    told = np.divide(np.square(sums, out=sums), sizes, out=np.zeros_like(sums), where=sizes > 0)
    return math.sqrt(float(told.max(initial=0.0)))


def _quarters_of(x: FloatArray) -> Codes:
    """Which quarter of its feature a value lies in, values that are equal in the same one, missing ones in a fifth. x:
    (features, rows)."""
    codes = np.empty(x.shape, np.intp)
    quarter_codes(x, np.sort(x), QUARTERS, codes)
    return codes


def _frequent(column: RawColumn, rows: NDArray[np.int64]) -> Codes:
    """Of categories the three most frequent, and all others."""
    numbers = column.factors[1][rows]
    rank = np.argsort(np.argsort(-np.bincount(numbers), kind="stable"))
    return np.minimum(rank[numbers], QUARTERS - 1)
