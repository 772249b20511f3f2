r"""Learned calibration of a numeric column: monotone, bounded-slope, piecewise linear.

    u     = (standardised x, clipped at 4, + its normal quantile) / 2            one map through 19 or more quantiles
    bin_i = clip(u, q_i, q_i+1) - midpoint,  i = 1 .. n_bins                     steps that trees would find
    linear: u = (x - center) / scale, scale a power of two                       where slopes are given in raw units

u alone is linear in the middle and gentle in the tails; bins let the slope differ from one quantile to the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.estimators._column_facts import ColumnFacts, moments
from monolip.estimators._quantile_knots import BETWEEN, CLIP, CUTS, FAR, KNOTS, SAMPLES, SMALLEST, find_knots
from monolip.estimators._quantile_values import find_values
from monolip.input_columns import NumericColumn
from monolip.piecewise_linear import PiecewiseLinear, proved

__all__ = ["Uncalibrated", "calibrate", "calibrate_all"]

FloatArray = NDArray[np.float64]

_LARGEST = 1e300  # beyond, slopes or differences leave the range of floats
_normal_quantile = lru_cache(maxsize=4096)(NormalDist().inv_cdf)  # columns share many of their ranks
_FEWEST_LEVELS, _END_LEVELS = 16, [0.01, 0.99]
_STYLES = {"quantile": 0, "clipped": 1, "linear": 2}
_NOTHING = PiecewiseLinear([0.0], [0.0])  # type: ignore[arg-type]  # of a column without values
_AT_ONCE = 2**18  # values of columns that are looked at together


class Uncalibrated(NamedTuple):
    """A numeric column that has no maps yet.

    style: "quantile" (default), "clipped" (linear between clips, for a slope cap) or "linear" (for an interval).
    missing: "state", "lowest" or "highest"; an indicator column is made only where values are missing in training.
    """

    name: str
    values: FloatArray
    style: str
    missing: str


def calibrate(name: str, values: FloatArray, *, style: str, n_bins: int, missing: str) -> NumericColumn:
    """One column; see `Uncalibrated`."""
    return calibrate_all([Uncalibrated(name, values, style, missing)], n_bins)[0]


def calibrate_all(columns: Sequence[Uncalibrated], n_bins: int) -> list[NumericColumn]:
    """Columns of one length, many at once where they are short."""
    if not columns:
        return []
    several = max(1, _AT_ONCE // max(1, columns[0].values.size))
    return [
        column
        for first in range(0, len(columns), several)
        for column in _calibrated(columns[first : first + several], n_bins)
    ]


def _calibrated(columns: Sequence[Uncalibrated], n_bins: int) -> list[NumericColumn]:
    values = np.array([column.values for column in columns], dtype=np.float64)
    facts = ColumnFacts.of(values)
    _refuse_extremes(columns, facts)
    style = np.array([_STYLES[column.style] for column in columns])
    fine, coarse = _levels(n_bins)
    counts = np.empty((len(columns), 3), np.int64)
    knots, standard, ranks = np.empty((3, len(columns) * (SAMPLES * len(fine) + 2)))
    cuts = np.empty(len(knots), np.int64)
    find_knots(
        facts.ordered, facts.sizes, style, fine, coarse, facts.means, facts.deviations, counts, knots, standard, ranks,
        cuts,
    )  # fmt: skip
    n_knots, n_cuts, _ = counts.sum(axis=0).tolist()
    knots = knots[:n_knots].copy()
    heights = _heights(facts, style, counts[:, KNOTS], knots, standard[:n_knots], ranks[:n_knots])
    stand_in = facts.medians.copy()
    for j, column in enumerate(columns):
        if column.missing != "state":
            stand_in[j] = -np.inf if column.missing == "lowest" else np.inf
    bins, missing = np.empty(n_knots + n_cuts), np.empty(len(columns) + n_cuts)
    good = find_values(stand_in, counts, knots, cuts, heights, bins, missing)
    for array in (knots, heights, bins):
        array.setflags(write=False)
    made = _Found(knots, heights, bins, cuts[:n_cuts].tolist(), missing.tolist(), good)
    return [
        made.column(column, facts, j, each)
        for j, (column, each) in enumerate(zip(columns, counts.tolist(), strict=True))
    ]


def _refuse_extremes(columns: Sequence[Uncalibrated], facts: ColumnFacts) -> None:
    largest = np.maximum(-facts.lows, facts.highs)
    for j in np.flatnonzero((facts.deviations < SMALLEST) | (largest > _LARGEST)).tolist():
        raise InputError(
            f"a numeric column lies within +-{_LARGEST:g} and has a standard deviation of {SMALLEST:g} or more; got "
            f"values from {facts.lows[j]:g} to {facts.highs[j]:g} in column {columns[j].name!r}; rescale it."
        )


def _heights(
    facts: ColumnFacts, style: NDArray[np.int64], n_knots: NDArray[np.int64], knots: FloatArray, standard: FloatArray,
    ranks: FloatArray,
) -> FloatArray:  # fmt: skip
    """u at the knots of all columns: standard deviations and, but for clipped ones, normal scores, half and half."""
    standard = _tamed(standard)
    scored = (style == 0) & (facts.lows < facts.highs)  # of one value u is 0
    if not scored.any():
        return standard.copy()
    scores = np.array([_normal_quantile(p) for p in ranks.tolist()])
    ends, sizes = n_knots.cumsum().tolist(), facts.sizes.tolist()
    rows = []
    which = np.flatnonzero(scored).tolist()
    for j in which:
        mine = slice(ends[j] - int(n_knots[j]), ends[j])
        rows.append(np.interp(facts.ordered[j, : sizes[j]], knots[mine], scores[mine]))
    means, deviations = np.zeros(len(style)), np.ones(len(style))  # of the scores in the sample
    if len({len(row) for row in rows}) == 1:
        means[which], deviations[which] = moments(np.array(rows))
    else:
        for j, row in zip(which, rows, strict=True):
            means[j : j + 1], deviations[j : j + 1] = moments(row[None])
    deviations[deviations == 0.0] = 1.0
    u = (standard + (scores - means.repeat(n_knots)) / deviations.repeat(n_knots)) / 2
    return u if scored.all() else np.where(scored.repeat(n_knots), u, standard)


class _Found:
    """What was found of all columns, one after the other; asked for column by column."""

    def __init__(
        self,
        knots: FloatArray,
        heights: FloatArray,
        bins: FloatArray,
        cuts: list[int],
        missing: list[float],
        good: bool,
    ) -> None:
        self.knots, self.heights, self.bins, self.cuts, self.missing = knots, heights, bins, cuts, missing
        self.make = proved if good else PiecewiseLinear  # which says what is wrong, if anything is
        self.knot = self.cut = self.bin = self.map = 0  # where the next column begins

    def column(self, given: Uncalibrated, facts: ColumnFacts, j: int, counts: list[int]) -> NumericColumn:
        """The next one, number j."""
        if counts[KNOTS]:
            maps = self._maps(counts[KNOTS], counts[CUTS])
            values = self.missing[self.map : self.map + len(maps)]
            self.map += len(maps)
        else:
            phi = _linear(facts, j) if given.style == "linear" else _NOTHING
            stand_in = {"state": facts.medians[j], "lowest": -np.inf, "highest": np.inf}[given.missing]
            maps, values = [phi], [phi.at(float(stand_in))]
        seen = _in_short(facts, j, bool(counts[BETWEEN]))
        if facts.sizes[j] == facts.ordered.shape[1]:
            return NumericColumn(given.name, tuple(maps), tuple(values), seen=seen)
        # state: the median and an indicator. lowest, highest: the end of every map, and an indicator that goes along
        if given.missing == "lowest":
            return NumericColumn(given.name, tuple(maps), (*values, 0.0), 1.0, seen)
        return NumericColumn(given.name, tuple(maps), (*values, 1.0), 0.0, seen)

    def _maps(self, n_knots: int, n_cuts: int) -> list[PiecewiseLinear]:
        """u, and its bins: between neighbours of the knots at the cuts it is u around 0, beyond them constant."""
        first, end, at = self.knot, self.knot + n_knots, self.bin
        maps = [self.make(self.knots[first:end], self.heights[first:end])]
        for low, high in pairwise(self.cuts[self.cut : self.cut + n_cuts]):
            after = at + high - low + 1
            maps.append(self.make(self.knots[first + low : first + high + 1], self.bins[at:after]))
            at = after
        self.knot, self.cut, self.bin = end, self.cut + n_cuts, at
        return maps


def _linear(facts: ColumnFacts, j: int) -> PiecewiseLinear:
    """Around the mean; around the median where few far values (a 999999) make up the deviation."""
    mean, deviation, n = float(facts.means[j]), float(facts.deviations[j]), int(facts.sizes[j])
    if n:
        low, middle, high = facts.ordered[j, [n // 4, n // 2, 3 * n // 4]].tolist()
        if 0 < FAR * (high - low) < deviation:
            mean, deviation = middle, (high - low) / 1.349
    scale = 2.0 ** -round(math.log2(deviation))  # a power of two: dividing slopes by it is exact
    return PiecewiseLinear(np.array([mean]), np.zeros(1), scale, scale)


def _tamed(standard: FloatArray) -> FloatArray:
    """Standard deviations of knots; far values count less and less."""
    sizes = np.abs(standard)
    if not (sizes > CLIP).any():
        return standard
    beyond = np.minimum(np.log1p(np.maximum(sizes - CLIP, 0.0)), CLIP)
    return np.asarray(np.minimum(np.maximum(standard, -CLIP), CLIP) + np.sign(standard) * beyond)


@lru_cache(maxsize=8)
def _levels(n_bins: int) -> tuple[FloatArray, FloatArray]:
    """Of knots: ends of equal bins, more of them where they are few, and both far ends; and of ends of bins."""
    fine = np.linspace(0, 1, max(_FEWEST_LEVELS, n_bins) + 1)
    coarse = np.linspace(0, 1, n_bins + 1) if n_bins else np.zeros(0)
    return np.unique(np.concatenate([fine, _END_LEVELS])), coarse


def _in_short(facts: ColumnFacts, j: int, between: bool) -> tuple[float, ...] | None:
    """Sorted values in short: one or two where there are no more, else the lowest, the median and the highest.

    -0.0 is 0.0: which of them comes first depends on the order of rows, and a model does not.
    """
    if not facts.sizes[j]:
        return None
    low, high = float(facts.lows[j]) + 0.0, float(facts.highs[j]) + 0.0
    if between:
        return low, float(facts.medians[j]) + 0.0, high
    return (low,) if low == high else (low, high)
