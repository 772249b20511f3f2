"""pandas columns read directly: what the way that serves all tables would make of them."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from monolip.estimators._pandas_columns import PandasColumn, from_pandas, matrix_of
from monolip.estimators._tables import _from_series, read_table

COLUMNS = {
    "float": pd.Series([0.5, np.nan, -0.0]),
    "single": pd.Series([0.1, np.nan, 3.0], dtype=np.float32),
    "whole": pd.Series([1, -2, 3]),
    "large": pd.Series([2**53 + 1, 2**53, -(2**60)]),
    "unsigned": pd.Series([1, 2**64 - 1, 0], dtype=np.uint64),
    "byte": pd.Series([1, 2, 255], dtype=np.uint8),
    "truth": pd.Series([True, False, True]),
    "labels": pd.Series(pd.Categorical(["b", None, "a"], categories=["a", "b", "never"])),
    "grades": pd.Series(pd.Categorical(["low", "high", "low"], categories=["low", "mid", "high"], ordered=True)),
    "nothing": pd.Series(pd.Categorical([None, None, None], categories=["a"])),
}


def told(column):
    exact = None if column.exact is None else column.exact.tolist()
    values = [repr(value) for value in column.values.tolist()]
    return column.name, values, column.values.dtype, column.categories, column.ordered, exact, column.digits


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_what_it_is_by_the_way_of_all_tables(name):
    series = COLUMNS[name]
    stored = PandasColumn(series.to_frame(), 0).stored
    found, slow = from_pandas(stored, name), _from_series(nw.from_native(series, series_only=True), name)
    assert told(found) == told(slow)
    for column in (found, slow):
        distinct, number = column.factors
        assert [repr(v) for v in distinct[number].tolist()] == [repr(v) for v in column.labels.astype(object).tolist()]
    assert {repr(v) for v in found.factors[0]} == {repr(v) for v in slow.factors[0]}


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["a", None, "b"]),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1, 2, 3], dtype="category"),
        pd.Series([1 + 1j, 2, 3]),
        pd.Series(pd.date_range("2020", periods=3)),
        pd.Series([0.5, 1, 2], dtype=np.float16),
    ],
)
def test_all_else_goes_the_way_of_all_tables(series):
    column = PandasColumn(series.to_frame(), 0)
    assert from_pandas(column.stored, "x") is None
    assert column.series.tolist() == series.tolist() or series.isna().any()


def test_a_pandas_that_names_its_parts_otherwise_costs_time_only(monkeypatch):
    frame = pd.DataFrame(COLUMNS)
    quick = [told(column) for column in read_table(frame).columns]
    monkeypatch.setattr(type(frame._mgr), "iget_values", property(lambda self: self.no_such_name))
    assert [told(column) for column in read_table(frame).columns] == quick


def test_columns_are_picked_by_name_and_rows_keep_their_order():
    frame = pd.DataFrame({name: series for name, series in COLUMNS.items()}).iloc[::-1]
    table = read_table(frame, pick=["whole", "grades", "float"])
    assert [column.name for column in table.columns] == ["whole", "grades", "float"]
    assert table.columns[0].values.tolist() == [3.0, -2.0, 1.0]
    assert table.columns[1].values.tolist() == ["low", "high", "low"]


def test_a_frame_of_numbers_is_what_its_columns_are_one_by_one(monkeypatch):
    numbers = ["float", "whole", "byte", "truth"]
    frames = [pd.DataFrame({name: COLUMNS[name] for name in names}) for names in (numbers, numbers[:1], numbers[2:3])]
    at_once = [[told(column) for column in read_table(frame).columns] for frame in frames]
    assert all(matrix_of(frame) is not None for frame in frames)
    monkeypatch.setattr("monolip.estimators._tables.matrix_of", lambda frame: None)
    assert at_once == [[told(column) for column in read_table(frame).columns] for frame in frames]


@pytest.mark.parametrize("odd", ["single", "large", "unsigned", "labels"])
def test_a_frame_with_large_numbers_or_labels_is_read_by_columns(odd):
    frame = pd.DataFrame({name: COLUMNS[name] for name in ("float", odd)})
    assert matrix_of(frame) is None
    assert told(read_table(frame).columns[1]) == told(from_pandas(PandasColumn(frame, 1).stored, odd))
    assert matrix_of(pd.DataFrame({"x": pd.Series([1, None], dtype="Int64")})) is None
