"""Knots of the maps of numeric columns, all columns of a table in one compiled pass: see `_calibration` for what they
are. A column alone is a few hundred numbers, and twenty calls of numpy for each took longer than all the sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.estimators._sorted_numbers import below, between, distinct, nearest, ulp, up_to

__all__ = ["BETWEEN", "CLIP", "CUTS", "FAR", "KNOTS", "SAMPLES", "SMALLEST", "find_knots"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

KNOTS, CUTS, BETWEEN = range(3)  # columns of `counts`
SAMPLES = 3  # all values, and without either of the two that can be two fifths of them
CLIP = 4.0
SMALLEST, FAR = 1e-290, 50.0  # quartile distances that a standard deviation is credible up to
_NARROWEST = 1e-3  # bin, as a part of the spread
_ULPS, _TINY = 64, 1e-150  # knots are further apart than this in a column that also holds large values
_OF_ALL = (
    1 / 32
)  # of the deviation: ulps are no reason to have fewer knots where the whole column is a few of them wide
_MOSTLY, _SOME = 0.4, 32  # share of rows with one value, and rows with others that deserve quantiles of their own
_END, _FEW = 0.25, 0.03  # end bin, as a part of the one beside it, and its rows, as a part of all
_FEWEST_CUTS = 4
_FIFTHS = np.linspace(0, 1, 6)


@compiled()
def find_knots(
    ordered: FloatArray, sizes: IntArray, style: IntArray, fine: FloatArray, coarse: FloatArray, means: FloatArray,
    deviations: FloatArray, counts: IntArray, knots: FloatArray, standard: FloatArray, ranks: FloatArray,
    cuts: IntArray,
) -> None:  # fmt: skip
    """ordered: (columns, rows), each sorted; of column j sizes[j] are there. style: 0 quantile, 1 clipped, 2 no knots.

    fine, coarse: levels of the quantiles that are knots, and that are ends of bins. Mean and deviation of a clipped
    column become those of its middle where they have to. What is found: counts, (columns, 3): of knots, of those that
    are ends of bins, and whether there are values between the lowest and the highest. Of all columns one after the
    other: knots, what they are in standard deviations (of a column of one value, 0), their ranks inside (0, 1), and
    which of them are ends of bins.
    """
    holes = np.empty((SAMPLES, 2), np.int64)
    n_knots = n_cuts = 0
    for j in range(len(ordered)):
        row, n = ordered[j], sizes[j]
        counts[j] = 0
        if n == 0:
            continue
        counts[j, BETWEEN] = int(up_to(row, n, row[0]) < below(row, n, row[n - 1]))
        if style[j] == 2:
            continue
        far = FAR * (row[3 * n // 4] - row[n // 4])
        if style[j] == 1 and SMALLEST < far < deviations[j]:  # a sentinel would make the rest one value
            means[j], deviations[j] = row[n // 2], far
        mean, deviation = means[j], deviations[j]
        n_samples = _samples(row, n, holes)
        found = knots[n_knots:]
        size = _put_quantiles(row, n, holes, n_samples, fine, found)
        size = _without_narrow_ends(row, n, found, _apart(found, size, deviation))
        if size == 1 and found[0] == row[0] and row[0] == row[n - 1]:
            mean = found[0]
        else:
            found[size], found[size + 1] = mean - CLIP * deviation, mean + CLIP * deviation
            size = _apart(found, distinct(found, size + 2), deviation)
            counts[j, CUTS] = _put_cuts(row, n, holes, n_samples, coarse, found, size, cuts[n_cuts:])
        for i in range(size):
            found[i] += 0.0  # -0.0 is no other knot than 0.0
            standard[n_knots + i] = (found[i] - mean) / deviation
            rank = (below(row, n, found[i]) + up_to(row, n, found[i])) / (2 * n)
            ranks[n_knots + i] = min(max(rank, 0.5 / n), 1 - 0.5 / n)
        counts[j, KNOTS] = size
        n_knots += size
        n_cuts += counts[j, CUTS]


@compiled(inner=True)
def _samples(row: FloatArray, n: int, holes: IntArray) -> int:
    """All sorted values (a hole of nothing), and where one value is nearly all of them, the others: without a hole."""
    holes[0, 0] = holes[0, 1] = 0
    found = 1
    for k in range(_FIFTHS.size):  # a share above 1/5 holds one of the six ranks
        value = row[round(_FIFTHS[k] * (n - 1))]
        first, last = below(row, n, value), up_to(row, n, value)
        mostly = last - first > _MOSTLY * n and n - (last - first) >= _SOME
        if mostly and not (found > 1 and holes[found - 1, 0] == first):
            holes[found, 0], holes[found, 1] = first, last
            found += 1
    return found


@compiled(inner=True)
def _of_sample(row: FloatArray, n: int, holes: IntArray, s: int, level: float) -> float:
    """A quantile of the sorted values without hole s."""
    away = holes[s, 1] - holes[s, 0]
    rank = round(level * (n - away - 1))
    return float(row[rank if rank < holes[s, 0] else rank + away])


@compiled(inner=True)
def _put_quantiles(
    row: FloatArray, n: int, holes: IntArray, n_samples: int, levels: FloatArray, into: FloatArray
) -> int:
    """Distinct quantiles of all samples, in order; how many."""
    size = 0
    for s in range(n_samples):
        for k in range(levels.size):
            into[size] = _of_sample(row, n, holes, s, levels[k])
            size += 1
    return distinct(into, size)


@compiled(inner=True)
def _apart(knots: FloatArray, size: int, deviation: float) -> int:
    """Of distinct knots those not nearer to the next than a thousandth of the spread of them all; the ends are kept.

    The spread is the smaller of the deviation and the middle half of the knots, so that heavy tails keep their middle
    and one value of 1e9 does not erase the others. Some ulps are between them as well, unless the column is hardly
    wider than that (1e15 and a standard normal number, which is a multiple of an eighth there); slopes stay finite.
    """
    middle = between(knots, 0.75 * (size - 1)) - between(knots, 0.25 * (size - 1))
    middle = middle if middle != 0.0 else deviation
    least = max(_NARROWEST * min(deviation, middle), min(_TINY, _NARROWEST * deviation))
    last, most = knots[size - 1], _OF_ALL * deviation
    ulps = most > least and _ULPS * ulp(max(-knots[0], last)) > least
    kept = 1
    for i in range(1, size):
        knot = knots[i]
        before = knots[kept - 1]
        if knot - before > least and not (
            ulps and knot - before <= min(most, _ULPS * ulp(max(abs(knot), abs(before))))
        ):
            knots[kept] = knot
            kept += 1
        elif kept > 1 and knot == last:
            knots[kept - 1] = knot
    return kept


@compiled(inner=True)
def _without_narrow_ends(row: FloatArray, n: int, knots: FloatArray, size: int) -> int:
    """An end bin of few rows that is much narrower than the next one is joined to it; how many knots are left.

    Otherwise u takes a step there: the last 1 % of uniform rows made it 15 times as steep as x in standard deviations.
    """
    if size >= 4 and knots[1] - knots[0] < _END * (knots[2] - knots[1]) and below(row, n, knots[1]) / n <= _FEW:
        for i in range(1, size - 1):
            knots[i] = knots[i + 1]
        size -= 1
    if size >= 4:
        end, near, next_one = knots[size - 1], knots[size - 2], knots[size - 3]
        if end - near < _END * (near - next_one) and (n - up_to(row, n, near)) / n <= _FEW:
            knots[size - 2] = end
            size -= 1
    return size


@compiled(inner=True)
def _put_cuts(
    row: FloatArray, n: int, holes: IntArray, n_samples: int, levels: FloatArray, knots: FloatArray, size: int,
    cuts: IntArray,
) -> int:  # fmt: skip
    """Numbers of the knots nearest to ends of bins, rising; how many, and none where bins would be too few."""
    for i in range(size):
        cuts[i] = 0
    for s in range(n_samples):
        for k in range(levels.size):
            cuts[nearest(knots, size, _of_sample(row, n, holes, s, levels[k]))] = 1
    found = 0
    for i in range(size):
        if cuts[i]:
            cuts[found] = i
            found += 1
    return found if found >= _FEWEST_CUTS else 0
