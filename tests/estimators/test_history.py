"""The history: one row per member and stage, the same in history_, in callbacks and in the lines of verbose=1."""

from __future__ import annotations

import re

import numpy as np
import pytest

from monolip.estimators import FitOptions, MonotonicClassifier, MonotonicRegressor

KEYS = [
    "member", "n_bins", "stage", "refit", "steps", "slope_decay", "training_loss", "validation_loss", "seconds",
    "chosen",
]  # fmt: skip
OPTIONS = FitOptions(
    bin_kinds=(None, 4), n_bins=8, n_estimators=6, n_validated=2, n_stages=3, min_stages=2, first_steps=20,
    kind_tolerance=10.0,
)  # fmt: skip


def data(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 3))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] + 0.05 * rng.normal(size=n)


def regressor(**more):
    return MonotonicRegressor(**{"fit_options": OPTIONS, "random_state": 0, **more})


@pytest.fixture(scope="module")
def fitted():
    return regressor().fit(*data())


def test_every_row_has_the_same_columns(fitted):
    assert all(list(row) == KEYS for row in fitted.history_)


def test_a_member_has_one_row_for_each_stage_from_the_additive_model_on(fitted):
    for member in {row["member"] for row in fitted.history_}:
        mine = [row for row in fitted.history_ if row["member"] == member and not row["refit"]]
        validated = mine[0]["validation_loss"] is not None
        assert [row["stage"] for row in mine] == list(range(0 if validated else 1, len(mine) + (not validated)))
        for row in mine:
            assert (row["validation_loss"] is not None) == validated
            assert row["steps"] == (0 if row["stage"] == 0 else 20 * 2 ** (row["stage"] - 1))
            assert (row["slope_decay"] is None) == (row["training_loss"] is None) == (row["stage"] == 0)
            assert row["seconds"] >= 0.0
    assert {row["member"] for row in fitted.history_} == set(range(6))


def test_a_refit_is_the_chosen_stage_once_more(fitted):
    refits = [row for row in fitted.history_ if row["refit"]]
    assert len(refits) == 4  # two validated members of each kind
    for row in refits:
        first = next(r for r in fitted.history_ if (r["member"], r["stage"]) == (row["member"], row["stage"]))
        assert (row["steps"], row["slope_decay"], row["n_bins"]) == tuple(
            first[name] for name in ("steps", "slope_decay", "n_bins")
        )
        assert row["chosen"]
        assert row["validation_loss"] is None


def test_each_member_of_the_model_has_one_chosen_stage(fitted):
    stages = {}
    for row in fitted.history_:
        if row["chosen"]:
            stages.setdefault(row["member"], set()).add(row["stage"])
    assert sorted(stages) == list(range(6))
    assert all(len(found) == 1 for found in stages.values())
    assert fitted.n_estimators_ == 6


def test_losses_are_those_of_the_network_on_its_rows():
    """Without bins, decay or other members, f of the first stage is f of the model."""
    X, y = data(200)
    options = FitOptions(bin_kinds=(0,), n_estimators=1, n_validated=1, n_stages=1, min_stages=1, first_steps=40)
    model = MonotonicRegressor(fit_options=options, early_stopping=False, random_state=0).fit(X, y)
    (row,) = [row for row in model.history_ if row["stage"] == 1]
    error = (model.predict(X) - y) / y.std()
    expected = np.mean(error**2)
    assert min(abs(row["training_loss"] - expected), abs(row["training_loss"] - expected / 2)) < 0.02 * expected


@pytest.mark.parametrize("settings", [{}, {"early_stopping": False}, {"max_iter": 1}, {"n_estimators": 1}])
@pytest.mark.parametrize("n", [8, 300])
def test_a_history_survives_a_file(settings, n, tmp_path):
    X, y = data(n)
    model = regressor(**settings).fit(X, y)
    model.save(tmp_path / "m")
    again = MonotonicRegressor.load(tmp_path / "m")
    assert again.history_ == model.history_
    assert again.n_iter_ == model.n_iter_
    assert again.n_estimators_ == model.n_estimators_


def test_numbers_of_a_classifiers_history_are_plain(tmp_path):
    X, y = data()
    for classes in (y > 0, np.digitize(y, [-0.5, 0.5])):
        model = MonotonicClassifier(fit_options=OPTIONS, random_state=0).fit(X, classes)
        for row in model.history_:
            assert {type(value) for value in row.values()} <= {int, float, bool, type(None)}


def test_verbose_prints_a_line_for_each_row(capsys):
    X, y = data()
    seen = []
    model = regressor(verbose=1).fit(X, y, callbacks=seen.append)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(model.history_) == len(seen)
    best = {}
    for line, row in zip(lines, seen, strict=True):
        words, _, since = line.rpartition(", after ")
        assert re.fullmatch(r"\d+\.\d s|\d{1,3} ms", since)
        what = "additive model" if row["stage"] == 0 else f"stage {row['stage']}"
        assert words.startswith(f"member {row['member'] + 1}, {what}")
        if row["refit"]:
            assert "again with all rows" in words
        if row["validation_loss"] is not None:
            loss = best[row["member"]] = min(row["validation_loss"], best.get(row["member"], np.inf))
            assert f"validation loss {row['validation_loss']:.4g} (best {loss:.4g})" in words
        elif row["training_loss"] is not None:
            assert f"training loss {row['training_loss']:.4g}" in words
    regressor(verbose=0).fit(X, y)
    assert capsys.readouterr().err == ""


def test_verbose_says_where_the_additive_model_is_kept(capsys):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    MonotonicRegressor(verbose=1, random_state=0).fit(X, X[:, 0] + 2 * rng.normal(size=300))
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("fit: training did not improve the validation loss of the additive model, which is kept")


def test_the_number_of_passes_is_that_of_the_stages_used(fitted):
    steps = {}
    for row in fitted.history_:
        chosen = next(r["stage"] for r in fitted.history_ if r["member"] == row["member"] and r["chosen"])
        if not row["refit"] and row["stage"] <= chosen:
            steps[row["member"]] = steps.get(row["member"], 0) + row["steps"]
    assert fitted.n_iter_ == max(1, round(max(steps.values()) * 64 / 300))
