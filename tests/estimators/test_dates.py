"""Dates, times, durations and periods are refused by name, with the line to write; that line makes numbers of them."""

from __future__ import annotations

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from monolip import MonotonicRegressor
from monolip.errors import InputError

from .tables import QUICK

N = 60
START = datetime.datetime(2020, 1, 1, 12)
TIMES = [None if k == 3 else START + datetime.timedelta(hours=30 * k) for k in range(N)]
GONE = [time is None for time in TIMES]
STAMPS = pd.Series(pd.to_datetime(TIMES))
DURATIONS = [None if gone else datetime.timedelta(hours=7 * k) for k, gone in enumerate(GONE)]
CLOCK = [None if gone else datetime.time(k % 24, k) for k, gone in enumerate(GONE)]
DATES = [None if time is None else time.date() for time in TIMES]

PANDAS = {
    "stamps": STAMPS,
    "aware": STAMPS.dt.tz_localize("Europe/Berlin"),
    "dates": pd.Series(DATES, dtype=object),
    "stamp objects": STAMPS.astype(object),
    "aware objects": STAMPS.dt.tz_localize("Europe/Berlin").astype(object),
    "arrow dates": pd.Series(DATES, dtype="date32[pyarrow]"),
    "arrow stamps": STAMPS.astype("timestamp[us][pyarrow]"),
    "periods": STAMPS.dt.to_period("D"),
    "period objects": STAMPS.dt.to_period("D").astype(object),
    "durations": pd.Series(pd.to_timedelta(DURATIONS)),
    "duration objects": pd.Series(DURATIONS, dtype=object),
    "arrow durations": pd.Series(pd.to_timedelta(DURATIONS)).astype("duration[us][pyarrow]"),
    "clock": pd.Series(CLOCK, dtype=object),
    "arrow clock": pd.Series(CLOCK, dtype="time64[us][pyarrow]"),
}
POLARS = {
    "dates": pl.Series(DATES),
    "stamps": pl.Series(TIMES),
    "aware": pl.Series(TIMES).dt.replace_time_zone("Europe/Berlin"),
    "durations": pl.Series(DURATIONS),
    "clock": pl.Series(CLOCK),
}
ARROW = {
    "dates": pa.array(DATES),
    "date64": pa.array(DATES, pa.date64()),
    "stamps": pa.array(TIMES),
    "aware": pa.array(TIMES, pa.timestamp("ns", tz="Europe/Berlin")),
    "durations": pa.array(DURATIONS),
    "clock": pa.array(CLOCK),
    "short clock": pa.array(CLOCK, pa.time32("s")),
}
OBJECTS = {
    "dates": DATES,
    "stamps": list(STAMPS),
    "numpy": list(STAMPS.to_numpy()),
    "durations": DURATIONS,
    "timedeltas": list(pd.Series(pd.to_timedelta(DURATIONS))),
    "periods": list(STAMPS.dt.to_period("D")),
}
LINE = re.compile(r"or to strings: (.*)\.$")


def array_of(items):
    out = np.empty((N, 2), dtype=object)
    out[:, 0] = np.arange(N, dtype=float)
    out[:, 1] = np.fromiter(items, dtype=object, count=N)
    return out


def record(items):
    return pa.record_batch({"a": pa.array(range(N)), "the day": items})


CASES = {
    **{f"pandas {k}": (pd.DataFrame({"a": range(N), "the day": v}), "the day") for k, v in PANDAS.items()},
    **{f"polars {k}": (pl.DataFrame({"a": range(N), "the day": v}), "the day") for k, v in POLARS.items()},
    **{f"arrow {k}": (pa.table({"a": range(N), "the day": v}), "the day") for k, v in ARROW.items()},
    "arrow batch": (record(ARROW["stamps"]), "the day"),
    **{f"numpy {k}": (array_of(v), "x1") for k, v in OBJECTS.items()},
    "labels": (pd.DataFrame({0: range(N), 5: STAMPS}), "x5"),
    "odd name": (pd.DataFrame({"it's {0}": STAMPS}), "it's {0}"),
    "all dates": (np.array(DATES[4:] + DATES[4:8], dtype="datetime64[D]")[:, None], "x0"),
    "all durations": (np.array(DURATIONS, dtype="timedelta64[h]")[:, None], "x0"),
}


def fit(X):
    return MonotonicRegressor(**QUICK).fit(X, np.arange(N, dtype=float))


@pytest.mark.parametrize("case", CASES)
def test_the_message_names_the_column_and_its_line_makes_numbers(case):
    X, name = CASES[case]
    X = X.copy() if hasattr(X, "copy") else X
    with pytest.raises(InputError, match=r"^a column holds numbers or categories") as told:
        fit(X)
    assert f"column {name!r}" in str(told.value)
    line = LINE.search(str(told.value))
    assert line is not None
    here = {"X": X, "pandas": pd, "numpy": np, "polars": pl, "pyarrow": pa}
    exec(line[1], here)
    model = fit(here["X"])
    assert len(model.frozen_.inputs.numeric) == model.n_features_in_
    if case != "all dates":
        assert model.frozen_.inputs.columns[-1].present is not None  # what was missing still is
    if "clock" not in case and case != "all dates":
        assert model.score(here["X"], np.arange(N, dtype=float)) > 0.9


def test_a_date_is_refused_in_predict_too():
    frame = pd.DataFrame({"a": np.arange(N), "day": np.arange(N)})
    with pytest.raises(InputError, match=r"in column 'day'; .*X\['day'\] = "):
        fit(frame).predict(frame.assign(day=STAMPS))
