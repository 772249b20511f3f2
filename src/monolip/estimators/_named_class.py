"""Of two classes, the one that a fit is about: the one that its constraints name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.errors import SlopeError
from monolip.input_columns import plain_value

__all__ = ["named_class"]


def named_class(
    monotonic_cst: Any, slopes: Any, classes: Sequence[Any] | NDArray[Any], names: Sequence[str] = ()
) -> int:
    """The position in two classes of the one that constraints name; 1 where they name none.

    Constraints that name both classes are an error, and so are some that name the first class beside others that name
    none. Numbers and booleans have an order that everybody knows, and what names no class is about the second. Other
    labels have none, and what names no class is an error. names: of the features, for examples in messages.

    Example:
        >>> named_class({"debt": {"default": 1}, "income": {"default": -1}}, None, ["default", "paid"])
        0
        >>> named_class({"debt": 1}, None, [0, 1])
        1
    """
    labels = [plain_value(label) for label in classes]
    asked = list(_asked(monotonic_cst, slopes))
    unnamed = [one for one in asked if not isinstance(one.said, Mapping)]
    named = [
        [k for k in (0, 1) if isinstance(one.said, Mapping) and any(_same(label, labels[k]) for label in one.said)]
        for one in asked
    ]
    both = {k for found in named for k in found}
    if len(both) > 1:
        first = next(one for one, found in zip(asked, named, strict=True) if 0 in found)
        second = next(one for one, found in zip(asked, named, strict=True) if 1 in found)
        where = "" if first is second else f" {first.where}"
        raise SlopeError(
            f"all constraints of two classes name the same one; got {labels[0]!r}{where} and {labels[1]!r} "
            f"{second.where}; write all of them for one class: what rises for one falls for the other."
        )
    if unnamed and not all(isinstance(label, bool | int | float) for label in labels):
        raise SlopeError(_which_class(unnamed[0], labels, names))
    if unnamed and both == {0}:
        one, told = unnamed[0], labels[0]
        raise SlopeError(
            f"what names no class is about class {labels[1]!r}, and other constraints here are about class {told!r}; "
            f"got {one.text} {one.where}; name a class there too, for example {{{told!r}: {one.text}}} (command line: "
            f"--positive {told})."
        )
    return 0 if both == {0} else 1


class _Asked(NamedTuple):
    """A constraint that says something of a class: of which feature, where it is, and what it says."""

    feature: Any
    what: str
    said: Any

    @property
    def where(self) -> str:
        return f"as {self.what}" if self.feature is None else f"for {plain_value(self.feature)!r} in {self.what}"

    @property
    def text(self) -> str:
        """What it says, to write down again."""
        shown = plain_value(self.said)
        if self.feature is None:
            return "an array"
        return f"{shown!r}" if isinstance(shown, tuple | list | int | float) else "..."


def _which_class(one: _Asked, labels: list[Any], names: Sequence[str]) -> str:
    """The rule for labels without an order, and both ways to write a constraint."""
    feature, text = plain_value(one.feature), one.text
    if one.feature is None:
        signs = np.asarray(one.said, dtype=object).ravel()
        at = int(np.flatnonzero(signs != 0)[0])
        feature = names[at] if at < len(names) else at
        text = repr(plain_value(signs[at]))
    ways = [f"{one.what}={{{feature!r}: {{{label!r}: {text}}}, ...}}" for label in labels[::-1]]
    about = [f"P({label})" for label in labels[::-1]]
    return (
        f"with the classes {labels[0]!r} and {labels[1]!r} a constraint names the class whose probability it is about; "
        f"got {one.text} {one.where}, without a class; write {ways[0]} for {about[0]}, or {ways[1]} for {about[1]} "
        f"(command line: --positive {labels[1]} or --positive {labels[0]})."
    )


def _asked(monotonic_cst: Any, slopes: Any) -> Iterator[_Asked]:
    """Every constraint that says something of a class; 0 and (-a, a) are the same of both."""
    if isinstance(monotonic_cst, Mapping):
        for feature, one in monotonic_cst.items():
            if one if isinstance(one, Mapping) else _says_something(one):
                yield _Asked(feature, "monotonic_cst", one)
    elif monotonic_cst is not None and _says_something(monotonic_cst):
        yield _Asked(None, "monotonic_cst", monotonic_cst)
    for feature, one in slopes.items() if isinstance(slopes, Mapping) else ():
        if one if isinstance(one, Mapping) else not _is_symmetric(one):
            yield _Asked(feature, "slopes", one)


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
