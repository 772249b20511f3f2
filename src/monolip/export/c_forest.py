"""A free forest in C: trees as constant tables, walked by one row or by a row in each lane.

    node = root; while it asks: node = child + !(number < threshold); the sum of leaves, in the order of the trees

Numbers are compared as doubles, which hold every float, so a row reaches the leaves it reaches in Python, whatever type
it came in. Sums of floats are formed in double and rounded once; those of integers are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.export.c_network import CNetwork
from monolip.export.c_text import literal, table
from monolip.free_forest import LEAF, FreeForest

__all__ = ["forest_functions"]

# A leaf is its own child, and no child stands before its parent: rows walk side by side, without a branch of their own,
# until none of them moves; whatever they are compared with, they arrive.
_SUM = """\
/* numbers[k * rows + row]: what nodes compare -> leaves of every row, added up in the order of the trees */
{M}_FUNCTION void {m}_forest(const double *numbers, {S} *total, int rows) {{
    int node[{M}_LANES], tree, moved, r;
    for (r = 0; r < rows; r++) total[r] = 0;
    for (tree = 0; tree < {trees}; tree++) {{
        for (r = 0; r < rows; r++) node[r] = (int){M}_AT(forest_roots)[tree];
        do {{
            moved = 0;
            for (r = 0; r < rows; r++) {{
                const int here = node[r], child = (int){M}_AT(forest_children)[here];
                const double number = numbers[(int){M}_AT(forest_features)[here] * rows + r];
                node[r] = child + ((child != here) & !(number < (double){M}_AT(forest_thresholds)[here]));
                moved |= child != here;
            }}
        }} while (moved);
        for (r = 0; r < rows; r++) total[r] = {add};
    }}
}}
"""
_MODEL_COLUMN = """\
/* t[column * rows + row], of one row or of {M}_LANES -> the last model column, u[row] */
{M}_FUNCTION void {m}_forest_{G}(const {G} *t, {T} *u, int rows) {{
    double numbers[{reads} * {M}_LANES];
    {S} total[{M}_LANES];
    int r;
    for (r = 0; r < rows; r++) {{
{numbers}
    }}
    {m}_forest(numbers, total, rows);
    for (r = 0; r < rows; r++) u[r] = {value};
}}
"""
_NUMBER = """\
        {{
            const {G} given = t[{i} * rows + r];
            numbers[{k} * rows + r] = given != given ? {missing} : (double)given;
        }}"""
_CODE = """\
        {{
            const int code = {m}_code_{G}(t[{i} * rows + r], {n});
            numbers[{k} * rows + r] = code < {n} ? (double)code : code == {n} ? {unseen} : {missing};
        }}"""


def forest_functions(
    name: str, at: int, forest: FreeForest, columns: Sequence[Any], layers: CNetwork, kinds: tuple[str, ...]
) -> tuple[str, str, dict[str, str], None]:
    """Tables; NAME_forest_KIND(t, u, rows) for each kind of raw number; statements that give lanes model column `at`.

    columns: all raw columns of the network. The last of what is returned is a table of whole numbers, of columns alone.
    """
    M, exact = name.upper(), layers.shift is not None
    S = layers.number if exact else "double"
    leaf = f"({S}){M}_AT(forest_values)[node[r]]"
    common = {"M": M, "m": name, "T": layers.number, "S": S, "reads": len(forest.reads), "trees": len(forest.roots)}
    value = _as_model_column(name, layers, "total[r]")
    rows = [_SUM.format(**common, add=f"total[r] + {leaf}" if exact else f"{M}_ADD(total[r], {leaf})")]
    for kind in kinds:
        numbers = "\n".join(_compared(name, forest, k, columns, kind) for k in range(len(forest.reads)))
        rows.append(_MODEL_COLUMN.format(**common, G=kind, numbers=numbers, value=value))
    each = f"    {name}_forest_{{}}(t, u + {at} * {M}_LANES, {M}_LANES);"
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
    """Nodes of all trees one after the other."""
    leaf = forest.features == LEAF
    parts = {
        "roots": forest.roots,
        "features": np.where(leaf, 0, forest.features),
        "thresholds": forest.thresholds,
        "children": np.where(leaf, np.arange(len(leaf)), forest.children),
        "values": forest.values,
    }
    return "\n".join(table(name, f"forest_{part}", _narrowest(v), v) for part, v in parts.items())


def _narrowest(values: NDArray[Any]) -> str:
    """The shortest C type that holds all of them exactly."""
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return "float" if (values.astype(np.float32) == values).all() else "double"
    low, high = int(values.min()), int(values.max())
    return next(f"int{bits}_t" for bits in (8, 16, 32, 64) if -(2 ** (bits - 1)) <= low and high < 2 ** (bits - 1))
