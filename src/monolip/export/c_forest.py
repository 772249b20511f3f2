"""A free forest in C: trees as constant tables, walked for one row after the other.

    node = root; while it asks: node = child + !(number < threshold); the sum of leaves, in the order of the trees

Numbers are compared as doubles, which hold every float, so a row reaches the leaves it reaches in Python, whatever type
it came in. Sums of floats are formed in double and rounded once; those of integers are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import FreezeError
from monolip.export.c_network import CNetwork
from monolip.export.c_text import literal, table
from monolip.free_forest import LEAF, FreeForest

__all__ = ["forest_functions"]

_SUM = """\
/* numbers: what nodes compare -> the leaves they lead to, added up in the order of the trees */
{M}_FUNCTION {S} {m}_forest(const double *numbers) {{
    {S} total = 0;
    int tree;
    for (tree = 0; tree < {trees}; tree++) {{
        int node = (int){M}_AT(forest_roots)[tree], asked = (int){M}_AT(forest_features)[node];
        while (asked >= 0) {{
            const int other = !(numbers[asked] < (double){M}_AT(forest_thresholds)[node]);
            node = (int){M}_AT(forest_children)[node] + other;
            asked = (int){M}_AT(forest_features)[node];
        }}
        node = (int){M}_AT(forest_children)[node]; /* of a leaf: where its value stands */
        total = {add};
    }}
    return total;
}}
"""
_MODEL_COLUMN = """\
/* the last model column of a row whose raw column i is t[i * step] */
{M}_FUNCTION {T} {m}_forest_{G}(const {G} *t, int step) {{
    double numbers[{reads}];
{numbers}
    return {value};
}}
"""
_NUMBER = """\
    {{
        const {G} given = t[{i} * step];
        numbers[{k}] = given != given ? {missing} : (double)given;
    }}"""
_CODE = """\
    {{
        const int code = {m}_code_{G}(t[{i} * step], {n});
        numbers[{k}] = code < {n} ? (double)code : code == {n} ? {unseen} : {missing};
    }}"""


def forest_functions(
    name: str, at: int, forest: FreeForest, columns: Sequence[Any], layers: CNetwork, kinds: tuple[str, ...]
) -> tuple[str, str, dict[str, str], None]:
    """Tables; NAME_forest_KIND(t, step) for each kind of raw number: a row -> model column `at`; statements for lanes.

    columns: all raw columns of the network. The last of what is returned is a table of whole numbers, of columns alone.
    """
    if not np.isfinite(float(forest.largest)):
        raise FreezeError("no sum of a forest's leaves may be infinite; got one that could be; rescale the target.")
    M, exact = name.upper(), layers.shift is not None
    S = layers.number if exact else "double"
    leaf = f"({S}){M}_AT(forest_values)[node]"
    common = {"M": M, "m": name, "T": layers.number, "S": S, "reads": len(forest.reads), "trees": len(forest.roots)}
    value = _as_model_column(name, layers, f"{name}_forest(numbers)")
    rows = [_SUM.format(**common, add=f"total + {leaf}" if exact else f"{M}_ADD(total, {leaf})")]
    for kind in kinds:
        numbers = "\n".join(_compared(name, forest, k, columns, kind) for k in range(len(forest.reads)))
        rows.append(_MODEL_COLUMN.format(**common, G=kind, numbers=numbers, value=value))
    each = f"    {M}_EACH_LANE u[{at} * {M}_LANES + l] = {name}_forest_{{}}(t + l, {M}_LANES);"
    return _tables(name, forest), "\n".join(rows), {kind: each.format(kind) for kind in kinds}, None


def _as_model_column(name: str, layers: CNetwork, total: str) -> str:
    """Clamped as every model column is, then rounded to the type of sums; integers are what they are."""
    M, most = name.upper(), layers.input_limit
    if layers.shift is not None:
        return total
    if most is not None:
        total = f"{name}_clamp({total}, -{literal(most, 'double')}, {literal(most, 'double')})"
    return f"{M}_NARROW({total})"


def _compared(name: str, forest: FreeForest, k: int, columns: Sequence[Any], kind: str) -> str:
    """Statements that put down what nodes compare of the k-th column read."""
    i = forest.reads[k]
    missing, unseen = (literal(v, "double") for v in forest.stands[k])
    labels = getattr(columns[i], "categories", None)
    names = {"m": name, "G": kind, "i": i, "k": k, "missing": missing, "unseen": unseen}
    return _NUMBER.format(**names) if labels is None else _CODE.format(**names, n=len(labels))


def _tables(name: str, forest: FreeForest) -> str:
    """Nodes of all trees one after the other; values of leaves alone, where `children` of a leaf says."""
    leaf = forest.features == LEAF
    children = np.where(leaf, np.cumsum(leaf) - 1, forest.children)
    parts = {"roots": forest.roots, "features": forest.features, "thresholds": forest.thresholds}
    parts |= {"children": children, "values": forest.values[leaf]}
    return "\n".join(table(name, f"forest_{part}", _narrowest(v), v) for part, v in parts.items())


def _narrowest(values: NDArray[Any]) -> str:
    """The shortest C type that holds all of them exactly."""
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return "float" if (values.astype(np.float32) == values).all() else "double"
    low, high = int(values.min()), int(values.max())
    return next(f"int{bits}_t" for bits in (8, 16, 32, 64) if -(2 ** (bits - 1)) <= low and high < 2 ** (bits - 1))
