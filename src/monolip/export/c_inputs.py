"""Raw columns to model columns in C, one row or one in each lane: numbers by pieces, categories by tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from monolip.export.c_network import CNetwork
from monolip.export.c_numeric import numeric_column
from monolip.export.c_text import literal, table, wrapped
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_columns import FixedCategory, FixedNumeric
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn, NumericColumn

__all__ = ["input_functions", "input_kinds", "raw_columns_of"]

Column = NumericColumn | CategoryColumn | FixedNumeric | FixedCategory

_FEW = 8  # rows of a table that lanes choose from by comparisons

_CODE = """\
/* whatever is no code counts as unseen */
{M}_FUNCTION int {m}_code_{G}({G} x, int unseen) {{
    const int code = x >= 0 && x <= ({G})unseen + 1 ? (int)x : unseen;
    return x != x ? unseen + 1 : ({G})code < x ? unseen : code;
}}
"""
_CATEGORY = """\
{M}_FUNCTION int {m}_column_{i}_{G}({G} given, {T} *u) {{
    const int code = {m}_code_{G}(given, {unseen});
{rows}
    return 0;
}}
"""


def raw_columns_of(network: FrozenNetwork | FixedPointNetwork) -> tuple[Column, ...] | None:
    """Columns that a header transforms; None where it takes model columns as they are."""
    if isinstance(network, FixedPointNetwork):
        return tuple(network.inputs.columns)
    return None if network.inputs is None else tuple(network.inputs.columns)


def input_kinds(layers: CNetwork) -> tuple[str, ...]:
    """Types raw numbers are read in: float32 arithmetic rounds doubles first; others read floats apart for speed."""
    return ("float",) if layers.number == "float" else ("double", "float")


def input_functions(name: str, columns: Sequence[Column] | None, layers: CNetwork) -> tuple[str, str]:
    """Tables, and for each kind of raw number two functions.

    NAME_inputs_KIND(t, u): one row -> model columns; 1 if invalid. NAME_lane_inputs_KIND(t, u, bad): one in each lane.
    """
    kinds, M = input_kinds(layers), name.upper()
    if columns is None:
        return "", "\n".join(_plain(name, layers, kind) for kind in kinds)
    tables, rows, start = [], [], 0
    lanes: dict[str, list[str]] = {kind: [] for kind in kinds}
    if any(isinstance(column, CategoryColumn | FixedCategory) for column in columns):
        rows += [_CODE.format(M=M, m=name, G=kind) for kind in kinds]
    for i, column in enumerate(columns):
        made = _category if isinstance(column, CategoryColumn | FixedCategory) else numeric_column
        text, function, code = made(name, i, start, column, layers, kinds)
        tables.append(text)
        rows.append(function)
        for kind in kinds:
            lanes[kind].append(code[kind])
        start += column.n_model
    calls = [(f"{name}_column_{i}", column.n_model) for i, column in enumerate(columns)]
    whole = [_whole(name, layers.number, kind, calls, lanes[kind]) for kind in kinds]
    return "\n".join(tables), "\n".join([*rows, *whole])


def _whole(name: str, T: str, kind: str, calls: list[tuple[str, int]], lanes: list[str]) -> str:
    M, start = name.upper(), 0
    lines = [f"{M}_FUNCTION int {name}_inputs_{kind}(const {kind} *t, {T} *u) {{", "    int bad = 0;"]
    for i, (call, width) in enumerate(calls):
        lines.append(f"    bad |= {call}_{kind}(t[{i}], u + {start});")
        start += width
    lines += ["    return bad;", "}", ""]
    body = "\n".join(lanes)
    lines += [f"{M}_FUNCTION void {name}_lane_inputs_{kind}(const {kind} *t, {T} *u, int *bad) {{", "    int l;"]
    if "wide[l]" in body:
        lines.append(f"    double wide[{M}_LANES];")
    if "at[l]" in body:
        lines.append(f"    {'int' if kind == 'float' else 'int64_t'} at[{M}_LANES];")
    return "\n".join([*lines, f"    {M}_EACH_LANE bad[l] = 0;", body, "}", ""])


def _plain(name: str, layers: CNetwork, kind: str) -> str:
    """Model columns as they are given, clamped."""
    M, T, most = name.upper(), layers.number, layers.common_limit
    value = f"({T})t[j]" if kind != T else "t[j]"
    clipped = value
    if most is not None:
        clipped = f"{M}_MIN({M}_MAX({value}, -{literal(most, T)}), {literal(most, T)})"
    n = layers.n_model
    return f"""\
{M}_FUNCTION int {name}_inputs_{kind}(const {kind} *t, {T} *u) {{
    int bad = 0, j;
    for (j = 0; j < {n}; j++) {{
        bad |= t[j] != t[j];
        u[j] = {clipped};
    }}
    return bad;
}}
{M}_FUNCTION void {name}_lane_inputs_{kind}(const {kind} *t, {T} *u, int *bad) {{
    int j, l;
    {M}_EACH_LANE bad[l] = 0;
    for (j = 0; j < {n}; j++) {M}_EACH_LANE bad[l] |= t[j * {M}_LANES + l] != t[j * {M}_LANES + l];
    for (j = 0; j < {n} * {M}_LANES; j++) u[j] = {clipped};
}}
"""


def _category(
    name: str, i: int, at: int, column: Any, layers: CNetwork, kinds: tuple[str, ...]
) -> tuple[str, str, dict[str, str]]:
    M, T, n, width = name.upper(), layers.number, len(column.categories), column.n_model
    values = (
        np.asarray(column.table)
        if layers.input_limit is None
        else np.clip(column.table, -layers.input_limit, layers.input_limit)
    )
    stored = values.astype(np.float32).astype(np.float64) if T == "float" else values
    text = table(name, f"codes_{i}", T, stored)
    rows = "\n".join(f"    u[{j}] = {M}_AT(codes_{i})[code * {width} + {j}];" for j in range(width))
    lanes = {}
    for kind in kinds:
        lines = [f"    {M}_EACH_LANE {{", f"        const {kind} given = t[{i} * {M}_LANES + l];"]
        few = n + 2 <= _FEW
        if not few:
            lines.append(f"        const int code = {name}_code_{kind}(given, {n});")
        for j in range(width):
            into = f"u[{at + j} * {M}_LANES + l]"
            if few:
                lines += _chosen(T, into, [literal(v, T) for v in stored[:, j].tolist()])
            else:
                lines.append(f"        {into} = {M}_AT(codes_{i})[code * {width} + {j}];")
        lanes[kind] = "\n".join([*lines, "    }"])
    names = {"M": M, "m": name, "T": T, "i": i, "unseen": n, "rows": rows}
    return text, "\n".join(_CATEGORY.format(**names, G=kind) for kind in kinds), lanes


def _chosen(T: str, into: str, values: list[str]) -> list[str]:
    """The value of a code by comparisons, one after the other: nested, compilers would make branches of them.

    values: of the categories, of unseen, of missing.
    """
    *known, unseen, missing = values
    choices = [f"v = given == {k} ? {v} : v;" for k, v in enumerate(known) if v != unseen]
    if missing != unseen:
        choices += [f"v = given == {len(known) + 1} ? {missing} : v;", f"v = given != given ? {missing} : v;"]
    return ["        {", *wrapped([f"{T} v = {unseen};", *choices, f"{into} = v;"], "            "), "        }"]
