"""Numbers, tables and comments as C text: every number exact, every line short."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError

__all__ = ["check_name", "comment", "literal", "table", "wrapped"]

_WIDTH = 112
_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main"
)

_OWNED = "fe"  # FE_INVALID is a macro of fenv.h
_INNER = "add after at batch block device each expected in init inputs lane lanes look row same score self slim sort"
_INNER += " whole wide"


def check_name(name: Any) -> str:
    """A prefix of C names that is no keyword and cannot meet names of C's own headers, or of another of ours."""
    if isinstance(name, str) and name in (*_KEYWORDS.split(), _OWNED):
        raise InputError(
            f"a C name is no reserved word, nor fe, whose FE_INVALID is C's own; got {name!r}; pass name='model'."
        )
    if isinstance(name, str) and "_" in name and name.rsplit("_", 1)[1] in _INNER.split():
        raise InputError(
            f"a C name ends in none of the words that headers use inside ({_INNER}); got {name!r}; pass another name=."
        )
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name, re.ASCII):
        raise InputError(
            f"a C name has lower-case letters, digits and _, and begins with a letter; got {name!r}; pass name='model'."
        )
    return name


def literal(value: float, kind: str) -> str:
    """One number in C, without any rounding. kind: float, double, int16_t, int32_t or int64_t.

    >>> literal(0.1, "double"), literal(-3, "int64_t"), literal(float("inf"), "double")
    ('0x1.999999999999ap-4', 'INT64_C(-3)', 'INFINITY')
    """
    if kind.startswith("int"):
        return f"INT64_C({int(value)})" if kind == "int64_t" else str(int(value))
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    if kind == "float" and float(np.float32(value)) != value:
        raise ValueError(f"{value!r} is no float32")
    mantissa, exponent = float(value).hex().split("p")
    mantissa = re.sub(r"\.?0+$", "", mantissa) if "." in mantissa else mantissa
    return f"{mantissa}p{exponent}" + ("f" if kind == "float" else "")


def wrapped(words: Iterable[str], indent: str, end: str = "") -> list[str]:
    """Words joined by blanks into lines of at most 112 characters, each with `end`."""
    lines, line = [], indent
    for word in words:
        if len(line) + len(word) + 1 + len(end) > _WIDTH and line != indent:
            lines.append(line.rstrip() + end)
            line = indent
        line += word + " "
    return [*lines, line.rstrip() + end]


def table(prefix: str, name: str, kind: str, values: NDArray[Any] | Sequence[Any]) -> str:
    """A constant table that host code and, under nvcc, device code can read: AT(name)[i]."""
    flat = np.ravel(np.asarray(values)).tolist()
    words = [f"{literal(v, kind)}," for v in flat]
    big = prefix.upper()
    macro = f"{big}_INIT_{name.upper()}"
    return "\n".join(
        [
            f"#define {macro} {{ \\",
            *wrapped(words, "    ", " \\"),
            "}",
            f"static const {kind} {prefix}_{name}[{len(flat)}] = {macro};",
            "#ifdef __CUDACC__",
            f"static __device__ const {kind} {prefix}_device_{name}[{len(flat)}] = {macro};",
            "#endif",
        ]
    )


def comment(lines: Iterable[str]) -> str:
    """A block comment; what would end it, or be read as something else, is replaced."""
    safe = [
        re.sub(r"[^\x20-\x7e]", "?", line).replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
        for line in lines
    ]
    return "\n".join(["/*", *(f" * {line}".rstrip().rstrip("\\") for line in safe), " */"])
