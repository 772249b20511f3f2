"""Raw columns to model columns in C: one search in all knots of a column, one clamped line per map; tables of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.export.c_network import CNetwork
from monolip.export.c_text import literal, table
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_columns import FixedCategory, FixedNumeric
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn, NumericColumn

__all__ = ["input_functions", "raw_columns_of"]

FloatArray = NDArray[np.float64]
Column = NumericColumn | CategoryColumn | FixedNumeric | FixedCategory

_FEW = 48  # knots
_FAR = 2.0**900

_NUMERIC = """\
{M}_FUNCTION int {m}_column_{i}(double x, {T} *u) {{
    const double *piece;
    int at = 0, j;
{missing}
    x = {M}_CLIP(x, -DBL_MAX, DBL_MAX);
{search}
    piece = {M}_AT(pieces_{i}) + at * {row}; /* anchors, values there, slopes, lowest, highest: {maps} of each */
    for (j = 0; j < {maps}; j++) {{
{line}
    }}
{present}    return 0;
}}
"""
# few knots are counted, which compilers vectorise; many are searched by halves
_COUNT = "    for (j = 0; j < {n}; j++) at += {M}_AT(knots_{i})[j] <= x;"
_SEARCH = "    for (j = {half}; j > 0; j /= 2) at += {M}_AT(knots_{i})[at + j - 1] <= x ? j : 0;"
# each piece is clamped to its ends, so no rounding can cross a knot
_FLOAT_LINE = """\
        const double away = {away};
        const double line = {M}_SEPARATE(away, piece[{m2} + j], piece[{m1} + j]);
        u[j] = {M}_NARROW({M}_CLIP(line, piece[{m3} + j], piece[{m4} + j]));"""
_FIXED_LINE = """\
        const double value = piece[{m1} + j] + rint((x - piece[j]) * piece[{m2} + j]);
        u[j] = ({T}){M}_CLIP(value, piece[{m3} + j], piece[{m4} + j]);"""
_CATEGORY = """\
{M}_FUNCTION int {m}_column_{i}(double x, {T} *u) {{
    int code = {unseen}; /* whatever is no code counts as unseen */
    if (x != x) code = {missing};
    else if (x >= 0.0 && x <= {missing}.0 && (double)(int)x == x) code = (int)x;
{rows}
    return 0;
}}
"""


def raw_columns_of(network: FrozenNetwork | FixedPointNetwork) -> tuple[Column, ...] | None:
    """Columns that a header transforms; None where it takes model columns as they are."""
    if isinstance(network, FixedPointNetwork):
        return tuple(network.inputs.columns)
    return None if network.inputs is None else tuple(network.inputs.columns)


def input_functions(name: str, columns: Sequence[Column] | None, layers: CNetwork) -> tuple[str, str]:
    """Tables, and NAME_inputs and NAME_inputs_float: raw numbers of one row -> u; 1 if invalid."""
    M, T = name.upper(), layers.number
    tables, parts, calls, start = [], [], [], 0
    for i, column in enumerate(columns or ()):
        made = _category if isinstance(column, CategoryColumn | FixedCategory) else _numeric
        text, function = made(name, i, column, layers)
        tables.append(text)
        parts.append(function)
        calls.append(f"    bad |= {name}_column_{i}({M}_GIVEN(x[{i}]), u + {start});")
        start += column.n_model
    if columns is None:
        most = layers.common_limit
        for j in range(layers.n_model):
            value = f"({T})x[{j}]"
            limit = "" if most is None else literal(most, T)
            clipped = f"{M}_MIN({M}_MAX({value}, -{limit}), {limit})" if limit else value
            calls += [f"    bad |= x[{j}] != x[{j}];", f"    u[{j}] = {clipped};"]
    for kind, suffix in (("double", ""), ("float", "_float")):
        head = f"{M}_FUNCTION int {name}_inputs{suffix}(const {kind} *x, {T} *u) {{"
        parts.append("\n".join([head, "    int bad = 0;", *calls, "    return bad;", "}"]))
    return "\n".join(tables), "\n".join(parts) + "\n"


def _numeric(name: str, i: int, column: Any, layers: CNetwork) -> tuple[str, str]:
    M, T, maps = name.upper(), layers.number, len(column.maps)
    knots, pieces = _stretches(column)
    names: dict[str, Any] = {
        "M": M,
        "m": name,
        "T": T,
        "i": i,
        "n": len(knots),
        "half": 1 << len(knots).bit_length() >> 1,
    }
    far = np.abs(pieces[:, 0]).max() > _FAR  # only then can the difference to a finite x overflow
    names["away"] = f"{M}_CLIP(x - piece[j], -DBL_MAX, DBL_MAX)" if far else "x - piece[j]"
    names |= {f"m{k}": k * maps for k in range(1, 5)}
    padding = [] if len(knots) <= _FEW else [np.inf] * (2 * names["half"] - 1 - len(knots))
    pieces[:, 3:] = _inside(pieces[:, 3:], layers)
    text = table(name, f"knots_{i}", "double", np.append(knots, padding))
    text += "\n" + table(name, f"pieces_{i}", "double", pieces)
    present = ""
    if column.present is not None:
        present = f"    u[{maps}] = {_stored(column.present, layers)};\n"
    given = [0] * column.n_model if column.missing is None else column.missing
    sets = [f"        u[{j}] = {_stored(v, layers)};" for j, v in enumerate(given)]
    why = " /* no rule for missing values */" if column.missing is None else ""
    missing = "\n".join([f"    if (x != x) {{{why}", *sets, f"        return {int(bool(why))};", "    }"])
    line = _FIXED_LINE if isinstance(column, FixedNumeric) else _FLOAT_LINE
    search = _COUNT if len(knots) <= _FEW else _SEARCH
    body = {"row": 5 * maps, "maps": maps, "missing": missing, "present": present}
    return text, _NUMERIC.format(**names, **body, line=line.format(**names), search=search.format(**names))


def _stretches(column: Any) -> tuple[FloatArray, FloatArray]:
    """All knots of a column, (n,), and the pieces of its maps on each stretch between them, (n + 1, 5, maps)."""
    knots = np.unique(np.concatenate([phi.knots for phi in column.maps]))
    left_ends = np.concatenate([[-np.inf], knots])
    at = [np.searchsorted(phi.knots, left_ends, "right") for phi in column.maps]
    return knots, np.stack([phi.pieces[p] for phi, p in zip(column.maps, at, strict=True)], axis=2)


def _category(name: str, i: int, column: Any, layers: CNetwork) -> tuple[str, str]:
    M, n, width = name.upper(), len(column.categories), column.n_model
    kind = layers.number if layers.shift is not None else "double"
    text = table(name, f"codes_{i}", kind, _inside(column.table, layers))
    rows = []
    for j in range(width):
        value = f"{M}_AT(codes_{i})[code * {width} + {j}]"
        rows.append(f"    u[{j}] = {value if kind != 'double' else f'{M}_NARROW({value})'};")
    names = {"m": name, "T": layers.number, "unseen": n, "missing": n + 1}
    return text, _CATEGORY.format(M=M, i=i, rows="\n".join(rows), **names)


def _inside(values: Any, layers: CNetwork) -> Any:
    """The clamp of model columns, applied to what they are clamped to already: two clamps are one."""
    most = layers.input_limit
    return np.asarray(values) if most is None else np.clip(values, -most, most)


def _stored(value: float, layers: CNetwork) -> str:
    if layers.shift is not None:
        return literal(value, layers.number)
    near = float(_inside(value, layers))
    return literal(near if layers.number == "double" else float(np.float32(near)), layers.number)
