"""One boosted tree: leaves are split where that gains most, and no split goes against a direction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled

__all__ = ["MOST_CODES", "grow"]

FloatArray = NDArray[np.float64]
Codes = NDArray[np.uint8]
MOST_CODES = 64  # of a feature
RIDGE, MIN_ROWS = 1.0, 5  # rows of a leaf, at least
LOW, HIGH = 2, 3  # of a leaf: what its values are clamped to, beside G and H


@compiled(inner=True)
def grow(
    codes: Codes, directions: Any, n_leaves: int, rate: float, n_used: int, count: int, rest: int, nodes: Any,
    values: Any, f: FloatArray, sums: Any, splits: Any, where: Any, leaves: Any, slopes: Any, rows: Any, unseen: Any,
    spare: Any, used: Any, n_codes: Any, room: Any,
) -> int:  # fmt: skip
    """One tree, its best leaf split first; the number of its leaves."""
    _fill(sums, 0, codes, rows, 0, count, used, n_used, slopes)
    leaves[0, 0] = leaves[0, 1] = 0.0
    for c in range(n_codes[used[0]]):
        leaves[0, 0] += sums[0, 0, c, 0]
        leaves[0, 1] += sums[0, 0, c, 1]
    leaves[0, LOW], leaves[0, HIGH] = -np.inf, np.inf
    where[0] = 0
    where[0, 1], where[0, 3] = count, rest
    smallest = MIN_ROWS * leaves[0, 1] / max(count, 1)  # of curvature, which stands for rows
    _find(0, directions, n_used, smallest, sums, splits, leaves, used, n_codes, room)
    found, nodes[0, 0] = 1, -1
    while found < n_leaves:
        k = 0
        for other in range(1, found):
            k = other if splits[other, 0] > splits[k, 0] else k
        if splits[k, 0] <= 0.0:
            break
        _split(k, found, codes, directions, nodes, splits, where, leaves, rows, unseen, spare, used)
        found += 1
        if found < n_leaves:
            _share(k, found - 1, codes, n_used, sums, where, slopes, rows, used, n_codes)
            _find(k, directions, n_used, smallest, sums, splits, leaves, used, n_codes, room)
            _find(found - 1, directions, n_used, smallest, sums, splits, leaves, used, n_codes, room)
    for k in range(found):
        v = rate * min(max(-leaves[k, 0] / (leaves[k, 1] + RIDGE), leaves[k, LOW]), leaves[k, HIGH])
        values[where[k, 4]] = v
        for i in range(where[k, 0], where[k, 1]):
            f[rows[i]] += v
        for i in range(where[k, 2], where[k, 3]):
            f[unseen[i]] += v
    return found


@compiled(inner=True)
def _fill(sums: Any, leaf: int, codes: Codes, rows: Any, a: int, b: int, used: Any, n_used: int, slopes: Any) -> None:
    own = sums[leaf].reshape(-1)
    own[:] = 0.0
    for i in range(a, b):
        r = rows[i]
        g, h = slopes[r, 0], slopes[r, 1]
        for u in range(n_used):
            at = 2 * (MOST_CODES * u + np.int64(codes[r, used[u]]))
            own[at] += g
            own[at + 1] += h


@compiled(inner=True)
def _find(
    k: int, directions: Any, n_used: int, smallest: float, sums: Any, splits: Any, leaves: Any, used: Any, n_codes: Any,
    room: Any,
) -> None:  # fmt: skip
    """The split of leaf k that gains most; a gain of 0 where there is none."""
    all_g, all_h, low, high = leaves[k, 0], leaves[k, 1], leaves[k, LOW], leaves[k, HIGH]
    own = min(max(-all_g / (all_h + RIDGE), low), high)
    splits[k, 0] = 0.0
    most = 1e-10 - all_g * own - 0.5 * (all_h + RIDGE) * own * own
    for u in range(n_used):
        n, direction = n_codes[used[u]] - 1, np.float64(directions[used[u]])
        g, h = 0.0, 0.0
        for c in range(n):
            g += sums[k, u, c, 0]
            h += sums[k, u, c, 1]
            room[0, c] = g
            room[1, c] = h if sums[k, u, c, 1] != 0.0 else 0.0  # nothing there: the split before is the same
        for c in range(n):  # no branch depends on a code: several are done at once
            g, h = room[0, c], room[1, c]
            rest, left_h, right_h = all_g - g, h + RIDGE, all_h - h + RIDGE
            left, right = min(max(-g / left_h, low), high), min(max(-rest / right_h, low), high)
            gain = -left * (g + 0.5 * left_h * left) - right * (rest + 0.5 * right_h * right)
            fits = (h >= smallest) & (all_h - h >= smallest) & (direction * (right - left) >= 0.0)
            room[2, c] = gain if fits else -np.inf
        for c in range(n):
            if room[2, c] > most:
                most = room[2, c]
                splits[k, 0], splits[k, 1], splits[k, 2] = most, u, c + 1
                splits[k, 3], splits[k, 4] = room[0, c], room[1, c]
    if splits[k, 0] > 0.0:
        splits[k, 0] = most + all_g * own + 0.5 * (all_h + RIDGE) * own * own
        g, h = splits[k, 3], splits[k, 4]
        splits[k, 5] = min(max(-g / (h + RIDGE), low), high)
        splits[k, 6] = min(max(-(all_g - g) / (all_h - h + RIDGE), low), high)


@compiled(inner=True)
def _split(
    k: int, new: int, codes: Codes, directions: Any, nodes: Any, splits: Any, where: Any, leaves: Any, rows: Any,
    unseen: Any, spare: Any, used: Any,
) -> None:  # fmt: skip
    """Leaf k becomes two: k to the left, the new one to the right."""
    j, code, node, child = used[int(splits[k, 1])], int(splits[k, 2]), where[k, 4], 2 * new - 1
    end, last = where[k, 1], where[k, 3]
    at, past = (
        _part(codes, j, code, rows, where[k, 0], end, spare),
        _part(codes, j, code, unseen, where[k, 2], last, spare),
    )
    nodes[node, 0], nodes[node, 1], nodes[node, 2] = j, code, child
    nodes[child, 0] = nodes[child + 1, 0] = -1
    where[k, 1], where[k, 3], where[k, 4] = at, past, child
    where[new, 0], where[new, 1], where[new, 2], where[new, 3], where[new, 4] = at, end, past, last, child + 1
    leaves[new] = leaves[k]
    leaves[new, 0] -= splits[k, 3]
    leaves[new, 1] -= splits[k, 4]
    leaves[k, 0], leaves[k, 1] = splits[k, 3], splits[k, 4]
    middle = 0.5 * splits[k, 5] + 0.5 * splits[k, 6]
    if directions[j] > 0:
        leaves[k, HIGH] = leaves[new, LOW] = middle
    elif directions[j] < 0:
        leaves[k, LOW] = leaves[new, HIGH] = middle


@compiled(inner=True)
def _part(codes: Codes, j: int, code: int, rows: Any, first: int, end: int, spare: Any) -> int:
    """Rows below the code come first, in their order; where the others begin. No branch depends on a row."""
    at, n_right = first, 0
    for i in range(first, end):
        r = rows[i]
        goes_right = int(codes[r, j] >= code)
        rows[at] = spare[n_right] = r
        at += 1 - goes_right
        n_right += goes_right
    rows[at:end] = spare[:n_right]
    return at


@compiled(inner=True)
def _share(
    k: int, new: int, codes: Codes, n_used: int, sums: Any, where: Any, slopes: Any, rows: Any, used: Any, n_codes: Any
) -> None:
    """Sums of the two leaves that were one: those of the smaller one are added up, the other has the rest."""
    left_is_small = where[k, 1] - where[k, 0] <= where[new, 1] - where[new, 0]
    small, large = (k, new) if left_is_small else (new, k)
    if left_is_small:
        for u in range(n_used):
            for c in range(n_codes[used[u]]):
                sums[new, u, c, 0] = sums[k, u, c, 0]
                sums[new, u, c, 1] = sums[k, u, c, 1]
    _fill(sums, small, codes, rows, where[small, 0], where[small, 1], used, n_used, slopes)
    for u in range(n_used):
        for c in range(n_codes[used[u]]):
            sums[large, u, c, 0] -= sums[small, u, c, 0]
            sums[large, u, c, 1] -= sums[small, u, c, 1]
