"""monolip fit: any format, the same model; constraints from anywhere; the promise holds in what it saves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.cli._exits import Exit
from monolip.cli._metrics import metric_cells

from .conftest import FIT, Line, arrow, csv, loans

feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")


def test_what_fit_prints_and_saves(fitted: Path, line: Line, tmp_path):
    out = tmp_path / "m.safetensors"
    done = line("fit", fitted / "loans.csv", *FIT, "-o", out)
    assert done.code == 0
    assert done.err == ""
    for word in (
        "AUC",
        "baseline",
        "increasing",
        "decreasing",
        "320 rows",
        "80 rows that were held out",
        "monolip check",
    ):
        assert word in done.out
    assert "\x1b[" not in done.out  # a pipe gets no colours
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.certificate.json", "m.safetensors"]
    model = MonotonicClassifier.load(out)
    table = loans(200, seed=5).drop_columns(["id", "price", "default"])
    more = table.set_column(1, "dti", arrow.array(np.nextafter(table["dti"].to_numpy(), np.inf)))
    assert (model.predict_proba(more)[:, 1] >= model.predict_proba(table)[:, 1]).all()
    assert model.frozen_.digest == MonotonicClassifier.load(fitted / "model.safetensors").frozen_.digest


def test_every_format_gives_the_same_model(fitted: Path, line: Line, tmp_path, monkeypatch):
    table = csv.read_csv(fitted / "loans.csv")
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, tmp_path / "a.arrow")
    with arrow.ipc.new_stream(tmp_path / "a.stream", table.schema) as stream:
        stream.write_table(table)
    with arrow.output_stream(tmp_path / "a.csv.gz", compression="gzip") as packed:
        csv.write_csv(table, packed)
    csv.write_csv(table, tmp_path / "semi.csv", csv.WriteOptions(delimiter=";"))
    expected = MonotonicClassifier.load(fitted / "model.safetensors").frozen_.digest
    for name in ("a.parquet", "a.arrow", "a.stream", "a.csv.gz", "semi.csv"):
        done = line("fit", tmp_path / name, *FIT, "-o", tmp_path / "m", "--json")
        assert done.data["digest"] == expected, name


def test_constraints_from_toml_are_those_of_options(fitted: Path, line: Line, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text('increasing = ["dti"]\n[max_slope]\nage = 0.05\n[slopes]\nincome = [-0.001, 0.0]\n')
    base = ("fit", fitted / "loans.csv", "-t", "default", "--drop", "id,price", "-o", tmp_path / "m", "--json")
    base += ("--positive", "yes")
    one = line(*base, "--constraints", rules).data
    two = line(*base, "-i", "dti", "--max-slope", "age=0.05", "--slope", "income=-0.001:0.0").data
    assert one["digest"] == two["digest"]
    slopes = {row["feature"]: row for row in one["slopes"]}
    assert -0.001 <= slopes["income"]["lower"] <= slopes["income"]["upper"] <= 0
    assert slopes["dti"]["lower"] >= 0
    assert slopes["age"]["upper"] <= 0.05


def test_an_ordered_category_and_missing_values_from_toml(fitted: Path, line: Line, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(
        'increasing = ["purpose"]\n[ordered]\npurpose = ["other", "home", "car"]\n[missing]\nage = "lowest"\n'
    )
    base = ("fit", fitted / "loans.csv", "-t", "default", "--drop", "id,price", "-o", tmp_path / "m", "--json")
    done = line(*base, "--constraints", rules, "--positive", "yes")
    assert {row["feature"]: row["promise"] for row in done.data["slopes"]}["purpose"] == "increasing (ordered category)"


def test_the_positive_class_and_several_classes(fitted: Path, line: Line, tmp_path):
    base = ("fit", fitted / "loans.csv", "--drop", "id,price", "-o", tmp_path / "m", "--json")
    found = line(*base, "-t", "default", "--decreasing", "dti", "--positive", "no").data
    assert {row["feature"]: row["promise"] for row in found["slopes"]}["dti"] == "decreasing"
    assert found["slopes_of"] == "no"
    many = line(*base, "-t", "purpose", "-i", "dti", "--positive", "car", "--drop", "default").data
    promises = {(row["feature"], row["output"]): row["promise"] for row in many["slopes"]}
    assert promises["dti", "car"] == "increasing"
    refused = line(*base, "-t", "purpose", "-i", "dti")
    assert refused.code == Exit.INPUT
    assert "pass --positive LABEL" in refused.err


def test_screen_certificate_and_every_export_speak_of_the_positive_class(fitted: Path, line: Line, tmp_path):
    """The class that --positive names, its signs and its name, wherever a person or a program reads of them."""
    base = ("fit", fitted / "loans.csv", "--drop", "id,price", "-t", "default", "-o", tmp_path / "m")
    asked = ("--slope", "dti=-3:0", "-i", "income", "--positive", "no")
    told = line(*base, *asked, "--json").data
    assert (told["slopes_of"], told["slopes_about"]) == ("no", "P(default = no)")
    slopes = {row["feature"]: (row["promise"], row["promised"], row["lower"], row["upper"]) for row in told["slopes"]}
    assert slopes["dti"][:2] == ("decreasing", [-3.0, 0.0])
    assert slopes["income"][0] == "increasing"
    model = MonotonicClassifier.load(tmp_path / "m")
    assert model.classes_.tolist() == ["no", "yes"]
    for claim in model.certificate_:
        assert (claim.lower, claim.upper) == slopes[claim.feature][2:]
    said = line(*base, *asked).out
    assert "Promises are about P(default = no)." in said
    assert "promised of P(default = no)" in said
    assert "log-odds of P(default = no) per unit" in said
    certified = line("certify", tmp_path / "m", "-o", tmp_path / "c.json").out
    assert "Claims are about P(default = no): slopes are of its log-odds." in certified
    checked = line("check", tmp_path / "c.json", "--model", tmp_path / "m").out
    assert "claims are about P(default = no): f is its log-odds" in checked
    for text in (certified, checked):
        words = {line.split()[0].strip('":'): line.split()[1] for line in text.splitlines() if len(line.split()) > 1}
        assert (words["dti"], words["income"]) == ("decreasing", "increasing")
    audited = line("audit", tmp_path / "m", fitted / "loans.csv", "--max-evaluations", "2000", "--json").data
    ways = {row["name"]: (row["direction"], row["output"]) for row in audited["features"]}
    assert ways == {"income": (1, "no"), "dti": (-1, "no")}
    why = ("explain", tmp_path / "m", "3", "--data", fitted / "loans.csv")
    assert "P(default = no)" in line(*why).out
    assert "P(default = yes)" in line(*why, "--label", "yes").out
    assert line("report", tmp_path / "m", "-o", tmp_path / "r.html", "--no-baselines").code == 0
    assert "Raising income never lowers P(default = no)." in (tmp_path / "r.html").read_text()
    rules = tmp_path / "rules.toml"
    rules.write_text('increasing = ["income"]\n[slopes]\ndti = [-3, 0]\n')
    assert told["digest"] in line(*base, "--constraints", rules, "--positive", "no").out


@pytest.mark.parametrize("asked", [("-i", "dti"), ("--slope", "dti=0:3")])
def test_text_classes_have_no_order_that_everybody_knows(asked, fitted: Path, line: Line, tmp_path):
    base = ("fit", fitted / "loans.csv", "--drop", "id,price", "-t", "default", "-o", tmp_path / "m")
    done = line(*base, *asked)
    assert done.code == Exit.INPUT
    assert "the classes 'no' and 'yes'" in done.err
    assert "'dti'" in done.err
    assert "pass --positive no or --positive yes" in done.err
    assert not (tmp_path / "m").exists()
    free = line(*base, "--slope", "dti=-3:3", "--json").data  # which is the same of both
    assert free["slopes_about"] == "P(default = yes)"


def test_both_classes_are_not_named_at_once(fitted: Path, line: Line, tmp_path):
    base = ("fit", fitted / "loans.csv", "--drop", "id,price", "-t", "default", "-o", tmp_path / "m")
    rules = tmp_path / "rules.toml"
    rules.write_text('[classes.no]\nincreasing = ["income"]\n[classes.yes]\nincreasing = ["dti"]\n')
    refused = line(*base, "--constraints", rules)
    assert refused.code == Exit.INPUT
    assert "all constraints of two classes name the same one; got 'no' for 'income'" in refused.err
    rules.write_text('[classes.no]\nincreasing = ["income"]\n')
    assert line(*base, "--constraints", rules, "--json").data["slopes_about"] == "P(default = no)"


def test_regression_split_weight_members_and_threads(fitted: Path, line: Line, tmp_path):
    base = (
        "fit",
        fitted / "loans.csv",
        "-t",
        "price",
        "-i",
        "dti",
        "--drop",
        "id,default",
        "-o",
        tmp_path / "m",
        "--json",
    )
    one = line(*base, "--members", "3", "--threads", "1").data
    two = line(*base, "--members", "3", "--threads", "2").data
    assert one["digest"] == two["digest"]
    assert one["metrics"]["model"]["RMSE"] < one["metrics"]["baseline"]["RMSE"]
    whole = line(*base, "--split", "0", "--weight", "age", "--task", "regression")
    assert whole.code == Exit.INPUT  # age has gaps
    whole = line(*base, "--split", "0", "--weight", "income", "--loss", "absolute_error")
    assert whole.data["rows"] == {"train": 400, "test": 0}
    assert whole.data["metrics"] is None
    assert "income" not in whole.data["features"]
    assert MonotonicRegressor.load(tmp_path / "m").loss == "absolute_error"


def test_the_seed_decides_and_time_ends(fitted: Path, line: Line, tmp_path):
    base = ("fit", fitted / "loans.csv", *FIT, "-o", tmp_path / "m", "--json")
    assert line(*base, "--seed", "1").data["digest"] != line(*base, "--seed", "2").data["digest"]
    cut = line(*base, "--time", "0.001s")
    assert cut.code == 0
    assert cut.err.splitlines().count("note: --time ended training early; with more time the model may be better") == 1
    assert cut.data["short_of_time"]
    whole = line(*base, "--time", "1h")
    assert "--time" not in whole.err
    assert not whole.data["short_of_time"]


def test_data_by_option_and_from_standard_input(fitted: Path, line: Line, tmp_path, monkeypatch):
    import io
    import sys

    expected = line("fit", "--data", fitted / "loans.csv", *FIT, "-o", tmp_path / "m", "--json").data["digest"]
    stdin = io.TextIOWrapper(io.BytesIO((fitted / "loans.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert line("fit", "-", *FIT, "-o", tmp_path / "m", "--json").data["digest"] == expected
    assert line("fit", fitted / "loans.csv", "--data", fitted / "loans.csv", *FIT).code == Exit.USAGE


def test_a_direction_that_rows_speak_against_is_told(fitted: Path, line: Line, tmp_path):
    base = ("fit", fitted / "loans.csv", "-t", "price", "--drop", "id,default,purpose", "-o", tmp_path / "m")
    wrong = line(*base, "--decreasing", "dti", "--json")
    assert wrong.code == 0
    assert wrong.data["replaced"] is False
    assert "Check the sign of the constraint: the data contradict 'dti' (decreasing asked, data increase)" in wrong.err
    assert wrong.data["remarks"][0].startswith("Check the sign of the constraint")
    right = line(*base, "--increasing", "dti,age", "--decreasing", "income", "--positive", "x", "--json")
    assert right.code == Exit.INPUT
    right = line(*base, "--increasing", "dti,age", "--decreasing", "income")
    assert right.err == ""  # age says nothing of the price
    assert "m (replaced: a file of that name was there)" in right.out


def test_what_missing_values_count_as_is_told_and_directions_only_where_there_are_some(fitted, line: Line, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text('[missing]\nage = "lowest"\n')
    base = ("fit", fitted / "loans.csv", "-t", "default", "--drop", "id,price", "-o", tmp_path / "m")
    done = line(*base, "--constraints", rules)
    assert "Missing values, proved too: age counts as the lowest" in done.out
    assert "Promises are about" not in done.out


def test_a_fit_that_is_not_perfect_does_not_look_so():
    found = {"model": {"R2": 0.99999, "RMSE": 0.001}, "baseline": {"R2": -1e-3, "RMSE": 0.5}}
    assert metric_cells(found, "mean")[1:] == [["R2", "0.99999", "-0.001", "higher"], ["RMSE", "0.001", "0.5", "lower"]]
