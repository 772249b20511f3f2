"""Loops behind `_misfit`: what rows leave over, added up in cells of features, one pass instead of ten."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled

__all__ = ["any_bends", "multiply", "pair_sums", "quarter_codes"]

FloatArray = NDArray[np.float64]
Singles = NDArray[np.float32]
Codes = NDArray[np.intp]


@compiled(inner=True)
def _quarters(x: FloatArray, ascending: FloatArray, quarters: int, codes: Any) -> None:
    known, cuts, n_cuts = x.size, np.empty(quarters), 0
    while known > 0 and ascending[known - 1] != ascending[known - 1]:
        known -= 1
    below = known  # values that are not the largest one
    while below > 0 and ascending[below - 1] == ascending[known - 1]:
        below -= 1
    for k in range(1, quarters if below > 0 else 1):
        cut = ascending[min(k * known // quarters, below - 1)]
        if n_cuts == 0 or cut > cuts[n_cuts - 1]:
            cuts[n_cuts] = cut
            n_cuts += 1
    for i in range(x.size):
        code = 0
        for k in range(n_cuts):
            code += x[i] > cuts[k]
        codes[i] = quarters if x[i] != x[i] and known > 0 else code


@compiled()
def quarter_codes(x: FloatArray, ascending: FloatArray, quarters: int, codes: Any) -> None:
    """codes: (features, n), which quarter of its feature a value of x lies in, those that are equal in the same one,
    missing ones (NaN) in the one after the last. ascending: values of each feature in order, missing ones last."""
    for j in range(len(x)):
        _quarters(x[j], ascending[j], quarters, codes[j])


@compiled(fast=True)
def pair_sums(codes: Codes, slope: Singles, spread: Singles, sums: Singles, sizes: Singles) -> None:
    """sums, sizes: (features, cells, features, cells), those of slope and spread in every two cells; zeros before."""
    n = codes.shape[0]
    for a in range(n):
        for b in range(a, n):
            here, there = sums[a, :, b], sizes[a, :, b]
            for i in range(slope.size):
                here[codes[a, i], codes[b, i]] += slope[i]
                there[codes[a, i], codes[b, i]] += spread[i]


@compiled(fast=True)
def multiply(
    contrasts: Singles, first: Codes, second: Codes, slope: Singles, spread: Singles, products: Singles,
    weighted: Singles, squares: Singles,
) -> None:  # fmt: skip
    """Of every pair of contrasts, (pairs, n): products, times slope, and their squares times spread."""
    for p in range(first.size):
        one, two = contrasts[first[p]], contrasts[second[p]]
        product, by_slope, square = products[p], weighted[p], squares[p]
        for i in range(slope.size):
            value = one[i] * two[i]
            product[i] = value
            by_slope[i] = value * slope[i]
            square[i] = value * value * spread[i]


@compiled(inner=True)
def _excess(
    x: FloatArray, order: Codes, firsts: NDArray[np.int64], slope: FloatArray, spread: FloatArray
) -> tuple[float, int]:
    """What stretches of rows explain beyond their number, and that number. order: of x, missing ones last; firsts:
    places in it where stretches begin, or a little earlier, so that rows of one value are never apart."""
    excess, count, at, n = 0.0, 0, 0, x.size
    for k in range(1, firsts.size + 1):
        end = n
        if k < firsts.size:
            end, value = firsts[k], x[order[firsts[k]]]
            while end > at and (
                x[order[end - 1]] == value or (value != value and x[order[end - 1]] != x[order[end - 1]])
            ):
                end -= 1
        if end == at:
            continue
        total, size = 0.0, 0.0
        for i in range(at, end):
            total += slope[order[i]]
            size += spread[order[i]]
        at, count = end, count + 1
        if size > 0.0:
            excess += total * total / size
    return excess - count, count


@compiled()
def any_bends(
    x: FloatArray, order: Codes, firsts: NDArray[np.int64], slope: FloatArray, spread: FloatArray, sure: float,
    least: float,
) -> bool:  # fmt: skip
    """Whether stretches of any of these features explain more than chance would, by so many standard deviations, and
    than this part of all rows. x, order: (features, n)."""
    for j in range(len(x)):
        excess, count = _excess(x[j], order[j], firsts, slope, spread)
        if excess > sure * math.sqrt(2.0 * count) and excess > least * x.shape[1]:
            return True
    return False
