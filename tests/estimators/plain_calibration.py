"""Calibration of one numeric column, step by step in plain Python and numpy: what the compiled passes have to equal."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.input_columns import NumericColumn
from monolip.piecewise_linear import PiecewiseLinear

__all__ = ["apart", "calibrate", "moments", "nearest"]

FloatArray = NDArray[np.float64]

_CLIP = 4.0
_SMALLEST, _LARGEST = 1e-290, 1e300  # beyond, slopes or differences leave the range of floats
_NARROWEST = 1e-3  # bin, as a part of the spread
_ULPS, _TINY = 64, 1e-150  # knots are further apart than this in a column that also holds large values
_MOSTLY, _SOME = 0.4, 32  # share of rows with one value, and rows with others that deserve quantiles of their own
_FAR = 50.0  # quartile distances that a standard deviation is credible up to
_END, _FEW = 0.25, 0.03  # end bin, as a part of the one beside it, and its rows, as a part of all
_normal_quantile = lru_cache(maxsize=4096)(NormalDist().inv_cdf)  # columns share many of their ranks
_FEWEST_LEVELS, _END_LEVELS = 16, [0.01, 0.99]


def _spread(present: FloatArray, largest: float) -> tuple[float, float]:
    """largest: of their absolute values."""
    scale = largest or 1.0  # squares of 1e200 overflow
    mean, deviation = moments(present / scale)
    if deviation * scale > 2.0**-40 * scale:
        return mean * scale, deviation * scale
    away = present - present.min()  # exact
    farthest = float(away.max())
    if farthest <= 1e-280:
        return float(present.min()), 1.0
    mean, deviation = moments(away / farthest)
    return float(present.min()) + mean * farthest, deviation * farthest


def moments(values: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation, with the bits of numpy's methods and without what they cost a small array."""
    mean = float(np.add.reduce(values)) / values.size
    away = values - mean
    np.multiply(away, away, out=away)
    return mean, math.sqrt(float(np.add.reduce(away)) / values.size)


def calibrate(name: str, values: FloatArray, *, style: str, n_bins: int, missing: str) -> NumericColumn:
    """style: "quantile" (default), "clipped" (linear between clips, for a slope cap) or "linear" (for an interval).

    missing: "state", "lowest" or "highest"; an indicator column is made only where values are missing in training.
    """
    present = np.sort(values)  # what is missing comes last
    any_missing = bool(present.size and present[-1] != present[-1])
    known = values[~np.isnan(values)] if any_missing else values
    present = present[: known.size]
    low, high = (float(present[0]), float(present[-1])) if present.size else (0.0, 0.0)
    mean, deviation = _spread(known, max(-low, high)) if present.size else (0.0, 1.0)
    if deviation < _SMALLEST or max(-low, high) > _LARGEST:
        raise InputError(
            f"a numeric column lies within +-{_LARGEST:g} and has a standard deviation of {_SMALLEST:g} or more; got "
            f"values from {low:g} to {high:g} in column {name!r}; rescale it."
        )
    if style == "linear":
        mean, deviation = _middle(present, mean, deviation)
        scale = 2.0 ** -round(math.log2(deviation))  # a power of two: dividing slopes by it is exact
        maps = [PiecewiseLinear(np.array([mean]), np.zeros(1), scale, scale)]
    elif present.size == 0:
        maps = [PiecewiseLinear(np.zeros(1), np.zeros(1))]
    else:
        maps = _maps(present, mean, deviation, style, n_bins)
    return _with_missing(name, maps, present, missing, any_missing)


