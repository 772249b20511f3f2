"""Dates, times and durations are no numbers: what to write to make numbers of them, in the words of their table."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

__all__ = ["Origin", "kind_of_type", "kind_of_value", "to_write"]

_ADVICE = "convert it to numbers (for a date, for example, days since a day) or to strings"
_DAYS = "pandas.Timedelta(days=1)"
_UTC = "pandas.Timestamp('2000-01-01', tz='UTC')"
# {0} is the column, in the words of its library
_CODE = {
    ("pandas", "date"): f"(pandas.to_datetime({{0}}, utc=True) - {_UTC}) / {_DAYS}",
    ("pandas", "duration"): f"pandas.to_timedelta({{0}}) / {_DAYS}",
    ("pandas", "period"): f"(pandas.PeriodIndex({{0}}).start_time - pandas.Timestamp('2000-01-01')) / {_DAYS}",
    ("pandas", "time"): "pandas.to_timedelta({0}.astype('string')) / pandas.Timedelta(hours=1)",
    ("polars", "date"): "{0}.dt.epoch('s') / 86400",
    ("polars", "duration"): "{0}.dt.total_seconds() / 86400",
    ("polars", "time"): "{0}.cast(polars.Duration).dt.total_seconds() / 3600",
    ("pyarrow", "date"): "{0}.cast('timestamp[ms]', safe=False).cast('int64')",
    ("pyarrow", "duration"): "{0}.cast('duration[ms]', safe=False).cast('int64')",
    ("pyarrow", "time"): "{0}.cast('time64[us]').cast('int64')",
    ("numpy", "date"): "({0}.astype('datetime64[us]') - numpy.datetime64('2000-01-01')) / numpy.timedelta64(1, 'D')",
    ("numpy", "duration"): "{0}.astype('timedelta64[us]') / numpy.timedelta64(1, 'D')",
    ("array", "date"): "({0} - numpy.datetime64('2000-01-01')) / numpy.timedelta64(1, 'D')",
    ("array", "duration"): "{0} / numpy.timedelta64(1, 'D')",
}
# {0} is the key of the column, {1} what replaces it
_COLUMN = {"pandas": "X[{0}]", "polars": "polars.col({0})", "pyarrow": "X[{0}]", "numpy": "X[:, {0}]", "array": "X"}
_PLACE = {
    "pandas": "X[{0}] = {1}",
    "polars": "X = X.with_columns({1})",
    "pyarrow": "X = X.set_column(X.column_names.index({0}), {0}, {1})",
    "numpy": "X[:, {0}] = {1}",
    "array": "X = {1}",
}


class Origin(NamedTuple):
    """Where a column comes from.

    library: pandas, polars, pyarrow, or numpy (an array of objects), or array (of one type). key: what the column is
    called there.
    """

    library: str
    key: Any


def kind_of_type(dtype: Any) -> str | None:
    """date, duration or time, of a type of narwhals or numpy; None for all else."""
    if isinstance(dtype, np.dtype):
        return {"M": "date", "m": "duration"}.get(dtype.kind)
    if dtype == nw.Date or dtype == nw.Datetime:
        return "date"
    return "duration" if dtype == nw.Duration else "time" if dtype == nw.Time else None


def kind_of_value(value: Any) -> str | None:
    """date, duration, time or period, of one value; None for all else."""
    if isinstance(value, datetime.date | np.datetime64):
        return "date"
    if isinstance(value, datetime.timedelta | np.timedelta64):
        return "duration"
    if isinstance(value, datetime.time):
        return "time"
    return "period" if type(value).__name__ == "Period" else None


def to_write(kind: str | None, origin: Origin, value: Any = None) -> str:
    """What to do about a column of dates, with the line to write where there is one; value: one of them."""
    library = origin.library
    if library == "numpy" and type(value).__module__.partition(".")[0] == "pandas":
        library = "pandas"  # which reads its own missing values
    code = None if kind is None else _CODE.get((library, kind))
    if code is None:
        return _ADVICE
    key = repr(origin.key)
    code = code.format(_COLUMN[origin.library].format(key))
    return f"{_ADVICE}: {_PLACE[origin.library].format(key, code)}"
