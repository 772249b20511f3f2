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

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.cached import cached_property
from monolip.engine._boosted_growth import grow
from monolip.engine._boosted_lanes import MOST_CODES, TOGETHER
from monolip.engine._boosted_others import Others, dense_first, find_others
from monolip.engine._compile import compiled
from monolip.engine._random_lanes import LANES, STEP, draw_rows
from monolip.engine.extra_trees import Tree, next_random

__all__ = ["MOST_CODES", "Boosted", "Pace", "boost"]

FloatArray = NDArray[np.float64]
Codes = NDArray[np.uint8]
Places = NDArray[np.int64]
SURE = 1e-12  # of a class, at most this far from certain: one that weighs next to nothing has finite log-odds
PART = 0.7  # of the rows, and of the features, that a tree sees


class Pace(NamedTuple):
    """How fast and how far: leaves of a tree, the part of their values that is taken, trees at most, and trees without
    a gain on rows held out, after which no more are grown."""

    n_leaves: int
    rate: float
    most_trees: int
    patience: int


@dataclass(frozen=True, eq=False)
class Boosted:
    """nodes: (trees, most, 3), feature, threshold and child; values: (trees, most); sizes: nodes of each tree.

    start: a constant, part of the first tree. outputs: (n,) the sum of all at all rows.
    """

    nodes: NDArray[np.int32]
    values: FloatArray
    sizes: list[int]
    start: float
    outputs: FloatArray

    @cached_property
    def trees(self) -> list[Tree]:
        """Their sum is learned; thresholds are codes. Made for who wants them: mostly outputs are enough."""
        trees = [self._tree(t, size) for t, size in enumerate(self.sizes)]
        trees[0].value[trees[0].feature < 0] += self.start
        return trees

    def _tree(self, t: int, size: int) -> Tree:
        feature, threshold, child = self.nodes[t, :size].T
        return Tree(feature, threshold, child, self.values[t, :size].copy())


def boost(
    codes: Codes, y: FloatArray, weight: FloatArray, held: NDArray[np.int32], directions: NDArray[np.int8],
    is_class: bool, pace: Pace, seed: int, others: Others | None = None,
) -> Boosted | None:  # fmt: skip
    """Learn y (of two classes: 0 or 1, by log-odds) at the rows that are not held out; None where no tree helps.

    codes: (n, d); weight: positive, of mean one; directions: (d,) 1, -1 or 0; others: of the codes, if somebody has
    found them already.
    """
    n, d = codes.shape
    learns = np.ones(n, np.bool_)
    learns[held] = False
    learn = np.flatnonzero(learns).astype(np.int32)
    mean = float(np.add.reduce(y[learn] * weight[learn]) / np.add.reduce(weight[learn]))  # np.average's bits
    if is_class:
        mean = min(max(mean, SURE), 1.0 - SURE)
    start = float(np.log(mean / (1.0 - mean))) if is_class else mean
    n_used, most = max(1, int(np.ceil(PART * d))), 2 * pace.n_leaves - 1
    nodes, values = np.zeros((pace.most_trees, most, 3), np.int32), np.zeros((pace.most_trees, most))
    sizes, f, best_f = np.zeros(pace.most_trees, np.int64), np.full(n, start), np.full(n, start)
    room = _Room.of(codes, n_used, pace.n_leaves)
    count = _boost(
        np.ascontiguousarray(codes).reshape(-1), d, y, weight, learn, held, directions, is_class, np.uint64(seed),
        *pace, n_used, nodes, values, sizes, f, best_f, *room, others or find_others(codes), np.empty(d, np.int32),
    )  # fmt: skip
    if count == 0:
        return None
    if sizes[0] == 1:  # no split gains anything; the next tree would find no more
        return None
    return Boosted(nodes[:count], values[:count], sizes[:count].tolist(), start, best_f)


