"""Whole numbers by tables in C: counts, ages and grades are looked up, whatever else they may be is computed.

A column most of whose knots are whole numbers gets the values of its maps at these and all between, made by the same
evaluation as everywhere: a table holds its bits. Each value is checked before it is looked up; a row (of a batch: all
rows of a block) with a fraction or a number beyond the table goes the general way, so tables can only cost time.

Processors may be told to flush denormal results to zero, which stored numbers escape: a number above an entry could
then be computed below it. So a column whose computation could meet a denormal has no table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.export.c_network import CNetwork
from monolip.export.c_text import literal, wrapped

__all__ = ["WholeTable", "code_table", "look_up", "whole_table"]

_MOST = 128  # entries; eight registers of sixteen numbers
_LEAST = 16
_ROOM = 2048  # numbers in all tables of a column: a category of many codes and columns is read where it stands
# Below these a result, or a term that its rounding still sees, may be denormal: in double, a product 54 bits smaller.
_SMALL = {"float": 2.0**-125, "double": 2.0**-960}
_DENORMAL = float(np.finfo(np.float64).tiny)
_SHARE = 0.6  # of the knots: the ends of what was seen and of its tails need not be whole

# Entries are reduced modulo the size of the table, a power of two; registers are chosen from without reading memory.
_LOOK_UP = """\
{M}_FUNCTION void {m}_look_up_{size}(const {T} *{M}_RESTRICT table, const int *{M}_RESTRICT at, {T} *{M}_RESTRICT u) {{
#ifdef {M}_CHOOSE
    {m}_vector part[{parts}], found;
    {m}_places place;
    memcpy(part, table, sizeof part);
    memcpy(&place, at, sizeof place);
    found = {found};
    memcpy(u, &found, sizeof found);
#else
    int l;
    {M}_EACH_LANE u[l] = table[at[l] & {mask}];
#endif
}}
"""


def look_up(name: str, number: str, size: int) -> str:
    """NAME_look_up_SIZE(table, at, u): an entry of a table for each lane."""
    M, n = name.upper(), size // 16
    found = [f"{M}_CHOOSE(part[{k}], part[{k + 1}], place)" for k in range(0, n - 1, 2)]
    found, bit = found or [f"{M}_PICK(part[0], place)"], 5
    while len(found) > 1:  # by halves: whether a lane has this bit
        pairs = zip(found[::2], found[1::2], strict=True)
        found = [f"{M}_EITHER((place << {31 - bit}) >> 31, {high}, {low})" for low, high in pairs]
        bit += 1
    names = {"M": M, "m": name, "T": number, "size": size, "mask": size - 1, "parts": n}
    return _LOOK_UP.format(found=found[0], **names)


@dataclass(frozen=True)
class WholeTable:
    """Model columns of the whole numbers from low to high, and of NaN after high where that has a value.

    capped: whether everything above high has the values of high. values: (n_model, size), entry k at k modulo size.
    """

    name: str
    i: int
    at: int  # of its first model column
    low: int
    high: int
    capped: bool
    missing: bool
    values: NDArray[Any]
    number: str

    @property
    def size(self) -> int:
        return int(self.values.shape[1])

    def table(self) -> str:
        words = [f"{literal(v, self.number)}," for v in self.values.ravel().tolist()]
        M = self.name.upper()
        head = f"static {M}_ALIGNED const {self.number} {self.name}_whole_{self.i}[{self.values.size}] = {{"
        return "\n".join([f"#if {M}_TABLES", head, *wrapped(words, "    "), "};", "#endif"])

    def row(self, kind: str) -> str:
        """The beginning of a function for one row, which returns if a table has the number."""
        M, low, high = self.name.upper(), literal(self.low, kind), literal(self.high, kind)
        lines = [
            f"#if {M}_TABLES",
            f"    const int place = given >= {low} && given <= {high} ? (int)given : {self.low - 1};",
            f"    if (({kind})place == given && place >= {self.low}) {{",
            f"        const {self.number} *entry = {self.name}_whole_{self.i} + (place & {self.size - 1});",
            *(f"        u[{j}] = entry[{j * self.size}];" for j in range(len(self.values))),
            "        return 0;",
            "    }",
            "#endif",
        ]
        return "\n".join(lines) + "\n"

    def clipped(self, kind: str, k: int) -> tuple[str, str]:
        """Statements inside two loops over lanes: at most high, NaN stays; at least low, which NaN becomes."""
        M, lane = self.name.upper(), f"{self.name.upper()}_LANES + l"
        low, high = literal(self.low, kind), literal(self.high, kind)
        capped = f"        capped[{k} * {lane}] = {M}_LESS({high}, t[{self.i} * {lane}]);"
        return capped, f"        lifted[{k} * {lane}] = {M}_MORE(capped[{k} * {lane}], {low});"

    def places(self, kind: str, k: int) -> list[str]:
        """Statements inside a loop over lanes: entries places[k], and `odd` where the table has none."""
        M, lane = self.name.upper(), f"{self.name.upper()}_LANES + l"
        given = f"capped[{k} * {lane}]" if self.capped else f"t[{self.i} * {lane}]"
        after = f" + (given != given) * {self.high + 1 - self.low}" if self.missing else ""  # NaN's place is low
        return [
            "        {",
            f"            const {kind} given = {given};",
            f"            const int place = (int)lifted[{k} * {lane}];",
            f"            places[{k} * {lane}] = place{after};",
            f"            odd |= {M}_DIFFER(({kind})place, given);",
            "        }",
        ]

    def found(self, k: int) -> list[str]:
        """Statements that look model columns up, for all lanes."""
        M, size = self.name.upper(), self.size
        return [
            f"        {self.name}_look_up_{size}({self.name}_whole_{self.i} + {j * size}, places + {k} * {M}_LANES, "
            f"u + {self.at + j} * {M}_LANES);"
            for j in range(len(self.values))
        ]


def whole_table(name: str, i: int, at: int, column: Any, layers: CNetwork) -> WholeTable | None:
    """A table where most knots are whole numbers that lie close enough to each other; None elsewhere."""
    knots = np.unique(np.concatenate([phi.knots for phi in column.maps]))
    whole = knots[(knots == np.round(knots)) & (np.abs(knots) < 2**20)]
    if len(whole) < max(3, _SHARE * len(knots)):
        return None
    low, high, missing = int(whole[0]), int(whole[-1]), column.missing is not None
    size = max(_LEAST, 1 << (high - low + missing).bit_length())
    if size > _MOST or size * column.n_model > _ROOM:
        return None
    given = np.arange(low, high + 1 + missing, dtype=np.float64)
    if missing:
        given[-1] = np.nan
    capped = high == knots[-1] and all(bool(phi.pieces[-1][2] == 0.0) for phi in column.maps)
    values = _rotated(np.asarray(column.evaluate(given)), low, size, layers)
    if _are_near_zero(values, _SMALL.get(layers.number, 0.0)) or _are_near_zero(knots, _DENORMAL):
        return None
    return WholeTable(name, i, at, low, high, capped, missing, values, layers.number)


def _are_near_zero(values: NDArray[Any], least: float) -> bool:
    """Whether any is, and not zero itself."""
    return bool(((values != 0) & (np.abs(values) < least)).any())


def code_table(name: str, i: int, at: int, column: Any, layers: CNetwork) -> WholeTable | None:
    """The table of a category, with its rows for unseen and missing, and that for missing once more for NaN.

    Denormals may stay: the other way reads the same stored numbers.
    """
    rows = np.concatenate([column.table, column.table[-1:]])
    size = max(_LEAST, 1 << (len(rows) - 1).bit_length())
    if size > _MOST or size * column.n_model > _ROOM:
        return None
    return WholeTable(name, i, at, 0, len(rows) - 2, False, True, _rotated(rows, 0, size, layers), layers.number)


def _rotated(found: NDArray[Any], low: int, size: int, layers: CNetwork) -> NDArray[Any]:
    """Values (n, n_model) of the whole numbers from low on, as the network takes them -> (n_model, size)."""
    if layers.input_limit is not None:
        found = np.clip(found, -layers.input_limit, layers.input_limit)
    if layers.number == "float":
        found = found.astype(np.float32)
    values = np.zeros((found.shape[1], size), found.dtype)
    values[:, np.arange(low, low + len(found)) % size] = found.T
    return values
