"""The comparison of checkouts: its figures follow from the rows, and a run continues where it was interrupted."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import old_and_new  # noqa: E402
import old_and_new_summary  # noqa: E402
from old_and_new_summary import TREES, ranks, read_rows, spread, summarise  # noqa: E402

sys.path.remove(str(ROOT / "benchmarks"))


def rows_of(name, errors, seconds=1.0, suite="made"):
    """Rows of one candidate: errors {table: errors by round}."""
    return [
        {"suite": suite, "table": table, "round": k, "name": name, "error": error, "fit_s": seconds, "code": "c",
         "arguments": "", "wrong_steps": 0.0}
        for table, each in errors.items() for k, error in enumerate(each)
    ]  # fmt: skip


def test_ratios_of_tables_are_geometric_means_over_common_rounds():
    rows = rows_of("old", {"u": [1.0, 1.0, 1.0], "v": [2.0, 2.0]}) + rows_of("new", {"u": [2.0, 0.5], "v": [4.0, 4.0]})
    new = summarise(rows, "old")["candidates"]["new"]
    assert new["tables"]["made/u"]["error"] == pytest.approx(1.0)
    assert new["tables"]["made/v"]["error"] == pytest.approx(2.0)
    assert new["suites"]["made"]["error"]["mean"] == pytest.approx(np.sqrt(2))


def test_the_interval_holds_the_true_ratio_about_95_times_of_100():
    rng = np.random.default_rng(0)
    intervals = [spread(list(np.exp(0.01 + 0.03 * rng.normal(size=20))))["interval"] for _ in range(400)]
    assert 0.92 < np.mean([low < np.exp(0.01) < high for low, high in intervals]) < 0.98


def test_a_table_is_worse_beyond_3_percent_and_beyond_two_standard_errors():
    errors = {"sure": [1.04, 1.05], "small": [1.02, 1.021], "unsure": [1.5, 0.7], "better": [0.9, 0.91]}
    rows = rows_of("old", {table: [1.0, 1.0] for table in errors}) + rows_of("new", errors)
    assert list(summarise(rows, "old")["candidates"]["new"]["worse"]) == ["made/sure"]


def test_fits_under_50_ms_count_as_50_ms_on_both_sides():
    errors = {"u": [1.0, 1.0]}
    rows = rows_of("old", errors, 0.01) + rows_of("new", errors, 0.04) + rows_of(TREES, errors, 0.1)
    made = summarise(rows, "old")["candidates"]["new"]["suites"]["made"]
    assert made["time"]["median"] == 1.0
    assert made["time"]["plain_time"]["median"] == pytest.approx(4.0)
    assert made["time_over_lightgbm"]["mean"] == pytest.approx(0.5)


def test_ranks_use_the_rounds_that_everybody_has():
    peers = {"a": {0: 1.0, 1: 1.0}, "b": {0: 3.0, 1: 3.0}}
    assert ranks({0: 2.0, 7: 99.0}, peers, "new") == {"a": 1.0, "new": 2.0, "b": 3.0}
    assert ranks({0: 1.0}, peers, "new") == {"a": 1.5, "new": 1.5, "b": 3.0}
    assert ranks({7: 1.0}, peers, "new") == {}


def test_committed_errors_of_the_peers_give_their_committed_ranks():
    peers = old_and_new_summary.peers_of("kept_back")
    assert {"lightgbm", "xgboost"} == set(peers["wells"])
    result = json.loads((ROOT / "benchmarks/results/kept_back.json").read_text())["results"]["data_sets"]["wells"]
    assert list(peers["wells"]["xgboost"].values()) == result["contestants"]["xgboost"]["values"]


def test_tables_that_failed_are_named_and_those_repaired_are_not():
    rows = rows_of("old", {"u": [1.0]}) + rows_of("new", {"u": [1.0]})
    bad = [{**row, "failed": "no"} for row in rows[1:]]
    assert len(summarise(rows[:1] + bad, "old")["failed"]) == 1
    assert summarise(rows[:1] + bad + rows[1:], "old")["failed"] == []


def test_every_candidate_is_first_in_some_round():
    made = [old_and_new.Candidate(name, "somewhere") for name in "abc"]
    order = old_and_new.turns("open", made, 3)
    assert [c.name for k, c in order] == list("abcbcacab")
    assert [k for k, _ in order] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_a_run_continues_where_it_ended_and_refuses_rows_of_other_code(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    (tmp_path / "suite").mkdir()
    frame.assign(y=frame["a"] + rng.normal(size=60)).to_parquet(tmp_path / "suite" / "tiny.parquet")
    facts = {"target": "y", "task": "regression", "monotonic_cst": {"a": 1}, "rows": 60, "features": 2}
    (tmp_path / "suite" / "suite.json").write_text(json.dumps({"tiny": facts}))
    monkeypatch.setattr(old_and_new, "OPEN", tmp_path)
    monkeypatch.setenv("MONOLIP_DATA", str(tmp_path))
    here = [old_and_new.Candidate.read(f"{name}={ROOT}{more}") for name, more in (("old", ""), ("one", ":n_bins=8"))]
    given = argparse.Namespace(
        tables="", suites="open", build=tmp_path, threads=1, rounds=2, minutes=None, no_lightgbm=True
    )
    path = tmp_path / "rows.jsonl"
    old_and_new.run(here[:1], given, path)
    before = read_rows([path])
    assert [row["round"] for row in before] == [0, 1]
    assert all(row["error"] > 0 and row["wrong_steps"] == 0 for row in before)
    path.write_text(path.read_text() + '{"suite": "open", "tab')  # killed in the middle of a line
    old_and_new.run(here, given, path)
    after = read_rows([path])
    assert after[:2] == before
    assert [(row["name"], row["round"]) for row in after[2:]] == [("one", 0), ("one", 1)]
    assert list(summarise(after, "old")["candidates"]["one"]["tables"]) == ["open/tiny"]
    changed = old_and_new.Candidate("old", here[0].path, "n_bins=4", here[0].code)
    with pytest.raises(SystemExit, match="choose another name or another file"):
        old_and_new.run([changed], given, path)


def test_a_failed_fit_does_not_end_a_run(tmp_path, monkeypatch):
    broken = tmp_path / "src" / "monolip"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise SystemExit(3)")
    made = old_and_new.Candidate.read(f"new={tmp_path}")
    given = argparse.Namespace(tables="7", suites="random", build=tmp_path, threads=1, rounds=1, minutes=None)
    old_and_new.run([made], given, tmp_path / "rows.jsonl")
    assert read_rows([tmp_path / "rows.jsonl"])[0]["failed"] == "the process ended with status 3"
    with pytest.raises(argparse.ArgumentTypeError, match="NAME=CHECKOUT"):
        old_and_new.Candidate.read("new")
