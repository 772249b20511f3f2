"""Folders named key=value are columns: of a whole table, of one partition, of one file; and never against the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monolip import MonotonicRegressor
from monolip.errors import InputError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from monolip.estimators.stream.source import Source  # noqa: E402

QUICK: dict[str, Any] = {"random_state": 0, "n_estimators": 1, "max_iter": 3, "hidden_layer_sizes": (8,)}


def written(folder: Path, n: int = 100, **more: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    x = np.random.default_rng(len(str(folder))).random(n)
    columns = {"x": x, "y": x + len(folder.name), **{name: [value] * n for name, value in more.items()}}
    pq.write_table(pa.table(columns), folder / "a.parquet")
    return folder


def bank(folder: Path) -> Path:
    for year in (2024, 2025):
        for town in ("12", "New%20York"):
            written(folder / f"year={year}" / f"town={town}")
    return folder


@pytest.mark.parametrize(
    ("below", "n_rows"),
    [("", 400), ("year=2025", 200), ("year=2025/town=12", 100), ("year=2025/*/*.parquet", 200), ("*/town=12/*", 200),
     ("year=2025/town=12/a.parquet", 100)],
)  # fmt: skip
def test_a_part_of_the_table_has_the_columns_of_the_whole(below: str, n_rows: int, tmp_path: Path) -> None:
    root = bank(tmp_path / "bank")
    model = MonotonicRegressor(monotonic_cst={"x": 1}, **QUICK).fit_stream(root, "y")
    assert model._schema.names == ("x", "year", "town")
    assert model.predict_stream(f"{root}/{below}", tmp_path / "p.parquet", keep=["x", "year", "town"]) == n_rows
    found = pq.read_table(tmp_path / "p.parquet")
    assert set(found["town"].to_pylist()) <= {"12", "New York"}  # decoded; a string though it looks like a number
    assert set(found["year"].to_pylist()) <= {2024, 2025}
    assert np.array_equal(model.predict(found.drop_columns(["prediction"])), found["prediction"].to_numpy())


def test_folders_above_are_features_only_where_they_are_named(tmp_path: Path) -> None:
    part = bank(tmp_path / "run=7") / "year=2025"
    assert Source(part).columns == ["x", "y", "town"]
    assert {"year", "run"} <= set(Source(part).offered)
    assert Source(part, ["x", "year"]).listing != Source(part, ["x"]).listing
    model = MonotonicRegressor(**QUICK).fit_stream(part, "y", features=["x", "run"])
    assert model._schema.names == ("x", "run")
    stored = written(tmp_path / "run=7" / "own", run=3)
    groups = Source(stored, ["run"]).groups
    assert next(Source(stored, ["run"]).read(groups[0], ["run"], 10)).column(0).to_pylist() == [3] * 10


@pytest.mark.parametrize("value", ["--5", "²", "9" * 20, "-", "1_000", "٣"])
def test_values_that_only_look_like_whole_numbers_are_strings(value: str, tmp_path: Path) -> None:
    written(tmp_path / f"k={value}")
    source = Source(tmp_path)
    rows = next(source.read(source.groups[0], ["k", "x"], 5))
    assert rows.column(0).to_pylist() == [value] * 5


def test_an_empty_file_decides_nothing_and_unknown_values_are_null(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [0.0], "y": [0.0]}).slice(1), tmp_path / "0.parquet")
    written(tmp_path / "k=text", n=0)
    written(tmp_path / "k=5")
    written(tmp_path / "k=__HIVE_DEFAULT_PARTITION__")
    source = Source(tmp_path)
    found = [next(source.read(group, ["k"], 1)).column(0)[0].as_py() for group in source.groups]
    assert found == [5, None]
    alone = tmp_path / "k=__HIVE_DEFAULT_PARTITION__"
    model = MonotonicRegressor(**QUICK).fit_stream(tmp_path, "y")
    assert model.predict_stream(alone, tmp_path / "p.parquet") == 100


@pytest.mark.parametrize("stored", [5, "5", 5.0])
def test_a_column_in_file_and_folder_that_says_the_same_is_the_folders(stored: Any, tmp_path: Path) -> None:
    written(tmp_path / "k=5", k=stored)
    source = Source(tmp_path)
    assert next(source.read(source.groups[0], ["k"], 2)).column(0).to_pylist() == [5, 5]


@pytest.mark.parametrize("stored", [9, "five", None, 5.5])
def test_a_file_that_contradicts_its_folder_is_named(stored: Any, tmp_path: Path) -> None:
    written(tmp_path / "k=4", k=4 if isinstance(stored, int | float) else "4")
    written(tmp_path / "k=5", k=stored)
    with pytest.raises(InputError, match=r"says the same in both; .*k=5/a.parquet holds .* in 'k'.*; rename"):
        MonotonicRegressor(**QUICK).fit_stream(tmp_path, "y")
