"""Rows that belong together, and a model of a step function, from the shell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.cli import run
from monolip.cli._exits import Exit
from monolip.cli._target import Rows, split_rows

from .conftest import Line, arrow, csv

parquet = pytest.importorskip("pyarrow.parquet")
FIT = ("-t", "price", "-i", "dose", "--drop", "ill,customer")


def jumps(n: int = 600) -> arrow.Table:
    """price rises in dose and jumps sixty times along day; customers have three rows each."""
    rng = np.random.default_rng(0)
    dose, day = rng.uniform(size=n).round(4), rng.uniform(size=n).round(4)
    city = np.array(["a", "b", "c"])[rng.integers(0, 3, n)]
    price = (dose + np.floor(60 * day) % 3).round(4)
    ill = np.where(price + rng.normal(0, 0.2, n) > 1.5, "yes", "no")
    gaps = [None if k % 40 == 7 else v for k, v in enumerate(day.tolist())]
    columns = {"dose": dose, "day": gaps, "city": city, "price": price, "ill": ill, "customer": np.arange(n) // 3}
    return arrow.table(columns)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, and models of price and of ill with their certificates."""
    place = tmp_path_factory.mktemp("jumps")
    csv.write_csv(jumps(), place / "d.csv")
    (place / "parts").mkdir()
    parquet.write_table(jumps(), place / "parts" / "d.parquet")
    assert run(["fit", str(place / "d.csv"), *FIT, "-o", str(place / "price.safetensors"), "--json"]) == 0
    kind = ["-t", "ill", "--positive", "yes", "-i", "dose", "--drop", "price,customer"]
    assert run(["fit", str(place / "d.csv"), *kind, "-o", str(place / "ill.safetensors"), "--json"]) == 0
    return place


def test_groups_are_no_feature_and_are_held_out_whole(folder: Path, line: Line, tmp_path: Path):
    base = ("fit", folder / "d.csv", "-t", "price", "-i", "dose", "--drop", "ill")
    done = line(*base, "--groups", "customer", "-o", tmp_path / "m", "--json").data
    assert done["features"] == ["dose", "day", "city"]
    table = jumps()
    for classes, y in ((False, table["price"].to_numpy()), (True, table["ill"].to_numpy(zero_copy_only=False))):
        groups = np.arange(600) // 3
        train, test = split_rows(Rows(table.select(["dose"]), y, None, groups), 0.2, classes, seed=1)
        assert len(train) + len(test) == 600
        assert 100 <= len(test) <= 120
        assert not set(train.groups) & set(test.groups)
    train, test = split_rows(Rows(table.select(["dose"]), y, None, np.zeros(600, np.int64)), 0.2, True, seed=1)
    assert (len(train), test) == (600, None)  # nothing to hold out that would tell of others
    rare = np.where(np.arange(600) < 3, "rare", y)
    for seed in range(12):
        train, test = split_rows(Rows(table.select(["dose"]), rare, None, groups), 0.5, True, seed)
        assert set(test.y) <= set(train.y)
        assert not set(train.groups) & set(test.groups)
    for name, said in (("price", "--groups has a column of its own"), ("nobody", "'nobody'")):
        done = line(*base, "--groups", name, "-o", tmp_path / "m")
        assert done.code == Exit.INPUT
        assert said in done.err


def test_streams_have_no_groups(folder: Path, line: Line, tmp_path: Path):
    done = line("fit", folder / "parts", *FIT, "-o", tmp_path / "m.safetensors", "--groups", "customer")
    assert done.code == Exit.INPUT
    assert "groups are kept together in a table that is read whole" in done.err


@pytest.mark.parametrize("exact", [(), ("--exact",)])
def test_predictions_of_tables_and_streams_are_those_of_the_model(exact, folder: Path, line: Line, tmp_path: Path):
    for name, kind in (("price", MonotonicRegressor), ("ill", MonotonicClassifier)):
        model = kind.load(folder / f"{name}.safetensors")
        X = jumps().select(["dose", "day", "city"])
        expected = model.predict(X, exact=bool(exact))
        for source in (folder / "d.csv", folder / "parts"):
            out = tmp_path / f"{source.name}.parquet"
            assert line("predict", folder / f"{name}.safetensors", source, "-o", out, *exact).code == 0
            assert parquet.read_table(out)["prediction"].to_pylist() == expected.tolist()


def test_compare_keeps_groups_together(folder: Path, line: Line):
    given = ("compare", folder / "d.csv", *FIT, "--folds", 2, "--with", "HistGradientBoosting", "--members", 1)
    done = line(*given, "--groups", "city")
    assert done.code == 0
    assert "2 folds that keep rows of one 'city' together" in done.out
    assert line(*given, "--groups", "price").code == Exit.INPUT  # the target


@pytest.mark.parametrize("verb", ["fit", "compare"])
def test_trees_are_refused_with_what_to_do_instead(verb, folder: Path, line: Line, tmp_path: Path):
    done = line(verb, folder / "d.csv", *FIT, "--trees", "free", "-o", tmp_path / "m")
    assert done.code == Exit.USAGE
    assert "has no trees; got --trees; leave it out" in " ".join(done.err.split())
    assert not (tmp_path / "m").exists()
    assert "--trees" not in line(verb, "--help").out
