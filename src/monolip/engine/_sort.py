"""Sorting in lanes: rows k and k + 1 of a (width, lanes) block are exchanged lane by lane where out of order."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from monolip.engine._compile import compiled

__all__ = ["exchange", "sort_groups"]


@compiled(inner=True)
def exchange(low: NDArray[Any], high: NDArray[Any]) -> None:
    """low, high = minimum, maximum, in place: comparisons only, hence monotone and exact."""
    for lane in range(low.size):
        p = low[lane]
        q = high[lane]
        low[lane] = q if q < p else p
        high[lane] = p if q < p else q


@compiled(inner=True)
def sort_groups(block: NDArray[Any], width: int, group_size: int, lanes: int) -> None:
    """Sort consecutive groups of rows, ascending, each lane by itself; block is flat (width * lanes).

    Merge exchange (Knuth, Algorithm 5.2.2M): a fixed network of O(g log^2 g) exchanges for any group size g,
    so that the same comparisons are made whatever the values are and every lane does the same work.
    """
    top = 1
    while top < group_size:
        top *= 2
    top //= 2
    for start in range(0, width, group_size):
        step = top
        while step > 0:
            reach, rest, apart = top, 0, step
            while True:
                for i in range(group_size - apart):
                    if i & step == rest:
                        at = (start + i) * lanes
                        to = at + apart * lanes
                        exchange(block[at : at + lanes], block[to : to + lanes])
                if reach == step:
                    break
                apart, reach, rest = reach - step, reach // 2, step
            step //= 2
