"""Small things about few or sorted numbers, for kernels of `_calibration`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled

__all__ = ["below", "between", "distinct", "nearest", "ulp", "up_to"]

FloatArray = NDArray[np.float64]


@compiled(inner=True)
def below(row: FloatArray, n: int, value: float) -> int:
    """How many of n sorted numbers are smaller."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if row[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(inner=True)
def up_to(row: FloatArray, n: int, value: float) -> int:
    """How many of n sorted numbers are not larger."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if row[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(inner=True)
def distinct(numbers: FloatArray, size: int) -> int:
    """Sorts the first few numbers, in runs that mostly are, and keeps one of equal ones; how many are left."""
    for i in range(1, size):
        value, k = numbers[i], i
        while k > 0 and numbers[k - 1] > value:
            numbers[k] = numbers[k - 1]
            k -= 1
        numbers[k] = value
    kept = 1
    for i in range(1, size):
        if numbers[i] != numbers[kept - 1]:
            numbers[kept] = numbers[i]
            kept += 1
    return kept


@compiled(inner=True)
def between(ordered: FloatArray, place: float) -> float:
    """In a straight line between two neighbours; place: at least 0."""
    at = int(place)
    if place == at:
        return float(ordered[at])
    return float(ordered[at] + (ordered[at + 1] - ordered[at]) * (place - at))


@compiled(inner=True)
def nearest(ordered: FloatArray, n: int, value: float) -> int:
    """Place of the number nearest to a value among n; of two that are, the first."""
    after = min(below(ordered, n, value), n - 1)
    if after > 0 and abs(ordered[after - 1] - value) <= abs(ordered[after] - value):
        return after - 1
    return after


@compiled(inner=True)
def ulp(size: float) -> float:
    """From a number, at least 0, to the next; like math.ulp."""
    return math.ldexp(1.0, max(math.frexp(size)[1] - 53, -1074)) if size > 0.0 else math.ldexp(1.0, -1074)
