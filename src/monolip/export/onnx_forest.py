r"""The free forest in a graph: its leaves, found by comparisons alone, and their sum, the last model column.

    leaf of each tree     ai.onnx.ml's operator for trees, whose leaves hold their own numbers: exact in any order
                          (to_torch: all trees one step further, as many times as the deepest has steps)
    value of each leaf    Gather from a table in float64
    sum                   one addition at a time, in the order of the trees; integers of fixed point in any order

Every form has the bits of `FreeForest.evaluate` there, also those whose layers are matrix products.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monolip.errors import StructureError
from monolip.export.onnx_graph import Graph
from monolip.export.onnx_inputs import Raw, pick
from monolip.fixed_point_inputs import FixedInputs
from monolip.free_forest import LEAF, FreeForest
from monolip.input_transform import InputTransform

__all__ = ["with_forest"]

MOST_NODES = 2**25  # float32 counts the leaves of as many nodes, and a file of less than 2 GiB holds them


def with_forest(graph: Graph, x: str, inputs: InputTransform | FixedInputs, raw: Raw) -> str:
    """Model columns x, as `model_columns` gave them, and that of the forest where there is one, in float64."""
    forest = inputs.forest
    if forest is None:
        return x
    numbers, order = _compared(graph, inputs, forest, raw)
    features = np.where(forest.features == LEAF, 0, np.argsort(order)[forest.features])
    leaves = (_found if graph.has_trees else _walked)(graph, forest, features, numbers)
    return graph.add("Concat", x, _sum(graph, forest, leaves), axis=1)


def _compared(
    graph: Graph, inputs: InputTransform | FixedInputs, forest: FreeForest, raw: Raw
) -> tuple[str, NDArray[np.int64]]:
    """What nodes compare, (rows, n_reads): numbers, then categories; and which of `reads` stands at each place."""
    columns = [inputs.columns[j] for j in forest.reads]
    is_number = np.array([c.name not in raw.codes for c in columns])
    order = np.argsort(~is_number, kind="stable")
    blocks = []
    if is_number.any():
        names = [columns[k].name for k in order if is_number[k]]
        missing = [forest.stands[k][0] for k in order if is_number[k]]
        given = pick(graph, raw, names)
        blocks.append(graph.add("Where", graph.add("IsNaN", given), graph.constant([missing], "float64"), given))
    for k in order[is_number.sum() :]:
        n_labels = len(columns[k].categories)
        table = forest.compared(int(k), np.arange(n_labels + 2), n_labels)[:, None]
        blocks.append(graph.add("Gather", graph.constant(table, "float64"), raw.codes[columns[k].name], axis=0))
    return blocks[0] if len(blocks) == 1 else graph.add("Concat", *blocks, axis=1), order


def _found(g: Graph, forest: FreeForest, features: NDArray[np.int64], numbers: str) -> str:
    """Values of the leaves that numbers reach, (rows, trees), by the operator for trees."""
    roots, leaf = forest.roots, forest.features == LEAF
    at = np.arange(len(leaf))
    if len(at) > MOST_NODES:
        raise StructureError(f"a forest in ONNX has up to {MOST_NODES} nodes; got {len(at)}; fit with trees=False.")
    tree = np.searchsorted(roots, at, side="right") - 1
    child, before = np.where(leaf, 0, forest.children - roots[tree]), np.cumsum(leaf) - leaf
    number = g.add(
        "TreeEnsembleRegressor",
        numbers,
        domain="ai.onnx.ml",
        n_targets=len(roots),
        nodes_treeids=tree,
        nodes_nodeids=at - roots[tree],
        nodes_featureids=features,
        nodes_modes=np.where(leaf, "LEAF", "BRANCH_LT").tolist(),
        nodes_values_as_tensor=forest.thresholds,
        nodes_truenodeids=child,
        nodes_falsenodeids=np.where(leaf, 0, child + 1),
        target_treeids=tree[leaf],
        target_nodeids=(at - roots[tree])[leaf],
        target_ids=tree[leaf],
        target_weights_as_tensor=(before - before[roots][tree])[leaf].astype(np.float64),
    )
    place = g.add("Add", g.cast(number, "int64"), g.constant([before[roots]], "int64"))
    return g.add("Gather", _values(g, forest.values[leaf]), place, axis=0)


def _walked(g: Graph, forest: FreeForest, features: NDArray[np.int64], numbers: str) -> str:
    """The same by steps of all trees at once; who has reached a leaf stays: nothing is >= NaN."""
    leaf, roots = forest.features == LEAF, forest.roots
    thresholds = np.where(leaf, np.nan, forest.thresholds)
    children = np.where(leaf, np.arange(len(leaf)), forest.children)

    def step(x: str, threshold: str, child: str) -> str:
        return g.add("Add", child, g.cast(g.add("GreaterOrEqual", x, threshold), "int64"))

    x = g.add("Gather", numbers, g.constant(features[roots], "int64"), axis=1)
    node = step(x, g.constant([thresholds[roots]], "float64"), g.constant([children[roots]], "int64"))
    tables = [g.constant(features, "int64"), g.constant(thresholds, "float64"), g.constant(children, "int64")]
    for _ in range(1, _depth(forest)):
        feature, threshold, child = (g.add("Gather", table, node, axis=0) for table in tables)
        node = step(g.add("GatherElements", numbers, feature, axis=1), threshold, child)
    return g.add("Gather", _values(g, forest.values), node, axis=0)


def _depth(forest: FreeForest) -> int:
    """Steps to the leaf that is furthest from its root."""
    depth, level = 0, forest.roots
    while len(level := level[forest.features[level] != LEAF]):
        level, depth = np.unique([forest.children[level], forest.children[level] + 1]), depth + 1
    return depth


def _values(g: Graph, values: NDArray[np.float64] | NDArray[np.int64]) -> str:
    return g.constant(values + 0.0, "float64")  # sums begin with 0.0, so that no -0.0 is ever seen


def _sum(g: Graph, forest: FreeForest, leaves: str) -> str:
    """(rows, trees) -> (rows, 1)."""
    count = len(forest.roots)
    if forest.values.dtype.kind == "i":
        return g.add("ReduceSum", leaves, g.constant([1], "int64"), keepdims=1)
    total, *rest = g.add_many("Split", count, leaves, g.constant([1] * count, "int64"), axis=1)
    for value in rest:
        total = g.add("Add", total, value)
    return total
