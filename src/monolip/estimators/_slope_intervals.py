"""Reads `slopes`: an interval per raw feature, of two classes also {class: interval}; checked against directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import SlopeError
from monolip.estimators._schema import Schema
from monolip.input_columns import plain_value
from monolip.monotonic_cst import by_position

__all__ = ["read_intervals"]


def read_intervals(
    slopes: Any, schema: Schema, directions: NDArray[np.int64], classes: NDArray[Any] | None, positive: int = 1
) -> dict[int, tuple[float, float]]:
    """Intervals of f by position; positive: of two classes the one f is about. classes: None in a regression."""
    if slopes is None:
        return {}
    if not isinstance(slopes, Mapping):
        raise SlopeError(f"slopes is a dict {{feature: (lower, upper)}} in raw units; got {slopes!r}; pass a dict.")
    if directions.shape[1] > 1:
        raise SlopeError(
            "slope intervals of logits promise nothing about probabilities of three or more classes; got slopes="
            f"{dict(slopes)!r}; use monotonic_cst with directions per class, and max_slope."
        )
    found = {}
    for j, given in by_position(slopes, schema.names, schema.n_raw, schema.labels).items():
        name = schema.names[j]
        pair, about = _of_class(given, classes, name) if isinstance(given, Mapping) else (given, positive)
        low, high = _read_pair(pair, name)
        low, high = (low, high) if about == positive else (0.0 - high, 0.0 - low)  # of f
        direction = int(directions[j, 0])
        if (direction > 0 and low < 0) or (direction < 0 and high > 0):
            of = "" if classes is None else f" of P({plain_value(classes[positive])})"
            raise SlopeError(
                f"slopes and monotonic_cst must agree; got {(low, high)!r} and direction {direction:+d}{of} for "
                f"{name!r}; change one of them."
            )
        found[j] = (low, high)
    return found


def _of_class(given: Mapping[Any, Any], classes: NDArray[Any] | None, feature: str) -> tuple[Any, int]:
    """{class: (lower, upper)} as the pair, and the position of the class."""
    known = [] if classes is None else [plain_value(label) for label in classes]
    if not known:
        raise SlopeError(
            f"slopes per class belong to a classifier; got {dict(given)!r} for {feature!r}; pass (lower, upper)."
        )
    if len(given) != 1 or next(iter(given)) not in known:
        shown = [plain_value(label) for label in given]
        raise SlopeError(
            f"slopes of {feature!r} are about one of the classes {known}, the other one's are their negatives; got "
            f"{shown}; write for example {{{known[0]!r}: (0, 1)}}."
        )
    ((label, pair),) = given.items()
    return pair, known.index(label)


def _read_pair(pair: Any, feature: str) -> tuple[float, float]:
    pair = tuple(map(plain_value, pair)) if isinstance(pair, tuple | list | np.ndarray) else plain_value(pair)
    try:
        low, high = (float(v) for v in pair)
    except (TypeError, ValueError):
        raise SlopeError(f"slopes[{feature!r}] is a pair (lower, upper); got {pair!r}; {_as_pair(pair)}.") from None
    if not (np.isfinite([low, high]).all() and low <= high):
        raise SlopeError(
            f"a slope interval is finite and not empty; got {pair!r} for {feature!r}; write (lower, upper) with "
            "lower <= upper."
        )
    return low, high


def _as_pair(number: Any) -> str:
    if isinstance(number, int | float) and number > 0:
        return f"write (0, {number:g}) or ({-number:g}, {number:g})"
    return "write two numbers, for example (0, 1)"
