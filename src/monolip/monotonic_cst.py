"""Reads `monotonic_cst` and per-feature values in scikit-learn's grammar, with errors that say what to do.

A feature is given by a key, and what a key means depends on the table:

    columns with string names        a string is a name, a whole number a position
    columns with other labels        a label of a column means that column, as in pandas; see `feature_index`
    arrays, without any labels       a whole number is a position; x0, x1, ... are names
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import SlopeError

__all__ = ["by_position", "check_names", "feature_index", "read_direction", "read_directions", "read_per_feature"]


def check_names(feature_names: Sequence[str] | None, n_features: int | None) -> tuple[str, ...] | None:
    """Feature names as a tuple of distinct strings, of the length that was said."""
    if feature_names is None:
        return None
    names = tuple(feature_names) if isinstance(feature_names, Iterable) else (feature_names,)
    unordered = isinstance(feature_names, set | frozenset)  # promises would land on features at random
    if isinstance(feature_names, str) or unordered or not all(isinstance(name, str) for name in names):
        raise SlopeError(f"feature names must be a sequence of strings; got {feature_names!r}; pass a list of names.")
    if len(set(names)) < len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise SlopeError(f"feature names must be distinct; got {twice[:5]} more than once; rename them.")
    if n_features is not None and len(names) != n_features:
        raise SlopeError(
            f"there must be one name per feature; got {len(names)} names for {n_features} features; "
            "pass as many names as features."
        )
    return names


def feature_index(
    key: Hashable, names: tuple[str, ...] | None, n_features: int, labels: Sequence[Hashable] | None = None
) -> int:
    """Return the position of the feature that a key means; a misspelt name gets the nearest one suggested.

    names: how features are called in messages and tables. labels: the labels of the columns of a data frame where they
    are not all strings. A key that is such a label means that column. Where a label is a number or a boolean, every
    number is a label and none is a position. A boolean is a label where columns are labelled by booleans, and nothing
    else. Positions run from 0; negative ones are refused.

    >>> feature_index(2, ("x2", "x1", "x0"), 3, labels=(2, 1, 0)), feature_index(2, ("c", "b", "a"), 3)
    (0, 2)
    """
    if labels is not None:
        if (found := _position_of_label(key, labels)) is not None:
            return found
        if isinstance(key, Number | np.bool_) and any(isinstance(label, Number | np.bool_) for label in labels):
            raise SlopeError(
                "a number means the column with that label, because columns of X are labelled by numbers or booleans; "
                f"got {key!r}; the labels are {_some(labels)}."
            )
    if isinstance(key, str):
        key = str(key)  # numpy's strings would show their type in messages
        if names is None:
            raise SlopeError(f"feature {key!r} was given by name but no names are known; pass feature_names=[...].")
        if key not in names:
            raise SlopeError(f"a constraint must name a known feature; got {key!r}; {_nearest(key, names)}")
        return names.index(key)
    if isinstance(key, bool) or not isinstance(key, int | np.integer):
        raise SlopeError(f"a feature is a name or a position; got {key!r}; use a string or an int.")
    position = int(key)
    if not 0 <= position < n_features:
        raise SlopeError(f"feature positions run from 0 to {n_features - 1}; got {position}; correct the position.")
    if names is not None and str(position) in names and names[position] != str(position):
        raise SlopeError(
            f"a whole number is a position where columns have string names; got {position}, which is also the name of "
            f"another column; write {str(position)!r} for that column, or {names[position]!r} for the one at position "
            f"{position}."
        )
    return position


def _position_of_label(key: Hashable, labels: Sequence[Hashable]) -> int | None:
    """Position of the column labelled like the key; True is no other word for 1."""
    try:
        where = {(isinstance(label, bool | np.bool_), label): j for j, label in enumerate(labels)}
        return where.get((isinstance(key, bool | np.bool_), key))
    except TypeError:  # a key that cannot be hashed labels nothing
        return None


def _some(labels: Sequence[Any]) -> str:
    return ", ".join(map(repr, labels[:5])) + (f" and {len(labels) - 5} more" if len(labels) > 5 else "")


def _nearest(key: str, names: tuple[str, ...]) -> str:
    """A name that is spelt alike, or one that the key is a part of ("util" of "Utilisation"); else what there is."""
    parts = [name for name in names if len(key) > 2 and key.lower() in name.lower()]
    close = difflib.get_close_matches(key, names, n=1) or parts[:1]
    if close:
        return f"did you mean {close[0]!r}?"
    return f"the features are {_some(names)}."


def by_position(
    given: Mapping[Any, Any],
    names: tuple[str, ...] | None,
    n_features: int,
    labels: Sequence[Hashable] | None = None,
) -> dict[int, Any]:
    """Return a dict by feature as a dict by position; see `feature_index` for what a key means.

    One feature under two keys is refused, not overwritten.
    """
    found: dict[int, Any] = {}
    for key, value in given.items():
        position = feature_index(key, names, n_features, labels)
        if position in found:
            raise SlopeError(
                f"each feature may be given once; got {key!r} again, by name and by {'label' if labels else 'position'}"
                "; drop one."
            )
        found[position] = value
    return found


def read_directions(
    monotonic_cst: Any,
    names: tuple[str, ...] | None,
    n_features: int | None,
    labels: Sequence[Hashable] | None = None,
) -> NDArray[np.int64]:
    """Return directions in {-1, 0, +1}, shape (n_features,) or (n_features, n_outputs).

    scikit-learn's grammar: None is unconstrained, an array gives every feature by position, a dict names those
    constrained (`feature_index`).
    """
    if n_features is None and names is not None:
        n_features = len(names)
    if n_features is not None and (isinstance(n_features, bool) or not isinstance(n_features, int | np.integer)):
        raise SlopeError(f"n_features must be an int; got {n_features!r}; pass the number of columns.")
    if monotonic_cst is None or isinstance(monotonic_cst, Mapping):
        if n_features is None:
            raise SlopeError(
                "the number of features must be known when monotonic_cst is None or a dict; got neither "
                "feature_names nor n_features; pass one of them."
            )
        directions = np.zeros(max(0, n_features), dtype=np.int64)
        for position, value in by_position(monotonic_cst or {}, names, n_features, labels).items():
            directions[position] = read_direction(value, f"feature {names[position] if names else position!r}")
        return directions
    return _directions_from_array(monotonic_cst, n_features)


def _directions_from_array(monotonic_cst: Any, n_features: int | None) -> NDArray[np.int64]:
    try:
        given = np.asarray(monotonic_cst, dtype=object)
    except ValueError as error:  # ragged nested lists
        raise SlopeError(f"monotonic_cst must be a regular array; got {monotonic_cst!r}; {error}.") from error
    if given.ndim not in (1, 2) or given.size == 0:
        raise SlopeError(
            "monotonic_cst must have one entry per feature, shape (n_features,) or (n_features, n_outputs); "
            f"got shape {given.shape}; pass None to leave every feature unconstrained."
        )
    if n_features is not None and given.shape[0] != n_features:
        raise SlopeError(
            f"monotonic_cst must have one entry per feature; got {given.shape[0]} for {n_features} features; "
            "write 0 for features without a direction, or use a dict by name."
        )
    flat = [read_direction(value, f"entry {where}") for where, value in np.ndenumerate(given)]
    return np.array(flat, dtype=np.int64).reshape(given.shape)


def read_direction(value: Any, what: str) -> int:
    """-1, 0 or +1; what: whose direction it is, for the message."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, bool | np.bool_ | str):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if number in (-1.0, 0.0, 1.0):
            return int(number)
    raise SlopeError(
        f"a direction is -1 (decreasing), 0 (free) or +1 (increasing); got {value!r} for {what}; use one of the three."
    )


