"""The usual columns of a pandas table, read directly: what serves all kinds of tables takes a small fit too long."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.estimators._raw_column import RawColumn, array_of, beyond_floats, digits_of
from monolip.intervals import interval_label, is_interval

__all__ = ["PandasColumn", "from_intervals", "from_pandas", "matrix_of"]

_NUMBERS = "?bhilqBHILQfd"  # numpy's own, that are float64 or become it without surprises
_DOUBLES = _NUMBERS.replace("f", "")  # of float32, a column knows that it came as that
_SMALL = 2**20  # values of a table that may be copied as a whole


class PandasColumn(NamedTuple):
    """One of the columns of a frame, by its number; a series of it is made only where somebody has to have one."""

    frame: Any
    number: int

    @property
    def series(self) -> Any:
        return self.frame.iloc[:, self.number]

    @property
    def stored(self) -> Any:
        """The array that the frame keeps."""
        try:
            return self.frame._mgr.iget_values(self.number)
        except AttributeError:  # a private name: without it only time is lost, to make a series
            return self.series.to_numpy() if isinstance(self.series.dtype, np.dtype) else self.series.array


def from_pandas(values: Any, name: str) -> RawColumn | None:
    """Of an array as pandas stores it: numpy's numbers, categories that are strings, intervals; None for all else."""
    dtype = values.dtype
    if isinstance(values, np.ndarray):
        return _from_numbers(values, name) if dtype.char in _NUMBERS else None
    if str(dtype) == "category":
        return _from_labels(values, name)
    return from_intervals(values, name) if str(dtype).startswith("interval[") else None


def from_intervals(values: Any, name: str) -> RawColumn:
    """Of an array of pandas.Interval, which has no list of categories: those that occur, from low to high."""
    try:
        categories = sys.modules["pandas"].Categorical(values, ordered=True)
        reason = "some that are closed on other sides" if len({v.closed for v in categories.categories}) > 1 else None
    except TypeError as error:
        reason = str(error)
    if reason is not None:
        raise InputError(f"intervals of a column have an order; got {reason} in column {name!r}; cut it anew.")
    found = _from_labels(categories, name)
    assert found is not None
    return found


def matrix_of(frame: Any) -> NDArray[np.float64] | None:
    """All values of a small frame of numpy's numbers, (n, columns): one by one its columns take longer to get at.

    None for any other, for float32, and where a whole number may be too large for float64.
    """
    if len(frame) * len(frame.columns) > _SMALL:
        return None
    if not all(isinstance(dtype, np.dtype) and dtype.char in _DOUBLES for dtype in _dtypes(frame)):
        return None
    values: NDArray[np.float64] = frame.to_numpy(dtype=np.float64)
    return None if beyond_floats(values) else values


def _dtypes(frame: Any) -> list[Any]:
    try:
        return list(frame._mgr.get_dtypes())
    except AttributeError:  # a private name: without it only time is lost, to make a series of them
        return list(frame.dtypes)


def _from_numbers(plain: NDArray[Any], name: str) -> RawColumn:
    values = np.asarray(plain, dtype=np.float64)
    large = plain.dtype.kind in "iu" and beyond_floats(values)
    exact = array_of(plain.tolist()) if large else None
    return RawColumn(name, values, exact=exact, digits=digits_of(plain.dtype))


def _from_labels(given: Any, name: str) -> RawColumn | None:
    """Strings or intervals, and which row has which of them: known from the codes, without a look at every row."""
    known = given.categories.tolist()
    intervals = bool(known) and all(map(is_interval, known))
    if intervals:
        known = [interval_label(label) for label in known]
    if {*map(type, known)} - {str}:
        return None
    labels, after = array_of([*known, np.nan]), np.add(given.codes, 1, dtype=np.intp)  # 0: missing
    counts = np.bincount(after, minlength=len(labels))
    seen, ordered = counts.nonzero()[0] - 1, bool(given.ordered)
    column = RawColumn(name, labels[after - 1], tuple(known) if ordered else (), ordered, intervals=intervals)
    vars(column)["factors"] = labels[seen], ((counts > 0).cumsum() - 1)[after]
    return column
