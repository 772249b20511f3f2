"""monolip fit and predict on directories, globs and large files: the promises of a table hold for them too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.cli import _streams
from monolip.cli._exits import Exit
from monolip.cli._fit_bar import FitBar
from monolip.estimators.stream import _buffers, _refining, _state, fitting

from ..estimators.streams import numbers, shrink, write
from .conftest import FIT, Line, arrow, loans

parquet = pytest.importorskip("pyarrow.parquet")
ROOT = Path(__file__).parents[2]
LONG = ("-t", "y", "-i", "a", "--members", "1", "--json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Loans in folders by year."""
    root: Path = tmp_path_factory.mktemp("loans")
    for k, year in enumerate((2024, 2025)):
        (root / f"year={year}").mkdir()
        parquet.write_table(loans(900).slice(450 * k, 450), root / f"year={year}" / "p.parquet", row_group_size=100)
    return root


@pytest.fixture(scope="module")
def model(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from monolip.cli import run

    out: Path = tmp_path_factory.mktemp("model") / "m.safetensors"
    assert run(["fit", str(folder), *FIT, "-o", str(out), "--json"]) == 0
    return out


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A stream that is long as things are made small, with a checkpoint at every turn."""
    shrink(monkeypatch)
    monkeypatch.setattr(fitting, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(_refining, "PATIENCE", 99)
    return write(tmp_path / "d", numbers(4000))


def kept(out: Path) -> list[str]:
    return sorted(path.name for path in out.with_name(out.name + ".checkpoint").glob("*"))


def test_a_partitioned_folder_is_fitted_judged_and_proved(folder: Path, line: Line, tmp_path):
    out = tmp_path / "m.safetensors"
    done = line("fit", folder, *FIT, "-o", out, "--json")
    assert (done.code, done.err) == (0, "")
    rows = done.data["rows"]
    assert rows["train"] + rows["test"] == 900
    assert 100 < rows["test"] < 260
    assert done.data["features"] == ["income", "dti", "age", "purpose", "year"]
    assert done.data["metrics"]["model"]["AUC"] > 0.7
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.certificate.json", "m.safetensors"]
    assert line("check", tmp_path / "m.certificate.json", "--model", out).code == 0
    fitted = MonotonicClassifier.load(out)
    table = loans(200, seed=5).drop_columns(["id", "price", "default"]).append_column("year", arrow.array([2024] * 200))
    more = table.set_column(1, "dti", arrow.array(np.nextafter(table["dti"].to_numpy(), np.inf)))
    assert (fitted.predict_proba(more)[:, 1] >= fitted.predict_proba(table)[:, 1]).all()
    again = line("fit", folder / "*" / "*.parquet", *FIT, "-o", tmp_path / "g", "--json", "--threads", "2")
    assert again.data["digest"] == done.data["digest"]
    text = line("fit", folder, *FIT, "--split", "0", "-o", out).out
    assert "fitted on 900 rows" in text
    assert "No rows were held out" in text
    assert "(replaced" in text


def test_a_file_that_is_large_is_a_stream_and_a_small_one_is_not(folder: Path, line: Line, tmp_path, monkeypatch):
    file = folder / "year=2024" / "p.parquet"
    assert not _streams.is_stream(file)
    monkeypatch.setattr(_streams, "LARGE_CELLS", 1000)
    assert _streams.is_stream(file)
    done = line("fit", file, "-t", "price", "-i", "dti", "--drop", "id,default", "-o", tmp_path / "m", "--json")
    assert done.data["estimator"] == "MonotonicRegressor"
    assert done.data["rows"]["train"] + done.data["rows"]["test"] == 450
    out = tmp_path / "p.parquet"
    assert line("predict", tmp_path / "m", file, "-o", out, "--keep", "id").code == 0
    found, X = parquet.read_table(out), parquet.ParquetFile(file).read().drop_columns(["id", "default", "price"])
    assert (found["prediction"].to_numpy() == MonotonicRegressor.load(tmp_path / "m").predict(X)).all()
    assert line("predict", tmp_path / "m", file).out.startswith(
        '"prediction"'
    )  # CSV needs the table in memory, as ever


def test_options_of_a_table_work_or_are_refused(folder: Path, line: Line, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text('increasing = ["purpose"]\n[ordered]\npurpose = ["other", "home", "car"]\n')
    words = ("-t", "default", "--drop", "id", "--weight", "price", "-o", tmp_path / "m", "--json", "--positive", "no")
    refused = line("fit", folder, *words, "--constraints", rules)
    assert "sample weights are at least 0" in refused.err  # some prices are below it
    assert "p.parquet" in refused.err
    assert not (tmp_path / "m.checkpoint").exists()
    words = ("-t", "default", "--drop", "id,price", "-o", tmp_path / "m", "--json")
    done = line("fit", folder, *words, "--constraints", rules, "--class-weight", "balanced", "--positive", "no")
    assert {row["feature"]: row["promise"] for row in done.data["slopes"]}["purpose"] == "increasing (ordered category)"
    assert done.data["slopes_of"] == "no"  # the class that --positive names
    for more, text in (
        (("--separator", ";"), "--separator is for CSV files"),
        (("--loss", "poisson"), "--loss is for regression"),
        (("-i", "dtti"), "did you mean 'dti'?"),
        (("--features", "dti,default"), "the target is no feature"),
        (("--drop", "nothing"), "--drop names a column"),
        (("--task", "regression"), "pass --task classification"),
        (("--positive", "maybe"), "--positive names a class"),
    ):
        done = line("fit", folder, *words, *more)
        assert done.code == Exit.INPUT
        assert text in done.err, done.err
        assert done.err.count("\n") == 1
    assert "matches none" in line("fit", folder / "*.csv", *words).err


def test_columns_that_are_dropped_may_differ_and_others_may_not(line: Line, tmp_path):
    folder = write(tmp_path / "d", {**numbers(300), "id": np.arange(300)})
    file = folder / "part-1.parquet"
    parquet.write_table(parquet.read_table(file).drop_columns(["id"]), file)
    words = ("-t", "y", "-o", tmp_path / "m", "--members", "1")
    assert "part-1.parquet has no 'id'" in line("fit", folder, *words).err
    assert line("fit", folder, *words, "--drop", "id").code == 0
    parquet.write_table(parquet.read_table(file).append_column("new", parquet.read_table(file)["a"]), file)
    refused = line("fit", folder, *words, "--drop", "id").err
    assert "part-1.parquet has 'new'" in refused
    assert "name the columns by --features" in refused
    assert line("fit", folder, *words, "--features", "a,b").code == 0


def test_predictions_of_a_folder_are_those_of_the_table(folder: Path, model: Path, line: Line, tmp_path):
    out = tmp_path / "p.parquet"
    done = line("predict", model, folder, "-o", out, "--keep", "id,year", "--score", "--json")
    assert done.data == {"model": str(model), "rows": 900, "output": str(out)}
    found = parquet.read_table(out)
    table = loans(900).append_column("year", arrow.array([2024] * 450 + [2025] * 450))
    X = table.drop_columns(["id", "price", "default"])
    fitted = MonotonicClassifier.load(model)
    assert found["id"].to_pylist() == list(range(900))
    assert (found["P(yes)"].to_numpy() == fitted.predict_proba(X)[:, 1]).all()
    assert (found["score"].to_numpy() == fitted.decision_function(X)).all()
    assert line("predict", model, folder, "-o", out, "--exact").err == f"900 predictions in {out}\n"
    assert parquet.read_table(out)["prediction"].to_pylist() == fitted.predict(X, exact=True).tolist()


def test_what_a_folder_cannot_do_is_said_in_one_line(folder: Path, model: Path, line: Line, tmp_path):
    for words, text in (
        (("predict", model, folder), "got none; pass --output predictions.parquet"),
        (("predict", model, folder, "-o", tmp_path / "p.csv"), "got 'p.csv'"),
        (("predict", model, folder, "-o", folder / "p.parquet"), "would be read the next time"),
        (("predict", model, folder, "-o", tmp_path / "p.parquet", "--keep", "ident"), "--keep names a column"),
        (("predict", model, folder, "-o", tmp_path / "p.parquet", "--decimal", ","), "--decimal is for CSV files"),
        (("report", model, folder, "-o", tmp_path / "r.html"), "which is a folder; name one of its files"),
        (("compare", folder, "-t", "default"), "which is a folder; name one of its files"),
        (("explain", model, "3", "--data", folder / "*.parquet"), "which is a pattern; name one of its files"),
        (("audit", model, folder), "which is a folder; name one of its files"),
    ):
        done = line(*words)
        assert done.code == Exit.INPUT, done
        assert text in done.err
        assert done.err.count("\n") == 1


def test_categories_never_seen_are_counted(folder: Path, model: Path, line: Line, tmp_path):
    rows = loans(50).set_column(4, "purpose", arrow.array(["boat"] * 7 + ["car"] * 43))
    (tmp_path / "d" / "year=2024").mkdir(parents=True)
    parquet.write_table(rows, tmp_path / "d" / "year=2024" / "a.parquet")
    done = line("predict", model, tmp_path / "d", "-o", tmp_path / "p.parquet")
    assert "note: 7 rows have a 'purpose' that was not there in training, such as 'boat'" in done.err


def test_a_bar_tells_how_far_a_stream_is_and_how_long_it_will_take():
    """The bar is about one pass at a time; rich draws the time left."""
    bar = FitBar(100.0)
    bar.stage("pass", 1, 10)  # no terminal: nothing
    bar.wanted = True
    with bar:
        task = bar.bar.tasks[0]
        assert any("TimeRemaining" in type(column).__name__ for column in bar.bar.columns)
        for what, text in (("pass", "reading all rows once"), ("training", "training on all rows")):
            bar.stage(what, 3, 10, None if what == "pass" else 0.5)
            assert (task.description, task.completed, task.total) == (text, 3, 10)
        assert task.fields["more"].startswith("left at most; validation loss 0.5; ")
        bar.stage("judging", 10, 10)
        assert task.percentage == 100


@pytest.mark.parametrize("writes", [10, 40, 52])
def test_a_fit_that_crashed_goes_on_to_the_same_bits(writes, long: Path, line: Line, tmp_path, monkeypatch):
    whole, out = line("fit", long, *LONG, "-o", tmp_path / "whole").data, tmp_path / "cut"
    original, left = _state.write_state, [writes]

    def dying(*arguments):
        original(*arguments)
        left[0] -= 1
        if left[0] == 0:
            raise RuntimeError("power cut")

    monkeypatch.setattr(_state, "write_state", dying)
    assert line("fit", long, *LONG, "-o", out).code == Exit.BUG
    assert not out.exists()
    assert "pass.safetensors" in kept(out)
    assert "pass --resume to go on" in line("fit", long, *LONG, "-o", out).err
    refused = line("fit", long, *LONG, "-o", out, "--resume", "--seed", "4").err
    assert "is of another --seed: 0 then, 4 now" in refused
    assert "--restart" in refused
    done = line("fit", long, *LONG, "-o", out, "--resume", "--threads", "2", "--time", "1h").data
    assert (done["digest"], done["metrics"]) == (whole["digest"], whole["metrics"])
    assert done["trainings_resumed"] > 0
    assert not kept(out)


def test_ctrl_c_saves_the_best_so_far_and_resume_goes_on(long: Path, line: Line, tmp_path, monkeypatch):
    whole, out = line("fit", long, *LONG, "-o", tmp_path / "whole").data, tmp_path / "cut"
    original = _buffers.Buffers._made

    def interrupted(self, start):
        for number, problem in enumerate(original(self, start)):
            if number == 3:
                raise KeyboardInterrupt
            yield problem

    with monkeypatch.context() as patch:
        patch.setattr(_buffers.Buffers, "_made", interrupted)
        done = line("fit", long, *LONG, "-o", out)
    assert done.code == Exit.INTERRUPTED
    assert done.data["interrupted"] is True
    assert f"{out} is the best model so far" in done.err
    assert line("check", tmp_path / "cut.certificate.json", "--model", out).code == 0
    assert "stretch.safetensors" in kept(out)
    assert line("fit", long, *LONG, "-o", out, "--resume").data["digest"] == whole["digest"]
    assert not kept(out)


PROGRAM = """
import sys
import pytest
from monolip.cli import run
from monolip.estimators.stream import _refining, fitting
from tests.estimators.streams import shrink

with pytest.MonkeyPatch.context() as patch:
    shrink(patch)
    patch.setattr(fitting, "PAUSE_SECONDS", 0.0)
    patch.setattr(_refining, "PATIENCE", 99)
    sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.slow
def test_kill_nine(long: Path, line: Line, tmp_path):
    """A real process, really killed: in the pass over the rows, and in the training on them."""
    whole, out = line("fit", long, *LONG, "-o", tmp_path / "whole").data, tmp_path / "cut"
    kills = 0
    for name in ("pass.safetensors", "stretch.safetensors"):
        more = ["--resume"] if kept(out) else []
        command = [sys.executable, "-c", PROGRAM, "fit", str(long), *LONG, "-o", str(out), *more]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
            deadline = time.monotonic() + 120
            while name not in kept(out) and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.001)
            os.kill(process.pid, signal.SIGKILL)
        kills += process.returncode == -signal.SIGKILL
    assert kills == 2
    assert not out.exists()
    assert line("fit", long, *LONG, "-o", out, "--resume").data["digest"] == whole["digest"]
    certificates = [(tmp_path / f"{name}.certificate.json").read_bytes() for name in ("cut", "whole")]
    assert certificates[0] == certificates[1]
