"""Any table (numpy, pandas, polars, Arrow) as a list of raw columns: numbers as float64, everything else as labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from monolip.errors import InputError
from monolip.input_columns import is_missing

__all__ = ["RawColumn", "RawTable", "column_names", "read_table", "refuse_infinite"]


@dataclass(frozen=True)
class RawColumn:
    """values: float64 with NaN for missing, or objects (labels).

    categories: not None where the table's own type says "category", listed where it also gives an order.
    """

    name: str
    values: NDArray[Any]
    categories: tuple[Any, ...] | None = None
    ordered: bool = False

    @property
    def is_numeric(self) -> bool:
        return self.values.dtype.kind == "f"


@dataclass(frozen=True)
class RawTable:
    """columns of one length; named: whether the names are the user's own (else x0, x1, ...)."""

    columns: tuple[RawColumn, ...]
    named: bool
    n_rows: int
    matrix: NDArray[np.float64] | None = None  # the same values, where they came as one C-contiguous array

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def take(self, rows: NDArray[np.int64]) -> RawTable:
        """Some of the rows."""
        columns = (RawColumn(c.name, c.values[rows], c.categories, c.ordered) for c in self.columns)
        return RawTable(tuple(columns), self.named, len(rows))


def read_table(X: Any, names: Sequence[str] | None = None, pick: Sequence[str] | None = None) -> RawTable:
    """A table of any kind; names: what columns without names of their own are called; pick: columns to read."""
    frame = _native(X)
    if isinstance(frame, nw.DataFrame):
        return _from_frame(frame, pick)
    _refuse_rows(X, frame)
    return _from_array(X, names)


def column_names(X: Any) -> list[str] | None:
    """The user's own column names, all of them strings; None where there are none."""
    frame = _native(X)
    names = frame.columns if isinstance(frame, nw.DataFrame) else []
    return list(names) if names and all(isinstance(name, str) for name in names) else None


def _native(X: Any) -> Any:
    return nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)


def _refuse_rows(X: Any, frame: Any) -> None:
    """One row or one column, or rows as dicts, would be read as something else."""
    first = X[0] if isinstance(X, list | tuple) and X else None
    for wrong, remedy in (
        (isinstance(frame, nw.Series), "for one column pass X.to_frame(), for one row X.to_frame().T"),
        (isinstance(X, Mapping) and not hasattr(X, "toarray"), "pass pandas.DataFrame(X), or any other data frame"),
        (isinstance(first, Mapping), "pass pandas.DataFrame(X), or any other data frame"),
    ):
        if wrong:
            kind = f"{type(X).__name__} of {type(first).__name__}" if first is not None else type(X).__name__
            raise InputError(f"X is a table, rows by columns; got a {kind}; {remedy}.")


def refuse_infinite(table: RawTable) -> None:
    """Numbers are finite or missing; the message names the row and the column."""
    for column in table.columns:
        if column.is_numeric and np.isinf(column.values).any():
            row = int(np.argmax(np.isinf(column.values)))
            raise InputError(
                f"inputs must be finite or missing (NaN); got infinity in row {row} of column {column.name!r} (inf, or "
                "a value too large for float64); replace infinite values."
            )


def _from_array(X: Any, names: Sequence[str] | None) -> RawTable:
    kinds = {"dtype": None, "ensure_all_finite": False, "ensure_min_features": 1, "input_name": "X"}
    try:
        array = check_array(X, **kinds)  # its messages about shape, sparse and complex data are scikit-learn's own
    except ValueError as error:
        raise InputError(str(error)) from None
    labels = array.dtype.kind in "OUS" and any(isinstance(v, str) for v in array.ravel().tolist())
    if not labels:
        array = array.astype(np.float64, copy=False)
    found = [f"x{j}" for j in range(array.shape[1])] if names is None or len(names) != array.shape[1] else names
    columns = [RawColumn(name, _from_objects(array[:, j], str(name))) for j, name in enumerate(found)]
    whole = array if array.dtype.kind == "f" and array.flags.c_contiguous else None
    return RawTable(tuple(columns), False, len(array), whole)


def _from_frame(frame: nw.DataFrame[Any], pick: Sequence[str] | None) -> RawTable:
    if not len(frame) or not frame.columns:
        raise InputError(
            f"Found array with {len(frame)} sample(s) and {len(frame.columns)} feature(s) (shape={frame.shape}) while "
            "a minimum of 1 is required; pass a table with rows and columns."
        )
    named = all(isinstance(name, str) for name in frame.columns)
    names = frame.columns if named else [f"x{j}" for j in range(len(frame.columns))]
    where = {name: j for j, name in enumerate(names)}
    columns = [_from_series(frame[:, where[name]], name) for name in pick or names]
    return RawTable(tuple(columns), named, len(frame))


def _from_series(series: nw.Series[Any], name: str) -> RawColumn:
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return RawColumn(name, np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64))
    if dtype in (nw.Categorical, nw.Enum):
        ordered = isinstance(dtype, nw.Enum)  # pandas' ordered categories arrive as this too
        categories = tuple(dtype.categories) if isinstance(dtype, nw.Enum) else ()
        labels = np.empty(len(series), dtype=object)
        labels[:] = series.to_list()
        return RawColumn(name, labels, categories, ordered)
    if dtype in (nw.String, nw.Object, nw.Unknown):
        labels = np.empty(len(series), dtype=object)
        labels[:] = series.to_list()
        return RawColumn(name, _from_objects(labels, name))
    raise InputError(
        f"a column holds numbers or categories; got {dtype} in column {name!r}; convert it to numbers (for a date, for "
        "example, days since a day) or to strings."
    )


def _from_objects(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Objects that are all numbers or missing become float64; all labels stay; a mixture is refused."""
    if values.dtype.kind == "f":
        return values
    items = values.tolist()
    strings = [isinstance(v, str) for v in items]
    missing = [is_missing(v) for v in items]
    if not any(strings):
        return np.array([np.nan if gone else v for v, gone in zip(items, missing, strict=True)], dtype=np.float64)
    if not all(s or gone for s, gone in zip(strings, missing, strict=True)):
        row = strings.index(True)
        raise InputError(
            f"a column holds numbers or strings, not both: strings in numeric column {name!r}; got {items[row]!r} in "
            f"row {row}; clean it, or turn all of it into strings to make it a category."
        )
    labels = np.empty(len(items), dtype=object)
    labels[:] = items
    return labels
