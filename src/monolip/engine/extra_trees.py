"""Extremely randomised trees: at every node each feature draws one threshold, and the best of these is taken.

scikit-learn's ExtraTreesRegressor grows the same kind of tree; on small tables it spends most of its time around the
trees. Rows are ranks, which a split needs no more than. A tree knows nothing of the others, so that they can be grown
in any order and by any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled

__all__ = ["Tree", "grow_tree", "grow_trees", "next_random", "sum_of_trees"]

FloatArray = NDArray[np.float64]
Ranks = NDArray[np.int32]
DEEPEST = 1024  # steps down a tree; twenty or thirty are usual, and runtimes have a stack to lose


class Tree(NamedTuple):
    """Nodes in order of growth, the root first. feature: -1 in a leaf. threshold: smaller values go to node `child`,
    others to the one after it. value: of a leaf, 0 elsewhere."""

    feature: NDArray[np.int32]
    threshold: NDArray[Any]
    child: NDArray[np.int32]
    value: FloatArray


def grow_trees(
    x: Ranks, y: FloatArray, weight: FloatArray, seeds: Sequence[int], min_leaf: int, most_rows: int, n_threads: int = 1
) -> list[Tree]:
    """One for each seed. x: (n, d); weight: positive; most_rows: that a tree sees, of more of them a random part."""

    def one(seed: int) -> Tree:
        if len(x) <= most_rows:
            return grow_tree(x.copy(), y.copy(), weight.copy(), seed, min_leaf)
        part = np.random.default_rng(seed).choice(len(x), most_rows, replace=False)
        return grow_tree(x[part], y[part], weight[part], seed, min_leaf)

    if n_threads == 1 or len(seeds) == 1:
        return [one(seed) for seed in seeds]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(one, seeds))


def grow_tree(x: Ranks, y: FloatArray, weight: FloatArray, seed: int, min_leaf: int) -> Tree:
    """On all of these rows, whose arrays it uses up."""
    most = 2 * max(1, len(x) // min_leaf)
    tree = Tree(np.full(most, -1, np.int32), np.zeros(most, np.int32), np.zeros(most, np.int32), np.zeros(most))
    stack, room = np.empty((len(x) + 2, 4), np.int64), np.empty((5, x.shape[1]))
    n = _grow(x, y * weight, weight, np.uint64(seed), min_leaf, *tree, stack, room, np.empty((3, x.shape[1]), np.int32))
    return Tree(tree.feature[:n].copy(), tree.threshold[:n].copy(), tree.child[:n].copy(), tree.value[:n].copy())


def sum_of_trees(trees: Sequence[Tree], x: FloatArray) -> FloatArray:
    """(n, d) -> (n,), added up in the order of the trees."""
    total = np.zeros(len(x))
    for tree in trees:
        _add(x, *tree, total)
    return total


@compiled(inner=True)
def next_random(state: Any) -> tuple[Any, Any]:
    """splitmix64: (state, 32 random bits)."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, (z ^ (z >> np.uint64(31))) >> np.uint64(32)


@compiled(inner=True)
def _draw(x: Ranks, a: int, b: int, state: Any, low: Ranks, high: Ranks, cut: Ranks) -> Any:
    """A threshold for each feature of rows a to b: above its least rank, at most its largest."""
    d = x.shape[1]
    low[:] = x[a]
    high[:] = x[a]
    for i in range(a + 1, b):
        for j in range(d):
            v = x[i, j]
            low[j] = min(low[j], v)
            high[j] = max(high[j], v)
    for j in range(d):
        state, bits = next_random(state)
        width = np.uint64(high[j] - low[j])
        cut[j] = low[j] + (1 if width > 0 else 0) + np.int32((bits * width) >> np.uint64(32))
    return state


@compiled(inner=True)
def _best(
    x: Ranks, wy: FloatArray, w: FloatArray, a: int, b: int, cut: Ranks, min_leaf: int, room: FloatArray
) -> tuple[int, float]:
    """(feature whose threshold leaves least over, or -1; mean of the rows)."""
    d = x.shape[1]
    count, sums, weights = room[0], room[1], room[2]
    room[:3] = 0.0
    total, mass = 0.0, 0.0
    for i in range(a, b):
        one, many = w[i], wy[i]
        total += many
        mass += one
        for j in range(d):
            is_left = 1.0 if x[i, j] < cut[j] else 0.0
            count[j] += is_left
            sums[j] += is_left * many
            weights[j] += is_left * one
    best, most = -1, total * total / mass
    most += 1e-12 * abs(most)
    for j in range(d):
        left, right = weights[j], mass - weights[j]
        if count[j] >= min_leaf and (b - a) - count[j] >= min_leaf and left > 0.0 and right > 0.0:
            rest = total - sums[j]
            gain = sums[j] * sums[j] / left + rest * rest / right
            if gain > most:
                best, most = j, gain
    return best, total / mass


@compiled(inner=True)
def _part(x: Ranks, wy: FloatArray, w: FloatArray, a: int, b: int, j: int, cut: int) -> int:
    """Rows below the threshold come first; where the others begin."""
    i, k = a, b - 1
    while True:
        while i <= k and x[i, j] < cut:
            i += 1
        while i <= k and x[k, j] >= cut:
            k -= 1
        if i > k:
            return i
        for f in range(x.shape[1]):
            x[i, f], x[k, f] = x[k, f], x[i, f]
        wy[i], wy[k] = wy[k], wy[i]
        w[i], w[k] = w[k], w[i]


@compiled()
def _grow(
    x: Ranks, wy: FloatArray, w: FloatArray, state: Any, min_leaf: int, feature: Any, threshold: Any, child: Any,
    value: FloatArray, stack: NDArray[np.int64], room: FloatArray, ranks: Ranks,
) -> int:  # fmt: skip
    """Number of nodes."""
    low, high, cut = ranks[0], ranks[1], ranks[2]
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, 0, x.shape[0], 0
    n_nodes, open_nodes = 1, 1
    while open_nodes > 0:
        open_nodes -= 1
        node, a, b, depth = stack[open_nodes, 0], stack[open_nodes, 1], stack[open_nodes, 2], stack[open_nodes, 3]
        if b - a >= 2 * min_leaf:
            state = _draw(x, a, b, state, low, high, cut)
        else:
            cut[:] = 0
        best, mean = _best(x, wy, w, a, b, cut, min_leaf, room)
        if b - a < 2 * min_leaf or best < 0 or depth == DEEPEST:
            value[node] = mean
            continue
        at = _part(x, wy, w, a, b, best, cut[best])
        feature[node], threshold[node], child[node] = best, cut[best], n_nodes
        stack[open_nodes, 0], stack[open_nodes, 1], stack[open_nodes, 2] = n_nodes + 1, at, b
        stack[open_nodes + 1, 0], stack[open_nodes + 1, 1], stack[open_nodes + 1, 2] = n_nodes, a, at
        stack[open_nodes, 3] = stack[open_nodes + 1, 3] = depth + 1
        open_nodes += 2
        n_nodes += 2
    return n_nodes


@compiled()
def _add(x: FloatArray, feature: Any, threshold: Any, child: Any, value: FloatArray, total: FloatArray) -> None:
    for i in range(x.shape[0]):
        node = 0
        while feature[node] >= 0:
            node = child[node] + (0 if x[i, feature[node]] < threshold[node] else 1)
        total[i] += value[node]
