"""A record batch as raw columns, a target, weights and offsets; what is wrong with it is told with its file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.estimators._arrow_columns import arrow_decimals
from monolip.estimators._checks import LARGEST
from monolip.estimators._raw_column import array_of
from monolip.estimators._tables import RawColumn, RawTable, _from_series, refuse_infinite
from monolip.estimators.stream._arrow import LABEL, NOTHING, is_number, require_pyarrow
from monolip.estimators.stream.left_out import LeftOut
from monolip.estimators.stream.source import Source

__all__ = ["Batch", "Layout", "read_batch", "target_values"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """Which columns are features, target, weight and offset; and which rows are not learned from."""

    features: tuple[str, ...]
    target: str
    weight: str | None = None
    offset: str | None = None
    is_class: bool = False
    left_out: LeftOut | None = None

    @classmethod
    def of(
        cls, source: Source, target: str, features: Any, weight: str | None, offset: str | None, is_class: bool,
        left_out: LeftOut | None = None,
    ) -> Layout:  # fmt: skip
        others = [name for name in (target, weight, offset) if name is not None]
        source.require([target], "target=")
        source.require(others[1:], "sample_weight= or offset=")
        names = [n for n in source.columns if n not in others] if features is None else list(features)
        _require_once([*names, *others])
        if not names:
            raise InputError("a model needs features; got none beside the target; name some.")
        source.require(names, "features=")
        return cls(tuple(names), target, weight, offset, is_class, left_out)

    @property
    def names(self) -> list[str]:
        return [*self.features, *(n for n in (self.target, self.weight, self.offset) if n is not None)]

    def used(self, positions: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Of rows at these positions, whether they are learned from."""
        left = self.left_out
        return np.ones(len(positions), bool) if left is None else ~left.mask(positions)


def column_list(what: str, given: Any) -> list[str]:
    """Names of columns; one name alone would be read as its letters."""
    names = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else None
    if names is None or not all(isinstance(name, str) for name in names):
        example = [given] if isinstance(given, str) else ["income", "debt"]
        raise InputError(f"{what} lists columns by name; got {given!r:.60}; write for example {example}.")
    return names


def _require_once(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(
                f"a column is one feature, the target, the weight or the offset; got {name!r} twice; drop one."
            )
        seen.add(name)


@dataclass(frozen=True)
class Batch:
    """positions: of the rows in the stream. target: numbers, or labels of classes."""

    positions: NDArray[np.uint64]
    table: RawTable
    target: NDArray[Any]
    weight: FloatArray
    offset: FloatArray

    @property
    def n_rows(self) -> int:
        return self.table.n_rows


def read_batch(rows: Any, first: int, layout: Layout, kinds: dict[str, str], path: str, before: int = 0) -> Batch:
    """rows: a record batch with the columns of the layout; first: position of its first row; before: rows of its file
    before it. All rows are checked, those too that are left out: they are used later."""
    with _naming(path):
        target = target_values(rows.column(layout.target), layout)
        table = _features(rows, layout, kinds)
        refuse_infinite(replace(table, before=before))
        weight = _numbers(rows, layout.weight, "sample_weight", 1.0)
        if (weight < 0).any():
            raise InputError(f"sample weights are at least 0; got {weight.min():g}; drop those rows.")
        offset = _numbers(rows, layout.offset, "offset", 0.0)
    positions = np.arange(first, first + rows.num_rows, dtype=np.uint64)
    use = layout.used(positions)
    if use.all():
        return Batch(positions, table, target, weight, offset)
    table = _features(rows.filter(require_pyarrow().array(use)), layout, kinds)  # no label of a row left out
    return Batch(positions[use], table, target[use], weight[use], offset[use])


def _features(rows: Any, layout: Layout, kinds: dict[str, str]) -> RawTable:
    columns = tuple(raw_column(rows.column(name), name, kinds[name]) for name in layout.features)
    return RawTable(columns, True, rows.num_rows)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Errors of the block begin with the file."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{path}: {error}") from None


