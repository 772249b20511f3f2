"""One boosted tree: leaves are split where that gains most, and no split goes against a direction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._boosted_lanes import (
    MOST_CODES,
    RIDGE,
    TOGETHER,
    add_by_code,
    add_up,
    best_split,
    part_rows,
    take_away,
)
from monolip.engine._boosted_others import add_others
from monolip.engine._compile import compiled

__all__ = ["grow"]

FloatArray = NDArray[np.float64]
Codes = NDArray[np.uint8]
MIN_ROWS = 5  # of a leaf, at least
LOW, HIGH = 2, 3  # of a leaf: what its values are clamped to, beside G and H
NODE, SLOT = 4, 5  # of a leaf, beside its rows: its node, and where its sums are kept
SIZE = 2 * MOST_CODES  # sums of a feature


@compiled(inner=True)
def grow(
    codes: Codes, width: int, directions: Any, n_leaves: int, rate: float, n_used: int, count: int, rest: int,
    nodes: Any, values: Any, f: FloatArray, sums: Any, splits: Any, where: Any, leaves: Any, slopes: Any, rows: Any,
    unseen: Any, spare: Any, used: Any, n_codes: Any, room: Any, limits: Any, signs: Any, ends: Any, others: Any,
    place: Any, dense: int,
) -> int:  # fmt: skip
    """One tree, its best leaf split first; the number of its leaves. codes: flat, `width` of them a row. others: of
    used features but the first, dense ones; place: of these."""
    size = len(room)
    for u in range(n_used):
        limits[u], signs[u] = n_codes[used[u]] - 1, directions[used[u]]
    where[0, 0], where[0, 2], where[0, NODE], where[0, SLOT] = 0, 0, 0, 0
    where[0, 1], where[0, 3] = count, rest
    _fill(sums, 0, codes, width, rows, 0, count, used, n_used, slopes, size, others, place, dense, limits)
    leaves[0, 0] = leaves[0, 1] = 0.0
    for c in range(limits[0] + 1):
        leaves[0, 0] += sums[2 * c]
        leaves[0, 1] += sums[2 * c + 1]
    leaves[0, LOW], leaves[0, HIGH] = -np.inf, np.inf
    ends[4] = MIN_ROWS * leaves[0, 1] / max(count, 1)  # the least of curvature, which stands for rows
    found, k, new, nodes[0, 0] = 1, 0, 1, -1
    while found < n_leaves:
        for one in range(new):  # the root, later both leaves that were one
            leaf = found - 1 if one == 0 else k
            _find(leaf, n_used, sums, splits, where, leaves, room, limits, signs, ends, size)
        k = 0
        for other in range(1, found):
            k = other if splits[other, 0] > splits[k, 0] else k
        if splits[k, 0] <= 0.0:
            break
        _split(k, found, codes, width, directions, nodes, splits, where, leaves, rows, unseen, spare, used)
        if found + 1 < n_leaves:
            where[found, SLOT] = found
            _share(k, found, codes, width, n_used, sums, where, slopes, rows, used, limits, size, others, place, dense)
        found, new = found + 1, 2
    for k in range(found):
        v = rate * min(max(-leaves[k, 0] / (leaves[k, 1] + RIDGE), leaves[k, LOW]), leaves[k, HIGH])
        values[where[k, NODE]] = v
        for i in range(where[k, 0], where[k, 1]):
            f[rows[i]] += v
        for i in range(where[k, 2], where[k, 3]):
            f[unseen[i]] += v
    return found


@compiled(inner=True)
def _fill(
    sums: Any, slot: int, codes: Codes, width: int, rows: Any, a: int, b: int, used: Any, n_used: int, slopes: Any,
    size: int, others: Any, place: Any, dense: int, limits: Any,
) -> None:  # fmt: skip
    at = slot * size
    mine = sums[at : at + SIZE * n_used]  # a slice: places that count from 0 need no look at their sign
    for i in range(mine.size):
        mine[i] = 0.0
    add_by_code(sums, at, codes, width, rows, a, b, used, dense, slopes)
    if dense < n_used:
        add_others(sums, at, others, place, rows, a, b, used, dense, n_used, limits, slopes)


@compiled(inner=True)
def _find(
    k: int, n_used: int, sums: Any, splits: Any, where: Any, leaves: Any, room: Any, limits: Any, signs: Any, ends: Any,
    size: int,
) -> None:  # fmt: skip
    """The split of leaf k that gains most; a gain of 0 where there is none."""
    all_g, all_h, low, high = leaves[k, 0], leaves[k, 1], leaves[k, LOW], leaves[k, HIGH]
    own = min(max(-all_g / (all_h + RIDGE), low), high)
    splits[k, 0], at = 0.0, where[k, SLOT] * size
    for u in range(0, n_used, TOGETHER):
        most_codes = 0
        for other in range(u, min(u + TOGETHER, n_used)):
            most_codes = max(most_codes, limits[other])
        add_up(sums, at + SIZE * u, room, SIZE * u, most_codes)
    ends[0], ends[1], ends[2], ends[3] = all_g, all_h, low, high
    most = 1e-10 - all_g * own - 0.5 * (all_h + RIDGE) * own * own
    place = best_split(sums, at, room, n_used, limits, signs, ends, most)
    if place >= MOST_CODES * n_used:
        return
    g, h = room[2 * place], room[2 * place + 1] if sums[at + 2 * place + 1] != 0.0 else 0.0
    rest, left_h, right_h = all_g - g, h + RIDGE, all_h - h + RIDGE
    left, right = min(max(-g / left_h, low), high), min(max(-rest / right_h, low), high)
    gain = -left * (g + 0.5 * left_h * left) - right * (rest + 0.5 * right_h * right)
    if gain > 0.0:
        splits[k, 0] = gain + all_g * own + 0.5 * (all_h + RIDGE) * own * own
    splits[k, 1], splits[k, 2] = place // MOST_CODES, place % MOST_CODES + 1
    splits[k, 3], splits[k, 4], splits[k, 5], splits[k, 6] = g, h, left, right


@compiled(inner=True)
def _split(
    k: int, new: int, codes: Codes, width: int, directions: Any, nodes: Any, splits: Any, where: Any, leaves: Any,
    rows: Any, unseen: Any, spare: Any, used: Any,
) -> None:  # fmt: skip
    """Leaf k becomes two: k to the left, the new one to the right."""
    j, code, node, child = used[int(splits[k, 1])], int(splits[k, 2]), where[k, NODE], 2 * new - 1
    end, last = where[k, 1], where[k, 3]
    at, past = (
        _part(codes, width, j, code, rows, where[k, 0], end, spare),
        _part(codes, width, j, code, unseen, where[k, 2], last, spare),
    )
    nodes[node, 0], nodes[node, 1], nodes[node, 2] = j, code, child
    nodes[child, 0] = nodes[child + 1, 0] = -1
    where[k, 1], where[k, 3], where[k, NODE] = at, past, child
    where[new, 0], where[new, 1], where[new, 2], where[new, 3], where[new, NODE] = at, end, past, last, child + 1
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
def _part(codes: Codes, width: int, j: int, code: int, rows: Any, first: int, end: int, spare: Any) -> int:
    """Rows below the code come first, in their order; where the others begin."""
    at: int = part_rows(codes, width, j, code, rows, first, end, spare)
    others = rows[at:end]
    for i in range(others.size):
        others[i] = spare[i]
    return at


@compiled(inner=True)
def _share(
    k: int, new: int, codes: Codes, width: int, n_used: int, sums: Any, where: Any, slopes: Any, rows: Any, used: Any,
    limits: Any, size: int, others: Any, place: Any, dense: int,
) -> None:  # fmt: skip
    """Sums of the two leaves that were one: those of the smaller one are added up, the other has the rest."""
    small, large = new, k
    if where[k, 1] - where[k, 0] <= where[new, 1] - where[new, 0]:
        small, large = k, new
        where[k, SLOT], where[new, SLOT] = where[new, SLOT], where[k, SLOT]
    a, b = where[small, 0], where[small, 1]
    _fill(
        sums, where[small, SLOT], codes, width, rows, a, b, used, n_used, slopes, size, others, place, dense, limits,
    )  # fmt: skip
    one, two = where[large, SLOT] * size, where[small, SLOT] * size
    for u in range(n_used):
        take_away(sums, one + SIZE * u, two + SIZE * u, 2 * limits[u] + 2)
