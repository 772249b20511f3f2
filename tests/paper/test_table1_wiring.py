"""Table 1's machinery: units are computed once for a setting, a table and a code; the paper's own files come first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from paper.datasets.data_set import DataSet
from paper.fingerprint import _imports, files_of, fingerprint
from paper.missing_data import MissingDataError
from paper.results_file import ROOT
from paper.table1 import experiment, honest_protocol, tables, tasks, units
from paper.table1.paper_protocol import run_paper
from paper.table1.peers import TREES
from paper.table1.small_network import Small
from paper.table1.tasks import TASKS, Task


def made() -> DataSet:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    return DataSet("made", X, (X["a"] > 0).to_numpy(float), {"a": 1}, True)


def made_task() -> Task:
    small = Small((2, 2), 2.0, 5, 64)
    return Task("HeartDisease", made, "accuracy", small, (small,), 2, np.linspace(-1, 1, 11))


def loans(rows: int) -> pd.DataFrame:
    """The schema of the authors' file, with one row without bankruptcies and one without years of employment."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(rows, 23)), columns=[f"f{k}" for k in range(23)])
    frame.insert(0, "pub_rec_bankruptcies", [np.nan, *rng.integers(0, 2, rows - 1)])
    frame.insert(1, "emp_length", ["10+ years", None, *["7 years"] * (rows - 2)])
    frame.insert(2, "annual_inc", rng.uniform(1e4, 1e5, rows))
    frame.insert(3, "dti", rng.uniform(0, 30, rows))
    frame.insert(9, "grade", rng.choice(list("ABCDEFG"), rows))
    return frame.assign(bad=rng.integers(0, 2, rows))


def test_a_unit_is_computed_once_and_again_when_settings_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(units, "ROOT", tmp_path)
    calls: list[int] = []

    def compute() -> dict[str, Any]:
        calls.append(1)
        return {"score": 1.0}

    for _ in range(2):
        assert units.Units("t")("a|b", Small((2,), 1.0, 1), compute)["score"] == 1.0
    units.Units("t")("a|b", Small((2,), 2.0, 1), compute)
    assert len(calls) == 2


def test_other_code_or_other_data_is_another_unit(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(units, "ROOT", tmp_path)
    for name in ("run_paper", "run_paper_trees", "run_paper_penalty", "run_honest"):
        monkeypatch.setattr(experiment, name, lambda *given, **named: {"values": [1.0]})
    sets = {"data": made()}
    monkeypatch.setattr(experiment, "load", lambda function: sets["data"])

    def computed() -> int:
        path = tmp_path / "build" / "paper" / "t_units.jsonl"
        before = len(path.read_text().splitlines()) if path.is_file() else 0
        experiment.entry(made_task(), units.Units("t"), fast=True)
        return len(path.read_text().splitlines()) - before

    every = computed()
    assert every == 1 + 1 + len(TREES) + 1 + 2 * len(honest_protocol.METHODS)
    assert computed() == 0
    plain = experiment.code_of
    monkeypatch.setattr(experiment, "code_of", lambda *which: plain(*which) + "!" * (which[1] == "gradient penalty"))
    assert computed() == 3  # one under `paper`, two splits under `honest`
    y = sets["data"].y.copy()
    y[0] = 1 - y[0]
    sets["data"] = replace(sets["data"], y=y)
    assert computed() == every


def test_the_fingerprint_covers_what_a_unit_runs() -> None:
    def names(files: list[Path]) -> set[str]:
        return {path.relative_to(ROOT).as_posix() for path in files}

    files = names(files_of(("paper.table1.honest_protocol",)))
    assert {f"paper/table1/{name}.py" for name in ("peers", "penalty", "small_network", "tasks", "scores")} <= files
    assert {"src/monolip/engine/trainer.py", "src/monolip/certify/auditing.py", "src/monolip/slopes.py"} <= files
    assert "paper/table1/tables.py" not in files
    assert not any("/cli/" in name or "/report/" in name for name in files)
    assert "paper/table1/penalty.py" not in names(
        files_of(("paper.table1.honest_protocol",), ("paper.table1.penalty",), ("certify",))
    )
    marks = {experiment.code_of(protocol, method) for protocol in ("paper", "honest") for method in
             ("monolip", *TREES, "gradient penalty")}  # fmt: skip
    assert len(marks) == 2 * (1 + len(TREES) + 1)


def test_a_changed_file_changes_the_fingerprint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "a.py").write_text("def f():\n    from paper import b\n")
    (tmp_path / "paper" / "b.py").write_text("x = 1\n")
    (tmp_path / "paper" / "c.py").write_text("x = 1\n")
    monkeypatch.setattr("paper.fingerprint.ROOT", tmp_path)

    def mark() -> str:
        for function in (fingerprint, _imports):
            function.cache_clear()
        return fingerprint(("paper.a",), ("numpy",))

    first = mark()
    (tmp_path / "paper" / "c.py").write_text("x = 2\n")
    assert mark() == first
    (tmp_path / "paper" / "b.py").write_text("x = 2\n")
    assert mark() != first
    _imports.cache_clear()
    fingerprint.cache_clear()


def test_the_authors_loan_file_is_used_where_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MONOLIP_DATA", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    (task,) = [task for task in TASKS if task.entry == "LoanDefaulter"]
    with pytest.raises(MissingDataError, match=r"lc_2007_2011.parquet is needed.*own: .*preprocessed.csv is needed"):
        task.data()
    monkeypatch.setattr(tasks.lending_club, "load_lending_club", lambda: replace(made(), substitute="other loans"))
    assert task.data().substitute == "other loans"
    assert "[data] LoanDefaulter: the paper's files are not here (" in capsys.readouterr().out
    (tmp_path / "loan_defaulter").mkdir()
    loans(200).to_csv(tmp_path / "loan_defaulter" / "preprocessed.csv")
    data = task.data()
    assert (data.name, data.substitute, data.X.shape[1]) == ("LoanDefaulter", "", 28)
    small = replace(task, data=lambda: data, small=replace(task.small, epochs=2), grid=task.grid[:1])
    found = {
        "data": data.describe(), "substitute": data.substitute, "metric": task.metric,
        "paper": {"monolip": run_paper(small, fast=True)},
    }  # fmt: skip
    entries = {"LoanDefaulter": found}
    assert "| LoanDefaulter | 198 | 28 | 5 |" in tables._data(entries, {})
    assert "the paper's |" in tables._data(entries, {})
    assert "| LoanDefaulter | 753 | 753 | 65.2 ± 0.1, 8502 | 65.44 ± 0.03 |" in tables._paper(entries)
