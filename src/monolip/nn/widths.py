"""Widths of layers, as people give them: ints, numpy ints, sequences or arrays of them."""

from __future__ import annotations

import operator
from typing import Any

from ..errors import StructureError

__all__ = ["check_widths"]


def check_widths(widths: Any) -> tuple[int, ...]:
    """Positive ints as a tuple; one int is a tuple of one.

    >>> check_widths(8), check_widths([16, 8])
    ((8,), (16, 8))
    """
    try:
        given = tuple(widths) if hasattr(widths, "__iter__") and not isinstance(widths, str) else (widths,)
        found = tuple(operator.index(width) for width in given)
    except TypeError:
        raise StructureError(f"widths must be positive ints; got {widths!r}; pass e.g. hidden=(32, 32).") from None
    for width in given:
        if isinstance(width, bool) or operator.index(width) < 1:
            raise StructureError(f"widths must be positive ints; got {width!r}; pass e.g. hidden=(32, 32).")
    return found
