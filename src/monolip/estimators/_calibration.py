r"""Learned calibration of a numeric column: monotone, bounded-slope, piecewise linear.

    u     = (standardised x, clipped at 4, + its normal quantile) / 2            one map through 19 or more quantiles
    bin_i = clip(u, q_i, q_i+1) - midpoint,  i = 1 .. n_bins                     steps that trees would find
    linear: u = (x - center) / scale, scale a power of two                       where slopes are given in raw units

u alone is linear in the middle and gentle in the tails; bins let the slope differ from one quantile to the next.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.input_columns import NumericColumn
from monolip.piecewise_linear import PiecewiseLinear

__all__ = ["calibrate", "spread"]

FloatArray = NDArray[np.float64]

_CLIP = 4.0
_SMALLEST, _LARGEST = 1e-290, 1e300  # beyond, slopes or differences leave the range of floats
_NARROWEST = 1e-3  # bin, as a part of the spread
_ULPS, _TINY = 64, 1e-150  # knots are further apart than this in a column that also holds large values
_MOSTLY, _SOME = 0.4, 32  # share of rows with one value, and rows with others that deserve quantiles of their own
_FAR = 50.0  # quartile distances that a standard deviation is credible up to
_END, _FEW = 0.25, 0.03  # end bin, as a part of the one beside it, and its rows, as a part of all
_NORMAL = NormalDist()
_FEWEST_LEVELS, _END_LEVELS = 16, [0.01, 0.99]


def spread(values: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation of the present values (0 and 1 where there are none, or all are equal)."""
    present = values[~np.isnan(values)]
    if not present.size:
        return 0.0, 1.0
    scale = float(np.abs(present).max()) or 1.0  # squares of 1e200 overflow
    mean, deviation = float((present / scale).mean()) * scale, float((present / scale).std()) * scale
    rounding = 8 * np.finfo(np.float64).eps * scale
    return mean, deviation if deviation > rounding else 1.0


def calibrate(name: str, values: FloatArray, *, style: str, n_bins: int, missing: str) -> NumericColumn:
    """style: "quantile" (default), "clipped" (linear between clips, for a slope cap) or "linear" (for an interval).

    missing: "state", "lowest" or "highest"; an indicator column is made only where values are missing in training.
    """
    present = np.sort(values[~np.isnan(values)])
    mean, deviation = spread(values)
    if present.size and (deviation < _SMALLEST or max(-present[0], present[-1]) > _LARGEST):
        raise InputError(
            f"a numeric column lies within +-{_LARGEST:g} and has a standard deviation of {_SMALLEST:g} or more; got "
            f"values from {present[0]:g} to {present[-1]:g} in column {name!r}; rescale it."
        )
    if style == "linear":
        mean, deviation = _middle(present, mean, deviation)
        scale = 2.0 ** -round(math.log2(deviation))  # a power of two: dividing slopes by it is exact
        maps = [PiecewiseLinear(np.array([mean]), np.zeros(1), scale, scale)]
    elif present.size == 0:
        maps = [PiecewiseLinear(np.zeros(1), np.zeros(1))]
    else:
        maps = _maps(present, mean, deviation, style, n_bins)
    return _with_missing(name, maps, present, missing, bool(np.isnan(values).any()))


