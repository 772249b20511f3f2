"""The report without any one of the data sets: every place that needs it says so, and nothing fails."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from paper.missing_data import DamagedDataError, MissingDataError
from paper.results_file import read_results
from paper.table1.tasks import TASKS

from paper import make_report

ENTRIES = ("COMPAS", "BlogFeedback mini", "BlogFeedback", "LoanDefaulter", "ChestXRay", "HeartDisease", "AutoMPG")


def report(name: str, numbers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> str:
    """The page with other numbers of one experiment."""
    changed = {**read_results(name), "numbers": numbers}
    monkeypatch.setattr(make_report, "read_results", lambda own: changed if own == name else read_results(own))
    return make_report.main()


@pytest.mark.parametrize("lost", ENTRIES)
def test_table1_without_a_set(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = copy.deepcopy(read_results("table1")["numbers"])
    gone = [task.entry for task in TASKS if task.entry.startswith(lost)]
    numbers["missing"] = {entry: "the data file is needed; it is not here; get it" for entry in gone}
    for entry in gone:
        del numbers[entry]
    text = report("table1", numbers, monkeypatch)
    assert f"| {lost} | missing: the data file is needed" in text
    assert (f"(missing: {', '.join(gone)})" in text) == (lost in ("COMPAS", "BlogFeedback mini", "BlogFeedback"))


@pytest.mark.parametrize("lost", ["mnist", "cifar10", "cifar100"])
def test_appendix_a_without_a_set(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from paper.appendix_a.experiment import set_of

    numbers = copy.deepcopy(read_results("appendix_a")["numbers"])
    numbers["missing"] = {lost: "the data file is needed; it is not here; get it"}
    for part in ("tasks", "ablation"):
        numbers[part] = {name: one for name, one in numbers[part].items() if set_of(name) != lost}
    del numbers["identical"][lost]
    if lost == "cifar100":
        del numbers["original_guarantee"]
    assert f"(missing: {lost})" in report("appendix_a", numbers, monkeypatch)


def test_what_was_wrong_without_its_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = copy.deepcopy(read_results("what_was_wrong")["numbers"])
    numbers["missing"] = dict.fromkeys(numbers["findings"], "no file")
    numbers["findings"] = {}
    assert "not checked: no file" in report("what_was_wrong", numbers, monkeypatch)


def test_one_damaged_file_costs_its_own_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from paper.table1 import experiment

    def entry(task: Any, units: object, fast: bool) -> dict[str, Any]:
        if task.entry == "COMPAS":
            raise DamagedDataError("a file must be whole; it is not; copy it again.")
        if task.entry == "AutoMPG":
            raise MissingDataError("a file is needed; it is not here; download it to that name.")
        return {"honest": {"gradient penalty": [{"affected": 0.0}]}, "metric": "accuracy"}

    monkeypatch.setattr("paper.results_file.ROOT", tmp_path)
    monkeypatch.setattr("paper.table1.units.ROOT", tmp_path)
    monkeypatch.setattr(experiment, "entry", entry)
    monkeypatch.setattr(experiment, "verdict", lambda *_: "best")
    monkeypatch.setattr(experiment, "code_of", lambda *_: "")
    experiment.main(fast=True)
    numbers = read_results("table1", fast=True)["numbers"]
    assert set(numbers["missing"]) == {"COMPAS", "AutoMPG"}
    assert numbers["damaged"] == ["COMPAS"]
    assert "HeartDisease" in numbers


def test_messages_of_all_missing_sets_stay_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from paper.table1 import experiment

    def entry(task: Any, units: object, fast: bool) -> dict[str, Any]:
        raise MissingDataError(f"{task.entry} is needed; it is not here; download it to that name.")

    monkeypatch.setattr("paper.results_file.ROOT", tmp_path)
    monkeypatch.setattr("paper.table1.units.ROOT", tmp_path)
    monkeypatch.setattr(experiment, "entry", entry)
    monkeypatch.setattr(experiment, "code_of", lambda *_: "")
    with pytest.raises(MissingDataError, match=r"to that name \| ") as told:
        experiment.main(fast=True)
    assert ".;" not in str(told.value)


def test_a_table_of_the_suite_with_other_numbers_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from paper.section_3_2 import suite

    monkeypatch.setenv("MONOLIP_DATA", str(tmp_path))
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "suite.json").write_text("{}")
    with pytest.raises(DamagedDataError, match=r"suite\.json has another one; .* cannot be rebuilt"):
        suite.list_sets()
    assert len(suite.SHA256) == 16
