"""Models with a forest, from the shell: asked for, told of, and read by every verb."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.cli import run
from monolip.cli._exits import Exit
from monolip.cli._target import Rows, split_rows
from monolip.estimators import _training

from ..estimators.streams import numbers, shrink, write
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
    yes = ("--trees", "free", "--json")
    assert run(["fit", str(place / "d.csv"), *FIT, "-o", str(place / "price.safetensors"), *yes]) == 0
    kind = ["-t", "ill", "-i", "dose", "--positive", "yes", "--drop", "price,customer"]
    assert run(["fit", str(place / "d.csv"), *kind, "-o", str(place / "ill.safetensors"), *yes]) == 0
    return place


def test_fit_tells_of_the_forest_it_added(folder: Path, line: Line, tmp_path: Path):
    done = line("fit", folder / "d.csv", *FIT, "--trees", "free", "-o", tmp_path / "m.safetensors")
    assert done.code == 0
    assert "free (trees)" in done.out
    assert "free (category, trees)" in done.out
    model = MonotonicRegressor.load(tmp_path / "m.safetensors")
    gain = f"{100 * model.trees_gain_:.2g} % less squared error on rows held out while fitting"
    assert f"30 trees over day, city are part of the model: {gain}." in done.out
    assert "Nothing is promised of what they read" in done.out
    table = csv.read_csv(folder / "d.csv").drop_columns(["price", "ill", "customer"])
    more = table.set_column(0, "dose", arrow.array(np.nextafter(table["dose"].to_numpy(), np.inf)))
    assert (model.predict(more) >= model.predict(table)).all()


def test_the_option_is_that_of_the_estimators(folder: Path, line: Line, tmp_path: Path):
    found = {}
    for word in ("auto", "free", "yes", "no"):
        done = line("fit", folder / "d.csv", *FIT, "--trees", word, "-o", tmp_path / "m", "--json").data
        found[word] = done["trees"]
        model = MonotonicRegressor.load(tmp_path / "m")
        assert (model.trees, bool(model.tree_features_)) == (
            {"auto": "auto", "free": "free", "yes": True, "no": False}[word], done["trees"] is not None,
        )  # fmt: skip
    assert found["no"] is None
    assert found["free"]["features"] == ["day", "city"]
    assert (found["free"]["trees"], found["free"]["gain"] > 0) == (30, True)
    assert found["yes"]["features"] == ["dose", "day", "city"]
    assert found["yes"]["trees"] > 30


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-i", "dose,day", "--drop", "city,ill,customer"), "note: --trees free, but something is promised of"),
        (("-i", "dose", "--drop", "ill,customer", "--loss", "poisson"), "leave --trees free out"),
    ],
)
def test_where_there_can_be_none_that_is_said_in_our_words(words, said, folder: Path, line: Line, tmp_path: Path):
    done = line("fit", folder / "d.csv", "-t", "price", *words, "--trees", "free", "-o", tmp_path / "m")
    assert said in " ".join(done.err.split())
    assert "trees=" not in done.err
    assert "are part of the model" not in done.out


def test_a_forest_that_gains_nothing_is_not_added_and_that_is_said(line: Line, tmp_path: Path):
    rng = np.random.default_rng(1)
    x, z = rng.uniform(size=(2, 300)).round(4)
    csv.write_csv(arrow.table({"x": x, "z": z, "y": (x + z + rng.normal(0, 0.3, 300)).round(4)}), tmp_path / "d.csv")
    done = line("fit", tmp_path / "d.csv", "-t", "y", "-i", "x", "--trees", "free", "-o", tmp_path / "m")
    assert "No trees were added: rows held out did not gain by them." in done.out
    done = line("fit", tmp_path / "d.csv", "-t", "y", "-i", "x", "-o", tmp_path / "m")
    assert not re.search("trees (over|were)", done.out)


def test_groups_are_no_feature_and_are_held_out_whole(folder: Path, line: Line, tmp_path: Path):
    base = ("fit", folder / "d.csv", "-t", "price", "-i", "dose", "--drop", "ill", "--trees", "free")
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


def test_streams_have_no_groups_and_small_ones_a_forest(folder: Path, line: Line, tmp_path: Path):
    base = ("fit", folder / "parts", *FIT, "--trees", "free", "-o", tmp_path / "m.safetensors")
    done = line(*base, "--groups", "customer")
    assert done.code == Exit.INPUT
    assert "groups are kept together in a table that is read whole" in done.err
    assert line(*base, "--json").data["trees"]["features"] == ["day", "city"]


def test_a_long_stream_has_no_forest_and_says_so(line: Line, tmp_path: Path, monkeypatch):
    shrink(monkeypatch)
    source = write(tmp_path / "d", numbers(4000))
    base = ("fit", source, "-t", "y", "-i", "a", "--members", "1", "-o", tmp_path / "m")
    done = line(*base, "--trees", "free")
    assert done.code == 0
    assert "note: --trees free, but a stream of more rows than a fit reads whole (1024) has no trees" in done.err
    assert "No trees were added" not in done.out  # said once
    assert line(*base).err == ""


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


def test_certify_and_check_say_free_forest_and_prove_the_rest(folder: Path, line: Line, tmp_path: Path):
    for more in ((), ("--fixed-point",)):
        done = line("certify", folder / "price.safetensors", "-o", tmp_path / "c.json", *more)
        rows = [" ".join(text.split()) for text in done.out.splitlines()]
        assert "day free (trees) - -" in rows
        assert "city free (trees) - -" in rows
        assert any(row.startswith("dose increasing [") for row in rows)
        about = () if more else ("--model", folder / "price.safetensors")
        done = line("check", tmp_path / "c.json", *about)
        assert done.code == 0
        assert done.out.startswith("PROVED")
    text = (tmp_path / "c.json").read_text()
    document = json.loads(text)
    document["claims"]["raw"][1]["promise"] = ["increasing"]
    (tmp_path / "forged.json").write_text(json.dumps(document))
    assert line("check", tmp_path / "forged.json").code == Exit.FOUND


def test_audit_finds_nothing_and_does_not_look_at_what_jumps(folder: Path, line: Line):
    few = ("--max-rows", 30, "--max-evaluations", 8000)
    done = line("audit", folder / "ill.safetensors", folder / "d.csv", *few, "--json")
    assert done.code == 0
    assert [feature["name"] for feature in done.data["features"]] == ["dose"]
    assert not done.data["violated"]
    asked = line("audit", folder / "ill.safetensors", folder / "d.csv", *few, "-i", "day", "--positive", "yes")
    assert asked.code == Exit.FOUND  # nobody promised that


def test_explain_claims_no_proof_of_what_jumps(folder: Path, line: Line):
    done = line("explain", folder / "ill.safetensors", 3, "--data", folder / "d.csv", "--json").data
    assert done["jumping"] == ["day", "city"]
    useful = [change for change in done["changes"] if not change["proved_useless"]]
    assert {c["feature"] for c in useful if c["at_least"] is None} <= {"day", "city"}
    assert all(c["at_least"] is None for c in useful if c["feature"] in ("day", "city"))
    done = line("explain", folder / "ill.safetensors", 3, "--data", folder / "d.csv")
    assert "and jump: no distance is proved of such changes." in done.out
    assert "All together" not in done.out
    assert "dose together: proved to need at least" in done.out or "no change of dose leads to" in done.out


def test_report_and_compare_take_such_a_model(folder: Path, line: Line, tmp_path: Path):
    page = tmp_path / "r.html"
    done = line("report", folder / "ill.safetensors", folder / "d.csv", "-t", "ill", "--held-out", "--no-baselines",
                "-o", page)  # fmt: skip
    assert done.code == 0
    assert "Free (trees): day, city." in page.read_text(encoding="utf-8")
    rivals = ("--folds", 4, "--with", "HistGradientBoosting", "--members", 1)
    done = line("compare", folder / "d.csv", *FIT, *rivals, "--trees", "free")
    assert done.code == 0
    assert re.search(r"monolip had trees beside its network in [1-4] of the folds\.", done.out)
    assert line("compare", folder / "d.csv", *FIT, *rivals, "--trees", "no", "--json").data["folds_with_trees"] == 0


def test_compare_keeps_groups_together(folder: Path, line: Line):
    given = ("compare", folder / "d.csv", *FIT, "--folds", 2, "--with", "HistGradientBoosting", "--members", 1)
    done = line(*given, "--groups", "city")
    assert done.code == 0
    assert "2 folds that keep rows of one 'city' together" in done.out
    assert line(*given, "--groups", "price").code == Exit.INPUT  # the target


def test_a_fit_that_crashed_goes_on_to_the_same_forest(folder: Path, line: Line, tmp_path: Path, monkeypatch):
    base = ("fit", folder / "d.csv", *FIT, "--trees", "free")
    whole, train, done = line(*base, "-o", tmp_path / "whole", "--json").data, _training.train, []

    def stopping(*given, **more):
        if len(done) == 3:
            raise RuntimeError("power cut")
        done.append(1)
        return train(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(_training, "train", stopping)
        assert line(*base, "-o", tmp_path / "cut").code == Exit.BUG
    other = line("fit", folder / "d.csv", *FIT, "--trees", "no", "-o", tmp_path / "cut", "--resume")
    assert other.code == Exit.INPUT  # of another model
    again = line(*base, "-o", tmp_path / "cut", "--resume", "--threads", 2, "--json").data
    assert again["trainings_resumed"] == 3
    assert (again["digest"], again["trees"]) == (whole["digest"], whole["trees"])
