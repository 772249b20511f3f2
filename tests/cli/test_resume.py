"""An interrupted or killed fit goes on from its checkpoint, with the result of an uninterrupted one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from monolip.cli._exits import Exit
from monolip.estimators import _training
from monolip.estimators.checkpoint import Checkpoint

from .conftest import Line, arrow, csv

FIT = ("-t", "y", "-i", "a0", "-d", "a1", "--members", "4", "--json")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3000, 4))
    y = x[:, 0] + np.abs(x[:, 2]) * x[:, 3] - np.sin(3 * x[:, 1]) * x[:, 2] + 0.2 * rng.normal(size=3000)
    path: Path = tmp_path_factory.mktemp("resume") / "t.csv"
    csv.write_csv(arrow.table({**{f"a{i}": x[:, i] for i in range(4)}, "y": y}), path)
    return path


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch):
    """After so many trainings the next one raises, as a crash or Ctrl-C in between would."""

    def set_up(count: int, error: BaseException) -> None:
        train, done = _training.train, []

        def stopping(*given: object, **more: object) -> object:
            if len(done) == count:
                raise error
            done.append(1)
            return train(*given, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(_training, "train", stopping)

    return set_up


def trainings(output: Path) -> list[Path]:
    return sorted(output.with_name(output.name + ".checkpoint").glob("*.safetensors"))


def test_a_fit_that_crashed_goes_on(table: Path, line: Line, tmp_path, stop_after, monkeypatch):
    whole, out = line("fit", table, *FIT, "-o", tmp_path / "whole").data, tmp_path / "cut"
    with monkeypatch.context():
        stop_after(6, RuntimeError("power cut"))
        assert line("fit", table, *FIT, "-o", out).code == Exit.BUG
    monkeypatch.undo()
    assert len(trainings(out)) == 6
    assert not out.exists()
    again = line("fit", table, *FIT, "-o", out)
    assert again.code == Exit.INPUT
    assert "pass --resume to go on" in again.err
    done = line("fit", table, *FIT, "-o", out, "--resume", "--threads", "2")
    assert done.data["digest"] == whole["digest"]
    assert done.data["metrics"] == whole["metrics"]
    assert done.data["trainings_resumed"] == 6
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "cut",
        "cut.certificate.json",
        "whole",
        "whole.certificate.json",
    ]


def test_ctrl_c_between_trainings_keeps_them(table: Path, line: Line, tmp_path, stop_after, monkeypatch):
    out = tmp_path / "cut"
    with monkeypatch.context():
        stop_after(5, KeyboardInterrupt())
        done = line("fit", table, *FIT, "-o", out)
    monkeypatch.undo()
    assert done.code == Exit.INTERRUPTED
    assert done.data["interrupted"] is True
    assert (
        f"{out} is the best model so far; trainings that are done are kept in {out}.checkpoint (5 of them)" in done.err
    )
    assert line("check", tmp_path / "cut.certificate.json", "--model", out).code == 0
    assert len(trainings(out)) == 5
    assert line("fit", table, *FIT, "-o", out, "--resume").data["trainings_resumed"] == 5


def test_ctrl_c_before_any_training_keeps_nothing(table: Path, line: Line, tmp_path, stop_after, monkeypatch):
    out = tmp_path / "cut"
    with monkeypatch.context():
        stop_after(0, KeyboardInterrupt())
        done = line("fit", table, *FIT, "-o", out)
    monkeypatch.undo()
    assert done.code == Exit.INTERRUPTED
    assert "run again" in done.err
    assert out.exists()  # the additive start is a model
    assert not out.with_name("cut.checkpoint").exists()
    monkeypatch.setattr("monolip.cli._fit_work.read_data", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt()))
    done = line("fit", table, *FIT, "-o", tmp_path / "other")
    assert (done.code, done.out) == (Exit.INTERRUPTED, "")
    assert "interrupted before a model was saved; no training was done" in done.err


def test_ctrl_c_in_a_training_saves_the_best_so_far(table: Path, line: Line, tmp_path, monkeypatch):
    out, whole = tmp_path / "cut", line("fit", table, *FIT, "-o", tmp_path / "whole").data
    seen: list[int] = []

    def interrupt(self: Checkpoint, job: object, standing: object) -> None:
        seen.append(1)
        if self.kept == 6:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "progress", interrupt)
        done = line("fit", table, *FIT, "-o", out)
    assert done.code == Exit.INTERRUPTED
    assert done.data["interrupted"] is True
    assert "run again with --resume" in done.err
    assert line("check", tmp_path / "cut.certificate.json", "--model", out).code == 0
    finished = line("fit", table, *FIT, "-o", out, "--resume")
    assert finished.data["digest"] == whole["digest"]
    assert not trainings(out)


@pytest.mark.parametrize(
    "change", [("--seed", "3"), ("-i", "a2"), ("--split", "0.3"), ("--drop", "a3"), ("--members", "5")]
)
def test_another_fit_does_not_go_on_from_it(change, table: Path, line: Line, tmp_path, stop_after, monkeypatch):
    out = tmp_path / "cut"
    with monkeypatch.context():
        stop_after(2, RuntimeError())
        line("fit", table, *FIT, "-o", out)
    monkeypatch.undo()
    done = line("fit", table, *FIT, *change, "-o", out, "--resume")
    assert done.code == Exit.INPUT
    assert "is of another" in done.err
    assert "--restart" in done.err
    assert len(trainings(out)) == 2  # and nothing of it is lost


def test_other_data_and_damage_are_refused_and_restart_begins_again(
    table, line: Line, tmp_path, stop_after, monkeypatch
):
    out, other = tmp_path / "cut", tmp_path / "t.csv"
    with monkeypatch.context():
        stop_after(2, RuntimeError())
        line("fit", table, *FIT, "-o", out)
    monkeypatch.undo()
    other.write_bytes(table.read_bytes() + table.read_bytes().splitlines()[-1] + b"\n")
    assert "another data (sha256)" in line("fit", other, *FIT, "-o", out, "--resume").err
    for path in trainings(out):
        path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)
    damaged = line("fit", table, *FIT, "-o", out, "--resume")
    assert damaged.code == Exit.INPUT
    assert "damaged or edited" in damaged.err
    assert line("fit", table, *FIT, "-o", out, "--restart").data["trainings_resumed"] == 0


@pytest.mark.slow
def test_a_real_ctrl_c(table: Path, line: Line, tmp_path):
    out, whole = tmp_path / "cut", line("fit", table, *FIT, "-o", tmp_path / "whole").data
    command = [sys.executable, "-m", "monolip.cli", "fit", str(table), *FIT, "-o", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while len(trainings(out)) < 5 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == Exit.INTERRUPTED
    assert said.count("\n") == 1
    assert "interrupted" in said
    assert len(trainings(out)) >= 5
    assert line("fit", table, *FIT, "-o", out, "--resume").data["digest"] == whole["digest"]


def test_kill_nine(table: Path, line: Line, tmp_path):
    """A real process, really killed."""
    out, whole = tmp_path / "cut", line("fit", table, *FIT, "-o", tmp_path / "whole").data
    command = [sys.executable, "-m", "monolip.cli", "fit", str(table), *FIT, "-o", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while len(trainings(out)) < 5 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not out.exists()
    kept = len(trainings(out))
    assert kept >= 5
    done = line("fit", table, *FIT, "-o", out, "--resume")
    assert done.data["trainings_resumed"] == kept
    assert done.data["digest"] == whole["digest"]
    certificates = [(tmp_path / f"{name}.certificate.json").read_bytes() for name in ("cut", "whole")]
    assert certificates[0] == certificates[1]
