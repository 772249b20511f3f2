"""Files a verb writes: links and devices stay what they are, nothing that is read is lost, pipes may end early."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from monolip.cli._exits import Exit
from monolip.cli._files import lock_output
from monolip.cli._target import Rows, split_rows

from .conftest import FIT, Line, arrow, csv


def test_a_link_stays_and_its_file_is_replaced(fitted: Path, line: Line, tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    for name in ("p.csv", "m.safetensors", "m.certificate.json", "r.html"):
        (folder / name).write_text("old")
        (tmp_path / name).symlink_to(folder / name)
    model, rows = fitted / "model.safetensors", fitted / "loans.csv"
    assert line("predict", model, rows, "-o", tmp_path / "p.csv").code == 0
    assert line("fit", rows, *FIT, "-o", tmp_path / "m.safetensors").code == 0
    assert line("report", model, "-o", tmp_path / "r.html").code == 0
    for name in ("p.csv", "m.safetensors", "m.certificate.json", "r.html"):
        assert (tmp_path / name).is_symlink()
        assert (folder / name).read_bytes() != b"old"


def test_a_pipe_is_written_into_and_stays_one(fitted: Path, line: Line, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        done = line("predict", fitted / "model.safetensors", fitted / "loans.csv", "-o", pipe)
        out, _ = reader.communicate(timeout=30)
    assert done.code == 0
    assert out.startswith('"prediction"') or out.startswith("prediction")
    assert pipe.is_fifo()
    refused = line("fit", fitted / "loans.csv", *FIT, "-o", pipe)
    assert refused.code == Exit.INPUT
    assert "which is none; name a file" in refused.err


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder that allows everything and takes no file")
@pytest.mark.parametrize("verb", ["predict", "certify", "fit"])
def test_a_folder_that_takes_no_file_is_named_before_any_work(fitted: Path, line: Line, verb):
    model, rows = fitted / "model.safetensors", fitted / "loans.csv"
    words = {"predict": ["predict", model, rows], "certify": ["certify", model], "fit": ["fit", rows, *FIT]}[verb]
    done = line(*words, "-o", "/proc/x.csv")
    assert done.code == Exit.INPUT
    assert "an output is a new file; none can be made in '/proc'; choose another folder with --output" in done.err


def test_one_name_is_not_two_files(fitted: Path, line: Line, tmp_path):
    out = tmp_path / "q.safetensors"
    done = line("fit", fitted / "loans.csv", *FIT, "-o", out, "--certificate", out)
    assert done.code == Exit.INPUT
    assert "two files have two names" in done.err
    assert not out.exists()
    rules = tmp_path / "rules.toml"
    rules.write_text('increasing = ["dti"]\n')
    words = ("audit", fitted / "model.safetensors", fitted / "loans.csv", "--constraints", rules)
    assert "not written over" in line(*words, "-o", rules).err
    assert rules.read_text() == 'increasing = ["dti"]\n'


def test_two_fits_do_not_write_one_file(fitted: Path, line: Line, tmp_path):
    out = tmp_path / "m.safetensors"
    with lock_output(out):
        done = line("fit", fitted / "loans.csv", *FIT, "-o", out)
    assert done.code == Exit.INPUT
    assert "another one is writing" in done.err
    assert not list(tmp_path.iterdir())


def run_shell(text: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = text.replace("monolip", f"{sys.executable} -m monolip.cli")
    environment = {**os.environ, **more}
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_pipe_that_ends_early_is_no_answer(fitted: Path):
    assert run_shell("monolip check model.certificate.json | true", fitted).returncode == 0


def test_letters_that_a_terminal_does_not_have(fitted: Path, tmp_path):
    text = (fitted / "loans.csv").read_text().replace("income", "income_€", 1)
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    words = "monolip fit t.csv -t default -i dti --positive yes --drop id,price --members 1"
    done = run_shell(words, tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "income_\\u20ac" in done.stdout


@pytest.mark.parametrize("name", ["bad.csv.gz", "cut.csv.gz"])
def test_a_damaged_archive_is_an_input_that_cannot_be_used(name: str, fitted: Path, line: Line, tmp_path):
    import gzip

    data = (fitted / "loans.csv").read_bytes()
    (tmp_path / name).write_bytes(data if name.startswith("bad") else gzip.compress(data)[:-200])
    done = line("fit", tmp_path / name, *FIT)
    assert done.code == Exit.INPUT, done.err
    assert "could not be read" in done.err


def test_a_class_that_is_rare_is_learned_from():
    y = np.array(["u", "v"] * 20 + ["w"])
    rows = Rows(arrow.table({"a": np.arange(41.0)}), y, None)
    for seed in range(8):
        train, test = split_rows(rows, 0.2, True, seed)
        assert test is not None
        assert set(test.y) <= set(train.y) == {"u", "v", "w"}
        assert len(train) + len(test) == 41


@pytest.mark.parametrize("words", [("help",), ("help", "fit"), ("fit", "help"), ()])
def test_help_is_a_word_too(words: tuple[str, ...], line: Line):
    done = line(*words)
    assert done.code == 0
    assert "Usage: monolip" in done.out
    assert ("fit [OPTIONS]" in done.out) == ("fit" in words)


def test_what_csv_cannot_hold_and_names_that_are_taken(fitted: Path, line: Line, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = csv.read_csv(fitted / "loans.csv")
    table = table.append_column("many", arrow.array([[1, 2]] * len(table))).append_column("prediction", table["id"])
    parquet.write_table(table, tmp_path / "t.parquet")
    words = ("predict", fitted / "model.safetensors", tmp_path / "t.parquet")
    assert "a cell of CSV is one value; 'many'" in line(*words, "--keep", "many").err
    assert line(*words, "--keep", "many", "-o", tmp_path / "p.parquet").code == 0
    assert "got 'prediction', a prediction; rename it" in line(*words, "--keep", "prediction").err
    done = line("fit", tmp_path / "t.parquet", "-t", "many", "-o", tmp_path / "m")
    assert done.code == Exit.INPUT
    assert "'many' holds list" in done.err


def test_closed_streams_are_no_defect(fitted: Path):
    assert run_shell("monolip check model.certificate.json >&-", fitted).returncode == 0
    assert run_shell("monolip fit - -t y <&-", fitted).returncode == Exit.INPUT
