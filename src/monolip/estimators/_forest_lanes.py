"""A free forest on lanes of raw values: the bits of FreeForest.evaluate, in one compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._lane_lookup import LANES
from monolip.free_forest import LEAF, FreeForest

__all__ = ["ForestTables", "forest_tables", "sum_leaves"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
NUMBERS = -1  # of labels, of a column that has none


class ForestTables(NamedTuple):
    """All nodes of all trees; `roots` is empty where there is no forest."""

    reads: IntArray  # (n_reads, 2): raw column, number of its labels or NUMBERS
    stands: FloatArray  # (n_reads, 2): for missing, for unseen
    features: IntArray
    thresholds: FloatArray
    children: IntArray
    values: FloatArray  # integers of a fixed-point network are floats here
    roots: IntArray  # (trees,)


def forest_tables(forest: FreeForest | None, columns: Sequence[Any]) -> ForestTables:
    """columns: all raw ones of the network."""
    if forest is None:
        whole, floats = np.zeros(0, np.int64), np.zeros(0)
        return ForestTables(whole.reshape(0, 2), floats.reshape(0, 2), whole, floats, whole, floats, whole)
    labels = [len(columns[j].categories) if hasattr(columns[j], "codes") else NUMBERS for j in forest.reads]
    return ForestTables(
        np.stack([forest.reads, labels], axis=1).astype(np.int64),
        np.array(forest.stands),
        forest.features.copy(),  # kernels are compiled for arrays that can be written to
        forest.thresholds.copy(),
        forest.children.copy(),
        forest.values.astype(np.float64),
        forest.roots.copy(),
    )


@compiled(inner=True)
def sum_leaves(f: ForestTables, numbers: FloatArray, lanes: FloatArray, out: FloatArray, at: int) -> None:
    """out[at + lane] = the forest's sum for raw values in lanes (n_raw, LANES); categories are codes there.

    numbers: scratch, (n_reads, LANES) flat.
    """
    for k in range(f.reads.shape[0]):
        labels = f.reads[k, 1]
        for lane in range(LANES):
            v = lanes[f.reads[k, 0] * LANES + lane]
            if v != v or (labels >= 0 and v > labels):
                v = f.stands[k, 0]
            elif labels >= 0 and v == labels:
                v = f.stands[k, 1]
            numbers[k * LANES + lane] = v
    out[at : at + LANES] = 0.0
    for t in range(f.roots.size):
        for lane in range(LANES):
            node = f.roots[t]
            while f.features[node] != LEAF:
                right = numbers[f.features[node] * LANES + lane] >= f.thresholds[node]
                node = f.children[node] + int(right)
            out[at + lane] += f.values[node]