def raw_column(values: Any, name: str, kind: str) -> RawColumn:
    """As `read_table` reads a column of an Arrow table; labels by their dictionary, so that no row is looked at."""
    arrow = require_pyarrow()
    if kind == NOTHING or arrow.types.is_null(values.type):
        gone = np.full(len(values), np.nan) if kind != LABEL else np.full(len(values), None, object)
        return RawColumn(name, gone)
    if kind != LABEL:
        if arrow.types.is_float32(values.type) or arrow.types.is_float64(values.type):  # in a fifth of the time
            return RawColumn(name, np.asarray(values.to_numpy(zero_copy_only=False), np.float64))
        if arrow.types.is_decimal(values.type):
            return RawColumn(name, arrow_decimals(values, name))
        return _from_series(nw.from_native(arrow.chunked_array([values]), series_only=True), name)
    own = arrow.types.is_dictionary(values.type)
    coded = values if own else values.dictionary_encode()
    distinct = [*coded.dictionary.to_pylist(), None]
    codes = coded.indices.fill_null(len(distinct) - 1).to_numpy(zero_copy_only=False).astype(np.intp)
    labels = array_of(distinct)
    column = RawColumn(name, labels[codes], () if own else None)
    column.__dict__["factors"] = (labels, codes) if (codes == len(distinct) - 1).any() else (labels[:-1], codes)
    return column


def target_values(column: Any, layout: Layout) -> NDArray[Any]:
    """Numbers, or labels of classes as fit would be given them."""
    name = layout.target
    if require_pyarrow().types.is_dictionary(column.type) and is_number(column.type.value_type):
        column = column.cast(column.type.value_type)  # numbers, however they are stored: -0.0 is no class of its own
    if column.null_count:
        raise InputError(f"targets are known; got null in column {name!r}; drop those rows.")
    kind = column.type
    if layout.is_class:
        return _classes(column, name)
    values = column.to_numpy(zero_copy_only=False)
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the target of a regressor is numbers; got {kind} in column {name!r}; convert it.") from None
    if not (np.abs(numbers) <= LARGEST).all():
        raise InputError(
            f"targets are finite, within +-{LARGEST:g}; got {numbers[~(np.abs(numbers) <= LARGEST)][0]} in column "
            f"{name!r}; drop or fill those rows."
        )
    return numbers


def _classes(column: Any, name: str) -> NDArray[Any]:
    types, kind = require_pyarrow().types, column.type
    if types.is_floating(kind):
        return _whole(np.asarray(column.to_numpy(zero_copy_only=False), np.float64), name, kind)
    if types.is_integer(kind) or types.is_boolean(kind):
        values = np.asarray(column.to_numpy(zero_copy_only=False))
        if values.dtype == np.uint64 and (values > np.iinfo(np.int64).max).any():
            raise InputError(
                f"classes are whole numbers below 2^63; got {values.max()} in column {name!r}; convert it."
            )
        return values
    if types.is_decimal(kind):
        raise InputError(f"classes are whole numbers or strings; got {kind} in column {name!r}; convert it.")
    return np.array(column.to_pylist(), dtype=object)


def _whole(values: NDArray[Any], name: str, kind: Any) -> NDArray[np.int64]:
    """Classes that a file holds as floats, 0.0 and 1.0."""
    if not ((values == np.floor(values)) & (np.abs(values) < 2.0**53)).all():
        raise InputError(f"classes are whole numbers or strings; got {kind} in column {name!r}; convert it.")
    return values.astype(np.int64)


def _numbers(rows: Any, name: str | None, what: str, otherwise: float) -> FloatArray:
    if name is None:
        return np.full(rows.num_rows, otherwise)
    column = rows.column(name)
    try:
        values = np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is numbers; got {column.type} in column {name!r}; convert it.") from None
    if not (np.abs(values) <= LARGEST).all():
        raise InputError(f"{what} is one finite number a row; got another in column {name!r}; fill or drop it.")
    return values
