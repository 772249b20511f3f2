"""The daily job: a model fitted on a folder scores one partition of it, a pattern below it, and one file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from monolip import MonotonicClassifier
from monolip.cli._exits import Exit

from .conftest import Line, loans

parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from monolip.cli import run

    root: Path = tmp_path_factory.mktemp("bank")
    for k, year in enumerate((2024, 2025)):
        for j, town in enumerate(("12", "New%20York")):
            below = root / "loans" / f"year={year}" / f"town={town}"
            below.mkdir(parents=True)
            parquet.write_table(loans(800).slice(400 * k + 200 * j, 200), below / "p.parquet")
    words = ["-t", "default", "--drop", "id,price", "--members", "1", "--quiet", "--json"]
    assert run(["fit", str(root / "loans"), *words, "-o", str(root / "m.safetensors")]) == 0
    return root


@pytest.mark.parametrize(
    ("below", "n_rows"),
    [("year=2025", 400), ("year=2025/*/*.parquet", 400), ("year=2025/town=12", 200),
     ("year=2025/town=12/p.parquet", 200), ("year=2025/town=New%20York/p.parquet", 200)],
)  # fmt: skip
def test_a_part_is_scored_as_in_the_whole(below: str, n_rows: int, bank: Path, line: Line, tmp_path: Path) -> None:
    model, columns = bank / "m.safetensors", ("--keep", "id,year,town")
    part, whole = tmp_path / "part.parquet", tmp_path / "whole.parquet"
    said = line("predict", model, bank / "loans" / below, *columns, "-o", part)
    assert said.err.strip() == f"{n_rows} predictions in {part}"  # and no note of an unknown town
    assert line("predict", model, bank / "loans", *columns, "-o", whole).code == 0
    some, every = parquet.read_table(part), parquet.read_table(whole)
    assert set(some["year"].to_pylist()) == {2025}
    assert set(some["town"].to_pylist()) <= {"12", "New York"}
    known = {row["id"]: row for row in every.to_pylist()}
    assert all(known[row["id"]] == row for row in some.to_pylist())


def test_one_file_is_explained_and_reported(bank: Path, line: Line, tmp_path: Path) -> None:
    model, file = bank / "m.safetensors", bank / "loans" / "year=2025" / "town=12" / "p.parquet"
    assert line("explain", model, "17", "--data", file).code == 0
    assert line("report", model, file, "--target", "default", "-o", tmp_path / "r.html").code == 0


def test_one_file_is_audited(bank: Path, line: Line, tmp_path: Path) -> None:
    model, file = bank / "m.safetensors", bank / "loans" / "year=2025" / "town=12" / "p.parquet"
    words = ("--increasing", "dti", "--positive", "yes", "--max-rows", "20", "--max-evaluations", "2000", "--json")
    said = line("audit", model, file, *words)
    assert said.code in (Exit.OK, Exit.FOUND)
    assert said.data["rows"] == 20
    plain = tmp_path / "p.parquet"
    parquet.write_table(parquet.ParquetFile(file).read(), plain)
    said = line("audit", model, plain, *words)
    assert said.code == Exit.INPUT
    assert (
        f"{plain} has no 'year', and no folder year=... above it; add it, or rename one: there are 'id', 'income'"
        in said.err
    )


def test_folders_are_no_columns_of_a_model_without_names(bank: Path, line: Line, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    table = loans()
    X, y = np.stack([table["dti"].to_numpy(), table["income"].to_numpy()], axis=1), table["price"].to_numpy()
    data = lightgbm.Dataset(X, y, params={"verbose": -1})
    lightgbm.train({"verbose": -1}, data, 2).save_model(tmp_path / "m.txt")
    file = tmp_path / "year=2025" / "t.parquet"
    file.parent.mkdir()
    parquet.write_table(table.select(["dti", "income"]), file)
    words = ("--increasing", "dti", "--max-rows", "20", "--max-evaluations", "2000", "--json")
    assert line("audit", tmp_path / "m.txt", file, *words).code in (Exit.OK, Exit.FOUND)


def test_a_folder_above_is_a_feature_where_it_is_named(bank: Path, line: Line, tmp_path: Path) -> None:
    words = ("-t", "default", "--members", "1", "--quiet", "-o", tmp_path / "m")
    part = bank / "loans" / "year=2025"
    assert line("fit", part, *words, "--features", "income,year").code == 0
    assert set(MonotonicClassifier.load(tmp_path / "m").feature_names_in_) == {"income", "year"}
    assert line("fit", part, *words, "--drop", "id,price", "--restart").code == 0
    names = np.asarray(MonotonicClassifier.load(tmp_path / "m").feature_names_in_)
    assert "town" in names
    assert "year" not in names


@pytest.mark.parametrize("verb", ["fit", "predict", "report"])
def test_an_address_is_called_one(verb: str, bank: Path, line: Line) -> None:
    model = () if verb == "fit" else (bank / "m.safetensors",)
    said = line(verb, *model, "s3://bank/loans/*.parquet", *(("-t", "y") if verb == "fit" else ("-o", "p.parquet")))
    assert said.code == Exit.INPUT
    assert "tables are read from local paths; got the address s3://bank/loans/*.parquet; copy or mount it" in said.err