class _Room(NamedTuple):
    """Arrays that a boosting works in."""

    sums: FloatArray  # flat, for every leaf (used, codes, 2): G and H
    splits: FloatArray  # (leaves, 7): gain, place among used, code, G, H, value to the left, value to the right
    where: Places  # (leaves, 6): first row and end, the same of rows it does not see, node, place of its sums
    leaves: FloatArray  # (leaves, 4): G, H, LOW, HIGH
    slopes: FloatArray  # (n, 2), flat: gradient, curvature
    rows: NDArray[np.int32]  # that the tree sees, leaf by leaf
    unseen: NDArray[np.int32]  # the others, likewise
    spare: NDArray[np.int32]
    used: NDArray[np.int32]
    n_codes: NDArray[np.int64]
    running: FloatArray  # like the sums of one leaf: added up from code to code
    limits: NDArray[np.int64]  # (used,): splits of a feature
    signs: FloatArray  # (used,): their directions
    ends: FloatArray  # (5,): G, H, LOW, HIGH of a leaf, and the least H of one

    @classmethod
    def of(cls, codes: Codes, n_used: int, n_leaves: int) -> _Room:
        n, d = codes.shape
        size = -(-n_used // TOGETHER) * TOGETHER * MOST_CODES * 2
        where, leaves = np.zeros((n_leaves, 6), np.int64), np.zeros((n_leaves, 4))
        rows, unseen, spare = np.zeros((3, n + 1), np.int32)  # what is written ahead of a count needs one more
        used, n_codes = np.arange(d, dtype=np.int32), codes.max(axis=0).astype(np.int64) + 1
        return cls(
            np.zeros(n_leaves * size), np.zeros((n_leaves, 7)), where, leaves, np.zeros(2 * n), rows, unseen, spare,
            used, n_codes, np.zeros(size), np.zeros(n_used, np.int64), np.zeros(n_used), np.zeros(5),
        )  # fmt: skip


@compiled()
def _boost(
    codes: Codes, width: int, y: FloatArray, weight: FloatArray, learn: Any, held: Any, directions: Any, is_class: bool,
    state: Any, n_leaves: int, rate: float, most_trees: int, patience: int, n_used: int, nodes: Any, values: Any,
    sizes: Any, f: FloatArray, best_f: FloatArray, sums: Any, splits: Any, where: Any, leaves: Any, slopes: Any,
    rows: Any, unseen: Any, spare: Any, used: Any, n_codes: Any, running: Any, limits: Any, signs: Any, ends: Any,
    others: Any, place: Any,
) -> int:  # fmt: skip
    """Number of trees that rows held out like best; their sum in best_f."""
    best, least = 0, _loss(y, weight, held, is_class, f)
    for t in range(most_trees):
        state, count, rest = _draw(y, weight, learn, held, is_class, state, f, slopes, rows, unseen, used, n_used)
        dense = dense_first(used, n_used, others.usual, place) if others.starts.size > 1 else n_used
        found = grow(
            codes, width, directions, n_leaves, rate, n_used, count, rest, nodes[t], values[t], f, sums, splits, where,
            leaves, slopes, rows, unseen, spare, used, n_codes, running, limits, signs, ends, others, place, dense,
        )  # fmt: skip
        sizes[t], loss = 2 * found - 1, _loss(y, weight, held, is_class, f)
        if loss < least:
            best, least = t + 1, loss
            for i in range(len(f)):
                best_f[i] = f[i]
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
    bar, rest, registers = np.uint64(PART * 4294967296.0), len(held), len(learn) // LANES
    for i in range(rest):
        unseen[i] = held[i]
    count = draw_rows(learn, registers, state, bar, rows, unseen, rest)
    state += np.uint64(LANES * registers) * np.uint64(STEP)
    rest += LANES * registers - count
    for at in range(LANES * registers, len(learn)):
        i = learn[at]
        state, bits = next_random(state)
        is_seen = int(bits < bar)
        rows[count] = unseen[rest] = i
        count += is_seen
        rest += 1 - is_seen
    for at in range(count):
        i = rows[at]
        if is_class:
            p = 1.0 / (1.0 + np.exp(-f[i]))
            slopes[2 * i], slopes[2 * i + 1] = weight[i] * (p - y[i]), weight[i] * max(p * (1.0 - p), 1e-6)
        else:
            slopes[2 * i], slopes[2 * i + 1] = weight[i] * (f[i] - y[i]), weight[i]
    for u in range(n_used):
        state, bits = next_random(state)
        k = u + np.int64((bits * np.uint64(len(used) - u)) >> np.uint64(32))
        used[u], used[k] = used[k], used[u]
    return state, count, rest
