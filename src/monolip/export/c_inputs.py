"""Raw columns to model columns in C, one row or one in each lane: numbers by pieces, categories by tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from monolip.export.c_network import CNetwork
from monolip.export.c_numeric import numeric_column
from monolip.export.c_text import literal, table, wrapped
from monolip.export.c_whole import WholeTable, code_table, look_up
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_columns import FixedCategory, FixedNumeric
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn, NumericColumn

__all__ = ["input_functions", "input_kinds", "raw_columns_of"]

_Lanes = tuple[str, WholeTable | None]  # statements, and a table to try before them
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
    rows, start, made = [], 0, []
    if any(isinstance(column, CategoryColumn | FixedCategory) for column in columns):
        rows += [_CODE.format(M=M, m=name, G=kind) for kind in kinds]
    for i, column in enumerate(columns):
        make = _category if isinstance(column, CategoryColumn | FixedCategory) else numeric_column
        made.append(make(name, i, start, column, layers, kinds))
        start += column.n_model
    rows += [function for _, function, _, _ in made]
    lanes: dict[str, list[_Lanes]] = {kind: [(code[kind], whole) for _, _, code, whole in made] for kind in kinds}
    calls = [(f"{name}_column_{i}", column.n_model) for i, column in enumerate(columns)]
    sizes = sorted({whole.size for _, whole in lanes[kinds[0]] if whole})
    rows += [look_up(name, layers.number, size) for size in sizes]
    for kind in kinds:
        rows.append(_one_row(name, layers.number, kind, calls))
        rows += _all_lanes(name, layers.number, kind, lanes[kind])
    return "\n".join(text for text, _, _, _ in made), "\n".join(rows)


def _one_row(name: str, T: str, kind: str, calls: list[tuple[str, int]]) -> str:
    M, start = name.upper(), 0
    lines = [f"{M}_FUNCTION int {name}_inputs_{kind}(const {kind} *t, {T} *u) {{", "    int bad = 0;"]
    for i, (call, width) in enumerate(calls):
        lines.append(f"    bad |= {call}_{kind}(t[{i}], u + {start});")
        start += width
    return "\n".join([*lines, "    return bad;", "}", ""])


def _all_lanes(name: str, T: str, kind: str, lanes: list[_Lanes]) -> list[str]:
    """The function for lanes; before it, where there are tables of whole numbers, one that computes these columns."""
    M, functions = name.upper(), []
    tables = [whole for _, whole in lanes if whole]
    body = [text for text, whole in lanes if not whole]
    if tables:
        functions.append(_function(name, T, kind, "pieces", [text for text, whole in lanes if whole], apart=True))
        body = [*_looked_up(M, name, kind, tables), *body]
    return [*functions, _function(name, T, kind, "inputs", [f"    {M}_EACH_LANE bad[l] = 0;", *body])]


def _function(name: str, T: str, kind: str, what: str, body: list[str], apart: bool = False) -> str:
    M, text = name.upper(), "\n".join(body)
    head = (
        f"{M}_{'APART' if apart else 'FUNCTION'} void {name}_lane_{what}_{kind}(const {kind} *t, {T} *u, int *bad) {{"
    )
    lines = [head, "    int l;"]
    if "wide[l]" in text:
        lines.append(f"    {M}_ALIGNED double wide[{M}_LANES];")
    if " at[l]" in text:
        lines.append(f"    {M}_ALIGNED {'int' if kind == 'float' else 'int64_t'} at[{M}_LANES];")
    if "bad" not in text:
        lines.append("    (void)bad;")
    return "\n".join([*lines, text, "}", ""])


def _looked_up(M: str, name: str, kind: str, tables: list[WholeTable]) -> list[str]:
    """Whole numbers by their tables if all rows of a block have them; else all these columns by their pieces."""
    n, each = len(tables), f"    {M}_EACH_VECTOR_LANE {{"
    lines = [f"#if {M}_TABLES", f"    {M}_ALIGNED int apart[{M}_LANES], places[{n} * {M}_LANES];", "    int any = 0;"]
    lines += [f"    {M}_ALIGNED {kind} capped[{n} * {M}_LANES], lifted[{n} * {M}_LANES];"]
    for loop in zip(*(whole.clipped(kind, k) for k, whole in enumerate(tables)), strict=True):
        lines += [each, *loop, "    }"]  # one choice in a loop, or gcc makes masks of them
    lines += [each, "        int odd = 0;"]
    for k, whole in enumerate(tables):
        lines += whole.places(kind, k)
    lines += ["        apart[l] = odd;", "    }", f"    {M}_EACH_LANE any |= apart[l];"]
    computed = f"{name}_lane_pieces_{kind}(t, u, bad);"
    lines += ["    if (any) {", f"        {computed}", "    } else {"]
    for k, whole in enumerate(tables):
        lines += whole.found(k)
        if not whole.missing:
            given = f"t[{whole.i} * {M}_LANES + l]"
            lines.append(f"        {M}_EACH_LANE bad[l] |= {given} != {given};")
    return [*lines, "    }", "#else", f"    {computed}", "#endif"]


def _plain(name: str, layers: CNetwork, kind: str) -> str:
    """Model columns as they are given, clamped."""
    M, T, most = name.upper(), layers.number, layers.common_limit
    value = f"({T})t[j]" if kind != T else "t[j]"
    clipped = value
    if most is not None:
        clipped = f"{M}_SMALLER({M}_LARGER({value}, -{literal(most, T)}), {literal(most, T)})"
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
) -> tuple[str, str, dict[str, str], WholeTable | None]:
    M, T, n, width = name.upper(), layers.number, len(column.categories), column.n_model
    values = (
        np.asarray(column.table)
        if layers.input_limit is None
        else np.clip(column.table, -layers.input_limit, layers.input_limit)
    )
    stored = values.astype(np.float32).astype(np.float64) if T == "float" else values
    text, whole = table(name, f"codes_{i}", T, stored), code_table(name, i, at, column, layers)
    text = f"{text}\n{whole.table()}" if whole else text
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
    return text, "\n".join(_CATEGORY.format(**names, G=kind) for kind in kinds), lanes, whole


def _chosen(T: str, into: str, values: list[str]) -> list[str]:
    """The value of a code by comparisons, one after the other: nested, compilers would make branches of them.

    values: of the categories, of unseen, of missing.
    """
    *known, unseen, missing = values
    choices = [f"v = given == {k} ? {v} : v;" for k, v in enumerate(known) if v != unseen]
    if missing != unseen:
        choices += [f"v = given == {len(known) + 1} ? {missing} : v;", f"v = given != given ? {missing} : v;"]
    return ["        {", *wrapped([f"{T} v = {unseen};", *choices, f"{into} = v;"], "            "), "        }"]
