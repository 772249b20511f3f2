"""The bar of a fit: one stage after the other, each from nothing to its end."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.cli._fit_bar import FitBar
from monolip.estimators import FitOptions, MonotonicRegressor
from monolip.estimators._watching import Silence, watched_by

pytest.importorskip("rich")


class Recorder(Silence):
    def __init__(self, bar):
        self.bar, self.seen = bar, []

    def progress(self, job, standing):
        self.bar.update(job, standing)
        task = self.bar.bar.tasks[0]
        self.seen.append((task.description, task.completed, task.total, task.fields["more"]))


def shown(model, X, y, **settings):
    """What the bar shows while a model is fitted, and its last state."""
    bar = FitBar(**settings)
    bar.wanted = True
    with bar, watched_by(recorder := Recorder(bar)):
        model.fit(X, y, callbacks=bar.row)
        bar.settle(model)
        task = bar.bar.tasks[0]
    return recorder.seen, (task.description, task.completed, task.total)


@pytest.mark.parametrize(("rows", "members"), [(300, "auto"), (300, 1), (2600, "auto"), (2600, 9)])
def test_every_stage_goes_from_nothing_to_its_end(rows, members, rng):
    X = rng.uniform(-1, 1, (rows, 4))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2] * X[:, 3])
    model = MonotonicRegressor(random_state=0, n_estimators=members, max_iter=20)
    seen, last = shown(model, X, y)
    began = [0, *(k + 1 for k, (_, done, total, _) in enumerate(seen[:-1]) if done == total)]
    for start, stop in zip(began, [*began[1:], len(seen)], strict=True):
        texts, done, totals, _ = zip(*seen[start:stop], strict=True)
        assert len(set(texts)) == len(set(totals)) == 1  # neither the words nor the length change within a stage
        assert list(done) == sorted(done)
        assert done[-1] == totals[-1]
    assert seen[0][0].startswith("stage 1, ")
    assert last[0] == "trained"
    assert last[1] == last[2]


def test_the_bar_shows_the_validation_loss_of_the_last_stage_and_the_time_budget(rng):
    X = rng.uniform(-1, 1, (300, 2))
    model = MonotonicRegressor(random_state=0, n_estimators=2, fit_options=FitOptions(bin_kinds=(None,)))
    seen, _ = shown(model, X, X[:, 0] * X[:, 1], time_budget=1000.0)
    start = [row["validation_loss"] for row in model.history_ if row["stage"] == 0]
    first = [more for text, *_, more in seen if text == "stage 1, 2 members"]
    assert f"validation loss {np.mean(start):.4g}" in first[0]
    assert "time budget " in first[0]


def test_a_fit_that_keeps_its_additive_models_leaves_a_full_bar_and_a_line(rng, capsys):
    X = rng.normal(size=(400, 4))
    y = X[:, 0] * X[:, 1]
    wild = FitOptions(slope_rate=1000.0)  # every stage is worse than the additive model
    assert shown(MonotonicRegressor(random_state=0), X, y)[1][0] == "trained"
    assert "additive model" not in capsys.readouterr().err
    model = MonotonicRegressor(fit_options=wild, random_state=0)
    last = shown(model, X, X[:, 0] + rng.normal(size=400))[1]
    assert last[1] == last[2]
    assert all(row["stage"] == 0 for row in model.history_ if row["chosen"])
    said = " ".join(capsys.readouterr().err.split())
    assert "training did not improve the validation loss of the additive model, which is kept" in said


def test_a_pass_that_has_not_begun_leaves_a_full_bar_as_well(rng):
    model = MonotonicRegressor(n_estimators=1, max_iter=1, random_state=0).fit(
        rng.normal(size=(60, 1)), np.arange(60.0)
    )
    bar = FitBar()
    bar.wanted = True
    with bar:
        bar.stage("judging", 0, 0)
        bar.settle(model)
        assert bar.bar.tasks[0].percentage == 100


def test_a_bar_in_a_pipe_is_none():
    with FitBar() as bar:
        bar.update(None, None)
        bar.row({"validation_loss": 1.0})
    assert bar.bar is None
