"""Intervals of numbers or dates, as `pandas.cut` makes them, as labels of ordered categories."""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

__all__ = ["by_ends", "interval_label", "is_interval", "plain_interval"]

_TEXT = re.compile(r"([\[(])([^,\s]+), ([^,\s]+)([\])])")


def is_interval(label: Any) -> bool:
    """Whether a label is a pandas.Interval, without importing pandas."""
    kind = type(label)
    return kind.__name__ == "Interval" and kind.__module__.partition(".")[0] == "pandas"


def interval_label(label: Any) -> str:
    """Return an interval as text; equal intervals have the same text, whether their ends are ints or floats.

    >>> import pandas
    >>> interval_label(pandas.Interval(0, 2.5)), interval_label(pandas.Interval(0.0, 2.5, closed="left"))
    ('(0, 2.5]', '[0, 2.5)')
    """
    left = "[" if label.closed in ("left", "both") else "("
    right = "]" if label.closed in ("right", "both") else ")"
    return f"{left}{_end(label.left)}, {_end(label.right)}{right}"


def plain_interval(label: Any) -> Any:
    """Return an interval as text, and any other label as it is."""
    return interval_label(label) if is_interval(label) else label


def by_ends(labels: Iterable[Any]) -> list[Any] | None:
    """Return labels in the order of their ends, where all of them are texts of intervals of numbers; else None.

    >>> by_ends(["(10, 20]", "(2, 10]"]), by_ends(["low", "high"])
    (['(2, 10]', '(10, 20]'], None)
    """
    found = []
    for label in labels:
        parts = _TEXT.fullmatch(label) if isinstance(label, str) else None
        if parts is None:
            return None
        try:
            found.append((float(parts[2]), float(parts[3]), label))
        except ValueError:
            return None
    return [label for _, _, label in sorted(found)]


def _end(value: Any) -> str:
    if isinstance(value, Integral):
        return str(int(value))
    if not isinstance(value, Real):
        return str(value)
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
