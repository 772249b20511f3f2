"""The program itself: quick, lazy, complete, and every end has its code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from monolip.cli import run
from monolip.cli._app import VERBS, program
from monolip.cli._exits import Exit, explain_error, one_line
from monolip.errors import InputError, MissingExtraError

from .conftest import Line

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"torch", "numba", "numpy", "sklearn", "pandas", "pyarrow", "rich", "scipy", "lightgbm", "xgboost"}


def monolip(*words: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "monolip.cli", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]


def test_help_is_quick():
    def once() -> float:
        begun = time.perf_counter()
        assert monolip("--help").returncode == 0
        return time.perf_counter() - begun

    assert min(once() for _ in range(5)) < 0.5


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["completion", "bash"], ["fti"]])
def test_what_needs_nothing_loads_nothing(words):
    program = f"from monolip.cli import run; run({words!r}); import sys; print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.partition("LOADED")[2].split()}
    assert not loaded & HEAVY


def test_importing_every_verb_loads_neither_torch_nor_numba():
    lines = "; ".join(f"import monolip.cli.{verb}" for verb in VERBS)
    done = subprocess.run(
        [sys.executable, "-c", f"{lines}; import sys; print(*sys.modules)"], capture_output=True, check=True
    )
    assert not {name.split(b".")[0].decode() for name in done.stdout.split()} & HEAVY


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb, line: Line):
    done = line(verb, "--help")
    assert done.code == 0
    assert f"Usage: monolip {verb}" in done.out
    command = program.get_command(click.Context(program), verb)
    assert command is not None
    options = [p for p in command.params if isinstance(p, click.Option)]
    assert all(option.help or "[default" in done.out for option in options)


def test_the_program_without_a_verb_shows_help_and_a_wrong_verb_the_nearest(line: Line):
    assert "Verbs:" in line().out
    wrong = line("fti")
    assert (wrong.code, wrong.out) == (Exit.USAGE, "")
    assert "did you mean 'fit'?" in wrong.err
    assert line("--version").out.startswith("monolip 0")


def test_errors_of_every_kind_have_a_code_and_one_line():
    kinds = {
        click.UsageError("no"): Exit.USAGE,
        InputError("rule;\n got; do"): Exit.INPUT,
        FileNotFoundError(2, "no such file", "a"): Exit.INPUT,
        IsADirectoryError(21, "is a directory", "a"): Exit.INPUT,
        MissingExtraError("x", "y"): Exit.MISSING,
        PermissionError(13, "Permission denied", "a"): Exit.SYSTEM,
        OSError(28, "No space left on device", "a"): Exit.SYSTEM,
        MemoryError(): Exit.SYSTEM,
        KeyboardInterrupt(): Exit.INTERRUPTED,
        ZeroDivisionError("a\nb"): Exit.BUG,
    }
    for error, code in kinds.items():
        found, text = explain_error(error, "fit")
        assert found == code
        assert "\n" not in text
    assert "free some space" in explain_error(OSError(28, "No space left on device", "a"), None)[1]
    assert one_line("a\x1b[2J\nb\x07") == "a?[2J b?"  # a file's name cannot move the cursor


def test_a_defect_is_one_line_and_the_traceback_only_on_request(line: Line, monkeypatch, tmp_path):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("monolip.cli._data.read_data", broken)
    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    done = line("predict", tmp_path / "t.csv", tmp_path / "t.csv")
    assert done.code == Exit.INPUT  # no model file: found first
    monkeypatch.setattr("monolip.cli._models.load_estimator", broken)
    done = line("predict", tmp_path / "t.csv", tmp_path / "t.csv")
    assert done.code == Exit.BUG
    assert done.err.count("\n") == 1
    assert "RuntimeError: boom" in done.err
    monkeypatch.setenv("MONOLIP_TRACEBACK", "1")
    assert "Traceback" in line("predict", tmp_path / "t.csv", tmp_path / "t.csv").err


def test_errors_as_json_are_json(line: Line, tmp_path):
    import json

    done = line("predict", tmp_path / "no", tmp_path / "no", "--json")
    found = json.loads(done.err)
    assert found["exit_code"] == done.code == Exit.INPUT
    assert done.out == ""


def test_every_exit_code_is_documented():
    page = (ROOT / "docs" / "cli.md").read_text()
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.M)}
    assert documented == {int(code) for code in Exit}
    assert all(f"`{verb}`" in page or f"monolip {verb}" in page for verb in VERBS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell, line: Line):
    done = line("completion", shell)
    assert done.code == 0
    assert "_MONOLIP_COMPLETE" in done.out


def test_completion_knows_verbs_and_options():
    environment = {**os.environ, "_MONOLIP_COMPLETE": "bash_complete", "COMP_WORDS": "monolip fi", "COMP_CWORD": "1"}
    program = "import sys; sys.argv[0] = 'monolip'; from monolip.cli import main; main()"

    def ask(words: str, at: int) -> str:
        more = {"COMP_WORDS": words, "COMP_CWORD": str(at)}
        command = [sys.executable, "-c", program]
        return subprocess.run(command, capture_output=True, text=True, env=environment | more, check=False).stdout

    assert ask("monolip fi", 1).split() == ["plain,fit"]
    assert "plain,--increasing" in ask("monolip fit --inc", 2)


def test_completion_knows_the_columns_of_the_table(tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"income": [1], "dti": [2], "dividend": [3]})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "t.parquet")
    pytest.importorskip("pyarrow.feather").write_feather(table, tmp_path / "t.arrow")
    pytest.importorskip("pyarrow.csv").write_csv(table, tmp_path / "t.csv")
    (tmp_path / "broken.csv").write_bytes(b"PAR1")
    option = next(p for p in program.get_command(click.Context(program), "fit").params if p.name == "increasing")

    def ask(name: str, typed: str) -> list[str]:
        context = click.Context(click.Command("fit"))
        context.params = {"table": tmp_path / name}
        return [item.value for item in option.shell_complete(context, typed)]

    for name in ("t.csv", "t.parquet", "t.arrow"):
        assert ask(name, "d") == ["dti", "dividend"]
        assert ask(name, "dti,in") == ["dti,income"]
    assert ask("broken.csv", "d") == ask("absent.csv", "d") == []
    monkeypatch.setenv("COMP_WORDS", f"monolip fit {tmp_path / 't.csv'} --increasing")
    assert [item.value for item in option.shell_complete(click.Context(click.Command("fit")), "in")] == ["income"]


def test_a_reader_that_leaves_early_is_no_error():
    command = f"{sys.executable} -m monolip.cli fit --help | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


def test_without_click_there_is_one_line(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "monolip.cli._app", raising=False)
    monkeypatch.setitem(sys.modules, "click", None)
    assert run(["--help"]) == Exit.MISSING
    assert 'pip install ".[cli]"' in capsys.readouterr().err


def test_doctor(line: Line, monkeypatch):
    done = line("doctor", "--json")
    assert done.code == 0
    assert done.data["packages"]["numpy"]
    assert done.data["problems"] == []
    assert "Nothing needed is missing." in line("doctor").out
    monkeypatch.setattr("monolip.cli.doctor._version", lambda name: None if name == "numba" else "1")
    sick = line("doctor")
    monkeypatch.setattr("monolip.cli.doctor._version", lambda name: None if name in ("xgboost", "onnx") else "1")
    bare = line("doctor")  # what is optional is named, by the line that `compare` names, and is no problem
    assert bare.code == 0
    assert "missing: pip install xgboost" in bare.out
    assert 'missing: pip install ".[onnx]"' in bare.out
    assert sick.code == Exit.FOUND
    assert "numba is missing; run: pip install numba" in sick.out
    monkeypatch.setattr("monolip.cli.doctor._version", lambda name: None if name == "torch" else "1")
    assert re.search(r"^torch +extra torch +missing: .*\(without a GPU install a CPU build", line("doctor").out, re.M)
