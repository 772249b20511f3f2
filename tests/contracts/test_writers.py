"""Whoever writes a file that a user named: a place that cannot be written is told by that name, and what to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from monolip import MonotonicRegressor
from monolip.certify.fixed_point import compile_fixed_point
from monolip.cli._exits import Exit, explain_error
from monolip.export import to_c, to_json
from monolip.report import write_report
from monolip.sealed_file import write_whole, writing_to

Write = Callable[[Path], object]

WRITERS = ["network", "model", "fixed point", "certificate", "parity", "report", "c", "json"]


@pytest.fixture(scope="module")
def writers(tmp_path_factory) -> dict[str, Write]:
    x = np.random.default_rng(0).normal(size=(60, 2))
    model = MonotonicRegressor(monotonic_cst=[1, 0], max_iter=1, random_state=0).fit(x, x[:, 0])
    parity = to_json(model, tmp_path_factory.mktemp("json") / "model.json")
    return {
        "network": model.frozen_.save,
        "model": model.save,
        "fixed point": compile_fixed_point(model.frozen_).save,
        "certificate": model.certificate_.save,
        "parity": parity.save,
        "report": lambda path: write_report(model, path, check=False),
        "c": lambda path: to_c(model, path),
        "json": lambda path: to_json(model, path),
    }


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_does_not_exist_is_named_with_what_to_do(writers: dict[str, Write], tmp_path: Path, name: str):
    with pytest.raises((OSError, ValueError), match=r"a folder that exists; .*no folder.*make it|make it.*no folder"):
        writers[name](tmp_path / "no folder" / "model.h")


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_in_place_of_a_file_is_named_with_what_to_do(writers: dict[str, Write], tmp_path: Path, name: str):
    with pytest.raises(IsADirectoryError, match="this is a folder; name a file in it") as found:
        writers[name](tmp_path)
    assert found.value.filename == str(tmp_path)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder that nobody can write, root neither: Linux")
@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(writers: dict[str, Write], name: str):
    with pytest.raises(
        OSError, match=r"the system must let this file be written; got .*; .*name another place"
    ) as found:
        writers[name](Path("/proc/self/model.h"))
    assert found.value.filename == "/proc/self/model.h", "no temporary file beside it"


def test_a_report_looks_at_its_place_before_any_work(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="make it first"):
        write_report(None, tmp_path / "no folder" / "report.html")


def test_what_the_system_says_of_a_named_file_keeps_its_kind_and_is_one_line_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(OSError, match="got 'no space left on device'; free some space") as found,
        writing_to(tmp_path / "f"),
    ):
        write_whole(tmp_path / "f", b"new")
    assert (found.value.errno, list(tmp_path.iterdir())) == (28, [])
    code, line = explain_error(found.value, "fit")
    assert code == Exit.SYSTEM
    assert line.count("the system must let") == 1
    assert "got 'no space left on device' for" in line
