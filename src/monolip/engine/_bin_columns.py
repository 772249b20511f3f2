"""Columns that are bins of one feature, found to be so and packed: which bin is partly filled, and what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.errors import InputError

__all__ = ["add_linear", "add_rows", "check_ranges", "fill_bins", "refuse_bins", "sums_of_bins", "unpack", "widen_ends"]

FloatArray = NDArray[Any]
Ranges = Sequence[tuple[int, int]]


def check_ranges(bins: Ranges, n_features: int) -> tuple[tuple[int, int], ...]:
    """Ranges of columns in ascending order, apart, and with a column left over that is no bin."""
    ranges = tuple((int(first), int(stop)) for first, stop in bins)
    edges = [edge for pair in ranges for edge in pair]
    in_order = all(a <= b for a, b in pairwise(edges)) and all(a < b for a, b in ranges)
    if ranges and not (in_order and edges[0] >= 0 and edges[-1] <= n_features):
        raise InputError(
            f"bins are ranges (first, stop) of the {n_features} columns, ascending and apart; got {bins}; sort them."
        )
    return ranges if sum(stop - first for first, stop in ranges) < n_features else ()


@compiled()
def add_rows(x: FloatArray, total: NDArray[np.float64]) -> None:
    """total (columns,) += rows of x, one after the other."""
    for row in range(x.shape[0]):
        for k in range(x.shape[1]):
            total[k] += x[row, k]


@compiled()
def widen_ends(x: FloatArray, columns: NDArray[np.int64], ends: FloatArray) -> None:
    """ends (2, bins) become the least and largest values that the columns of x have and had."""
    for row in range(x.shape[0]):
        for k in range(columns.size):
            value = x[row, columns[k]]
            ends[0, k] = min(ends[0, k], value)
            ends[1, k] = max(ends[1, k], value)


@compiled()
def fill_bins(
    x: FloatArray, columns: NDArray[np.int64], first: NDArray[np.int64], ends: FloatArray, codes: NDArray[Any],
    packed: FloatArray, at: int,
) -> int:  # fmt: skip
    """codes (rows, features) = number of the bin partly filled, packed[:, at + feature] = what it holds.

    columns: those of a feature follow each other. Returns a row whose bins are not full up to one and empty after it,
    or -1 where there is none.
    """
    for row in range(x.shape[0]):
        for feature in range(first.size - 1):
            start, stop = first[feature], first[feature + 1]
            bins = x[row][columns[start] : columns[start] + stop - start]
            empty, full = ends[0][start:stop], ends[1][start:stop]
            s, unfilled = 0, 0
            for k in range(bins.size):  # no branch depends on a value: several bins at once
                s = max(s, k * int(bins[k] > empty[k]))
            for k in range(s):
                unfilled += int(bins[k] < full[k])
            if unfilled > 0:
                return row
            codes[row, feature] = start + s
            packed[row, at + feature] = bins[s]
    return -1


def refuse_bins(row: FloatArray) -> NoReturn:
    raise InputError(
        "of the bins of a feature those before one are full, and those after it empty;"
        f" got a row that is not so, {row.tolist()}; do not call these columns bins."
    )


@compiled()
def unpack(
    x: FloatArray, codes: NDArray[Any], places: NDArray[np.int32], plain: NDArray[np.int64],
    binned: NDArray[np.int64], first: NDArray[np.int64], ends: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """Packed rows as they were: out (places, columns)."""
    for i in range(places.size):
        row = places[i]
        for j in range(plain.size):
            out[i, plain[j]] = x[row, j]
        for feature in range(first.size - 1):
            s = codes[row, feature]
            for k in range(first[feature], first[feature + 1]):
                out[i, binned[k]] = ends[1, k] if k < s else ends[0, k]
            out[i, binned[s]] = x[row, plain.size + feature]


@compiled()
def add_linear(
    x: FloatArray, codes: NDArray[Any], places: NDArray[np.int32], plain: FloatArray, binned: FloatArray,
    sums: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """out = x . slopes for packed rows: slopes of plain columns, of bins, and `sums_of_bins` of them."""
    for i in range(places.size):
        row, total = places[i], 0.0
        for j in range(plain.size):
            total += plain[j] * x[row, j]
        for feature in range(codes.shape[1]):
            s = codes[row, feature]
            total += sums[s] + binned[s] * x[row, plain.size + feature]
        out[i] = total


def sums_of_bins(slopes: FloatArray, first: NDArray[np.int64], ends: FloatArray) -> NDArray[np.float64]:
    """(bins,): what the bins of a feature but the s-th add up to, where that one is partly filled; slopes (bins,)."""
    sums = np.empty(len(slopes))
    _sums(np.asarray(slopes, np.float64), first, ends, sums)
    return sums


@compiled()
def _sums(slopes: NDArray[np.float64], first: NDArray[np.int64], ends: FloatArray, sums: FloatArray) -> None:
    for feature in range(first.size - 1):
        start, stop = first[feature], first[feature + 1]
        before, empty = 0.0, 0.0
        for k in range(start, stop):
            empty += slopes[k] * ends[0, k]
        for k in range(start, stop):
            empty -= slopes[k] * ends[0, k]
            sums[k] = before + empty
            before += slopes[k] * ends[1, k]
