"""Table 1: counts, scores, splits and protocols on generated data; and what the committed results must show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper.datasets.data_set import DataSet
from paper.results_file import read_results
from paper.table1 import honest_protocol, penalty, tasks
from paper.table1.forms_table import forms_tables
from paper.table1.paper_protocol import run_paper, variants
from paper.table1.published import COLUMNS, OTHERS, PAPER
from paper.table1.scores import best_accuracy, standard_error
from paper.table1.small_network import Inputs, Small, freeze, n_parameters, outputs, train_small
from paper.table1.summary import OURS, difference, summary, verdict
from paper.table1.tables import tables
from paper.table1.tasks import TASKS, Task, mini

from monolip import FrozenNetwork, audit

ROWS = 300


def made(classes: bool = True) -> DataSet:
    """Increasing in `a`, decreasing in `b`; `c` is noise; groups of five rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
    f = X["a"].to_numpy() - np.tanh(2 * X["b"].to_numpy()) + 0.5 * rng.normal(size=ROWS)
    y = (f > 0).astype(float) if classes else f
    return DataSet("made", X, y, {"a": 1, "b": -1}, classes, groups=np.arange(ROWS) // 5)


def made_task(classes: bool = True) -> Task:
    small = Small((2, 2), 2.0, 5, 64)
    metric, thresholds = ("accuracy", np.linspace(-1, 1, 11)) if classes else ("mse", None)
    return Task("HeartDisease", lambda: made(classes), metric, small, (small,), 2, thresholds)


def test_parameters_are_those_of_the_paper() -> None:
    columns = {"COMPAS": 13, "BlogFeedback": 276, "BlogFeedback mini": 20, "LoanDefaulter": 28,
               "LoanDefaulter mini": 15, "ChestXRay": 516}  # fmt: skip
    for task in TASKS:
        if task.entry in columns:
            assert n_parameters(columns[task.entry], task.small.hidden) == PAPER[task.entry].parameters
            assert all(small.hidden == task.small.hidden for small in task.grid)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_best_accuracy_is_the_maximum_over_thresholds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    score, y = rng.integers(-3, 4, 20) / 2, rng.integers(0, 2, 20).astype(float)
    thresholds = np.sort(rng.integers(-4, 5, 6) / 2)
    assert best_accuracy(score, y, thresholds) == max(np.mean((score > t) == y) for t in thresholds)


def test_a_small_network_freezes_into_a_proved_promise() -> None:
    data = made()
    Z, small = Inputs.of(data.X.to_numpy(), False)(data.X.to_numpy()), Small((4, 4), 1.5, 3, 64)
    network = train_small(small, Z, data.y, data.signs, np.arange(ROWS), True, 0).network
    frozen = freeze(network, small, list(data.X), data.signs)
    assert isinstance(frozen, FrozenNetwork)
    assert np.allclose(frozen.evaluate(Z)[:, 0], outputs(network, Z), atol=1e-5)  # trained in single precision
    low, high = frozen.slope_range
    assert low[0] >= 0
    assert high[1] <= 0
    assert np.abs([low, high]).max() <= 1.5


def test_splits_keep_patients_whole_and_mini_sees_training_rows_only() -> None:
    data, task = made(), made_task()
    for repeat in range(3):
        split = task.honest_split(data, repeat)
        valid = task.validation(data, split.train, repeat)
        assert data.groups is not None
        sides = [set(data.groups[rows]) for rows in (split.test, valid.train, valid.test)]
        assert not (sides[0] & sides[1] | sides[0] & sides[2] | sides[1] & sides[2])
        assert set(valid.train) | set(valid.test) == set(split.train)
    other = pd.DataFrame(np.where(np.arange(ROWS)[:, None] < 200, data.X, 1e6), columns=list(data.X))
    changed = DataSet("made", other, data.y, data.cst, True)
    rows = np.arange(200)
    assert list(mini(data, 2, rows).X) == list(mini(changed, 2, rows).X) == ["a", "b"]


@pytest.mark.parametrize("classes", [True, False])
def test_every_method_of_the_honest_protocol(classes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    pytest.importorskip("xgboost")
    monkeypatch.setattr(penalty, "MOST_STEPS", 20)
    monkeypatch.setattr("paper.table1.peers.MOST", 60)
    task = made_task(classes)
    for method in honest_protocol.METHODS:
        row = honest_protocol.run_honest(task, method, 0, audited=method.startswith("monolip"))
        assert row["score"] > 70 if classes else row["score"] < 1.0, (method, row)
        if method.startswith("monolip"):
            assert row["worst_drop"] == 0.0


def test_what_a_penalty_leaves_is_found_by_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(penalty, "MOST_STEPS", 200)
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, 400)})
    data = DataSet("falls at the end", X, np.where(X["a"] < 0.8, X["a"], 1.6 - X["a"]).astype(float), {"a": 1}, False)
    monkeypatch.setattr(penalty, "PENALTY", 0.001)
    score = penalty.fit_penalty(data, np.arange(300), 100, 0).score
    report = audit(score, X.to_numpy(), [1], seed=0, max_evaluations=20_000)
    assert report.violated


