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
from monolip.engine._random_lanes import STEP
from monolip.engine._rank_lanes import LANES, draw_thresholds, gains_of_even, gains_of_weighted, swap_ranks

__all__ = ["Tree", "grow_tree", "grow_trees", "next_random", "sum_of_trees"]

FloatArray = NDArray[np.float64]
Ranks = NDArray[np.int32]
FEW_NUMBERS = 2**16  # of the rows of a tree: it is grown before another thread would be ready
DEEPEST = 1024  # steps down a tree; twenty or thirty are usual, and runtimes have a stack to lose


class Tree(NamedTuple):
    """Nodes in order of growth, the root first. feature: -1 in a leaf. threshold: smaller values go to node `child`,
    others to the one after it; both are 0 in a leaf. value: of a leaf, 0 elsewhere."""

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

    if n_threads == 1 or len(seeds) == 1 or min(len(x), most_rows) * x.shape[1] < FEW_NUMBERS:
        return [one(seed) for seed in seeds]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(one, seeds))


def grow_tree(x: Ranks, y: FloatArray, weight: FloatArray, seed: int, min_leaf: int) -> Tree:
    """On all of these rows, whose arrays it uses up."""
    (n, d), most = x.shape, 2 * max(1, len(x) // min_leaf)
    x = _filled_up(x)
    tree = Tree(np.full(most, -1, np.int32), np.zeros(most, np.int32), np.zeros(most, np.int32), np.zeros(most))
    room = np.empty((n + 2, 4), np.int64), np.empty(x.shape[1] + 2), np.empty((2, x.shape[1]), np.int32)
    even, places = bool((weight == 1.0).all()), np.empty((2, n), np.int32)
    n = _grow(x, y * weight, weight, d, np.uint64(seed), min_leaf, even, *tree, *room, places)
    return Tree(tree.feature[:n].copy(), tree.threshold[:n].copy(), tree.child[:n].copy(), tree.value[:n].copy())


def _filled_up(x: Ranks) -> Ranks:
    """With columns of zeros, to whole registers of them."""
    n, d = x.shape
    if d % LANES == 0 and x.flags.c_contiguous:
        return x
    filled = np.zeros((n, -(-d // LANES) * LANES), np.int32)
    filled[:, :d] = x
    return filled


def sum_of_trees(trees: Sequence[Tree], x: FloatArray) -> FloatArray:
    """(n, d) -> (n,), added up in the order of the trees."""
    total = np.zeros(len(x))
    for tree in trees:
        _add(x, *tree, total)
    return total


@compiled(inner=True)
def next_random(state: Any) -> tuple[Any, Any]:
    """splitmix64: (state, 32 random bits)."""
    state += np.uint64(STEP)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, (z ^ (z >> np.uint64(31))) >> np.uint64(32)


@compiled(inner=True)
def _best(
    x: Ranks, wy: FloatArray, w: FloatArray, a: int, b: int, cut: Ranks, min_leaf: int, even: bool, room: FloatArray,
    counts: Ranks, totals: FloatArray,
) -> tuple[int, float]:  # fmt: skip
    """(feature whose threshold leaves least over, or -1; mean of rows a to b)."""
    width, flat = x.shape[1], x.reshape(-1)
    for k in range(0, width, LANES):
        if even:
            gains_of_even(flat, a * width + k, b - a, width, cut, k, wy, w, a, min_leaf, room, counts, totals)
        else:
            gains_of_weighted(flat, a * width + k, b - a, width, cut, k, wy, w, a, min_leaf, room, counts, totals)
    total, mass = totals[0], totals[1]
    best, most = -1, total * total / mass
    most += 1e-12 * abs(most)
    for j in range(width):
        if room[j] > most:
            best, most = j, room[j]
    return best, total / mass


@compiled(inner=True)
def _mean(wy: FloatArray, w: FloatArray, a: int, b: int) -> float:
    total, mass = 0.0, 0.0
    for i in range(a, b):
        total += wy[i]
        mass += w[i]
    return total / mass


@compiled(inner=True)
def _part(
    x: Ranks, wy: FloatArray, w: FloatArray, a: int, at: int, b: int, j: int, cut: int, wrong: Ranks, others: Ranks
) -> None:
    """Rows below the threshold come first, the others from `at` on: those on the wrong side change places, from both
    ends on. No branch depends on a row."""
    n, m, width, flat = 0, 0, x.shape[1], x.reshape(-1)
    for i in range(a, at):
        wrong[n] = i
        n += int(x[i, j] >= cut)
    for i in range(b - 1, at - 1, -1):
        others[m] = i
        m += int(x[i, j] < cut)
    for p in range(n):
        i, k = wrong[p], others[p]
        for f in range(0, width, LANES):
            swap_ranks(flat, i * width + f, k * width + f)
        wy[i], wy[k] = wy[k], wy[i]
        w[i], w[k] = w[k], w[i]


@compiled()
def _grow(
    x: Ranks, wy: FloatArray, w: FloatArray, n_features: int, state: Any, min_leaf: int, even: bool, feature: Any,
    threshold: Any, child: Any, value: FloatArray, stack: NDArray[np.int64], room: FloatArray, lanes: Ranks,
    places: Ranks,
) -> int:  # fmt: skip
    """Number of nodes. x: (n, features filled up to whole registers)."""
    cut, counts, gains, totals, flat, width = lanes[0], lanes[1], room[:-2], room[-2:], x.reshape(-1), x.shape[1]
    wrong, others = places[0], places[1]
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, 0, x.shape[0], 0
    n_nodes, open_nodes = 1, 1
    while open_nodes > 0:
        open_nodes -= 1
        node, a, b, depth = stack[open_nodes, 0], stack[open_nodes, 1], stack[open_nodes, 2], stack[open_nodes, 3]
        if b - a < 2 * min_leaf:
            value[node] = _mean(wy, w, a, b)
            continue
        for k in range(0, width, LANES):
            draw_thresholds(flat, a * width + k, b - a, width, state + np.uint64(k) * np.uint64(STEP), cut, k)
        state += np.uint64(n_features) * np.uint64(STEP)
        best, mean = _best(x, wy, w, a, b, cut, min_leaf, even, gains, counts, totals)
        if best < 0 or depth == DEEPEST:
            value[node] = mean
            continue
        at = a + counts[best]
        _part(x, wy, w, a, at, b, best, cut[best], wrong, others)
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