def _middle(present: FloatArray, mean: float, deviation: float) -> tuple[float, float]:
    """Median and spread of the middle half where few far values (a 999999) make up the deviation."""
    if not present.size:
        return mean, deviation
    low, middle, high = present[[present.size // 4, present.size // 2, 3 * present.size // 4]].tolist()
    return (middle, (high - low) / 1.349) if 0 < _FAR * (high - low) < deviation else (mean, deviation)


def _maps(present: FloatArray, mean: float, deviation: float, style: str, n_bins: int) -> list[PiecewiseLinear]:
    if style == "clipped":
        low, middle, high = present[[present.size // 4, present.size // 2, 3 * present.size // 4]].tolist()
        if _SMALLEST < _FAR * (high - low) < deviation:  # a sentinel would make the rest one value
            mean, deviation = middle, _FAR * (high - low)
    samples = _samples(present)
    knots = _quantile_knots(present, deviation, _at_levels(samples, n_bins, True))
    if len(knots) == 1 and knots[0] == present[0] == present[-1]:
        return [PiecewiseLinear(np.array(knots), np.zeros(1))]
    everything = np.array(apart([*knots, mean - _CLIP * deviation, mean + _CLIP * deviation], deviation))
    standard = (everything - mean) / deviation
    if standard[0] < -_CLIP or standard[-1] > _CLIP:  # far values count less and less
        beyond = np.minimum(np.log1p(np.maximum(np.abs(standard) - _CLIP, 0.0)), _CLIP)
        standard = np.minimum(np.maximum(standard, -_CLIP), _CLIP) + np.sign(standard) * beyond
    u = standard if style == "clipped" else (standard + _normal_scores(present, everything)) / 2
    whole = PiecewiseLinear(everything, np.maximum.accumulate(u))
    if not n_bins:
        return [whole]
    places = everything.tolist()
    cuts = sorted({nearest(places, edge) for edge in _at_levels(samples, n_bins, False)})
    return [whole, *whole.cut(cuts)] if len(cuts) >= 4 else [whole]


def nearest(ordered: list[float], value: float) -> int:
    """Place of the number nearest to a value; of two that are, the first."""
    after = min(bisect_left(ordered, value), len(ordered) - 1)
    return after - 1 if after and abs(ordered[after - 1] - value) <= abs(ordered[after] - value) else after


def _quantile_knots(present: FloatArray, deviation: float, quantiles: list[float]) -> list[float]:
    """Distinct quantiles; an end bin of few rows that is much narrower than the next one is joined to it.

    Otherwise u takes a step there: the last 1 % of uniform rows made it 15 times as steep as x in standard deviations.
    """
    knots = apart(quantiles, deviation)
    for way in (1, -1):
        end, near, next_one = knots[::way][:3] if len(knots) >= 4 else (0.0, 0.0, 0.0)
        if abs(near - end) < _END * abs(next_one - near):
            beyond = present < near if near > end else present > near
            if beyond.mean() <= _FEW:
                knots.remove(near)
    return knots


def _samples(present: FloatArray) -> list[FloatArray]:
    """Sorted values, and where one value is nearly all of them, the others as well."""
    size = present.size
    some = present[_ranks(5, False, size)]  # a share above 1/5 holds one of the six ranks
    firsts, lasts = present.searchsorted(some, "left").tolist(), present.searchsorted(some, "right").tolist()
    found = {}
    for value, first, last in zip(some.tolist(), firsts, lasts, strict=True):
        if last - first > _MOSTLY * size and size - (last - first) >= _SOME:
            found[value] = np.concatenate([present[:first], present[last:]])
    return [present, *found.values()]


def _at_levels(samples: list[FloatArray], n_bins: int, fine: bool) -> list[float]:
    """Distinct quantiles of sorted values."""
    return sorted({value for each in samples for value in each[_ranks(n_bins, fine, each.size)].tolist()})


@lru_cache(maxsize=32)
def _ranks(n_bins: int, fine: bool, size: int) -> NDArray[np.int64]:
    """Places of the quantiles in so many sorted values: ends of equal bins; fine: more of them, and both far ends."""
    ranks = np.rint(_levels(n_bins, fine) * (size - 1)).astype(np.int64)
    ranks.setflags(write=False)  # all columns share them
    return ranks


@lru_cache(maxsize=8)
def _levels(n_bins: int, fine: bool) -> FloatArray:
    levels = np.linspace(0, 1, (max(_FEWEST_LEVELS, n_bins) if fine else n_bins) + 1)
    return np.unique(np.concatenate([levels, _END_LEVELS])) if fine else levels


def apart(knots: list[float], deviation: float) -> list[float]:
    """Distinct knots, none nearer to the next than a thousandth of the spread of them all; the ends are kept.

    The spread is the smaller of the deviation and the middle half of the knots, so that heavy tails keep their middle
    and one value of 1e9 does not erase the others. Some ulps are between them as well, unless the column is hardly
    wider than that; slopes stay finite.
    """
    distinct = sorted(set(knots))
    middle = _quantile(distinct, 0.75) - _quantile(distinct, 0.25)
    least = max(_NARROWEST * min(deviation, middle or deviation), min(_TINY, _NARROWEST * deviation))
    most = deviation / 32
    ulps = most > least and _ULPS * math.ulp(max(-distinct[0], distinct[-1])) > least
    kept = [distinct[0]]
    for knot in distinct[1:]:
        gap = knot - kept[-1]
        if gap > least and not (ulps and gap <= min(most, _ULPS * math.ulp(max(abs(knot), abs(kept[-1]))))):
            kept.append(knot)
        elif len(kept) > 1 and knot == distinct[-1]:
            kept[-1] = knot
    return kept


def _quantile(ordered: list[float], level: float) -> float:
    """Of few numbers, between neighbours in a straight line; numpy's own takes a hundred times as long."""
    place = level * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


def _normal_scores(present: FloatArray, at: FloatArray) -> FloatArray:
    """Normal quantile of the middle rank of each point, standardised to the sample."""
    n = present.size
    rank = (present.searchsorted(at, "left") + present.searchsorted(at, "right")) / (2 * n)
    inside = np.minimum(np.maximum(rank, 0.5 / n), 1 - 0.5 / n)
    scores = np.array([_normal_quantile(p) for p in inside.tolist()])
    mean, deviation = moments(np.interp(present, at, scores))
    return np.asarray((scores - mean) / (deviation or 1.0))


def _with_missing(
    name: str, maps: list[PiecewiseLinear], present: FloatArray, missing: str, any_missing: bool
) -> NumericColumn:
    """state: the median and an indicator. lowest, highest: the end of every map, and an indicator that goes along."""
    median = present[present.size // 2] if present.size else 0.0
    stand_in = {"state": median, "lowest": -np.inf, "highest": np.inf}[missing]
    values = [phi.at(float(stand_in)) for phi in maps]
    seen = _in_short(present, float(median))
    if not any_missing:
        return NumericColumn(name, tuple(maps), tuple(values), seen=seen)
    if missing == "lowest":
        return NumericColumn(name, tuple(maps), (*values, 0.0), 1.0, seen)
    return NumericColumn(name, tuple(maps), (*values, 1.0), 0.0, seen)


def _in_short(present: FloatArray, median: float) -> tuple[float, ...] | None:
    """Sorted values in short: one or two where there are no more, else the lowest, the median and the highest.

    -0.0 is 0.0: which of them comes first depends on the order of rows, and a model does not.
    """
    if not present.size:
        return None
    low, high = float(present[0]) + 0.0, float(present[-1]) + 0.0
    if present.searchsorted(low, "right") < present.searchsorted(high, "left"):
        return low, median + 0.0, high
    return (low,) if low == high else (low, high)
