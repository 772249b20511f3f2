"""Categories in a graph: a row of a table for each label, one for labels never seen, one for missing values.

Labels that are numbers (or booleans) travel as numbers, in the same tensor as everything else, and are compared for
equality; NaN is missing. Labels that are strings need an input of their own (ai.onnx.ml LabelEncoder); ONNX has no
missing string, so the empty string stands for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from monolip.errors import StructureError
from monolip.export.onnx_graph import Graph
from monolip.fixed_point_columns import FixedCategory
from monolip.input_columns import CategoryColumn

__all__ = ["is_text", "lookup"]


def is_text(column: Any) -> bool:
    """Whether a column is a category of strings; a mixture of strings and numbers is refused."""
    if not isinstance(column, CategoryColumn | FixedCategory):
        return False
    kinds = {isinstance(label, str) for label in column.categories}
    if len(kinds) > 1:
        raise StructureError(
            f"a tensor holds strings or numbers; the categories of {column.name!r} are both; convert them to strings "
            "and fit again."
        )
    return kinds == {True}


def lookup(graph: Graph, column: CategoryColumn | FixedCategory, given: str) -> str:
    """Rows of the table, (rows, n_model) in float64, of labels (rows, 1)."""
    code = _text_code(graph, column, given) if is_text(column) else _number_code(graph, column, given)
    table = graph.constant(np.asarray(column.table, dtype=np.float64), "float64")
    flat = graph.add("Squeeze", code, graph.constant([1], "int64"))
    return graph.add("Gather", table, flat, axis=0)


def _text_code(graph: Graph, column: CategoryColumn | FixedCategory, given: str) -> str:
    given_labels = [str(label) for label in column.categories]
    bad = [label for label in given_labels if label == "" or "\x00" in label]
    if bad:
        raise StructureError(
            "in ONNX the empty string means missing, and a string ends at a zero byte; the categories of "
            f"{column.name!r} hold {bad[0]!r:.40}; rename it, and fit again."
        )
    labels = [*given_labels, ""]
    codes = [*range(len(given_labels)), len(given_labels) + 1]
    return graph.add(
        "LabelEncoder",
        given,
        domain="ai.onnx.ml",
        keys_strings=labels,
        values_int64s=codes,
        default_int64=len(column.categories),
    )


def _number_code(graph: Graph, column: CategoryColumn | FixedCategory, given: str) -> str:
    keys = np.array([float(label) for label in column.categories])
    carried = keys.astype(np.float32).astype(np.float64) if graph.inputs[0].kind == "float32" else keys
    if any(float(label) != label for label in column.categories) or (carried != keys).any():
        raise StructureError(
            f"labels that are numbers must be exact in the input's type; those of {column.name!r} are not; export with "
            "float64 inputs, or fit with strings."
        )
    unseen = len(keys)
    same = graph.cast(graph.add("Equal", given, graph.constant([keys], "float64")), "int32")
    steps = graph.constant([np.arange(unseen) - unseen], "int32")
    found = graph.add("ReduceSum", graph.add("Mul", same, steps), graph.constant([1], "int64"), keepdims=1)
    code = graph.add("Add", found, graph.constant(unseen, "int32"))
    missing = graph.constant(unseen + 1, "int32")
    return graph.add("Where", graph.add("IsNaN", given), missing, code)
