r"""Boosted trees that keep directions: each learns what those before it leave over, on codes of few bins.

    leaf     v = -G / (H + RIDGE), clamped to what the splits above it allow; G, H: sums of gradients and curvatures
    split    along a feature that rises only where v_left <= v_right; from there on every leaf to the left stays at or
             below their middle, every leaf to the right at or above it (falling: the other way round)

so every tree rises along that feature, whatever the others are: the largest leaf below the first child of a node that
asks about it is at most the smallest one below the second. LightGBM and XGBoost grow the same kind of tree; on small
tables they spend most of their time around the trees. A tree sees a random part of the rows and of the features; rows
held out say how many trees are worth having.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine.extra_trees import Tree, next_random

__all__ = ["MOST_CODES", "Boosted", "Pace", "boost"]

FloatArray = NDArray[np.float64]
Codes = NDArray[np.uint8]
MOST_CODES = 64  # of a feature
RIDGE, MIN_ROWS = 1.0, 5  # rows of a leaf, at least
PART = 0.7  # of the rows, and of the features, that a tree sees
LOW, HIGH = 2, 3  # of a leaf: what its values are clamped to, beside G and H


class Pace(NamedTuple):
    """How fast and how far: leaves of a tree, the part of their values that is taken, trees at most, and trees without
    a gain on rows held out, after which no more are grown."""

    n_leaves: int
    rate: float
    most_trees: int
    patience: int


class Boosted(NamedTuple):
    """trees: whose sum is learned; thresholds are codes, a constant is part of the first. outputs: (n,) their sum, at all rows."""

    trees: list[Tree]
    outputs: FloatArray


def boost(
    codes: Codes, y: FloatArray, weight: FloatArray, held: NDArray[np.int32], directions: NDArray[np.int8],
    is_class: bool, pace: Pace, seed: int,
) -> Boosted | None:  # fmt: skip
    """Learn y (of two classes: 0 or 1, by log-odds) at the rows that are not held out; None where no tree helps.

    codes: (n, d); weight: positive, of mean one; directions: (d,) 1, -1 or 0.
    """
    n, d = codes.shape
    learns = np.ones(n, np.bool_)
    learns[held] = False
    learn = np.flatnonzero(learns).astype(np.int32)
    mean = float(np.average(y[learn], weights=weight[learn]))
    start = float(np.log(mean / (1.0 - mean))) if is_class else mean
    n_used, most = max(1, int(np.ceil(PART * d))), 2 * pace.n_leaves - 1
    nodes, values = np.zeros((pace.most_trees, most, 3), np.int32), np.zeros((pace.most_trees, most))
    f, best_f = np.full(n, start), np.full(n, start)
    room = _Room(
        np.zeros((pace.n_leaves, n_used, MOST_CODES, 2)), np.zeros((pace.n_leaves, 7)), np.zeros((pace.n_leaves, 5), np.int64),
        np.zeros((pace.n_leaves, 4)), np.zeros((n, 2)), np.zeros(n, np.int32), np.zeros(n + 1, np.int32), np.zeros(n, np.int32),
        np.arange(d, dtype=np.int32), codes.max(axis=0).astype(np.int64) + 1,
    )  # fmt: skip
    count = _boost(
        codes, y, weight, learn, held, directions, is_class, np.uint64(seed), *pace, n_used, nodes, values, f, best_f, *room
    )  # fmt: skip
    if count == 0:
        return None
    sizes = [int(nodes[t, :, 2].max()) + 2 for t in range(count)]  # a child is the first of two
    values[0, : max(sizes[0], 1)] += np.where(nodes[0, : max(sizes[0], 1), 0] < 0, start, 0.0)
    return Boosted([_tree(nodes[t], values[t], sizes[t]) for t in range(count)], best_f)


def _tree(nodes: NDArray[np.int32], values: FloatArray, size: int) -> Tree:
    size = 1 if nodes[0, 0] < 0 else size
    feature, code, child = nodes[:size].T
    return Tree(feature.copy(), np.where(feature < 0, 0, code).astype(np.int32), child.copy(), values[:size].copy())


class _Room(NamedTuple):
    """Arrays that a boosting works in."""

    sums: FloatArray  # (leaves, used, codes, 2): G and H
    splits: FloatArray  # (leaves, 7): gain, place among used, code, G, H, value to the left, value to the right
    where: NDArray[np.int64]  # (leaves, 5): first row and end, the same of rows that it does not see, node
    leaves: FloatArray  # (leaves, 4): G, H, LOW, HIGH
    slopes: FloatArray  # (n, 2): gradient, curvature
    rows: NDArray[np.int32]  # that the tree sees, leaf by leaf
    unseen: NDArray[np.int32]  # the others, likewise
    spare: NDArray[np.int32]
    used: NDArray[np.int32]
    n_codes: NDArray[np.int64]


@compiled()
def _boost(
    codes: Codes, y: FloatArray, weight: FloatArray, learn: Any, held: Any, directions: Any, is_class: bool, state: Any,
    n_leaves: int, rate: float, most_trees: int, patience: int, n_used: int, nodes: Any, values: Any, f: FloatArray,
    best_f: FloatArray, sums: Any, splits: Any, where: Any, leaves: Any, slopes: Any, rows: Any, unseen: Any, spare: Any, used: Any,
    n_codes: Any,
) -> int:  # fmt: skip
    """Number of trees that rows held out like best; their sum in best_f."""
    best, least = 0, _loss(y, weight, held, is_class, f)
    for t in range(most_trees):
        state, count, rest = _draw(y, weight, learn, held, is_class, state, f, slopes, rows, unseen, used, n_used)
        found = _grow(
            codes, directions, n_leaves, rate, n_used, count, rest, nodes[t], values[t], f, sums, splits, where, leaves,
            slopes, rows, unseen, spare, used, n_codes,
        )  # fmt: skip
        loss = _loss(y, weight, held, is_class, f)
        if loss < least:
            best, least = t + 1, loss
            best_f[:] = f
        if found == 1 or t + 1 - best >= patience:
            break
    return best


@compiled(inner=True)
def _loss(y: FloatArray, weight: FloatArray, rows: Any, is_class: bool, f: FloatArray) -> float:
    total = 0.0
    for i in rows:
        if is_class:
            z = f[i] if y[i] < 0.5 else -f[i]
            total += weight[i] * (max(z, 0.0) + np.log1p(np.exp(-abs(z))))
        else:
            total += weight[i] * (f[i] - y[i]) * (f[i] - y[i])
    return total


@compiled(inner=True)
def _draw(
    y: FloatArray, weight: FloatArray, learn: Any, held: Any, is_class: bool, state: Any, f: FloatArray, slopes: Any,
    rows: Any, unseen: Any, used: Any, n_used: int,
) -> tuple[Any, int, int]:  # fmt: skip
    """Rows and features that the next tree sees, and what it learns there: (state, number of rows, of others)."""
    count, bar, rest = 0, np.uint64(PART * 4294967296.0), len(held)
    unseen[:rest] = held
    for i in learn:  # no branch depends on a row
        state, bits = next_random(state)
        is_seen = np.int64(bits < bar)
        rows[count] = unseen[rest] = i
        count += is_seen
        rest += 1 - is_seen
    for i in rows[:count]:
        if is_class:
            p = 1.0 / (1.0 + np.exp(-f[i]))
            slopes[i, 0], slopes[i, 1] = weight[i] * (p - y[i]), weight[i] * max(p * (1.0 - p), 1e-6)
        else:
            slopes[i, 0], slopes[i, 1] = weight[i] * (f[i] - y[i]), weight[i]
    for u in range(n_used):
        state, bits = next_random(state)
        k = u + np.int64((bits * np.uint64(len(used) - u)) >> np.uint64(32))
        used[u], used[k] = used[k], used[u]
    return state, count, rest


@compiled(inner=True)
def _grow(
    codes: Codes, directions: Any, n_leaves: int, rate: float, n_used: int, count: int, rest: int, nodes: Any,
    values: Any, f: FloatArray, sums: Any, splits: Any, where: Any, leaves: Any, slopes: Any, rows: Any, unseen: Any,
    spare: Any, used: Any, n_codes: Any,
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
    _find(0, directions, n_used, smallest, sums, splits, leaves, used, n_codes)
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
            _find(k, directions, n_used, smallest, sums, splits, leaves, used, n_codes)
            _find(found - 1, directions, n_used, smallest, sums, splits, leaves, used, n_codes)
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
    k: int, directions: Any, n_used: int, smallest: float, sums: Any, splits: Any, leaves: Any, used: Any, n_codes: Any
) -> None:
    """The split of leaf k that gains most; a gain of 0 where there is none."""
    all_g, all_h, low, high = leaves[k, 0], leaves[k, 1], leaves[k, LOW], leaves[k, HIGH]
    own = min(max(-all_g / (all_h + RIDGE), low), high)
    splits[k, 0] = 0.0
    most = 1e-10 - all_g * own - 0.5 * (all_h + RIDGE) * own * own
    for u in range(n_used):
        g, h, direction = 0.0, 0.0, directions[used[u]]
        for c in range(n_codes[used[u]] - 1):
            g += sums[k, u, c, 0]
            h += sums[k, u, c, 1]
            if h < smallest or sums[k, u, c, 1] == 0.0:
                continue
            if all_h - h < smallest:
                break
            rest, left_h, right_h = all_g - g, h + RIDGE, all_h - h + RIDGE
            left, right = min(max(-g / left_h, low), high), min(max(-rest / right_h, low), high)
            gain = -left * (g + 0.5 * left_h * left) - right * (rest + 0.5 * right_h * right)
            if gain > most and direction * (right - left) >= 0.0:
                most = gain
                splits[k, 0], splits[k, 1], splits[k, 2] = gain, u, c + 1
                splits[k, 3], splits[k, 4], splits[k, 5], splits[k, 6] = g, h, left, right
    if splits[k, 0] > 0.0:
        splits[k, 0] = most + all_g * own + 0.5 * (all_h + RIDGE) * own * own


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
        goes_right = np.int64(codes[r, j] >= code)
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
        sums[new] = sums[k]
    _fill(sums, small, codes, rows, where[small, 0], where[small, 1], used, n_used, slopes)
    for u in range(n_used):
        for c in range(n_codes[used[u]]):
            sums[large, u, c, 0] -= sums[small, u, c, 0]
            sums[large, u, c, 1] -= sums[small, u, c, 1]
