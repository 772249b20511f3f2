"""Of two classes, the one that is spoken of: the one a person named, or that all promises were asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError, SlopeError
from monolip.input_columns import plain_value

__all__ = ["named_class", "require_one_way_of_naming"]


def named_class(model: Any, classes: Sequence[Any] | NDArray[Any] | None, positive: Any = None) -> int:
    """A position in classes: of `positive`; else of the one class that monotonic_cst and slopes name; else 1.

    The network knows the log-odds of the second class only. A person who asked for "increasing in P(default)" and
    reads about P(paid) has to turn every sentence around in the head; tables and pages do it instead.

    Example:
        >>> from types import SimpleNamespace
        >>> model = SimpleNamespace(monotonic_cst={"debt": {"default": 1}, "income": {"default": -1}})
        >>> named_class(model, ["default", "paid"], None), named_class(model, ["default", "paid"], "paid")
        (0, 1)
    """
    labels = [] if classes is None else [str(label) for label in classes]
    if positive is not None:
        if len(labels) != 2 or str(positive) not in labels:
            known = f"the classes {labels}" if labels else "no classes"
            raise InputError(
                f"positive is one of the two classes of a classifier; got {positive!r} and {known[:200]}; name one of "
                "them, or leave it out."
            )
        return labels.index(str(positive))
    if classes is None or len(labels) != 2:
        return 1
    asked = [entry for _, entry in _asked(getattr(model, "monotonic_cst", None), getattr(model, "slopes", None))]
    only_first = all(isinstance(one, Mapping) and all(_same(label, classes[0]) for label in one) for one in asked)
    return 0 if asked and only_first else 1


def require_one_way_of_naming(monotonic_cst: Any, slopes: Any, classes: Sequence[Any] | NDArray[Any]) -> None:
    """Refuse promises of two classes that name the first for some features and no class for others.

    What names no class is about the second. Beside promises of the first it would most likely be meant of the first,
    and silently be promised of the other.
    """
    first, second = (plain_value(label) for label in classes)
    asked = list(_asked(monotonic_cst, slopes))
    if not any(isinstance(one, Mapping) and any(_same(label, first) for label in one) for _, one in asked):
        return
    for where, one in asked:
        if not isinstance(one, Mapping):
            shown = plain_value(one)
            told = {first: shown if isinstance(shown, tuple | int | float) else "..."}
            raise SlopeError(
                f"what names no class is about P({second!r}), and other promises here are about P({first!r}); got "
                f"{shown!r} {where}; name a class there too, for example {told!r} (command line: --positive {first})."
            )


def _asked(monotonic_cst: Any, slopes: Any) -> Iterator[tuple[str, Any]]:
    """Every promise that says something of a class, and where it is; 0 and (-a, a) are the same of both."""
    if isinstance(monotonic_cst, Mapping):
        for feature, one in monotonic_cst.items():
            if one if isinstance(one, Mapping) else _says_something(one):
                yield f"for {plain_value(feature)!r} in monotonic_cst", one
    elif monotonic_cst is not None and _says_something(monotonic_cst):
        yield "as monotonic_cst", "an array"
    for feature, one in slopes.items() if isinstance(slopes, Mapping) else ():
        if one if isinstance(one, Mapping) else not _is_symmetric(one):
            yield f"for {plain_value(feature)!r} in slopes", one


def _says_something(direction: Any) -> bool:
    """Whether it is not 0 (or, of several, one is not); numpy takes thirty times as long to compare a number."""
    if type(direction) is int:
        return direction != 0
    return bool(np.any(np.asarray(direction, dtype=object) != 0))


def _is_symmetric(pair: Any) -> bool:
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError):
        return True  # no interval at all: who reads it says so
    return low == -high


def _same(label: Any, other: Any) -> bool:
    return bool(label == other) or str(label) == str(other)
