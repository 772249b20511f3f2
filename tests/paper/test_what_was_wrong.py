"""The defects that need no data are found again in every run; the committed findings cover all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from paper.missing_data import MissingDataError
from paper.results_file import read_results
from paper.what_was_wrong import (
    blog_checks,
    chest_checks,
    figures,
    other_checks,
    script_checks,
    small_set_checks,
    text_checks,
)
from paper.what_was_wrong.experiment import CHECKS
from paper.what_was_wrong.finding import Check, Finding
from paper.what_was_wrong.tables import tables

WITHOUT_DATA = (
    text_checks.row_vectors_with_column_sums,
    text_checks.householder_gain,
    text_checks.recursion_sorts_the_input,
    text_checks.domain_of_definition,
    other_checks.loan_split,
    blog_checks.mini_script_is_larger,
    chest_checks.aliased_checkpoint,
    small_set_checks.cumulative_permutations,
    script_checks.scheme_of_the_scripts,
    script_checks.two_deviations,
)


@pytest.mark.parametrize("check", WITHOUT_DATA, ids=lambda check: str(check.__name__))
def test_defects_that_need_no_data(check: Check) -> None:
    finding = check(True)
    assert isinstance(finding, Finding)
    assert all((finding.where, finding.wrong, finding.verified, finding.effect))


def test_householder_gain_grows_as_the_square_root() -> None:
    gains = text_checks.householder_gain(True).numbers["gains"]
    assert {n: round(gain / np.sqrt(int(n)), 2) for n, gain in gains.items()} == {"2": 1.0, "4": 1.0, "16": 1.0}


def test_twins_bound_what_can_be_right() -> None:
    images = np.zeros((6, 3), dtype=np.uint8)
    images[2:4] = 1
    images[4, 0], images[5, 0] = 2, 3
    groups = other_checks.twins(images)
    assert [rows.tolist() for rows in groups] == [[0, 1], [2, 3]]
    assert other_checks.must_be_wrong(groups, np.array([0, 1, 5, 5, 0, 0])) == 1
    assert other_checks.must_be_wrong(groups, np.array([0, 0, 5, 5, 0, 0])) == 0


def test_a_missing_set_says_so(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONOLIP_DATA", str(tmp_path))
    monkeypatch.setenv("MONOLIP_OFFLINE", "1")
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)
    with pytest.raises(MissingDataError, match="compas"):
        CHECKS["fourth_power"](True)


def test_tables_number_text_and_experiments_apart() -> None:
    found = {"a": Finding("text, Eq. 1", "w", "v |x|", "e").written(), "b": Finding("script", "w", "v", "e").written()}
    made = tables({"findings": found, "missing": {"c": "no file"}})
    assert "| T1 | text, Eq. 1 | w | v \\|x\\| | e |" in made["table_text"]
    assert "| E2 | c |  | not checked: no file |  |" in made["table_experiments"]


def test_committed_findings_cover_every_defect() -> None:
    numbers = read_results("what_was_wrong")["numbers"]
    assert set(numbers["findings"]) == set(CHECKS)
    assert numbers["missing"] == {}
    assert numbers["findings"]["cifar100_twins"]["numbers"]["conflicts"] == 9
    assert numbers["findings"]["wrapped_target"]["numbers"]["rows"] == 17
    assert numbers["findings"]["duplicates"]["numbers"]["repeated"] == 789


@pytest.mark.parametrize("absent", [("auto_splits",), ("selection_on_test", "seeds_are_not_splits", "auto_splits")])
def test_the_figure_is_drawn_without_the_findings_of_a_missing_set(
    absent: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    findings = {
        "selection_on_test": {"plain": [60.0, 61.0], "running_maximum": [60.0, 61.5], "honest": [60.5], "peeked": [61]},
        "seeds_are_not_splits": {"over_seeds": [60.0, 61.0], "over_splits": [59.0, 62.0]},
        "auto_splits": {"random": [7.0, 8.0], "theirs": [7.5]},
    }
    found = {name: {"numbers": numbers} for name, numbers in findings.items() if name not in absent}
    monkeypatch.setattr(figures, "read_results", lambda name, fast: {"numbers": {"findings": found}})
    monkeypatch.setattr(figures, "figure_path", lambda name, fast: tmp_path / name)
    figures.main(fast=True)
    assert (tmp_path / "what_was_wrong.png").stat().st_size > 1000
