"""What each raw column is (a number or a category, ordered or not), learned at fit and checked at every predict."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monolip.errors import InputError, SlopeError
from monolip.estimators._float_spacing import warn_of_coarse_columns
from monolip.estimators._tables import RawColumn, RawTable, column_names, read_table
from monolip.estimators._warn import warn_caller
from monolip.frames import ColumnNames
from monolip.input_columns import CategoryColumn, is_missing, plain_label, plain_value
from monolip.input_transform import InputTransform
from monolip.intervals import plain_interval
from monolip.monotonic_cst import by_position, feature_index

__all__ = ["Schema", "asked_categories", "learn_schema", "need_names", "table_like"]


@dataclass(frozen=True)
class Schema:
    """names of the raw columns, whether they are the user's, and the categories (None: a number) with their order.

    labels: of the columns, where a key that is no name means a label and not a position (`ColumnNames`).
    """

    names: tuple[str, ...]
    named: bool
    categories: tuple[tuple[Any, ...] | None, ...]
    ordered: tuple[bool, ...]
    labels: tuple[Hashable, ...] | None = None

    @property
    def n_raw(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, inputs: InputTransform, named: bool | None = None) -> Schema:
        """What a frozen network's own inputs say; named: None guesses that names x0, x1, ... are not the user's."""
        names = inputs.names
        categories = tuple(c.categories if isinstance(c, CategoryColumn) else None for c in inputs.columns)
        ordered = tuple(isinstance(c, CategoryColumn) and c.ordered for c in inputs.columns)
        own = names != tuple(f"x{j}" for j in range(len(names))) if named is None else named
        return cls(names, own, categories, ordered, None if own else _labels_in(names))


def _labels_in(names: tuple[str, ...]) -> tuple[Hashable, ...] | None:
    """Return the labels that gave columns the names x7, x3, ...; None where they are positions."""
    numbers = [int(name[1:]) for name in names if re.fullmatch(r"x(0|-?[1-9][0-9]*)", name, re.ASCII)]
    return ColumnNames.of(numbers).labels if len(numbers) == len(names) else None


def learn_schema(table: RawTable, categorical_features: Any) -> Schema:
    """categorical_features: None (by type), features, a mask, or {feature: [low, ..., high] or None}."""
    need_names(categorical_features, "categorical_features", table)
    wanted = asked_categories(categorical_features, table)
    categories: list[tuple[Any, ...] | None] = []
    ordered: list[bool] = []
    for j, column in enumerate(table.columns):
        if j not in wanted and column.is_numeric:
            categories.append(None)
            ordered.append(False)
            continue
        if j not in wanted and column.categories is None:
            _refuse_dirty_numbers(column)
        order = wanted.get(j)
        declared = column.categories if column.ordered else None
        listed = order if order is not None else declared
        if order is not None:
            _refuse_foreign_order(column, order)
        categories.append(tuple(map(_label, listed)) if listed is not None else _observed(column))
        ordered.append(listed is not None)
    numbers = (c for c, listed in zip(table.columns, categories, strict=True) if listed is None)
    warn_of_coarse_columns(numbers)
    return Schema(table.names, table.named, tuple(categories), tuple(ordered), table.labels)


def _label(label: Any) -> Any:
    plain = plain_label(plain_interval(label))
    return plain + 0.0 if isinstance(plain, float) else plain  # -0.0 is no other label than 0.0


def need_names(given: Any, what: str, table: RawTable | Schema) -> None:
    """Refuse features called by name where the table has no names."""
    keys = list(given) if isinstance(given, Mapping | list | tuple | np.ndarray) else []
    known = {*table.names, *(table.labels or ())}
    unknown = [str(key) for key in keys if isinstance(key, str) and key not in known]
    if unknown and not table.named:
        raise SlopeError(
            f"{what} calls features by name, and X came without column names; got {unknown[0]!r}; pass a DataFrame, or "
            "use x0, x1, ... or positions."
        )


def table_like(X: Any, schema: Schema, owner: str) -> RawTable:
    """A table to predict from: columns by name, or by whole numbers as labels, whatever their order; else by position.

    Names count where fit saw names. Whole numbers count where fit saw none, and the table has the labels that the fit
    had: 0, 1, ... where that was of an array.
    """
    given = column_names(X)
    if given is not None and given.named and schema.named:
        # before any value is looked at: a forgotten column explains more than its neighbour's type
        _check_names(given.names, schema.names)
    if given is not None and _has_the_columns_of(schema, given):
        table = read_table(X, schema.names, pick=schema.names)
        _refuse_other_types(table, schema)
        return table
    table = read_table(X, schema.names)
    if len(table.columns) != schema.n_raw:
        raise InputError(
            f"X has {len(table.columns)} features, but {owner} is expecting {schema.n_raw} features as input; pass the "
            f"columns {_some(schema.names)}, in this order."
        )
    if schema.named:
        warn_caller(f"X does not have valid feature names, but {owner} was fitted with feature names")
    elif table.named:
        warn_caller(f"X has feature names, but {owner} was fitted without feature names")
    elif given is not None and (schema.labels is not None or given.labels is not None):
        fitted, own = (_some(one.labels or range(schema.n_raw)) for one in (schema, given))
        warn_caller(
            f"columns of X are taken by position: {owner} was fitted with the column labels {fitted}, and X has {own}"
        )
    _refuse_other_types(table, schema)
    return table


def _has_the_columns_of(schema: Schema, given: ColumnNames) -> bool:
    """Whether the columns are told apart by what they are called, so that their order does not matter."""
    if (schema.named and not given.named) or set(given.names) != set(schema.names):
        return False
    if given.labels is None or schema.labels is None:
        return True
    # columns that are called x0, x1, ... by position may have other labels there
    return dict(zip(given.names, given.labels, strict=True)) == dict(zip(schema.names, schema.labels, strict=True))


def _check_names(given: Sequence[str], expected: tuple[str, ...]) -> None:
    unseen, absent = sorted(set(given) - set(expected)), sorted(set(expected) - set(given))
    if not unseen and not absent:
        return
    message = "The feature names should match those that were passed during fit.\n"
    for words, found in (("unseen at fit time", unseen), ("seen at fit time, yet now missing", absent)):
        if found:
            shown = [*found[:20], *(["..."] if len(found) > 20 else [])]
            message += f"Feature names {words}:\n" + "".join(f"- {name}\n" for name in shown)
    remedy = [f"drop {_some(unseen)}"] if unseen else []
    remedy += [f"add {_some(absent)} (NaN where unknown)"] if absent else []
    raise InputError(f"{message}To do: {'; '.join(remedy)}; the order of columns does not matter.")


def _some(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


def asked_categories(given: Any, table: RawTable) -> dict[int, tuple[Any, ...] | None]:
    """Position -> order of categories (None: unordered) of the columns the user called categorical.

    Booleans in a list or an array are a mask, whatever the labels of the columns are.
    """
    names, n, labels = table.names, len(table.columns), table.labels
    if given is None:
        return {}
    if isinstance(given, Mapping):
        found = by_position(given, names, n, labels)
        return {j: None if order is None else tuple(map(plain_interval, order)) for j, order in found.items()}
    keys = list(given) if isinstance(given, list | tuple) else np.ravel(np.asarray(given)).tolist()
    if keys and all(isinstance(key, bool | np.bool_) for key in keys):
        if np.shape(given) != (n,):
            raise InputError(
                f"categorical_features as a mask has one entry per column; got {np.shape(given)} for {n}; match them."
            )
        return {j: None for j, listed in enumerate(keys) if listed}
    return {feature_index(key, names, n, labels): None for key in keys}


def _observed(column: RawColumn) -> tuple[Any, ...]:
    """Categories that occur, sorted, -0.0 as 0.0; so that the model does not depend on the order of rows."""
    if column.is_numeric and column.exact is None:
        seen: set[Any] = {float(v) + 0.0 for v in np.unique(column.values[~np.isnan(column.values)])}
    else:
        seen = {plain_label(v) for v in column.factors[0].tolist() if not is_missing(v)}
    return tuple(sorted(seen, key=lambda label: (type(label).__name__, label)))


def _refuse_foreign_order(column: RawColumn, order: tuple[Any, ...]) -> None:
    seen = _observed(column)
    if seen and not set(seen) & set(order):
        raise InputError(
            f"an order lists the categories of its column; got {_some(order)} for column {column.name!r}, which holds "
            f"{_some(seen)}; list those, of the same type."
        )
    unlisted = [label for label in seen if label not in set(order)]
    if unlisted:
        raise InputError(
            f"an order lists every category of its column; {_some(unlisted)} of column {column.name!r} is not in it; "
            "add what is missing where it belongs, or turn it into None (missing)."
        )


def _refuse_other_types(table: RawTable, schema: Schema) -> None:
    """Numbers where all categories are strings, the reverse, or intervals with other ends would all count as unseen."""
    for column, categories in zip(table.columns, schema.categories, strict=True):
        if not categories:
            continue
        _refuse_other_intervals(column, categories)
        first = next((label for label in column.labels if not is_missing(label)), None)
        if first is not None and {isinstance(label, str) for label in categories} == {not isinstance(first, str)}:
            raise InputError(
                f"column {column.name!r} held categories like {_some(categories[:3])} in training; got "
                f"{plain_value(first)!r}; convert it to the type it had."
            )


def _refuse_other_intervals(column: RawColumn, categories: tuple[Any, ...]) -> None:
    """Intervals of which the fit knows none: a column that was cut once more, at other numbers."""
    if not column.intervals:
        return
    seen = [label for label in column.factors[0].tolist() if not is_missing(label)]
    if seen and not set(seen) & set(categories):
        raise InputError(
            f"column {column.name!r} held the intervals {_some(categories)} in training; got {_some(seen)}; cut it at "
            "the same numbers, by pandas.cut with the bins of training."
        )


def _refuse_dirty_numbers(column: RawColumn) -> None:
    """A column of strings that nearly all read as numbers is a number with dirt in it, not a category."""
    distinct = {v for v in column.factors[0].tolist() if isinstance(v, str)}
    readable = {v for v in distinct if _reads_as_number(v)}
    if len(distinct) > 20 and len(readable) >= 0.9 * len(distinct):
        odd = sorted(distinct - readable)[:3] or sorted(distinct)[:3]
        raise InputError(
            f"strings in numeric column {column.name!r}: nearly all of its values read as numbers; got for example "
            f"{odd}; convert the column to numbers, or list it in categorical_features."
        )


def _reads_as_number(text: str) -> bool:
    try:
        float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)  # 1234,56 is a number too
    except ValueError:
        return False
    return True
