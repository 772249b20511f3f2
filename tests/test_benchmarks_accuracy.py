"""The judge itself: ratios and ranks on made-up rows, honest inner splits, contestants that keep their promise."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = str(Path(__file__).parents[1] / "benchmarks")
sys.path.insert(0, BENCHMARKS)
import accuracy  # noqa: E402
import accuracy_unit  # noqa: E402
import averaging  # noqa: E402
from accuracy_summary import add_kept, summarise  # noqa: E402
from contestants import CONTESTANTS, Task, fingerprint, missing_packages  # noqa: E402
from contestants.encoding import Encoding  # noqa: E402
from contestants.task import inner_splits, main_error, select  # noqa: E402

sys.path.remove(BENCHMARKS)

FACTS = {"rows": 10, "features": 2, "task": "regression"}


def row(data_set, fold, contestant, rmse, **more):
    base = {"data_set": data_set, "repeat": 0, "fold": fold, "folds": 5, "contestant": contestant, "rmse": rmse}
    return {**base, "mae": rmse, "fit_s": 1.0, "predict_s": 0.1, "wrong_steps": 0.0, **more}


def small_task(classes, n=120):
    rng = np.random.default_rng(0)
    city = pd.Categorical(rng.choice(["A", "B"], n))
    X = pd.DataFrame(
        {"a": rng.normal(size=n), "b": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)), "c": city}
    )
    f = X["a"].to_numpy() + (city == "B") + 0.3 * rng.normal(size=n)
    return Task(X, (f > 0).astype(int) if classes else f, {"a": 1, "b": -1}, classes, 0)


def test_ratios_ranks_and_failures_are_what_the_rows_say():
    rows = [row(s, k, "monolip", 1.0) for s in "uv" for k in range(5)]
    rows += [row("u", k, "peer", 2.0) for k in range(5)] + [row("v", k, "peer", 0.5) for k in range(5)]
    rows += [row("u", k, "free", 0.1) for k in range(5)] + [row("v", k, "free", 0.1, failed="no") for k in range(5)]
    both = summarise(rows, {"u": FACTS, "v": FACTS}, ["monolip", "peer"], "monolip", ["monolip", "peer"])
    assert both["overall"]["peer"]["ours_over_it"] == pytest.approx(1.0)  # 1/2 and 2: geometric
    assert both["overall"]["peer"]["our_worst_ratio"] == pytest.approx(2.0)
    assert both["overall"]["monolip"]["mean_rank"] == both["overall"]["peer"]["mean_rank"] == 1.5
    names = ["monolip", "peer", "four"]
    more = rows + [row(s, k, "four", 0.4) for s in "uv" for k in range(5)]
    more = summarise(more, {"u": FACTS, "v": FACTS}, names, "monolip", names, ["monolip", "four"])
    assert [more["overall"][name]["mean_rank"] for name in names] == [1.5, 1.5, 1.0]  # a variant is nobody's rival
    three = summarise(rows, {"u": FACTS, "v": FACTS}, ["monolip", "peer", "free"], "monolip", ["monolip", "peer"])
    assert list(three["data_sets"]) == ["u"]  # "v" has no fold that everybody finished
    assert len(three["failed"]) == 5
    assert three["overall"]["free"]["mean_rank"] is None


def test_what_is_kept_of_others_is_what_measuring_them_again_would_give():
    rng, names = np.random.default_rng(0), ["peer", "monolip"]
    sets = {"u": FACTS, "v": FACTS}
    ours, again, peers = (
        [row(s, k, name, round(rng.uniform(1, 2), 6)) for s in sets for k in range(5)]
        for name in ("monolip", "monolip", "peer")
    )
    before = summarise(ours + peers, sets, names, "monolip", names)
    found = summarise(again, sets, ["monolip"], "monolip", ["monolip"])
    add_kept(found, before, names, "monolip", names)
    whole = summarise(again + peers, sets, names, "monolip", names)
    assert list(found["data_sets"]["u"]["contestants"]) == names
    assert json.dumps(found["overall"]["monolip"]) == json.dumps(whole["overall"]["monolip"])
    assert found["overall"]["peer"]["ours_over_it"] == pytest.approx(whole["overall"]["peer"]["ours_over_it"])
    fewer = summarise(again[:4] + again[5:], sets, ["monolip"], "monolip", ["monolip"])
    with pytest.raises(SystemExit, match="the same folds"):
        add_kept(fewer, before, names, "monolip", names)


def test_only_folds_finished_by_everybody_count():
    rows = [row("u", k, "monolip", 1.0) for k in range(5)] + [row("u", k, "peer", 2.0) for k in range(3)]
    found = summarise(rows, {"u": FACTS}, ["monolip", "peer"], "monolip", ["monolip", "peer"])
    assert found["data_sets"]["u"]["folds"] == [(0, 0), (0, 1), (0, 2)]


def test_selection_sees_only_inner_rows_and_takes_the_best():
    task = small_task(True)
    for fit, held in inner_splits(task):
        assert not set(fit) & set(held)
        assert len(fit) + len(held) == len(task.y)
    chosen = select(task, [{"k": 3}, {"k": 1}, {"k": 2}], lambda task, setting, fit, held: (setting["k"], 10))
    assert chosen == ({"k": 1}, 10)


def test_folds_are_the_same_for_every_contestant_and_cover_all_rows():
    task = small_task(False)
    tests = [
        accuracy_unit.split_of(accuracy_unit.Unit("u", 1, fold, 5, name), task.X, task.y, False)[1]
        for name in ("monolip", "linear")
        for fold in range(5)
    ]
    assert sorted(np.concatenate(tests[:5])) == list(range(len(task.y)))
    assert all((a == b).all() for a, b in zip(tests[:5], tests[5:], strict=True))


def test_the_error_is_log_loss_or_the_root_of_the_mean_square():
    assert main_error(np.array([0, 1]), np.array([0.5, 0.5]), True) == pytest.approx(np.log(2))
    assert main_error(np.array([0.0, 2.0]), np.array([1.0, 1.0]), False) == 1.0


def test_encoding_uses_training_statistics_and_knows_directions():
    task = small_task(False)
    encode = Encoding(task.X, task.cst)
    assert dict(zip(encode.columns, encode.directions, strict=True))["b"] == -1
    assert np.isfinite(encode(task.X)).all()
    assert np.allclose(encode(task.X).mean(axis=0), 0)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("name", ["linear", "lightgbm_plain", "monolip"])
def test_a_contestant_learns_and_keeps_the_promise(name, classes):
    if missing_packages(CONTESTANTS[name]):
        pytest.skip("its package is not installed")
    task = small_task(classes)
    predict = CONTESTANTS[name].fit(task)
    constant = np.full(len(task.y), task.y.mean())
    assert main_error(task.y, predict(task.X), classes) < main_error(task.y, constant, classes)
    assert accuracy_unit.wrong_steps(predict, task.X, task.cst, 0) == 0


def test_a_wrong_promise_is_seen():
    task = small_task(False)
    assert accuracy_unit.wrong_steps(lambda X: -X["a"].to_numpy(), task.X, {"a": 1}, 0) > 0.9


def test_every_search_has_the_same_number_of_settings():
    sizes = {n: len(CONTESTANTS[n].search["grid"]) for n in ("lightgbm", "xgboost", "catboost", "hist", "linear")}
    assert set(sizes.values()) == {8}


def test_a_cache_that_ends_in_half_a_line_is_read(tmp_path):
    cache = tmp_path / "cache.jsonl"
    unit = accuracy_unit.Unit("yacht", 0, 0, 5, "linear")
    other = unit.key.rpartition("/")[0] + "/changed"
    cache.write_text(json.dumps({"key": other, "rmse": 1.0}) + '\n{"key": "yac')
    assert accuracy._cached([unit], cache, trust=False) == {}
    assert accuracy._cached([unit], cache, trust=True)[unit.key]["rmse"] == 1.0
    assert fingerprint("linear") in unit.key


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert missing_packages(CONTESTANTS["lmn"]) == ["torch", "monotonicnetworks"]


@pytest.mark.parametrize("classes", [False, True])
def test_an_average_is_the_mean_of_its_parts_and_keeps_their_directions(classes):
    pytest.importorskip("lightgbm")
    task = small_task(classes)
    found = averaging.one_fold(task, task.X, task.y)
    assert set(found) == {*averaging.MODELS, *averaging.AVERAGES}
    assert all(of["error"] > 0 and of["wrong"] < 1e-12 for of in found.values())
    halves = averaging.average_of([lambda X: np.zeros(len(X)), lambda X: np.ones(len(X))])
    assert (halves(task.X) == 0.5).all()
    worst = averaging.largest_wrong_step(lambda X: -X["a"].to_numpy(), task.X, {"a": 1}, 0)
    assert 0.5 < worst <= 2.0


def test_the_summary_of_averages_is_relative_to_the_network():
    def row(network, trees, both):
        errors = {
            **dict.fromkeys(averaging.MODELS, trees),
            **dict.fromkeys(averaging.AVERAGES, both),
            "network": network,
        }
        return {model: {"error": [error, error], "fit_s": 1.0, "wrong": 0.0} for model, error in errors.items()}

    found = averaging.summary_of({"u": row(1.0, 2.0, 0.5), "v": row(2.0, 1.0, 4.0)})
    assert found["network"]["error_over_the_network"] == 1.0
    assert found["LightGBM"]["error_over_the_network"] == pytest.approx(1.0)  # 2 and 1/2
    assert found["network and LightGBM"]["error_over_the_network"] == pytest.approx(1.0)
    assert found["network and LightGBM"]["better_than_its_parts_on"] == 1
