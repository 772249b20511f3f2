"""Nodes of a forest as arrays: that they are trees, how deep, and the leaves below each; without a loop over nodes.

A forest has hundreds of thousands of them, and is checked whenever one is made: passes over memory are what it costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import StructureError

__all__ = ["LEAF", "MOST_NODES", "check_nodes", "largest_sum", "leaves_below"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LEAF = -1
MOST_NODES, MOST_DEPTH = 2**26, 4096


def check_nodes(
    features: IntArray, thresholds: FloatArray, children: IntArray, values: NDArray[Any], roots: IntArray, n_reads: int
) -> None:
    """Every way from a root ends in a leaf of its tree, asks of known columns only, and finds a number."""
    shapes = {part.shape for part in (features, thresholds, children, values)}
    n = len(features) if features.ndim == 1 else 0
    if shapes != {(n,)} or not 0 < n <= MOST_NODES:
        raise StructureError("a node of a forest has a feature, a threshold, a child and a value; got others.")
    ends = np.append(roots.ravel()[1:], n)
    if roots.ndim != 1 or not len(roots) or roots[0] != 0 or not (roots < ends).all():
        raise StructureError("the trees of a forest follow each other, each with a root; got others.")
    inner = features != LEAF
    good = features.min() >= LEAF and features.max() < n_reads
    good = good and _lead_on(children, inner, roots, ends)
    good = good and not (inner & (values != 0)).any() and not (~inner & (thresholds != 0)).any()
    if not good or not np.isfinite(thresholds).all() or not np.isfinite(values).all():
        raise StructureError("a node of a forest asks of no column, leads nowhere, or holds no finite number.")
    if not np.isfinite(largest_sum(values, roots)):
        raise StructureError("the sum of a forest's leaves is a finite number; got values beyond 1e308; rescale them.")
    if not _are_found_once(children, inner, roots):
        raise StructureError("every node of a tree is its root or has one parent; got another; grow it again.")
    if not _end_within(MOST_DEPTH, children, roots, ends):
        raise StructureError(f"a way down a tree has at most {MOST_DEPTH} steps; got a longer one; grow it again.")


def _lead_on(children: IntArray, inner: NDArray[np.bool_], roots: IntArray, ends: IntArray) -> bool:
    """Whether nodes that ask, and no others, have a child: further on, and with its neighbour in the same tree."""
    if not (((children > np.arange(len(children))) == inner) & ((children != 0) == inner)).all():
        return False
    furthest = np.maximum.reduceat(children, roots)
    return bool(((furthest < ends - 1) | (furthest == 0)).all())


def _are_found_once(children: IntArray, inner: NDArray[np.bool_], roots: IntArray) -> bool:
    """Whether roots, first children and their neighbours are all nodes: as many as those, and none left out."""
    if len(roots) + 2 * np.count_nonzero(inner) != len(inner):
        return False
    found = np.zeros(len(inner), np.bool_)
    found[roots] = True
    found[children] = found[children + inner] = True  # a leaf's are 0, which is a root
    return bool(found.all())


def largest_sum(values: NDArray[Any], roots: IntArray) -> float | int:
    """No sum of one leaf a tree, in any order, is larger in magnitude."""
    found: list[float | int] = np.maximum(
        np.maximum.reduceat(values, roots), -np.minimum.reduceat(values, roots)
    ).tolist()
    return sum(found)


def _levels(children: IntArray, roots: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Nodes of trees by their distance from the root, and their children, 0 in a leaf; a tree stays together."""
    nodes = roots
    while len(nodes):
        first = children[nodes]
        yield nodes, first
        first = first[first != 0]
        nodes = np.repeat(first, 2)
        nodes[1::2] += 1


def _end_within(steps: int, children: IntArray, roots: IntArray, ends: IntArray) -> bool:
    """Whether no way down a tree is longer: runtimes that go down by recursion have a stack to lose.

    No way asks more nodes than there are left in its tree, two for every one that asks: few levels, or none, are
    looked at.
    """
    left, level = ends - roots, 0
    for level, (nodes, _) in enumerate(_levels(children, roots)):
        if level + int(left.max()) // 2 <= steps or level > steps:
            break
        left = left - np.diff(np.searchsorted(nodes, roots), append=len(nodes))
    return level <= steps


def leaves_below(children: IntArray, values: NDArray[Any], roots: IntArray) -> tuple[NDArray[Any], NDArray[Any]]:
    """The smallest and the largest leaf at or below every node of the trees with these roots."""
    low, high = values.copy(), values.copy()
    for nodes, first in reversed(list(_levels(children, roots))):
        asks = first != 0
        nodes, first = nodes[asks], first[asks]
        low[nodes], high[nodes] = np.minimum(low[first], low[first + 1]), np.maximum(high[first], high[first + 1])
    return low, high
