"""Arguments that no row can make right, told before a stream is read: a pass over it may take an hour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from monolip.estimators._checks import check_class_weight
from monolip.estimators._promises import class_direction, read_promises
from monolip.estimators._schema import Schema, asked_categories
from monolip.estimators._tables import RawColumn, RawTable
from monolip.estimators._targets import read_loss
from monolip.estimators.stream._arrow import LABEL
from monolip.estimators.stream.source import Source
from monolip.input_columns import is_missing
from monolip.monotonic_cst import by_position

__all__ = ["refuse_arguments", "wanted_categories"]


def refuse_arguments(model: Any, files: Source, features: tuple[str, ...]) -> None:
    """Loss, names, directions and intervals against the columns of the first rows; classes are not known yet.

    What it lets pass is looked at again after the pass, when every category and class is known.
    """
    for given in (model.monotonic_cst, model.slopes, model.max_slope, model.missing):
        if isinstance(given, Mapping):
            by_position(given, features, len(features))
    schema = _schema(model, files, features)
    if model._is_classifier:  # which may be of either class: whether both agree is known with the classes
        check_class_weight(model.class_weight)
        read_promises(schema, _of_any_class(model.monotonic_cst), None, model.max_slope, model.missing, None)
        read_promises(schema, None, _pairs(model.slopes), model.max_slope, model.missing, None)
    else:
        read_loss(model.loss, model.loss_parameter)
        read_promises(schema, model.monotonic_cst, model.slopes, model.max_slope, model.missing, None)


def wanted_categories(model: Any, features: tuple[str, ...]) -> dict[int, tuple[Any, ...] | None]:
    """Position -> order (None: unordered) of the columns that categorical_features names."""
    bare = RawTable(tuple(RawColumn(name, np.zeros(0)) for name in features), True, 0)
    return asked_categories(model.categorical_features, bare)


def _schema(model: Any, files: Source, features: tuple[str, ...]) -> Schema:
    """Categories are those of the first rows, and "..." for those that may come."""
    wanted, types = wanted_categories(model, features), files.arrow.types
    rows = next(iter(files.read(files.groups[0], list(features), 2**10)))
    categories: list[tuple[Any, ...] | None] = []
    for j, name in enumerate(features):
        column = rows.column(name)
        plain = files.kinds[name] == LABEL and not types.is_dictionary(column.type)  # whose values may be numbers
        if j in wanted or plain:
            seen = {value for value in column.to_pylist() if not is_missing(value)}
            categories.append((*sorted(seen, key=str), ...))
        else:
            categories.append(None)
    ordered = tuple(wanted.get(j) is not None for j in range(len(features)))
    return Schema(features, True, tuple(categories), ordered)


def _of_any_class(monotonic_cst: Any) -> Any:
    """A direction of a class is one of its feature."""
    if not isinstance(monotonic_cst, Mapping):
        return monotonic_cst if np.ndim(monotonic_cst) < 2 else None
    plain = dict(monotonic_cst)
    for name, given in monotonic_cst.items():
        if isinstance(given, Mapping):
            signs = [class_direction(sign, label, name) for label, sign in given.items()]  # each of them is one
            plain[name] = int(any(signs))
    return plain


def _pairs(slopes: Any) -> Any:
    """Intervals without their class; those of several classes are left for later, when the classes can be named."""
    if not isinstance(slopes, Mapping):
        return slopes
    plain = {}
    for name, given in slopes.items():
        if not isinstance(given, Mapping):
            plain[name] = given
        elif len(given) == 1:
            (plain[name],) = given.values()
    return plain