def _middle(present: FloatArray, mean: float, deviation: float) -> tuple[float, float]:
    """Median and spread of the middle half where few far values (a 999999) make up the deviation."""
    if not present.size:
        return mean, deviation
    low, middle, high = present[[present.size // 4, present.size // 2, 3 * present.size // 4]].tolist()
    return (middle, (high - low) / 1.349) if 0 < _FAR * (high - low) < deviation else (mean, deviation)


def _maps(present: FloatArray, mean: float, deviation: float, style: str, n_bins: int) -> list[PiecewiseLinear]:
    low, middle, high = present[[present.size // 4, present.size // 2, 3 * present.size // 4]]
    if style == "clipped" and _SMALLEST < _FAR * (high - low) < deviation:  # a sentinel would make the rest one value
        mean, deviation = float(middle), _FAR * float(high - low)
    levels = np.linspace(0, 1, max(_FEWEST_LEVELS, n_bins) + 1)
    knots = _quantile_knots(present, deviation, np.unique(np.concatenate([levels, _END_LEVELS])))
    ends = np.array([mean - _CLIP * deviation, mean + _CLIP * deviation])
    if knots.size == 1 and knots[0] == present[0] == present[-1]:
        return [PiecewiseLinear(knots, np.zeros(1))]
    everything = _apart(np.concatenate([knots, ends]), deviation)
    z = (everything - mean) / deviation
    beyond = np.minimum(np.log1p(np.maximum(np.abs(z) - _CLIP, 0.0)), _CLIP)  # far values count less and less
    standard = np.clip(z, -_CLIP, _CLIP) + np.sign(z) * beyond
    u = standard if style == "clipped" else (standard + _normal_scores(present, everything)) / 2
    u = np.maximum.accumulate(u)
    maps = [PiecewiseLinear(everything, u)]
    edges = _at_levels(present, np.linspace(0, 1, n_bins + 1))
    cuts = sorted(set(np.abs(everything - edges[:, None]).argmin(axis=1).tolist()))
    if n_bins and len(cuts) >= 4:
        for first, last in pairwise(cuts):
            inside = slice(first, last + 1)
            maps.append(PiecewiseLinear(everything[inside], u[inside] - (u[first] + u[last]) / 2))
    return maps


def _quantile_knots(present: FloatArray, deviation: float, levels: FloatArray) -> FloatArray:
    """Distinct quantiles; an end bin of few rows that is much narrower than the next one is joined to it.

    Otherwise u takes a step there: the last 1 % of uniform rows made it 15 times as steep as x in standard deviations.
    """
    knots = _apart(_at_levels(present, levels), deviation)
    for end in (slice(None), slice(None, None, -1)):
        near = knots[end][:3]
        if knots.size >= 4 and abs(near[1] - near[0]) < _END * abs(near[2] - near[1]):
            beyond = present < near[1] if near[1] > near[0] else present > near[1]
            knots = knots[knots != near[1]] if beyond.mean() <= _FEW else knots
    return knots


def _at_levels(present: FloatArray, levels: FloatArray) -> FloatArray:
    """Distinct quantiles of sorted values; where one value is nearly all of them, those of the others as well."""
    found = present[np.round(levels * (present.size - 1)).astype(int)]
    for value in sorted({float(present[round(k / 5 * (present.size - 1))]) for k in range(6)}):
        first, last = int(present.searchsorted(value, "left")), int(present.searchsorted(value, "right"))
        others = present.size - (last - first)
        if last - first > _MOSTLY * present.size and others >= _SOME:  # a share above 1/5 holds one of the six ranks
            rest = np.concatenate([present[:first], present[last:]])
            found = np.concatenate([found, rest[np.round(levels * (others - 1)).astype(int)]])
    return np.array(sorted(set(found.tolist())))


def _apart(knots: FloatArray, deviation: float) -> FloatArray:
    """Distinct knots, none nearer to the next than a thousandth of the spread of them all; the ends are kept.

    The spread is the smaller of the deviation and the middle half of the knots, so that heavy tails keep their middle
    and one value of 1e9 does not erase the others. Some ulps are between them in any case, and slopes stay finite.
    """
    distinct = sorted(set(knots.tolist()))
    middle = _quantile(distinct, 0.75) - _quantile(distinct, 0.25)
    least = max(_NARROWEST * min(deviation, middle or deviation), min(_TINY, _NARROWEST * deviation))
    kept = [distinct[0]]
    for knot in distinct[1:]:
        if knot - kept[-1] > max(least, _ULPS * math.ulp(max(abs(knot), abs(kept[-1])))):
            kept.append(knot)
        elif len(kept) > 1 and knot == distinct[-1]:
            kept[-1] = knot
    return np.array(kept)


def _quantile(ordered: list[float], level: float) -> float:
    """Of few numbers, between neighbours in a straight line; numpy's own takes a hundred times as long."""
    place = level * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


def _normal_scores(present: FloatArray, at: FloatArray) -> FloatArray:
    """Normal quantile of the middle rank of each point, standardised to the sample."""
    n = present.size
    rank = (present.searchsorted(at, "left") + present.searchsorted(at, "right")) / (2 * n)
    scores = np.array([_NORMAL.inv_cdf(p) for p in np.clip(rank, 0.5 / n, 1 - 0.5 / n).tolist()])
    sample = np.interp(present, at, scores)
    return np.asarray((scores - sample.mean()) / (sample.std() or 1.0))


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
    """Sorted values in short: one or two where there are no more, else the lowest, the median and the highest."""
    if not present.size:
        return None
    low, high = float(present[0]), float(present[-1])
    if present.searchsorted(low, "right") < present.searchsorted(high, "left"):
        return low, median, high
    return (low,) if low == high else (low, high)
