"""predict, certify, check, export, explain, report: they say what the library says."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from monolip import FrozenNetwork, MonotonicClassifier
from monolip.cli._exits import Exit

from .conftest import FIT, Line, arrow, csv

parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def model(fitted: Path) -> MonotonicClassifier:
    return MonotonicClassifier.load(fitted / "model.safetensors")


def test_predictions_have_the_bits_of_the_library(fitted: Path, line: Line, model, tmp_path):
    table = csv.read_csv(fitted / "loans.csv").select(["income", "dti", "age", "purpose"])
    expected = model.predict_proba(table)
    done = line("predict", fitted / "model.safetensors", fitted / "loans.csv", "--keep", "id")
    found = csv.read_csv(io.BytesIO(done.out.encode()))
    assert found.column_names == ["id", "prediction", "P(no)", "P(yes)"]
    assert (found["P(yes)"].to_numpy() == expected[:, 1]).all()  # CSV keeps every bit
    assert found["prediction"].to_pylist() == model.predict(table).tolist()
    for name in ("p.parquet", "p.arrow", "p.csv"):
        words = ("predict", fitted / "model.safetensors", "--data", fitted / "loans.csv", "-o", tmp_path / name)
        assert line(*words, "--score").out == ""
    assert (parquet.read_table(tmp_path / "p.parquet")["score"].to_numpy() == model.decision_function(table)).all()
    assert line("predict", fitted / "model.safetensors", fitted / "loans.csv", "--json").data["rows"] == 400
    exact = line("predict", fitted / "model.safetensors", fitted / "loans.csv", "--exact")
    assert (
        csv.read_csv(io.BytesIO(exact.out.encode()))["P(yes)"].to_numpy()
        == model.predict_proba(table, exact=True)[:, 1]
    ).all()


def test_a_table_without_a_feature_is_told_the_nearest(fitted: Path, line: Line, tmp_path):
    table = csv.read_csv(fitted / "loans.csv").rename_columns(
        ["id", "incme", "dti", "age", "purpose", "default", "price"]
    )
    csv.write_csv(table, tmp_path / "t.csv")
    done = line("predict", fitted / "model.safetensors", tmp_path / "t.csv")
    assert done.code == Exit.INPUT
    assert "without 'income'; did you mean 'incme'?" in done.err


def test_certify_and_check(fitted: Path, line: Line, tmp_path, model):
    path = tmp_path / "c.json"
    done = line("certify", fitted / "model.safetensors", "-o", path, "--json")
    assert done.data["digest"] == model.frozen_.digest
    assert path.read_text() == model.certificate_.to_json() + "\n"
    checked = line("check", path, "--model", fitted / "model.safetensors")
    assert checked.code == 0
    assert checked.out.startswith("PROVED: real+ordered")
    assert "it is about" in checked.out
    assert "claims are about P(default = yes): f is its log-odds" in checked.out
    whole = line("certify", fitted / "model.safetensors", "--fixed-point", "-o", path)
    assert "fixed-point" in whole.out
    assert "Claims are about P(default = yes): slopes are of its log-odds." in whole.out
    assert line("check", path).code == 0


def test_tables_say_what_was_promised_and_what_is_certified(fitted: Path, line: Line, tmp_path):
    rows, out = fitted / "loans.csv", tmp_path / "m.safetensors"
    told = line("fit", rows, *FIT, "--max-slope", "age=0.5", "-o", out).out.splitlines()
    head = next(text.split() for text in told if text.startswith("feature "))
    assert head[:8] == ["feature", "promised", "of", "P(default", "=", "yes)", "certified", "slope,"]
    assert any(text.split()[:4] == ["age", "bounded", "[-0.5,", "0.5]"] for text in told)
    claimed = line("certify", out, "-o", tmp_path / "c.json").out
    assert claimed.splitlines()[3].split() == ["feature", "certified", "certified", "slope", "missing"]
    said = line("check", tmp_path / "c.json").out
    for text in (claimed, said):
        assert "slope interval" not in text
        assert "no promise" not in text


def test_a_forged_certificate_and_another_model_are_rejected(fitted: Path, line: Line, tmp_path):
    document = json.loads((fitted / "model.certificate.json").read_text())
    document["digest"] = "0" * 64
    (tmp_path / "forged.json").write_text(json.dumps(document))
    done = line("check", tmp_path / "forged.json")
    assert (done.code, done.out) == (Exit.FOUND, "")
    assert "REJECTED" in done.err
    assert line("check", tmp_path / "forged.json", "--json").data["accepted"] is False
    line("fit", fitted / "loans.csv", *FIT, "--seed", "9", "-o", tmp_path / "other", "--json")
    other = line("check", fitted / "model.certificate.json", "--model", tmp_path / "other")
    assert other.code == Exit.FOUND
    assert "another network" in other.err


def test_a_damaged_model_is_refused_by_every_verb(fitted: Path, line: Line, tmp_path):
    data = bytearray((fitted / "model.safetensors").read_bytes())
    data[-4] ^= 1
    (tmp_path / "m.safetensors").write_bytes(data)
    for words in (
        ["predict", "m", "d"],
        ["certify", "m"],
        ["export", "m"],
        ["report", "m"],
        ["explain", "m", "0", "--data", "d"],
    ):
        given = [tmp_path / "m.safetensors" if w == "m" else fitted / "loans.csv" if w == "d" else w for w in words]
        done = line(*given)
        assert done.code == Exit.INPUT
        assert "does not match its digest" in done.err
        assert done.err.count("\n") == 1


def test_export(fitted: Path, line: Line, tmp_path, model):
    done = line(
        "export",
        fitted / "model.safetensors",
        "-o",
        tmp_path / "m.json",
        "--report",
        tmp_path / "parity.json",
        "--json",
    )
    assert done.code == 0
    assert done.data["passed"] is True
    assert done.data["digest"] == model.frozen_.digest
    assert json.loads((tmp_path / "parity.json").read_text())["passed"]
    text = line("export", fitted / "model.safetensors", "--format", "json", "-o", tmp_path / "m2.json").out
    assert "the same bits, no drop" in text
    assert line("export", fitted / "model.safetensors", "-o", tmp_path / "m.foo").code == Exit.USAGE
    allen = line("export", fitted / "model.safetensors", "--format", "allen", "-o", tmp_path / "m.json")
    assert allen.code == Exit.INPUT


def test_a_network_without_a_schema_is_certified_but_does_not_predict(line: Line, tmp_path):
    from monolip import ConvexForm, SlopeBounds
    from monolip.frozen import Trunk

    form = ConvexForm(([[0.0], [1.0]], [[0.25, 0.75]]), ([0.0, 0.0], [0.0]), (2,))
    network = FrozenNetwork(SlopeBounds([0.0], [1.0], ("dose",)), ((Trunk(form, (0,)),),))
    network.save(tmp_path / "n.safetensors")
    assert line("certify", tmp_path / "n.safetensors").code == 0
    csv.write_csv(arrow.table({"dose": np.linspace(0, 1, 20)}), tmp_path / "t.csv")
    assert "without a table's schema" in line("predict", tmp_path / "n.safetensors", tmp_path / "t.csv").err
    assert line("audit", tmp_path / "n.safetensors", tmp_path / "t.csv", "-i", "dose").code == 0


def test_explain(fitted: Path, line: Line, model):
    words = ("explain", fitted / "model.safetensors", "7", "--data", fitted / "loans.csv")
    data = line(*words, "--immutable", "age", "--json").data
    assert abs(sum(reason["effect"] for reason in data["reasons"]) - (data["score"] - data["reference_score"])) < 1e-12
    assert not any(change["feature"] == "age" for change in data["changes"])
    row = csv.read_csv(fitted / "loans.csv").slice(7, 1).select(["income", "dti", "age", "purpose"])
    assert data["score"] == model.decision_function(row)[0]
    text = line(*words)
    assert "Reasons (Shapley values, all orders" in text.out
    assert "Proved useless at any value" in text.out
    other = line(
        *words, "--reference", "8", "--set", "dti=9", "--set", "purpose=car", "--label", "no", "--reach", "0.3"
    )
    assert other.code == 0
    assert "P(default = no)" in other.out
    for wrong in (
        ["--reference", "x"],
        ["--reference", "²"],
        ["--reference", "1" * 5000],
        ["--set", "dti"],
        ["--set", "dti=x"],
        ["--set", "dto=1"],
        ["--label", "maybe"],
        ["--reach", "2"],
    ):
        assert line(*words, *wrong).code == Exit.INPUT


def test_report_writes_one_page(fitted: Path, line: Line, tmp_path):
    words = (
        "report",
        fitted / "model.safetensors",
        fitted / "loans.csv",
        "-t",
        "default",
        "--held-out",
        "--no-baselines",
    )
    done = line(*words, "-o", tmp_path / "r.html", "--group", "purpose", "--unit", "income=EUR", "--title", "Loans")
    assert done.code == 0, done.err
    page = (tmp_path / "r.html").read_text()
    assert "Loans" in page
    assert "EUR" in page
    assert line("report", fitted / "model.safetensors", "-t", "default").code == Exit.USAGE
    assert "did you mean 'purpose'?" in line(*words, "--group", "purpos", "-o", tmp_path / "r.html").err


def test_a_report_without_targets_says_so_and_is_named_after_the_model(fitted: Path, line: Line, tmp_path):
    words = ("report", fitted / "model.safetensors", "--no-baselines", "-o", tmp_path / "r.html")
    done = line(*words, "--data", fitted / "loans.csv")
    assert done.code == 0
    assert "without --target the page says nothing about accuracy" in done.err
    page = (tmp_path / "r.html").read_text()
    assert "Model report: model<" in page
    assert "Name a table and its --target on the command line" in page
    assert "without DATA and --target" in line(*words).err


def test_a_report_speaks_of_the_class_that_was_asked_for(fitted: Path, line: Line, tmp_path):
    words = ("report", fitted / "model.safetensors", "-o", tmp_path / "r.html")
    assert line(*words, "--positive", "no").code == 0
    page = (tmp_path / "r.html").read_text()
    assert "Raising dti never raises P(default = no)." in page
    assert "Decide no above" in page
    assert line(*words, "--positive", "maybe").code == Exit.INPUT


def test_a_model_is_no_certificate(fitted: Path, line: Line):
    done = line("check", fitted / "model.safetensors")
    assert done.code == Exit.USAGE
    assert "is a model; name its .certificate.json" in done.err


def test_text_among_numbers_is_told_by_explain(fitted: Path, line: Line, tmp_path):
    rows = (fitted / "loans.csv").read_text().splitlines()
    cells = rows[5].split(",")
    (tmp_path / "t.csv").write_text("\n".join([*rows[:5], ",".join([cells[0], '"lots"', *cells[2:]]), *rows[6:]]))
    for row in ("4", "0"):
        done = line("explain", fitted / "model.safetensors", row, "--data", tmp_path / "t.csv")
        assert done.code == Exit.INPUT, done.err
        assert "'income'" in done.err


def test_predict_says_what_it_has_not_seen(fitted: Path, line: Line, tmp_path):
    text = (fitted / "loans.csv").read_text()
    (tmp_path / "t.csv").write_text(text.replace('"home"', '"boat"'))
    done = line("predict", fitted / "model.safetensors", tmp_path / "t.csv")
    assert done.code == 0
    assert "rows have a 'purpose' that was not there in training, such as 'boat'" in done.err
    assert line("predict", fitted / "model.safetensors", fitted / "loans.csv").err == ""
