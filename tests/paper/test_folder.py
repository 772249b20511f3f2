"""paper/ keeps its rules: the public API alone, committed results with their origin, a report made from them."""

from __future__ import annotations

import ast
import importlib
import json
import re
from pathlib import Path

import pytest
from paper.missing_data import DamagedDataError, MissingDataError, data_file
from paper.results_file import PAPER, read_results, recording, results_path, write_results
from paper.run import EXPERIMENTS

from paper import make_report
from paper import run as runner

FILES = sorted(PAPER.rglob("*.py"))
RESULTS = sorted((PAPER / "results").glob("*.json"))
PUBLIC = (
    "monolip",
    *[f"monolip.{room}" for room in ("certify", "engine", "errors", "estimators", "export", "nn", "report")],
)


def place(path: Path) -> str:
    return path.relative_to(PAPER).as_posix()


@pytest.mark.parametrize("path", FILES, ids=place)
def test_only_what_monolip_exports_is_used(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    plain = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert all(name == "monolip" or not name.startswith("monolip.") for name in plain)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "monolip":
            assert node.module in PUBLIC
            if (node.module or "").startswith("monolip.nn"):
                pytest.importorskip("torch")
            exported = importlib.import_module(node.module or "").__all__
            assert [alias.name for alias in node.names if alias.name not in exported] == []


@pytest.mark.parametrize("path", FILES, ids=place)
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_the_two_entries_the_runner_calls(name: str) -> None:
    for file in ("experiment.py", "figures.py"):
        tree = ast.parse((PAPER / name / file).read_text(encoding="utf-8"))
        (main,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main"]
        assert [argument.arg for argument in (*main.args.args, *main.args.kwonlyargs)] == ["fast"]


@pytest.mark.parametrize("path", RESULTS, ids=place)
def test_committed_results_say_where_they_come_from(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    assert {"command", "versions", "machine", "seconds", "numbers"} <= set(content)
    assert content["command"] == f"python paper/run.py {path.stem}"


def test_the_report_is_made_from_the_committed_results() -> None:
    assert make_report.main() == make_report.PAGE.read_text(encoding="utf-8"), "run: python paper/make_report.py"


def test_pictures_and_links_of_the_report_exist() -> None:
    text = make_report.PAGE.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)", text)
    assert [t for t in targets if "://" not in t and not (PAPER / t).exists()] == []


def test_links_inside_the_report_lead_to_titles() -> None:
    text = make_report.PAGE.read_text(encoding="utf-8")
    titles = [line.lstrip("# ").lower() for line in text.splitlines() if line.startswith("#")]
    anchors = {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors


def test_a_place_of_the_report_that_does_not_exist_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_report, "PAPER", tmp_path)
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "lhc.md").write_text("{{lhc.no such number|.2f}}")
    with pytest.raises(KeyError):
        make_report.main()


def test_results_are_written_only_when_all_went_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("paper.results_file.ROOT", tmp_path)

    def fail() -> None:
        with recording("trial", fast=True, packages=("numpy",)) as numbers:
            numbers["value"] = 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not list(tmp_path.rglob("*.json"))
    with recording("trial", fast=True, packages=("numpy",)) as numbers:
        numbers["value"] = [1, 2]
    content = read_results("trial", fast=True)
    assert content["numbers"] == {"value": [1, 2]}
    assert content["command"] == "python paper/run.py --fast trial"


def test_missing_data_say_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MONOLIP_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(MissingDataError, match="ask the library for the tape"):
        data_file("tape.bin", how="ask the library for the tape")
    (tmp_path / "tape.bin").write_bytes(b"abc")
    assert data_file("tape.bin", how="") == tmp_path / "tape.bin"
    with pytest.raises(ValueError, match="checksum"):
        data_file("tape.bin", how="ask again", sha256="0" * 64)


def test_a_missing_data_set_skips_its_experiment_and_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Experiment:
        @staticmethod
        def main(fast: bool) -> None:
            raise MissingDataError("the data file x is needed; it is not there; download it from y")

    monkeypatch.setattr(runner, "import_module", lambda name: Experiment)
    assert runner.run("toy", fast=True, figures_only=False) == "skipped"
    assert "[toy] skipped: the data file x is needed; it is not there; download it from y" in capsys.readouterr().out


def test_one_failing_experiment_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[str] = []

    class Part:
        def __init__(self, name: str) -> None:
            self.name = name

        def main(self, fast: bool) -> None:
            begun.append(self.name)
            if self.name == "paper.lhc.figures":
                raise KeyError("no such number")

    monkeypatch.setattr(runner, "import_module", Part)
    monkeypatch.setattr("sys.argv", ["run.py", "--fast", "lhc", "toy"])
    assert runner.main() == 1
    assert begun[-1] == "paper.toy.figures"
    out = capsys.readouterr().out
    assert "[lhc] failed: KeyError: 'no such number'" in out
    assert "done: 1 of 2: toy" in out
    assert "failed: 1 of 2: lhc" in out
    monkeypatch.setattr("sys.argv", ["run.py", "--fast", "toy"])
    assert runner.main() == 0


@pytest.mark.parametrize(
    ("numbers", "end"),
    [
        ({"missing": {}}, "done"),
        ({"missing": {"compas": "no file"}}, "done in part"),
        ({"missing": {"compas": "bad"}, "damaged": ["compas"]}, "failed"),
    ],
)
def test_the_end_of_a_run_says_what_was_left_out(
    numbers: dict[str, object], end: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    class Part:
        @staticmethod
        def main(fast: bool) -> None:
            write_results("toy", {"numbers": numbers}, fast=fast)

    monkeypatch.setattr("paper.results_file.ROOT", tmp_path)
    monkeypatch.setattr(runner, "import_module", lambda name: Part)
    monkeypatch.setattr("sys.argv", ["run.py", "--fast", "toy"])
    assert runner.main() == (end == "failed")
    out = capsys.readouterr().out
    assert f"{end}: 1 of 1: toy" in out
    assert ("compas" in out) == (end != "done")


def test_results_are_replaced_whole_and_damaged_ones_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("paper.results_file.ROOT", tmp_path)
    write_results("toy", {"numbers": {"a": 1}}, fast=True)
    with pytest.raises(ValueError, match="JSON compliant"):
        write_results("toy", {"numbers": {"a": float("nan")}}, fast=True)
    assert read_results("toy", fast=True) == {"numbers": {"a": 1}}

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("paper.results_file.os.replace", stop)
        with pytest.raises(KeyboardInterrupt):
            write_results("toy", {"numbers": {"a": 2}}, fast=True)
    assert read_results("toy", fast=True) == {"numbers": {"a": 1}}
    path = results_path("toy", fast=True)
    for content in (path.read_bytes()[:-5], b"\xff", b"[]", b"{}"):
        path.write_bytes(content)
        with pytest.raises(
            DamagedDataError, match=r"toy\.json gave .*; make it again: `python paper/run\.py --fast toy`"
        ):
            read_results("toy", fast=True)
