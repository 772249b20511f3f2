"""Rows in the user's own type (numpy or any data frame), with one column set to other values: what a model is fed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from monolip.certify.audit_categories import Labels, held_labels, positions, relabelled
from monolip.errors import InputError
from monolip.frames import ColumnNames, as_frame
from monolip.input_transform import names_of
from monolip.monotonic_cst import check_names

__all__ = ["Steps", "Table", "read_table"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Steps:
    """The values a column can take: floats of a format, or whole numbers from low to high (categories by position)."""

    dtype: np.dtype[Any]
    low: float
    high: float
    labels: tuple[Any, ...] | None = None

    @property
    def whole(self) -> bool:
        return self.dtype.kind == "i"

    def snap(self, values: FloatArray) -> FloatArray:
        """The nearest values of the column."""
        inside = np.clip(values, self.low, self.high)
        return np.rint(inside) if self.whole else inside.astype(self.dtype).astype(np.float64)

    def place(self, values: FloatArray) -> IntArray:
        """Where values stand on the number line, counted in single steps; order is kept."""
        if self.whole:
            return values.astype(np.int64)
        bits = values.astype(self.dtype).view(np.int64 if self.dtype.itemsize == 8 else np.int32).astype(np.int64)
        lowest = np.int64(-(2**63)) if self.dtype.itemsize == 8 else np.int64(-(2**31))
        return np.where(bits >= 0, bits, lowest - bits)

    def value(self, places: IntArray) -> FloatArray:
        """The inverse of `place`."""
        if self.whole:
            return places.astype(np.float64)
        wide = self.dtype.itemsize == 8
        lowest = np.int64(-(2**63)) if wide else np.int64(-(2**31))
        bits = np.where(places >= 0, places, lowest - places)
        return (bits if wide else bits.astype(np.int32)).view(self.dtype).astype(np.float64)

    def moved(self, values: FloatArray, count: int) -> FloatArray:
        """`count` single steps up (or down): one ulp each for floats, one unit for whole numbers; NaN stays."""
        known = np.where(np.isnan(values), 0.0, values)
        top, bottom = self.place(np.array([self.high])), self.place(np.array([self.low]))
        places = np.clip(self.place(known), bottom + max(0, -count), top - max(0, count)) + count
        return np.where(np.isnan(values), np.nan, self.value(places))


class Table:
    """The audited rows: an array or a narwhals frame.

    orders: columns whose labels the model has put in an order. labels: of the columns of X, where a direction given
    for such a label is meant (`ColumnNames`).
    """

    def __init__(
        self,
        frame: Any,
        names: tuple[str, ...],
        orders: Mapping[int, Labels] | None = None,
        labels: tuple[Hashable, ...] | None = None,
    ) -> None:
        self.frame, self.names, self.orders, self.labels = frame, names, orders or {}, labels
        self.is_frame = isinstance(frame, nw.DataFrame)
        self.n_rows, self.n_columns = frame.shape

    def steps(self, j: int) -> Steps:
        """What column j can be moved to; columns without an order are refused."""
        labels = held_labels(self.frame[:, j], self.orders.get(j))
        if labels is not None:
            return Steps(np.dtype(np.int64), 0, len(labels) - 1, labels)
        if not self.is_frame:
            return _steps_of_array(self.frame, j, self.names[j])
        dtype = self.frame[:, j].dtype
        if dtype == nw.Float32 or dtype == nw.Float64:
            return _floats(np.dtype(np.float32 if dtype == nw.Float32 else np.float64))
        if dtype == nw.Boolean:
            return Steps(np.dtype(np.int64), 0, 1)
        if dtype.is_integer():
            bits = int("".join(c for c in str(dtype) if c.isdigit()) or 64)
            signed = not str(dtype).startswith("U")
            high = 2.0 ** min(53, bits - signed) - 1  # whole numbers that are floats
            return Steps(np.dtype(np.int64), -high if signed else 0, high)
        raise InputError(
            f"a direction needs a column with an order; got {dtype} in {self.names[j]!r}; convert it to numbers or to "
            "an ordered category, or drop its direction."
        )

    def numbers(self, j: int, steps: Steps) -> FloatArray:
        """Column j as float64, NaN for missing; ordered categories as positions."""
        if steps.labels is not None:
            return positions(self.frame[:, j], steps.labels)
        if not self.is_frame:
            return np.asarray(self.frame[:, j], dtype=np.float64)
        return np.asarray(self.frame[:, j].cast(nw.Float64).to_numpy(), dtype=np.float64)

    def mixed(self, parents: IntArray, moved: dict[int, tuple[Steps, FloatArray]]) -> Table:
        """Row r takes column c from row parents[r, c]; moved: column -> values that replace it (NaN: as it was)."""
        if not self.is_frame:
            out = self.frame[parents, np.arange(self.n_columns)]
        else:
            same = (parents == parents[:, :1]).all(axis=0)
            out = nw.maybe_reset_index(self.frame[parents[:, 0]])
            for k in np.flatnonzero(~same).tolist():
                column = nw.maybe_reset_index(self.frame[:, k][parents[:, k]])
                out = out.with_columns(column.alias(self.frame.columns[k]))
        table = Table(out, self.names, self.orders, self.labels)
        for c, (steps, values) in moved.items():
            if not np.isnan(values).all():
                own = table.numbers(c, steps)  # what is missing stays missing
                table = table.with_column(c, steps, np.where(np.isnan(values) | np.isnan(own), own, values))
        return table

    def with_column(self, j: int, steps: Steps, values: FloatArray) -> Table:
        """The same rows with column j set; values (n,) as `steps` counts them."""
        if not self.is_frame:
            out = self.frame.copy()
            out[:, j] = values if steps.labels is None else relabelled(out[:, j], steps.labels, values)
            return Table(out, self.names, self.orders, self.labels)
        own = self.frame[:, j]
        if steps.labels is not None:
            return self._with(relabelled(own, steps.labels, values))
        column = nw.new_series(self.frame.columns[j], *_held(steps, values, own), backend=self.frame.implementation)
        if self.frame.implementation.is_pandas_like():  # its nullable and plain types have one name in narwhals
            native = column.to_native().astype(own.to_native().dtype)
            column = nw.from_native(native, series_only=True)
        else:
            column = column.cast(own.dtype)
        return self._with(column)

    def _with(self, column: Any) -> Table:
        return Table(self.frame.with_columns(column), self.names, self.orders, self.labels)

    @property
    def native(self) -> Any:
        """As the user gave it."""
        return self.frame.to_native() if self.is_frame else self.frame


def _held(steps: Steps, values: FloatArray, own: Any) -> tuple[Any, Any]:
    """Values and type a series is made of; None for missing (pandas: NaN, which its types turn into their own)."""
    gone = np.isnan(values)
    if not gone.any():
        return (values.astype(np.int64), nw.Int64) if steps.whole else (values, nw.Float64)
    if own.implementation.is_pandas_like():
        return values, nw.Float64
    return [None if missing else v for v, missing in zip(values.tolist(), gone, strict=True)], nw.Float64


def _floats(dtype: np.dtype[Any]) -> Steps:
    largest = float(np.finfo(dtype).max)
    return Steps(dtype, -largest, largest)


def _steps_of_array(array: NDArray[Any], j: int, name: str) -> Steps:
    if array.dtype.kind == "f":
        return _floats(array.dtype if array.dtype.itemsize in (4, 8) else np.dtype(np.float64))
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        return Steps(np.dtype(np.int64), max(float(limits.min), -(2.0**53)), min(float(limits.max), 2.0**53))
    if array.dtype.kind == "b":
        return Steps(np.dtype(np.int64), 0, 1)
    if array.dtype == object and all(isinstance(v, int | float | np.number | None) for v in array[:, j]):
        return _floats(np.dtype(np.float64))
    raise InputError(f"a direction needs a column of numbers; got {array.dtype} in {name!r}; convert it to numbers.")


def read_table(
    X: Any, feature_names: Any, dtype: np.dtype[Any] | None, orders: Sequence[tuple[str, Labels | None]] = ()
) -> Table:
    """X as a Table; dtype: the format a model rounds its inputs to (torch, ONNX), or None to leave X as it is.

    orders: (name, labels from low to high or None) of the model's raw columns, where it is one of ours.
    """
    if hasattr(X, "detach"):  # a torch tensor
        X = X.detach().cpu().numpy()
    named = [] if isinstance(X, np.ndarray) else [str(name) for name in names_of(X) or ()]
    if len(set(named)) < len(named):
        twice = sorted({name for name in named if named.count(name) > 1})
        raise InputError(
            f"columns need names of their own; got {twice[:5]} more than once; rename or drop the repeats."
        )
    frame = as_frame(X)
    columns = ColumnNames.of(frame.columns) if isinstance(frame, nw.DataFrame) else None
    rows: Any
    if isinstance(frame, nw.DataFrame) and dtype is None:
        rows, names = nw.maybe_reset_index(frame), tuple(str(name) for name in frame.columns)
    else:
        array = np.asarray(frame.to_numpy() if isinstance(frame, nw.DataFrame) else X, dtype=dtype)
        if array.ndim != 2:
            raise InputError(f"X is a table, rows by columns; got shape {array.shape}; reshape it.")
        found = [str(c) for c in frame.columns] if isinstance(frame, nw.DataFrame) else None
        given = check_names(found if feature_names is None else feature_names, array.shape[1])
        rows, names = array, given or tuple(f"x{j}" for j in range(array.shape[1]))
    known = names if columns is None or columns.named else columns.names
    table = Table(rows, names, _by_column(known, orders), None if columns is None else columns.labels)
    if table.n_rows == 0 or table.n_columns == 0:
        raise InputError(f"an audit starts from rows; got a table of shape {table.frame.shape}; pass some rows.")
    return table


def _by_column(names: tuple[str, ...], orders: Sequence[tuple[str, Labels | None]]) -> dict[int, Labels]:
    """Columns by name; by position where none has the name and the model has as many columns as X."""
    known = {name: labels for name, labels in orders}
    if len(orders) == len(names) and not known.keys() & set(names):
        known = {name: labels for name, (_, labels) in zip(names, orders, strict=True)}
    found = {j: known.get(name) for j, name in enumerate(names)}
    return {j: labels for j, labels in found.items() if labels is not None}
