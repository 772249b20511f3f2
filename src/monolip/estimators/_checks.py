"""Parameters and arrays that cannot be meant: refused by name, before anything is computed."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError, SlopeError
from monolip.input_columns import is_missing, plain_value
from monolip.input_transform import InputTransform

__all__ = [
    "check_boxes",
    "check_class_weight",
    "check_labels",
    "flag",
    "members",
    "numbers",
    "read_callbacks",
    "seconds",
    "share",
    "threads",
    "whole",
    "widths",
]

LARGEST = 1e200  # of targets and offsets: sums and quotients with any other number stay finite
MOST_MEMBERS = 64  # as the command line has it
_SINGLE = float(np.finfo(np.float32).max) / 2


def whole(name: str, value: Any, low: int, word: str | None = None, high: float = math.inf) -> int:
    """A whole number, at least low and at most high; word: what is allowed instead, for the message."""
    if not _is_number(value) or value != value // 1 or not low <= value <= high or math.isinf(value):
        bounds = f"at least {low}" if math.isinf(high) else f"{low} to {high:g}"
        rule = f"a whole number, {bounds}" if word is None else f"{word} or {bounds}, a whole number"
        raise InputError(f"{name} is {rule}; got {reprlib.repr(value)}; correct it.")
    return int(value)


def members(value: Any) -> int | None:
    """n_estimators; None for "auto"."""
    if str(value) == "auto":
        return None
    if _is_number(value) and value > MOST_MEMBERS:
        raise InputError(
            f"n_estimators is the number of networks that are averaged, 'auto' or 1 to {MOST_MEMBERS}, and not of "
            f"boosting rounds; got {value!r}; leave it out, or write fit_options=FitOptions.accurate()."
        )
    return whole("n_estimators", value, 1, "'auto'")


def widths(value: Any) -> tuple[int, ...]:
    """hidden_layer_sizes: one whole number or several."""
    several = list(value) if np.iterable(value) and not isinstance(value, str | bytes | dict) else [value]
    return tuple(whole("each of hidden_layer_sizes", plain_value(width), 1) for width in several)


def share(value: Any) -> float:
    """validation_fraction."""
    if not _is_number(value) or not 0.0 < value <= 0.5:
        raise InputError(f"validation_fraction lies in (0, 0.5]; got {value!r}; correct it.")
    return float(value)


def seconds(value: Any) -> float | None:
    """max_time."""
    if value is not None and (not _is_number(value) or not 0.0 <= value < math.inf):
        raise InputError(f"max_time is None or a finite number of seconds, at least 0; got {value!r}; correct it.")
    return None if value is None else float(value)


def threads(value: Any) -> None:
    """n_jobs."""
    if value is not None and (not _is_number(value) or value != value // 1 or value == 0 or math.isinf(value)):
        raise InputError(f"n_jobs is None or a whole number, -1 for all cores, not 0; got {value!r}; correct it.")


def flag(name: str, value: Any) -> bool:
    """True or False (or 1 and 0)."""
    if not isinstance(value, bool | int | np.bool_ | np.integer) or value not in (0, 1):
        raise InputError(f"{name} is True or False; got {value!r}; choose one.")
    return bool(value)


def numbers(what: str, given: Any) -> NDArray[np.float64]:
    """Weights or offsets as float64."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} holds numbers, one a row; {error}; convert it.") from None


def read_callbacks(callbacks: Any) -> tuple[Callable[[dict[str, Any]], Any], ...]:
    """Return callbacks as a tuple of functions; one function alone counts as a list of one."""
    if callbacks is None:
        return ()
    given = (callbacks,) if callable(callbacks) else callbacks
    if not np.iterable(given) or isinstance(given, str | bytes) or not all(callable(one) for one in given):
        raise InputError(
            f"callbacks are functions of a row of the history; got {reprlib.repr(callbacks)}; pass a list of functions."
        )
    return tuple(given)


def check_labels(y: Any, labels: NDArray[Any]) -> None:
    """Class labels are known, and of one kind: a mixture has no order."""
    items = list(y) if isinstance(y, list | tuple) else labels.tolist() if labels.dtype.kind == "O" else []
    flat = [item[0] if isinstance(item, list | tuple) and len(item) == 1 else item for item in items]
    missing = [row for row, item in enumerate(flat) if is_missing(item)]
    if missing:
        raise InputError(
            f"class labels must be known: y contains NaN or None in row {missing[0]}; drop or fill those rows."
        )
    strings = {isinstance(item, str): row for row, item in enumerate(flat)}
    if len(strings) > 1:
        first, second = (plain_value(flat[strings[kind]]) for kind in (True, False))
        raise InputError(
            f"class labels are all strings or all numbers; got {first!r} and {second!r}; convert them to one kind."
        )


def check_class_weight(given: Any) -> None:
    """What can be told of class_weight before any class is known."""
    if given is None or (isinstance(given, str) and given == "balanced"):
        return
    if not isinstance(given, Mapping):
        raise InputError(f"class_weight is {{class: weight}}, 'balanced' or None; got {given!r}; choose one of them.")
    for label, weight in given.items():
        if not _is_number(weight) or weight < 0:
            raise InputError(
                f"the weight of a class is a number, at least 0; got {plain_value(weight)!r} for class "
                f"{plain_value(label)!r} in class_weight; correct it."
            )


def check_boxes(inputs: InputTransform, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
    """lower, upper: (n_outputs, n_model), of model columns and a standardised target, as training sees them."""
    if max(lower.max(), -upper.min()) < _SINGLE and not (lower > upper).any():
        return
    for j, name in enumerate(inputs.names):
        where = slice(inputs.starts[j], inputs.starts[j + 1])
        low, high = lower[:, where], upper[:, where]
        least = max(low.max(), -high.min())  # a generous cap is fine; the flattest slope allowed must be learnable
        if not least < _SINGLE:
            raise SlopeError(
                f"slopes of {name!r}, in standard deviations of the target per one of the feature, must be learnable "
                f"in single precision, below {_SINGLE:.1g}; got {least:g} or steeper; choose less steep ones."
            )
        if (low > high).any():
            raise SlopeError(
                f"the slope interval of {name!r} must hold a number after scaling to standard deviations; got none: it "
                "is too narrow near the smallest floats; widen it, or rescale the feature."
            )


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, Real) and not math.isnan(value)