def test_peeking_never_looks_worse_than_the_last_epoch() -> None:
    found = run_paper(made_task(), fast=True)
    assert found["values"][0] >= found["last"][0]
    assert found["certified"][0].startswith("PROVED")
    assert found["parameters"] == n_parameters(3, (2, 2))


def test_summaries_of_days_are_those_of_all_rows() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(50, 150, 60)
    errors = [np.array([np.sum(rng.normal(size=n) ** 2) for n in counts]) for _ in range(2)]
    rows = [[{"day_errors": e.tolist(), "day_rows": counts.tolist(), "score": 0.0}] for e in errors]
    mean, error, days = summary(rows[0])
    assert mean == pytest.approx(np.sqrt(errors[0].sum() / counts.sum()))
    assert error == pytest.approx(np.sqrt(2 / counts.sum()) / 2, rel=0.4)  # of a mean square of normal numbers
    assert days == 60
    gap = difference(rows[0], rows[1])
    assert gap.mean == pytest.approx(summary(rows[0]).mean - summary(rows[1]).mean)
    assert standard_error([1.0, 2.0, 3.0]) == pytest.approx(1 / np.sqrt(3))


def test_published_rows_have_a_cell_for_every_column() -> None:
    assert all(len(other.cells()) == len(other.parameters) == len(COLUMNS) for other in OTHERS)
    rows = {other.method: other for other in OTHERS}
    assert rows["Certified"].cells()[3] == "62.3 ± .2 / 12792; E-E 66.3 ± 1.0 / 12792"
    assert rows["COMET"].cells()[4] == "86 ± 3 / ?"
    assert all(any(other.parameters) == bool(other.counted) for other in OTHERS)
    lmn = dict(zip(COLUMNS, rows["LMN (the paper)"].parameters, strict=True))
    assert lmn["BlogFeedback, RMSE"] == f"{PAPER['BlogFeedback'].parameters}; {PAPER['BlogFeedback mini'].parameters}"
    assert {task.entry for task in TASKS} | {"ChestXRay end-to-end"} == set(PAPER)


def test_tables_show_what_is_missing() -> None:
    made_of_nothing = tables({"missing": {task.entry: "get it" for task in TASKS}})
    assert "missing: get it" in made_of_nothing["table_data"]
    for name in ("paper", "forms", "honest", "difference", "audit"):
        assert made_of_nothing[f"table_{name}"].count("missing") == len(TASKS), name
    assert made_of_nothing["table_auc"].count("missing") == 5  # the classifiers


def test_committed_paper_protocol_is_at_least_as_good_with_no_more_parameters() -> None:
    numbers = read_results("table1")["numbers"]
    for entry, printed in PAPER.items():
        found = numbers.get(entry)
        if found is None or found["substitute"]:
            continue
        ours, worse = found["paper"]["monolip"], -1 if printed.metric == "accuracy" else 1
        assert worse * (np.mean(ours["values"]) - printed.value) <= printed.error, entry
        assert printed.parameters is None or ours["parameters"] <= printed.parameters
        assert len(ours["values"]) == tasks.SEEDS
        assert all(line.startswith("PROVED") for line in ours["certified"])


def test_committed_honest_protocol_finds_no_violation_of_ours_and_some_of_the_penalty() -> None:
    numbers = read_results("table1")["numbers"]
    entries = [found for entry, found in numbers.items() if entry in PAPER]
    assert entries
    for found in entries:
        assert all(found["honest"][name][0]["worst_drop"] == 0.0 for name in OURS)
    assert sum(found["honest"]["gradient penalty"][0]["worst_drop"] > 1e-3 for found in entries) >= len(entries) // 2


def test_committed_honest_protocol_is_best_or_within_one_standard_error() -> None:
    numbers = read_results("table1")["numbers"]
    found = {entry: value for entry, value in numbers.items() if entry in PAPER}
    verdicts = {entry: verdict(value["honest"], value["metric"]) for entry, value in found.items()}
    assert {word: list(verdicts.values()).count(word) for word in numbers["verdicts"]} == numbers["verdicts"]
    assert "missed" not in verdicts.values(), verdicts


def test_the_papers_own_model_is_trained_besides() -> None:
    forms = {task.entry: variants(task) for task in TASKS}
    assert all(found["LMN"].paper_form and not found["LMN"].log for found in forms.values())
    assert set(forms["BlogFeedback"]) == {"LMN", "convex form, no logarithms", "LMN, logarithms"}
    runs = {"LMN": 0.16, "LMN, logarithms": 0.155, "convex form, no logarithms": 0.156}
    found = {
        "metric": "rmse", "paper": {"monolip": {"values": [0.152]}},
        "forms": {name: {"values": [value]} for name, value in runs.items()},
    }  # fmt: skip
    made = forms_tables({"BlogFeedback": found})
    assert "| BlogFeedback | 0.160 ± 0.001 | 0.1600 | 0.1550 | 0.1560 | 0.1520 |" in made["table_forms"]
    assert made["logs_all"] == "56"  # (5 + 4) / (2 * 8)


def test_committed_table_reproduces_the_printed_score_of_blogfeedback() -> None:
    values = read_results("table1")["numbers"]["BlogFeedback"]["forms"]["LMN"]["values"]
    assert abs(np.mean(values) - 0.160) < 0.001
