"""Ordered categories of a column: their labels as they are, positions in the order, and columns with other labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from monolip.fixed_point import FixedPointNetwork
from monolip.frozen import FrozenNetwork
from monolip.input_columns import is_missing
from monolip.intervals import interval_label, is_interval

__all__ = ["held_labels", "model_orders", "positions", "relabelled"]

FloatArray = NDArray[np.float64]
Labels = tuple[Any, ...]


def model_orders(model: Any) -> tuple[tuple[str, Labels | None], ...]:
    """(name, labels from low to high or None) of the raw columns of our own models; empty for others."""
    network = getattr(model, "frozen_", model)
    if not isinstance(network, FrozenNetwork | FixedPointNetwork) or network.inputs is None:
        return ()
    columns = network.inputs.columns
    return tuple((c.name, getattr(c, "categories", None) if getattr(c, "ordered", False) else None) for c in columns)


def held_labels(column: Any, order: Labels | None) -> Labels | None:
    """The labels a column can be set to, from low to high: the model's order where it has one, else the column's own.

    column: a narwhals series or an array; of the model's labels those the column's type can hold. None: no order.
    """
    held: Labels | None = None  # by the column's type, in an order or not
    own: Labels | None = None
    if isinstance(column, nw.Series):
        own = tuple(column.dtype.categories) if isinstance(column.dtype, nw.Enum) else None
        held = _categories(column) or own
    if order is not None:  # of intervals, the model knows the texts
        texts = {interval_label(label): label for label in held or _values(column) if is_interval(label)}
        order = tuple(texts.get(label, label) for label in order)
    kept = tuple(label for label in order or () if _fits(column, label, held))
    seen = set(_values(column)) if kept else set()
    return kept if any(label in seen for label in kept) else own


def positions(column: Any, labels: Labels) -> FloatArray:
    """Where each value stands among the labels; NaN for missing and for what is none of them."""
    where = {label: float(k) for k, label in enumerate(labels)}
    return np.array([np.nan if is_missing(v) else where.get(v, np.nan) for v in _values(column)], np.float64)


def relabelled(column: Any, labels: Labels, values: FloatArray) -> Any:
    """The column with the labels at these positions, of the same type; where NaN, as it was."""
    kept = np.isnan(values)
    if not isinstance(column, nw.Series):
        out = column.copy()
        for r in np.flatnonzero(~kept).tolist():
            out[r] = labels[int(values[r])]
        return out
    categories = _categories(column)
    native = column.to_native()
    if categories is not None:  # codes, so that labels of any type stay what they are
        place = {label: k for k, label in enumerate(categories)}
        codes = np.asarray(native.cat.codes).astype(np.int64)
        chosen = [place[labels[int(v)]] for v in values[~kept]]
        codes[~kept] = np.array(chosen, np.int64)
        made = type(native.array).from_codes(codes, dtype=native.dtype)
        return nw.from_native(type(native)(made, index=native.index, name=native.name), series_only=True)
    mixed = [v if same else labels[int(at)] for v, same, at in zip(_values(column), kept, values, strict=True)]
    if column.implementation.is_pandas_like():
        series = type(native)(mixed, index=native.index, name=native.name, dtype=native.dtype)
        return nw.from_native(series, series_only=True)
    return nw.new_series(column.name, mixed, column.dtype, backend=column.implementation)


def _categories(column: Any) -> Labels | None:
    """Of a pandas categorical, in its order, whether it is meant or not; None for other columns."""
    if not column.implementation.is_pandas_like():
        return None
    dtype = column.to_native().dtype
    return tuple(dtype.categories) if hasattr(dtype, "categories") and hasattr(dtype, "ordered") else None


def _fits(column: Any, label: Any, held: Labels | None) -> bool:
    if isinstance(column, nw.Series):
        return held is None or label in held
    return column.dtype == object or bool(np.array([label]).astype(column.dtype)[0] == label)


def _values(column: Any) -> Sequence[Any]:
    return column.to_list() if isinstance(column, nw.Series) else column.tolist()
