"""The bar of a fit: one round after the other, each from nothing to its end, whoever takes part."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.cli._fit_bar import FitBar
from monolip.estimators import MonotonicRegressor
from monolip.estimators._watching import Silence, watched_by

pytest.importorskip("rich")


class Recorder(Silence):
    def __init__(self, bar):
        self.bar, self.seen = bar, []

    def progress(self, job, standing):
        self.bar.update(job, standing)
        task = self.bar.bar.tasks[0]
        self.seen.append((task.description, task.completed, task.total))


@pytest.mark.parametrize(("rows", "members"), [(300, "auto"), (300, 8), (300, 10), (2600, "auto"), (2600, 6)])
def test_every_round_goes_from_nothing_to_its_end(rows, members, rng):
    X = rng.uniform(-1, 1, (rows, 4))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2] * X[:, 3])
    bar = FitBar()
    bar.wanted = True
    with bar, watched_by(recorder := Recorder(bar)):
        MonotonicRegressor(random_state=0, n_estimators=members, max_iter=40).fit(X, y)
    seen = recorder.seen
    began = [0, *(k + 1 for k, (_, done, total) in enumerate(seen[:-1]) if done == total)]
    for start, stop in zip(began, [*began[1:], len(seen)], strict=True):
        texts, done, totals = zip(*seen[start:stop], strict=True)
        assert len(set(texts)) == len(set(totals)) == 1  # neither the words nor the length of a round change in it
        assert list(done) == sorted(done)
        assert done[-1] == totals[-1]
    assert any("trying" in text for text, *_ in seen) == (rows == 2600)


def settled(noise, rng):
    """The last state of the bar in the fit, and after it."""
    X = rng.normal(size=(400, 4))
    y = X[:, 0] * X[:, 1] + noise * rng.normal(size=400)
    bar = FitBar()
    bar.wanted = True
    with bar, watched_by(recorder := Recorder(bar)):
        model = MonotonicRegressor(random_state=0).fit(X, y)
        bar.settle(model)
        task = bar.bar.tasks[0]
    return recorder.seen[-1], (task.description, task.completed, task.total)


def test_noise_that_ends_a_fit_early_leaves_a_full_bar_and_a_line(rng, capsys):
    (_, done, total), last = settled(5.0, rng)
    assert done < total, "two members of four climbed the only round"
    assert last == ("trained", total, total)
    said = " ".join(capsys.readouterr().err.split())
    assert "training did not beat the additive start on rows held out, so that is kept" in said
    assert settled(0.0, rng)[1][0] == "trained"
    assert "additive start" not in capsys.readouterr().err


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


def test_a_bar_in_a_pipe_is_none(rng):
    with FitBar() as bar:
        bar.update(None, None)
    assert bar.bar is None
