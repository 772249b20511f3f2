"""One raw number to its model columns in C: the piece it lies in, one clamped line per map, without a branch.

Comparisons cannot round, so the piece is found in the type the number came in (a float is compared with the least
floats not below the knots). NaN has a piece of its own, whose ends are the missing value: a clamp of NaN gives
its lower end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.export.c_network import CNetwork
from monolip.export.c_text import literal, table, wrapped
from monolip.export.c_whole import WholeTable, whole_table
from monolip.fixed_point_columns import FixedNumeric

__all__ = ["numeric_column"]

FloatArray = NDArray[np.float64]

_FEW = 48  # knots
_FAR = 2.0**900
_MAX = float(np.finfo(np.float64).max)

_ROW = """\
{M}_FUNCTION int {m}_column_{i}_{G}({G} given, {T} *u) {{
{whole}    const double x = {x};
    const double *piece;
    int at = 0, j;
{search}
{missing}    piece = {M}_AT(pieces_{i}) + at * {row}; /* anchors, values, slopes, lowest, highest: {maps} each */
    for (j = 0; j < {maps}; j++) {{
{line}
        u[j] = {value};
    }}
{present}    return {bad};
}}
"""
_LINE_ROW = """\
{M}_FUNCTION int {m}_column_{i}_{G}({G} t, {T} *u) {{
    const double given = (double)t;
{line}
    u[0] = {value};
    return {bad};
}}
"""
# few knots are counted, which compilers vectorise; many are searched by halves. Tables are filled up with NaN.
_COUNT = "    for (j = 0; j < {n}; j++) at += {M}_AT(knots_{i}_{G})[j] <= given;"
_SEARCH = "    for (j = {half}; j > 0; j /= 2) at += {M}_AT(knots_{i}_{G})[at + j - 1] <= given ? j : 0;"
# each piece is clamped to its ends, so no rounding can cross a knot
_FLOAT_LINE = """\
        const double away = {away};
        const double line = {M}_SEPARATE(away, {slope}, {start});"""
_FIXED_LINE = """\
        const double units = (x - {anchor}) * {slope}, rounded = {M}_ADD({M}_ADD(units, {M}_ROUND), -{M}_ROUND);
        const double line = {start} + rounded;"""


@dataclass(frozen=True)
class _Numeric:
    """What the texts are made of. knots (n,); pieces (n + 1 or, with a piece for NaN, n + 2; 5; maps)."""

    name: str
    i: int
    at: int  # of its first model column
    column: Any
    layers: CNetwork
    knots: FloatArray
    pieces: FloatArray
    whole: WholeTable | None = None

    @property
    def names(self) -> dict[str, Any]:
        maps = self.pieces.shape[2]
        half = 1 << len(self.knots).bit_length() >> 1
        common = {"M": self.name.upper(), "m": self.name, "T": self.layers.number, "i": self.i}
        return common | {"maps": maps, "row": 5 * maps, "half": half, "missing": "", "present": ""}

    @property
    def is_far(self) -> bool:
        """Only then can the difference to a finite x overflow."""
        return bool(np.abs(self.pieces[:, 0]).max() > _FAR)

    def x(self, given: str) -> str:
        """Infinities are moved only where that matters: where a tail slopes and is not clamped before its end."""
        ends = self.pieces[[0, len(self.knots)]]
        with np.errstate(over="ignore"):
            far = ends[:, 1] + np.clip(np.array([[-_MAX], [_MAX]]) - ends[:, 0], -_MAX, _MAX) * ends[:, 2]
        clamped = np.stack([far[0] <= ends[0, 3], far[1] >= ends[1, 4]])
        if (clamped | (ends[:, 2] == 0.0)).all() and not self.is_far:
            return f"(double){given}"
        return f"{self.name.upper()}_CLIP((double){given}, -DBL_MAX, DBL_MAX)"

    def line(self, anchor: str, start: str, slope: str, low: str, high: str) -> tuple[str, str]:
        """Statements that compute `line`, and the value it is clamped to."""
        M, fixed = self.name.upper(), isinstance(self.column, FixedNumeric)
        away = f"{M}_CLIP(x - {anchor}, -DBL_MAX, DBL_MAX)" if self.is_far else f"x - {anchor}"
        text = (_FIXED_LINE if fixed else _FLOAT_LINE).format(M=M, anchor=anchor, start=start, slope=slope, away=away)
        clipped = f"{self.name}_clamp(line, {low}, {high})"
        return text, f"({self.layers.number}){clipped}" if fixed else f"{M}_NARROW({clipped})"


def numeric_column(
    name: str, i: int, at: int, column: Any, layers: CNetwork, kinds: tuple[str, ...]
) -> tuple[str, str, dict[str, str], WholeTable | None]:
    """Tables; NAME_column_I_KIND for one row; for each kind of input (float, double) the statements for lanes.

    And, where there is one, the table of whole numbers that lanes can look up instead.
    """
    knots, pieces = _stretches(column)
    pieces[:, 3:] = _inside(pieces[:, 3:], layers)
    flat = pieces[:, 2] == 0.0  # both ends are the value itself: what NaN or infinity times 0 is clamped to
    pieces[:, 3] = np.where(flat, _inside(pieces[:, 1], layers), pieces[:, 3])
    pieces[:, 4] = np.where(flat, pieces[:, 3], pieces[:, 4])
    if column.missing is not None:
        gone = _inside(np.asarray(column.missing[: pieces.shape[2]], dtype=np.float64), layers)
        zero = np.zeros_like(gone)
        pieces = np.concatenate([pieces, np.stack([zero, gone, zero, gone, gone])[None]])
    it = _Numeric(name, i, at, column, layers, knots, pieces)
    tables = []
    if _single_line(it) is None or column.present is not None:  # else nothing is looked up
        tables = [table(name, f"knots_{i}_{kind}", kind, _padded(_in_kind(knots, kind), kind)) for kind in kinds]
        tables.append(table(name, f"pieces_{i}", "double", pieces))
        it = replace(it, whole=whole_table(name, i, at, column, layers))
        tables += [it.whole.table()] if it.whole else []
    rows = [_of_a_row(it, kind) for kind in kinds]
    return "\n".join(tables), "\n".join(rows), {kind: _in_lanes(it, kind) for kind in kinds}, it.whole


def _stretches(column: Any) -> tuple[FloatArray, FloatArray]:
    """All knots of a column, (n,), and the pieces of its maps on each stretch between them, (n + 1, 5, maps)."""
    knots = np.unique(np.concatenate([phi.knots for phi in column.maps]))
    left_ends = np.concatenate([[-np.inf], knots])
    at = [np.searchsorted(phi.knots, left_ends, "right") for phi in column.maps]
    return knots, np.stack([phi.pieces[p] for phi, p in zip(column.maps, at, strict=True)], axis=2)


def _in_kind(knots: FloatArray, kind: str) -> FloatArray:
    """The least number of its kind that reaches each knot; -inf counts as the lowest double there is."""
    if kind == "float":
        with np.errstate(over="ignore"):
            near = knots.astype(np.float32)
        up = np.where(near.astype(np.float64) < knots, np.nextafter(near, np.float32(np.inf)), near).astype(np.float64)
    else:
        up = knots.copy()
    return np.where(knots == -_MAX, -np.inf, up)


def _padded(knots: FloatArray, kind: str) -> FloatArray:
    """Whole vectors for counting, whole halves for searching."""
    n, vector = len(knots), 16 if kind == "float" else 8
    full = 2 * (1 << n.bit_length() >> 1) - 1 if n > _FEW else n if n <= 4 else -(-n // vector) * vector
    return np.append(knots, np.full(full - n, np.nan))


def _of_a_row(it: _Numeric, kind: str) -> str:
    column, names, single = it.column, it.names | {"G": kind}, _single_line(it)
    maps, names["whole"] = names["maps"], it.whole.row(kind) if it.whole else ""
    if single is not None and column.present is None:
        line, chosen = _whole_line(it, single)
        bad = "given != given" if column.missing is None else "0"
        text = line.replace("        ", "    ") + f"\n    const double chosen = {chosen};"
        return _LINE_ROW.format(**names, line=text, value=_typed(it, "chosen"), bad=bad)
    names["n"] = len(_padded(it.knots, kind))
    anchor, start, slope, low, high = (f"piece[{k * maps} + j]" for k in range(5))
    names["line"], names["value"] = it.line(anchor, start, slope, low, high)
    names["x"] = it.x("given")
    names["search"] = (_COUNT if len(it.knots) <= _FEW else _SEARCH).format(**names)
    names["bad"] = "given != given"
    if column.missing is not None:
        names["missing"], names["bad"] = f"    at = given != given ? {len(it.knots) + 1} : at;\n", "0"
    if column.present is not None:
        gone, there = (_stored(v, it.layers) for v in (column.missing[-1], column.present))
        names["present"] = f"    u[{maps}] = given != given ? {gone} : {there};\n"
    return _ROW.format(**names)


def _in_lanes(it: _Numeric, kind: str) -> str:
    M, column, maps = it.name.upper(), it.column, it.names["maps"]
    single = _single_line(it)
    body = _lanes_of_a_line(it, single) if single is not None else _lanes_of_pieces(it, kind)
    if column.present is not None:
        gone, there = (_stored(v, it.layers) for v in (column.missing[-1], column.present))
        body.append(f"    {M}_EACH_LANE u[{it.at + maps} * {M}_LANES + l] = t[{_lane(M, it.i)}] != t[{_lane(M, it.i)}]")
        body.append(f"        ? {gone} : {there};")
    if column.missing is None:
        body.append(f"    {M}_EACH_LANE bad[l] |= t[{_lane(M, it.i)}] != t[{_lane(M, it.i)}];")
    return "\n".join(body)


def _lane(M: str, i: int) -> str:
    return f"{i} * {M}_LANES + l"


def _single_line(it: _Numeric) -> list[float] | None:
    """(anchor, value, slope, low, high, end) if one clamped line is the whole map: up to `end`, and `high` from there.

    Two knots with flat tails, or one knot with the same slope on both sides. Left of its anchor a line computed in
    floating point never exceeds the value there, so the clamp gives the lower end.
    """
    pieces, maps = it.pieces[: len(it.knots) + 1, :, 0], it.names["maps"]
    if maps > 1 or it.is_far:
        return None
    slopes = pieces[:, 2]
    if len(it.knots) == 2 and slopes[0] == slopes[2] == 0.0 and slopes[1] > 0.0:
        return [*pieces[1, :4].tolist(), float(pieces[2, 3]), float(it.knots[1])]
    if len(it.knots) == 1 and slopes[0] == slopes[1] > 0.0:
        return [*pieces[1, :3].tolist(), float(pieces[0, 3]), float(pieces[1, 4]), float("inf")]
    return None


def _whole_line(it: _Numeric, single: list[float]) -> tuple[str, str]:
    """Where one line is the whole map: statements, and the value in double. Choices are between numbers, not sums."""
    line, _ = it.line(*(f"({literal(v, 'double')})" for v in single[:5]))
    ends = ", ".join(f"({literal(v, 'double')})" for v in single[3:5])
    chosen = "inside"
    if np.isfinite(single[5]):
        chosen = f"({literal(single[5], 'double')} <= given ? {literal(single[4], 'double')} : inside)"
    if it.column.missing is not None:
        chosen = f"given != given ? {literal(float(it.pieces[-1, 1, 0]), 'double')} : {chosen}"
    x, inside = it.x("given").replace("(double)", ""), f"{it.name}_clamp(line, {ends})"
    return f"        const double x = {x};\n{line}\n        const double inside = {inside};", chosen


def _typed(it: _Numeric, value: str) -> str:
    fixed = isinstance(it.column, FixedNumeric)
    return f"({it.layers.number}){value}" if fixed else f"{it.name.upper()}_NARROW({value})"


def _lanes_of_a_line(it: _Numeric, single: list[float]) -> list[str]:
    """Two loops: gcc finds no vectors where a choice and a narrower type meet in one."""
    M = it.name.upper()
    line, chosen = _whole_line(it, single)
    head = [f"    {M}_EACH_VECTOR_LANE {{", f"        const double given = (double)t[{_lane(M, it.i)}];"]
    tail = f"    {M}_EACH_VECTOR_LANE u[{_lane(M, it.at)}] = {_typed(it, 'wide[l]')};"
    return [*head, line, f"        wide[l] = {chosen};", "    }", tail]


def _lanes_of_pieces(it: _Numeric, kind: str) -> list[str]:
    M, maps, n = it.name.upper(), it.names["maps"], len(it.knots)
    given, count = f"t[{_lane(M, it.i)}]", "int" if kind == "float" else "int64_t"
    piece = f"{M}_AT(pieces_{it.i}) + at[l] * {5 * maps}"
    lines = [f"    {M}_EACH_LANE {{", f"        const {kind} given = {given};"]
    if n <= _FEW:
        terms = [f"({count})({literal(v, kind)} <= given)" for v in _in_kind(it.knots, kind).tolist()]
        if it.column.missing is not None:
            terms.append(f"({count})(given != given) * {n + 1}")
        lines += [
            "        at[l] =",
            *wrapped([f"{term} +" for term in terms[:-1]] + [terms[-1] + ";"], "            "),
        ]
    else:
        missing = f"given != given ? {n + 1} : found" if it.column.missing is not None else "found"
        lines += [
            "        int found = 0, j;",
            "    " + _SEARCH.format(**it.names, G=kind).replace(" at ", " found ").replace("[at ", "[found "),
            f"        at[l] = {missing};",
        ]
    ends = tuple(f"piece[{k * maps} + j]" for k in range(5))
    line, value = it.line(*ends)
    lines += ["    }", f"    {M}_EACH_LANE {{", f"        const double x = {it.x(given)};"]
    lines += [f"        const double *piece = {piece};", "        int j;", f"        for (j = 0; j < {maps}; j++) {{"]
    lines += [
        *("    " + text for text in line.splitlines()),
        f"            u[({it.at} + j) * {M}_LANES + l] = {value};",
    ]
    return [*lines, "        }", "    }"]


def _inside(values: Any, layers: CNetwork) -> Any:
    """The clamp of model columns, applied to what they are clamped to already: two clamps are one."""
    most = layers.input_limit
    return np.asarray(values) if most is None else np.clip(values, -most, most)


def _stored(value: float, layers: CNetwork) -> str:
    if layers.shift is not None:
        return literal(value, layers.number)
    near = float(_inside(value, layers))
    return literal(near if layers.number == "double" else float(np.float32(near)), layers.number)
