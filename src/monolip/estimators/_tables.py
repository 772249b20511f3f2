"""Any table (numpy, pandas, polars, Arrow) as a list of raw columns: numbers as float64, everything else as labels."""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from monolip.errors import InputError
from monolip.estimators._arrow_columns import arrow_decimals, arrow_intervals
from monolip.estimators._dates import Origin, kind_of_type, kind_of_value, to_write
from monolip.estimators._pandas_columns import PandasColumn, from_intervals, from_pandas, matrix_of
from monolip.estimators._raw_column import EXACT, RawColumn, array_of, beyond_floats, digits_of
from monolip.frames import ColumnNames, as_frame, refuse_repeated
from monolip.input_columns import is_missing, plain_value
from monolip.intervals import is_interval

__all__ = ["RawColumn", "RawTable", "column_names", "read_table", "refuse_infinite", "refuse_labels"]


class InputTypeError(InputError, TypeError):
    """A value of a type that is neither a number nor a label; scikit-learn expects a TypeError."""


@dataclass(frozen=True)
class RawTable:
    """columns of one length; named: whether the names are the user's own (else x0, x1, ...).

    labels: what whole numbers and other keys mean that are no names; see `ColumnNames`.
    """

    columns: tuple[RawColumn, ...]
    named: bool
    n_rows: int
    matrix: NDArray[np.float64] | None = None  # the same values, where they came as one C-contiguous array
    before: int = 0  # rows of their file before these
    labels: tuple[Hashable, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def take(self, rows: NDArray[np.int64]) -> RawTable:
        """Some of the rows."""
        columns = tuple(_rows_of(column, rows) for column in self.columns)
        return RawTable(columns, self.named, len(rows), labels=self.labels)


def _rows_of(column: RawColumn, rows: NDArray[np.int64]) -> RawColumn:
    exact = None if column.exact is None else column.exact[rows]
    part = replace(column, values=column.at(rows), exact=exact)
    if "factors" in column.__dict__:
        part.__dict__["factors"] = column.factors[0], column.factors[1][rows]
    return part


def read_table(X: Any, names: Sequence[str] | None = None, pick: Sequence[str] | None = None) -> RawTable:
    """A table of any kind; names: what the columns of an array are called; pick: names of the columns to read."""
    if isinstance(X, RawTable):  # a part of one that was read before
        return X
    if _is_pandas(X) and type(X).__name__ == "DataFrame":
        if not X.columns.is_unique:
            refuse_repeated(X.columns.tolist())
        whole = matrix_of(X)
        every = (PandasColumn(X, j) for j in range(len(X.columns))) if whole is None else whole.T
        return _from_columns(X.columns.tolist(), len(X), every, pick)
    frame = _native(X)
    if isinstance(frame, nw.DataFrame):
        return _from_columns(frame.columns, len(frame), map(frame.get_column, frame.columns), pick)
    _refuse_rows(X, frame)
    return _from_array(X, names)


def column_names(X: Any) -> ColumnNames | None:
    """What the columns of a data frame are called; None for tables without columns that are called anything."""
    if isinstance(X, RawTable):
        return ColumnNames(X.names, X.named, X.labels)
    frame = _native(X)
    keys = frame.columns if isinstance(frame, nw.DataFrame) else []
    return ColumnNames.of(keys) if len(keys) else None


def _is_pandas(given: Any) -> bool:
    return type(given).__module__.partition(".")[0] == "pandas"


def _native(X: Any) -> Any:
    if type(X) is np.ndarray:  # no frame; to be told so takes longer than to predict a row
        return X
    return as_frame(X, allow_series=True)


def _refuse_rows(X: Any, frame: Any) -> None:
    """One row or one column, or rows as dicts, would be read as something else."""
    first = X[0] if isinstance(X, list | tuple) and X else None
    for wrong, remedy in (
        (isinstance(frame, nw.Series), "for one column pass X.to_frame(), for one row X.to_frame().T"),
        (isinstance(X, Mapping) and not hasattr(X, "toarray"), "pass pandas.DataFrame(X), or any other data frame"),
        (type(X).__name__ == "LazyFrame", "pass X.collect()"),
        (isinstance(first, Mapping), "pass pandas.DataFrame(X), or any other data frame"),
    ):
        if wrong:
            kind = f"{type(X).__name__} of {type(first).__name__}" if first is not None else type(X).__name__
            raise InputError(f"X is a table, rows by columns; got a {kind}; {remedy}.")


def refuse_infinite(table: RawTable) -> None:
    """Numbers are finite or missing; the message names row and column."""
    for column in table.columns:
        if column.is_numeric and np.isinf(column.values).any():
            row = table.before + int(np.argmax(np.isinf(column.values)))
            raise InputError(
                f"inputs must be finite or missing (NaN); got infinity in row {row} of column {column.name!r} (inf, or "
                "a value too large for float64); replace infinite values."
            )


def _from_array(X: Any, names: Sequence[str] | None) -> RawTable:
    kinds = {"dtype": None, "ensure_all_finite": False, "ensure_min_features": 1, "input_name": "X"}
    try:
        plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size  # nothing to find there
        # its messages about shape, sparse and complex data are scikit-learn's own
        array = X if plain else check_array(X, **kinds)
        if array.dtype.kind in "US" and isinstance(X, list | tuple):  # one string makes strings of all numbers
            array = np.array(X, dtype=object)
    except ValueError as error:
        raise InputError(str(error)) from None
    found = [f"x{j}" for j in range(array.shape[1])] if names is None or len(names) != array.shape[1] else names
    if array.dtype.kind in "mM":
        _refuse_type(array.dtype, str(found[0]), Origin("array", 0))
    exact = array.astype(object) if array.dtype.kind in "iu" and beyond_floats(array) else None
    digits = digits_of(array.dtype)
    if array.dtype.kind not in "OUS":
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinity, which is refused by name
            array = array.astype(np.float64, copy=False)
    if array.dtype.kind == "f":
        columns = [RawColumn(str(name), array[:, j], digits=digits) for j, name in enumerate(found)]
    else:
        columns = [_from_objects(array[:, j], str(name), Origin("numpy", j)) for j, name in enumerate(found)]
    if exact is not None:
        columns = [replace(c, exact=exact[:, j]) for j, c in enumerate(columns)]
    whole = array if array.dtype.kind == "f" and array.flags.c_contiguous else None
    return RawTable(tuple(columns), False, len(array), whole)


def _from_columns(keys: Sequence[Any], n_rows: int, every: Iterable[Any], pick: Sequence[str] | None) -> RawTable:
    """keys: of all columns; every: the columns themselves; pick: names of those to take."""
    if not n_rows or not keys:
        raise InputError(
            f"Found array with {n_rows} sample(s) and {len(keys)} feature(s) (shape={(n_rows, len(keys))}) while "
            "a minimum of 1 is required; pass a table with rows and columns."
        )
    found = ColumnNames.of(keys)
    where = {name: (column, key) for name, column, key in zip(found.names, every, keys, strict=True)}
    columns = [_from_series(where[name][0], name, where[name][1]) for name in pick or found.names]
    return RawTable(tuple(columns), found.named, n_rows, labels=found.labels)


def _from_series(given: Any, name: str, label: Any = None) -> RawColumn:
    """given: a column of pandas, a series of narwhals, or float64. label: of the column in its own table."""
    if isinstance(given, np.ndarray):
        return RawColumn(name, given)
    if isinstance(given, PandasColumn):
        found = from_pandas(given.stored, name)
        if found is not None:
            return found
        given = given.series
    series: nw.Series[Any] = nw.from_native(given, series_only=True, pass_through=True)
    origin = Origin(_library_of(series), name if label is None else label)
    if origin.library == "pyarrow":
        kind = str(series.to_native().type)
        if kind.startswith("decimal"):
            return RawColumn(name, arrow_decimals(series.to_native(), name))
        if "extension<pandas.interval" in kind:
            return arrow_intervals(series.to_native(), name)
    dtype = series.dtype
    if dtype == nw.Decimal:
        numbers = [np.nan if is_missing(value) else float(value) for value in series.to_list()]
        return RawColumn(name, np.array(numbers, dtype=np.float64))
    if dtype.is_numeric() or dtype == nw.Boolean:
        wide = dtype in (nw.Int128, nw.UInt128)  # numpy has no such numbers
        plain = (series.cast(nw.Float64) if wide else series).to_numpy()
        if plain.dtype.kind not in "fiub":  # nullable numbers come as objects
            plain = series.cast(nw.Float64).to_numpy()
        values = np.asarray(plain, dtype=np.float64)
        large = dtype.is_integer() and beyond_floats(values)
        digits = 24 if dtype == nw.Float32 else digits_of(plain.dtype)
        return RawColumn(name, values, exact=_objects(series) if large else None, digits=digits)
    if dtype in (nw.Categorical, nw.Enum):
        ordered = isinstance(dtype, nw.Enum)  # pandas' ordered categories arrive as this too
        categories = tuple(dtype.categories) if isinstance(dtype, nw.Enum) else ()
        return _labelled(RawColumn(name, _objects(series), categories, ordered), origin)
    if dtype in (nw.String, nw.Object, nw.Unknown):
        return _from_objects(_objects(series), name, origin)
    _refuse_type(dtype, name, origin)


def _library_of(series: nw.Series[Any]) -> str:
    kind = series.implementation
    return "polars" if kind.is_polars() else "pyarrow" if kind.is_pyarrow() else "pandas"


def _labelled(column: RawColumn, origin: Origin) -> RawColumn:
    """A column of categories whose labels are strings, numbers or booleans; others are refused by name."""
    for label in column.factors[0].tolist():
        plain = plain_value(label)
        if not (is_missing(plain) or isinstance(plain, str | int | float)):
            text = f"X[{origin.key!r}] = X[{origin.key!r}].cat.rename_categories(str)"
            raise InputError(
                "a category is a string, a number, a boolean or an interval; got "
                f"{reprlib.repr(plain)} in column {column.name!r}; convert it to strings"
                f"{': ' + text if origin.library == 'pandas' else ''}."
            )
    return column


def _objects(series: nw.Series[Any]) -> NDArray[Any]:
    try:
        return array_of(series.to_list())
    except UnicodeDecodeError as error:
        raise InputError(f"strings are UTF-8; got {error} in column {series.name!r}; repair or convert it.") from None


def _refuse_type(dtype: Any, name: str, origin: Origin) -> NoReturn:
    raise InputError(
        f"a column holds numbers or categories; got {dtype} in column {name!r}; "
        f"{to_write(kind_of_type(dtype), origin)}."
    )


def _from_objects(values: NDArray[Any], name: str, origin: Origin) -> RawColumn:
    """Objects that are all numbers or missing become float64; all labels stay; a mixture is refused.

    Intervals are ordered labels, from low to high.
    """
    if values.dtype.kind == "f":
        return RawColumn(name, values)
    items = values.tolist()
    strings = [isinstance(v, str) for v in items]
    missing = [is_missing(v) for v in items]
    if not any(strings):
        if not all(missing) and all(gone or is_interval(v) for v, gone in zip(items, missing, strict=True)):
            return from_intervals(items, name)
        return _from_numbers(items, missing, name, origin)
    if not all(s or gone for s, gone in zip(strings, missing, strict=True)):
        row = strings.index(True)
        raise InputError(
            f"a column holds numbers or strings, not both: strings in numeric column {name!r}; got {items[row]!r} in "
            f"row {row}; clean it, or turn all of it into strings to make it a category."
        )
    return RawColumn(name, array_of(items))


def _from_numbers(items: list[Any], missing: list[bool], name: str, origin: Origin) -> RawColumn:
    numbers = np.full(len(items), np.nan)
    for row, (item, gone) in enumerate(zip(items, missing, strict=True)):
        if gone:
            continue
        if isinstance(item, np.timedelta64) or not isinstance(item, Real | Decimal):
            raise InputTypeError(
                "a column holds numbers or categories: every argument must be a string or a number; got "
                f"{reprlib.repr(item)} in row {row} of column {name!r}; {to_write(kind_of_value(item), origin, item)}."
            )
        try:
            numbers[row] = float(item)
        except (OverflowError, ValueError) as error:
            raise InputError(f"column {name!r} holds numbers; {error} in row {row}; rescale the column.") from None
    large = any(isinstance(item, int) and abs(item) >= EXACT for item in items)
    return RawColumn(name, numbers, exact=array_of(items) if large else None)


def refuse_labels(column: RawColumn) -> None:
    """A column that held numbers in training holds numbers."""
    if not column.is_numeric:
        found = "strings" if column.categories is None else "a category type"
        raise InputError(
            f"{found} in numeric column {column.name!r}; it held numbers in training; convert it to numbers, for "
            "example by astype(float)."
        )
