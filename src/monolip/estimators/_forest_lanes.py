"""Sums of a free forest for many rows of raw values: the bits of FreeForest.evaluate, in one compiled loop.

A tree is read from memory at places that the row before says nothing of. So rows wait side by side: some go down
a tree together, a step each, and many pass through one tree before the next, while it is in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.free_forest import LEAF, FreeForest

__all__ = ["ForestTables", "forest_sums", "forest_tables"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
NUMBERS = -1  # of labels, of a column that has none
ROWS, TOGETHER = 2048, 16  # that pass through a tree before the next; that go down it side by side
BITS = 24  # of a link, for the column that a node asks about; the others are its child


class ForestTables(NamedTuple):
    """All nodes of all trees. nodes and links are one memory, two numbers a node: its threshold, and its child and the
    column it asks about. A leaf leads to itself, whatever a row holds: nothing is at least NaN.
    """

    reads: IntArray  # (n_reads, 2): raw column, number of its labels or NUMBERS
    stands: FloatArray  # (n_reads, 2): for missing, for unseen
    nodes: FloatArray
    links: IntArray
    values: FloatArray  # integers of a fixed-point network are floats here
    roots: IntArray  # (trees,)


def forest_tables(forest: FreeForest | None, columns: Sequence[Any]) -> ForestTables | None:
    """columns: all raw ones of the network."""
    if forest is None:
        return None
    labels = [len(columns[j].categories) if hasattr(columns[j], "codes") else NUMBERS for j in forest.reads]
    leaf, n = forest.features == LEAF, len(forest.features)
    nodes = np.empty((n, 2))
    nodes[:, 0] = np.where(leaf, np.nan, forest.thresholds)
    child, column = np.where(leaf, np.arange(n), forest.children), np.where(leaf, 0, forest.features)
    nodes.view(np.int64)[:, 1] = (child << BITS) + column
    flat = nodes.ravel()
    return ForestTables(
        np.stack([forest.reads, labels], axis=1).astype(np.int64),
        np.array(forest.stands),
        flat,
        flat.view(np.int64),
        forest.values.astype(np.float64),
        forest.roots.copy(),  # kernels are compiled for arrays that can be written to
    )


def forest_sums(f: ForestTables | None, raw: FloatArray, strides: tuple[int, int], n_rows: int) -> FloatArray:
    """(n_rows,) of flat rows with (row, column) strides, categories as codes; empty where there is no forest."""
    out = np.empty(0 if f is None else n_rows)
    if f is not None:
        _sum_leaves(raw, *strides, f, out)
    return out


@compiled(inner=True)
def _take_numbers(
    f: ForestTables, raw: FloatArray, at: int, row_stride: int, column_stride: int, rows: int, numbers: FloatArray
) -> None:
    """numbers (n_reads, ROWS) flat, of rows from raw[at ...]; those past the end repeat the last one."""
    for k in range(f.reads.shape[0]):
        labels, column = f.reads[k, 1], at + f.reads[k, 0] * column_stride
        for row in range(-(-rows // TOGETHER) * TOGETHER):
            v = raw[column + min(row, rows - 1) * row_stride]
            if v != v or (labels >= 0 and v > labels):
                v = f.stands[k, 0]
            elif labels >= 0 and v == labels:
                v = f.stands[k, 1]
            numbers[k * ROWS + row] = v


@compiled(inner=True)
def _go_down(f: ForestTables, root: int, numbers: FloatArray, first: int, place: IntArray) -> None:
    """place (TOGETHER,): the leaf of a tree that each row reaches."""
    for lane in range(TOGETHER):
        place[lane] = root
    moved = 1
    while moved != 0:
        moved = 0
        for lane in range(TOGETHER):
            node = place[lane]
            link = f.links[2 * node + 1]
            column = link & ((1 << BITS) - 1)
            to = (link >> BITS) + int(numbers[column * ROWS + first + lane] >= f.nodes[2 * node])
            moved |= to ^ node
            place[lane] = to


@compiled()
def _sum_leaves(raw: FloatArray, row_stride: int, column_stride: int, f: ForestTables, out: FloatArray) -> None:
    """out (n,); leaves are added in the order of trees."""
    numbers, place = np.empty(f.reads.shape[0] * ROWS), np.empty(TOGETHER, np.int64)
    out[:] = 0.0
    for start in range(0, out.size, ROWS):
        rows = min(ROWS, out.size - start)
        _take_numbers(f, raw, start * row_stride, row_stride, column_stride, rows, numbers)
        for t in range(f.roots.size):
            for first in range(0, rows, TOGETHER):
                _go_down(f, f.roots[t], numbers, first, place)
                for lane in range(min(TOGETHER, rows - first)):
                    out[start + first + lane] += f.values[place[lane]]
