"""What every boosted tree promises, node by node."""

from __future__ import annotations

import numpy as np

from monolip.engine.extra_trees import Tree


def extremes(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest leaf below every node, children after their parents."""
    low, high = tree.value.copy(), tree.value.copy()
    for node in range(len(tree.feature) - 1, -1, -1):
        if tree.feature[node] >= 0:
            below = slice(tree.child[node], tree.child[node] + 2)
            low[node], high[node] = low[below].min(), high[below].max()
    return low, high


def assert_directed(trees, directions):
    for tree in trees:
        low, high = extremes(tree)
        for node in np.flatnonzero(tree.feature >= 0):
            first, second = tree.child[node], tree.child[node] + 1
            if directions[tree.feature[node]] > 0:
                assert high[first] <= low[second]
            if directions[tree.feature[node]] < 0:
                assert low[first] >= high[second]
