"""The usual columns of a pandas table, read directly: what serves all kinds of tables takes a small fit too long."""

from __future__ import annotations

from typing import Any

import numpy as np

from monolip.estimators._raw_column import RawColumn, array_of, beyond_floats

__all__ = ["from_pandas"]

_NUMBERS = "?bhilqBHILQfd"  # numpy's own, that are float64 or become it without surprises


def from_pandas(series: Any, name: str) -> RawColumn | None:
    """numpy's numbers, and categories that are strings; None for all else."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return _from_numbers(series, name) if dtype.char in _NUMBERS else None
    return _from_strings(series, name) if str(dtype) == "category" else None


def _from_numbers(series: Any, name: str) -> RawColumn:
    plain = series.to_numpy()
    values = np.asarray(plain, dtype=np.float64)
    large = plain.dtype.kind in "iu" and beyond_floats(values)
    return RawColumn(name, values, exact=array_of(series.tolist()) if large else None)


def _from_strings(series: Any, name: str) -> RawColumn | None:
    """Labels, and which row has which of them: known from the codes, without a look at every row."""
    known = series.array.categories.tolist()
    if not all(type(label) is str for label in known):
        return None
    labels, codes = array_of([*known, np.nan]), np.asarray(series.array.codes, dtype=np.intp)  # -1: missing
    counts = np.bincount(codes + 1, minlength=len(labels))
    seen = np.flatnonzero(counts) - 1
    ordered = bool(series.array.ordered)
    column = RawColumn(name, labels[codes], tuple(known) if ordered else (), ordered)
    vars(column)["factors"] = labels[seen], (np.cumsum(counts > 0) - 1)[codes + 1]
    return column