def read_per_feature(value: Any, what: str, names: tuple[str, ...] | None, n_features: int) -> NDArray[np.float64]:
    """One positive finite number per feature, from a number, an array or a dict that names every feature."""
    if isinstance(value, Mapping):
        result = np.full(n_features, np.nan)
        found = by_position(value, names, n_features)
        for position, number in found.items():
            result[position] = _number(number, f"{what} of {names[position] if names else position!r}")
        missing = [i for i in range(n_features) if i not in found]
        if missing:
            shown = [names[i] if names else i for i in missing[:5]]
            raise SlopeError(f"{what} as a dict must name every feature; {shown} missing; add them or pass one number.")
    else:
        result = np.array([_number(v, what) for v in np.ravel(np.asarray(value, dtype=object))])
        if np.ndim(value) == 0:
            result = np.full(n_features, result[0])
        elif np.shape(value) != (n_features,):
            raise SlopeError(
                f"{what} must be one number or one per feature; got shape {np.shape(value)} for {n_features} features; "
                "pass a number, or an array of that length."
            )
    if not (np.isfinite(result).all() and (result > 0).all()):
        bad = result[~(np.isfinite(result) & (result > 0))][0]
        raise SlopeError(f"{what} must be positive and finite; got {bad}; pass a number greater than 0.")
    return result


def _number(value: Any, what: str) -> float:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool | np.bool_ | str):
        raise SlopeError(f"{what} must be a number; got {value!r}; pass a float.")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise SlopeError(f"{what} must be a number; got {value!r}; pass a float.") from None
