"""What a fit says while it goes on: which path it tries, who joins, who follows, and who trains once more."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.estimators import MonotonicRegressor
from monolip.estimators._course import Course
from monolip.estimators._watching import Silence, watched_by


class Listener(Silence):
    """Everything that a course says, each once."""

    def __init__(self):
        self.course, self.said, self.alone, self.jobs = Course(), [], [], []

    def progress(self, job, standing):
        self.course.hear(job)
        self.jobs.append(job)
        for told, words in ((self.said, self.course.words(job)), (self.alone, self.course.words_of_one(job))):
            if words not in told[-1:]:
                told.append(words)


def listened(X, y, **options):
    listener = Listener()
    with watched_by(listener):
        model = MonotonicRegressor(random_state=0, **options).fit(X, y)
    return listener, model


@pytest.fixture(scope="module")
def quiet():
    X = np.random.default_rng(0).uniform(-1, 1, (2600, 5))
    return X, X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2] * X[:, 3]) + X[:, 4]


def test_bins_that_are_tried_and_members_that_join_are_told(quiet):
    heard, model = listened(*quiet, max_iter=40)
    assert model.n_estimators_ == 4
    joining = ["1 more member joins", "2 more members join"]
    assert heard.said == ["training", "trying 64 bins", *joining, "training", "finishing"]
    assert "member 0, trying 64 bins, 50 steps" in heard.alone
    assert "member 1 joins, 8 bins, 100 steps" in heard.alone
    assert "member 3 joins, 8 bins, 200 steps" in heard.alone
    assert {job.together for job in heard.jobs} == {(0,), (1,), (2, 3), (0, 1, 2, 3)}


def test_a_path_that_has_won_is_tried_no_more(rng):
    X = rng.uniform(-1, 1, (1500, 2))
    heard, model = listened(X, np.sin(20 * X[:, 0]) + X[:, 1], n_estimators=1, max_iter=60)
    assert max(len(column.maps) for column in model.frozen_.inputs.columns) > 8
    assert heard.said == ["training", "trying 64 bins", "training", "finishing"]


@pytest.mark.parametrize(("members", "words"), [(9, "1 more member follows"), (10, "2 more members follow")])
def test_as_many_judge_as_the_recipe_says_and_the_others_follow(members, words, rng):
    X = rng.uniform(-1, 1, (300, 2))
    heard, _ = listened(X, np.sin(3 * X[:, 0]) * X[:, 1], n_estimators=members, max_iter=60, n_bins=8)
    assert heard.said[0] == "training"
    assert heard.said[-1] == words
    assert heard.jobs[0].together == tuple(range(8))
    assert all(job.member in job.together for job in heard.jobs)


def test_where_nothing_is_judged_nothing_is_finished(rng):
    X = rng.uniform(-1, 1, (200, 2))
    heard, _ = listened(X, X[:, 0], early_stopping=False, max_iter=20)
    assert heard.said == ["training"]
    assert heard.alone[0].endswith(" steps, all rows")


def test_verbose_says_it_in_a_line_each_that_fits_a_terminal(quiet, capsys):
    MonotonicRegressor(random_state=0, max_iter=40, verbose=1).fit(*quiet)
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("member 0, trying 64 bins, 100 steps") for line in lines)
    assert any(line.startswith("member 2 joins, 8 bins, 50 steps") for line in lines)
    assert not any("…" in line for line in lines)
