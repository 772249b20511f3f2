"""What the user asked for, per raw feature: direction (per class), slope cap, explicit interval, missing values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import SlopeError
from monolip.estimators._schema import Schema, need_names
from monolip.estimators._slope_intervals import read_intervals
from monolip.input_columns import plain_value
from monolip.intervals import by_ends
from monolip.monotonic_cst import by_position, read_direction, read_directions, read_per_feature

__all__ = ["Promises", "class_direction", "read_promises"]

MISSING = ("state", "lowest", "highest")


@dataclass(frozen=True)
class Promises:
    """directions: (n_raw, n_outputs), +1, -1, 0, or 2 for "flat"; caps: raw units or NaN; intervals: by position."""

    directions: NDArray[np.int64]
    caps: NDArray[np.float64]
    standard_cap: float | None
    intervals: dict[int, tuple[float, float]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def style(self, j: int) -> str:
        """How feature j is calibrated: linearly where its slopes are given in raw units."""
        if j in self.intervals:
            return "linear"
        return "quantile" if math.isnan(self.caps[j]) and self.standard_cap is None else "clipped"


def read_promises(
    schema: Schema, monotonic_cst: Any, slopes: Any, max_slope: Any, missing: Any, classes: NDArray[Any] | None,
    positive: int | None = None,
) -> Promises:  # fmt: skip
    """Everything checked against the columns there are; classes: the class labels, or None for regression.

    positive: of two classes the position of the one that f is about (`named_class`), by default the second.
    """
    n = schema.n_raw
    words = {"monotonic_cst": monotonic_cst, "slopes": slopes, "max_slope": max_slope, "missing": missing}
    for what, given in words.items():
        need_names(given, what, schema)
    n_outputs = 1 if classes is None or len(classes) == 2 else len(classes)
    positive = 1 if positive is None else positive
    per_class = _split_classes(monotonic_cst, classes)
    if n_outputs == 1:
        directions = _one_output(per_class, classes, schema, positive)
    else:
        directions = _many_classes(per_class, schema, classes)
    if directions.shape != (n, n_outputs):
        raise SlopeError(
            f"monotonic_cst has one direction per feature; got shape {np.shape(monotonic_cst)} for {n} features; match "
            "them."
        )
    caps, standard = _caps(max_slope, schema)
    promises = Promises(
        directions, caps, standard, read_intervals(slopes, schema, directions, classes, positive),
        _missing(missing, schema),
    )  # fmt: skip
    _check_categories(promises, schema)
    return promises


def _split_classes(monotonic_cst: Any, classes: NDArray[Any] | None) -> Any:
    """Refuse {feature: {class: direction}} where there are no classes."""
    nested = isinstance(monotonic_cst, Mapping) and any(isinstance(v, Mapping) for v in monotonic_cst.values())
    if nested and classes is None:
        raise SlopeError(
            f"directions per class belong to a classifier; got {monotonic_cst!r} in a regressor; pass -1, 0 or +1."
        )
    return monotonic_cst


def _one_output(monotonic_cst: Any, classes: NDArray[Any] | None, schema: Schema, positive: int) -> NDArray[np.int64]:
    """Directions of f, shape (n_raw, 1); an error of a classifier says whose probability a direction moves."""
    try:
        signs = _two_classes(monotonic_cst, classes, positive)
        found = read_directions(signs, schema.names, schema.n_raw, schema.labels)[:, None]
    except SlopeError as error:
        if classes is None or not str(error).startswith("a direction is"):
            raise
        raise SlopeError(f"{error} With two classes it is {{class: -1 or +1}}: P(class) falls or rises.") from None
    return found


def _two_classes(monotonic_cst: Any, classes: NDArray[Any] | None, positive: int) -> Any:
    """{feature: {class: +-1}} of two classes as the direction of the log-odds of the class that f is about."""
    if classes is None or not isinstance(monotonic_cst, Mapping):
        return monotonic_cst
    plain = {}
    for feature, value in monotonic_cst.items():
        if not isinstance(value, Mapping):
            plain[feature] = value
            continue
        signs = [sign * (1 if k == positive else -1) for k, sign in _by_class(value, classes, feature).items() if sign]
        if len(set(signs)) > 1:
            shown = {plain_value(label): sign for label, sign in value.items()}
            raise SlopeError(f"two classes cannot both rise or both fall; got {shown} for {feature!r}; drop one.")
        plain[feature] = signs[0] if signs else 0
    return plain


def _many_classes(monotonic_cst: Any, schema: Schema, classes: Any) -> NDArray[np.int64]:
    """Roles per class: rising [0, s] with the others [-s, 0]; falling the reverse; both given: the others flat."""
    directions = np.zeros((schema.n_raw, len(classes)), dtype=np.int64)
    if monotonic_cst is None:
        return directions
    if not isinstance(monotonic_cst, Mapping):
        if not np.any(np.asarray(monotonic_cst, dtype=object) != 0):
            return directions
        raise SlopeError(_show_form(classes, "an array", schema.names[0]))
    for j, value in by_position(monotonic_cst, schema.names, schema.n_raw, schema.labels).items():
        if not isinstance(value, Mapping):
            if value == 0:
                continue
            raise SlopeError(_show_form(classes, repr(value), schema.names[j]))
        roles = _by_class(value, classes, schema.names[j])
        rising, falling = [k for k, s in roles.items() if s > 0], [k for k, s in roles.items() if s < 0]
        for found, word in ((rising, "rising"), (falling, "falling")):
            if len(found) > 1:
                both = [plain_value(classes[k]) for k in found]
                raise SlopeError(
                    f"a feature has at most one {word} class: two of them must move alike against each other, which "
                    f"forces equal slopes; got {both} for {schema.names[j]!r}; keep one."
                )
        if rising or falling:
            others = 2 if rising and falling else -1 if rising else 1
            directions[j] = others
            directions[j, rising], directions[j, falling] = 1, -1
    return directions


def _by_class(value: Mapping[Any, Any], classes: Any, feature: Any) -> dict[int, int]:
    known = {plain_value(label): k for k, label in enumerate(classes)}
    for label in value:
        if label not in known:
            raise SlopeError(
                f"monotonic_cst of {feature!r} names class {plain_value(label)!r}; the classes are {list(known)[:8]}; "
                "name one of them."
            )
    return {known[label]: class_direction(sign, label, feature) for label, sign in value.items()}


def class_direction(sign: Any, label: Any, feature: Any) -> int:
    """The direction of one class in {feature: {class: direction}}."""
    return read_direction(sign, f"class {plain_value(label)!r} of feature {feature!r}")


def _show_form(classes: Any, got: str, feature: str) -> str:
    example = {feature: {plain_value(classes[-1]): 1}}
    return (
        "with three or more classes a direction belongs to a class: P(class) rises or falls; "
        f"got {got}; write for example monotonic_cst={example!r}."
    )


def _caps(max_slope: Any, schema: Schema) -> tuple[NDArray[np.float64], float | None]:
    caps = np.full(schema.n_raw, np.nan)
    if max_slope is None:
        return caps, None
    if not isinstance(max_slope, Mapping):
        return caps, float(read_per_feature(max_slope, "max_slope", None, 1)[0])
    for j, cap in by_position(max_slope, schema.names, schema.n_raw, schema.labels).items():
        caps[j] = read_per_feature(cap, f"max_slope of {schema.names[j]!r}", None, 1)[0]
    return caps, None


def _missing(given: Any, schema: Schema) -> tuple[str, ...]:
    per = ["state"] * schema.n_raw
    if isinstance(given, Mapping):
        found = by_position(given, schema.names, schema.n_raw, schema.labels)
    else:
        found = dict.fromkeys(range(schema.n_raw), given)
    for j, word in found.items():
        if word not in MISSING:
            of = f" for {schema.names[j]!r}" if isinstance(given, Mapping) else ""
            raise SlopeError(
                f"missing is one of {MISSING}, or a dict of these by feature; got {plain_value(word)!r}{of}; choose "
                "one."
            )
        per[j] = word
    return tuple(per)


def _check_categories(promises: Promises, schema: Schema) -> None:
    for j, categories in enumerate(schema.categories):
        if j in promises.intervals and not np.isnan(promises.caps[j]):
            raise SlopeError(
                f"slopes and max_slope both bound a feature's slope, and the interval alone would count; got both for "
                f"{schema.names[j]!r}; keep one of them."
            )
        if categories is None:
            if j in promises.intervals and promises.missing[j] != "state":
                raise SlopeError(
                    f"a feature with an explicit slope interval has no lowest or highest value; got missing="
                    f"{promises.missing[j]!r} for {schema.names[j]!r}; use missing='state' for it."
                )
            continue
        if j in promises.intervals or not np.isnan(promises.caps[j]):
            raise SlopeError(f"a category has no slope; got one for {schema.names[j]!r}; use a direction, or a number.")
        if promises.missing[j] != "state" and not schema.ordered[j]:
            raise SlopeError(
                f"a lowest or highest value needs an order; got missing={promises.missing[j]!r} for the unordered "
                f"category {schema.names[j]!r}; name the other features in a dict, or make it ordered by "
                f"categorical_features={{{schema.names[j]!r}: {_listed(categories)}}}, from low to high."
            )
        if promises.directions[j].any() and not schema.ordered[j]:
            raise SlopeError(
                f"a direction needs an order; {schema.names[j]!r} is an unordered category; make it ordered by "
                f"categorical_features={{{schema.names[j]!r}: {_listed(categories)}}}, from low to high."
            )


def _listed(categories: tuple[Any, ...]) -> str:
    """All categories as a list to copy, or the first with dots where there are very many, or may be more (...)."""
    known = [label for label in categories if label is not ...]
    known = by_ends(known) or known
    return repr(known) if len(categories) == len(known) <= 12 else repr(known[:12])[:-1] + ", ...]"
