"""What a person asks a model to promise, from options and a TOML file, checked against the columns there are."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monolip.cli._names import nearest, require_columns, split_names
from monolip.errors import InputError

__all__ = ["Constraints", "read_constraints"]

_KEYS = ("increasing", "decreasing", "slopes", "max_slope", "missing", "ordered", "categorical", "classes")
_OPTIONS = "the command line"


@dataclass(frozen=True)
class Constraints:
    """directions: {feature: +1 or -1}. classes: {label as text: directions}. ordered: {feature: [low, ..., high]}."""

    directions: dict[str, int] = field(default_factory=dict)
    slopes: dict[str, tuple[float, float]] = field(default_factory=dict)
    max_slope: float | dict[str, float] | None = None
    missing: dict[str, str] = field(default_factory=dict)
    ordered: dict[str, list[Any]] = field(default_factory=dict)
    categorical: tuple[str, ...] = ()
    classes: dict[str, dict[str, int]] = field(default_factory=dict)

    def monotonic_cst(self, labels: Sequence[Any] | None, positive: str | None) -> dict[str, Any] | None:
        """As estimators take it. labels: the classes in order, None for regression."""
        if labels is not None and len(labels) == 2:
            self._require_one_class(labels, positive)
        wanted = dict(self.classes)
        if positive is not None and self.directions:
            wanted[positive] = self.directions | wanted.get(positive, {})
        if labels is None:
            if wanted or positive is not None:
                raise InputError("a class needs a classification; got a target of numbers; leave --positive out.")
            return dict(self.directions) or None
        if positive is not None:
            label_of(positive, labels)  # a class that is not there is told, also where nothing is asked of it
        named: dict[str, Any] = {}
        for text, directions in wanted.items():
            for name, sign in directions.items():
                named.setdefault(name, {})[label_of(text, labels)] = sign
        if self.directions and positive is None:
            if len(labels) > 2:
                raise InputError(
                    f"with {len(labels)} classes a direction is about one of them; got none; pass --positive LABEL, "
                    f"one of {', '.join(map(repr, map(str, labels[:8])))}."
                )
            _require_order(labels, f"the directions of {', '.join(map(repr, list(self.directions)[:3]))}")
            named = {**self.directions, **named}
        return named or None

    def _require_one_class(self, labels: Sequence[Any], positive: str | None) -> None:
        """Refuse options about another of two classes than the one that the constraints file names."""
        named = [text for text, directions in self.classes.items() if directions]
        if positive is not None and any(label_of(text, labels) != label_of(positive, labels) for text in named):
            raise InputError(
                f"all constraints are about one class; got [classes.{named[0]}] in the constraints file and --positive "
                f"{positive}; change one of them."
            )
        if positive is None and named and self.directions and not _have_an_order(labels):
            raise InputError(
                f"all constraints are about one class; got [classes.{named[0]}] in the constraints file, and no class "
                f"for {', '.join(map(repr, list(self.directions)[:3]))}; pass --positive {named[0]}."
            )

    def slopes_of(self, labels: Sequence[Any] | None, positive: str | None) -> dict[str, Any] | None:
        """As estimators take them: about the class that --positive names, as directions are."""
        if labels is not None and len(labels) == 2 and positive is None:
            one_sided = [name for name, (low, high) in self.slopes.items() if low != -high]
            if one_sided:
                _require_order(labels, f"the slopes of {', '.join(map(repr, one_sided[:3]))}")
        if positive is None or labels is None or len(labels) != 2:
            return dict(self.slopes) or None
        label = label_of(positive, labels)
        return {name: {label: pair} for name, pair in self.slopes.items()} or None

    def categorical_features(self) -> Any:
        """As estimators take it; text columns that are not named are categories anyway."""
        return {**dict.fromkeys(self.categorical), **self.ordered} or None

    def facts(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value}


def _require_order(labels: Sequence[Any], what: str) -> None:
    """Refuse what names no class, unless classes are numbers or booleans, whose order everybody knows."""
    if not _have_an_order(labels):
        first, second = map(str, labels)
        raise InputError(
            f"the target has the classes {first!r} and {second!r}, and {what} are about the probability of one of "
            f"them; got neither; pass --positive {first} or --positive {second}."
        )


def _have_an_order(labels: Sequence[Any]) -> bool:
    return all(isinstance(label, bool | int | float) for label in labels)


def label_of(text: str, labels: Sequence[Any]) -> Any:
    """The class that a text names."""
    for label in labels:
        if str(label) == text or (isinstance(label, bool) and str(label).lower() == text.lower()):
            return label
    raise InputError(f"--positive names a class of the target; got {text!r}; {nearest(text, [str(x) for x in labels])}")


def read_constraints(
    known: Sequence[str], *, increasing: Sequence[str] = (), decreasing: Sequence[str] = (), slope: Sequence[str] = (),
    max_slope: Sequence[str] = (), constraints: Path | None = None, categorical: Sequence[str] = (),
) -> Constraints:  # fmt: skip
    """Options come on top of the file. known: the features."""
    given = {} if constraints is None else _read_toml(constraints)
    where = _OPTIONS if constraints is None else str(constraints)
    directions = _directions(_names(given, "increasing", where), _names(given, "decreasing", where), known, where)
    directions |= _directions(split_names(increasing, known), split_names(decreasing, known), known, _OPTIONS)
    slopes = {name: _interval(name, pair) for name, pair in _mapping(given, "slopes", where).items()}
    slopes |= dict(_slope(text) for text in slope)
    classes = {str(label): _of_class(entry, known, where) for label, entry in _mapping(given, "classes", where).items()}
    missing = {str(name): str(rule) for name, rule in _mapping(given, "missing", where).items()}
    ordered = {str(name): _order(name, order) for name, order in _mapping(given, "ordered", where).items()}
    text = (*_names(given, "categorical", where), *split_names(categorical, known))
    caps = _caps(given.get("max_slope"), max_slope, where)
    for what, names in (("slopes", slopes), ("missing", missing), ("ordered", ordered), ("categorical", text)):
        require_columns(names, known, what)
    if isinstance(caps, dict):
        require_columns(caps, known, "max_slope")
    return Constraints(directions, slopes, caps, missing, ordered, tuple(dict.fromkeys(text)), classes)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:  # of TOML, of its encoding, of numbers and nesting without end
        raise InputError(f"constraints are a TOML file; {path} is none: {error}; see docs/cli.md.") from None
    for key in found:
        if key not in _KEYS:
            near = nearest(key, _KEYS)  # or all of them, which the rule has said
            hint = near if near.startswith("did you mean") else "remove it."
            hint = "pass --positive LABEL on the command line instead." if key == "positive" else hint
            raise InputError(f"a constraints file has the keys {', '.join(_KEYS)}; got {key!r}; {hint}")
    return found


def _names(given: Mapping[str, Any], key: str, where: str) -> list[str]:
    names = given.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f'{key} is a list of column names; {where} has {names!r}; write {key} = ["a", "b"].')
    return names


def _mapping(given: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    found = given.get(key, {})
    if not isinstance(found, dict):
        raise InputError(f"{key} is a table by name; {where} has {found!r}; write [{key}] and a line for each.")
    return found


def _directions(up: Sequence[str], down: Sequence[str], known: Sequence[str], where: str) -> dict[str, int]:
    for option, names in (("--increasing", up), ("--decreasing", down)):
        require_columns(names, known, option if where == _OPTIONS else where)
    both = [name for name in up if name in down]
    if both:
        raise InputError(f"a feature has one direction; {where} asks for both of {both[0]!r}; remove one.")
    return dict.fromkeys(up, 1) | dict.fromkeys(down, -1)


def _of_class(entry: Any, known: Sequence[str], where: str) -> dict[str, int]:
    if not isinstance(entry, dict) or not set(entry) <= {"increasing", "decreasing"}:
        raise InputError(f"a class has the keys increasing and decreasing; {where} has {entry!r}; correct it.")
    return _directions(_names(entry, "increasing", where), _names(entry, "decreasing", where), known, where)


def _order(name: str, order: Any) -> list[Any]:
    if not isinstance(order, list) or not all(isinstance(label, str | int | float) for label in order):
        raise InputError(
            f'an order is a list of categories from low to high; got {order!r} for {name!r}; write ["a", "b"].'
        )
    return order


def _interval(name: str, pair: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"a slope is an interval of two numbers; got {pair!r} for {name!r}; write [-0.1, 0.2]."
        ) from None
    return low, high


def _slope(text: str) -> tuple[str, tuple[float, float]]:
    name, equals, ends = text.rpartition("=")
    if not equals or ends.count(":") != 1:
        raise InputError(f"--slope is FEATURE=LOW:HIGH; got {text!r}; write --slope age=-0.1:0.2 for example.")
    return name, _interval(name, ends.split(":"))


def _caps(given: Any, options: Sequence[str], where: str) -> float | dict[str, float] | None:
    caps: dict[str, float] = {}
    one = None
    if isinstance(given, dict):
        caps = {str(name): _cap(value, where) for name, value in given.items()}
    elif given is not None:
        one = _cap(given, where)
    for text in options:
        name, equals, value = text.rpartition("=")
        if equals:
            caps[name] = _cap(value, "--max-slope")
        else:
            one = _cap(value, "--max-slope")
    if caps and one is not None:
        raise InputError("max_slope is one number, or one for each of some features; got both; choose.")
    return caps or one


def _cap(value: Any, where: str) -> float:
    try:
        cap = float(value)
    except (TypeError, ValueError, OverflowError):
        cap = math.nan
    if not 0 < cap < math.inf:
        raise InputError(f"a slope cap is a number above 0; got {value!r} in {where}; pass one.")
    return cap
