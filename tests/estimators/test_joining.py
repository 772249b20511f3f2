"""How many members: four of few rows; of many one, its partner where it gains, and more where they disagree."""

from __future__ import annotations

import time

import numpy as np
import pytest

from monolip.engine.additive import fit_additive
from monolip.errors import InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _coach, _joining, _recipe, _starts
from monolip.estimators._jury import Jury
from monolip.estimators._training import run_jobs


def quiet(rng, n=2600):
    X = rng.uniform(-1, 1, (n, 5))
    return X, X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2] * X[:, 3]) + X[:, 4]


def test_two_that_disagree_are_joined_by_two_more(rng):
    X, y = quiet(rng)
    auto = MonotonicRegressor(random_state=0).fit(X, y)
    assert len(auto.frozen_.members) == 4
    rungs = [sum(entry["member"] == member for entry in auto.history_) for member in range(4)]
    assert rungs[2] == rungs[3]
    assert rungs[2] > 3  # as far as the others, but for the first race of bins
    assert len(MonotonicRegressor(n_estimators=2, random_state=0).fit(X, y).frozen_.members) == 2


def members(model):
    return {entry["member"] for entry in model.history_}


def test_one_member_is_enough_where_it_gains_nothing(rng):
    X, _ = quiet(rng)
    y = X[:, 4] + rng.normal(size=len(X))
    noisy = MonotonicRegressor(random_state=0).fit(X, y)
    one = MonotonicRegressor(random_state=0, n_estimators=1).fit(X, y)
    assert members(noisy) == {0}
    assert noisy.n_estimators_ == len(noisy.frozen_.members) == 1
    assert np.array_equal(noisy.predict(X), one.predict(X))


@pytest.fixture
def one_by_one(monkeypatch):
    """Starts of a strength that nobody chooses, each with a Gram matrix of its own."""
    monkeypatch.setattr(_recipe, "STRENGTHS", (3.0,))
    monkeypatch.setattr(_starts, "fit_additives", lambda problem, rows, *how: [
        fit_additive(problem, some, *how) for some in rows])  # fmt: skip


@pytest.mark.usefixtures("one_by_one")
def test_one_that_gains_has_a_partner_on_the_same_rows(rng):
    X, _ = quiet(rng)
    y = 3 * X[:, 4] + X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X))
    model = MonotonicRegressor(random_state=0, n_bins=8).fit(X, y)
    two = MonotonicRegressor(random_state=0, n_bins=8, n_estimators=2).fit(X, y)
    assert members(model) == {0, 1}
    # rungs of the first before those of the second, else as if both had been there from the start
    assert np.array_equal(model.predict(X), two.predict(X))


def test_a_start_that_explains_nothing_has_a_partner_at_once(rng):
    X = rng.uniform(-1, 1, (3000, 4))
    y = np.sin(4 * X.sum(axis=1)) + 0.2 * rng.normal(size=len(X))
    model = MonotonicRegressor(random_state=0).fit(X, y)
    assert [entry["member"] for entry in model.history_[:2]] == [0, 1]


def test_paths_that_race_have_as_many_members(rng):
    """A start of few bins explains nothing of this, one of many does, and would be alone."""
    X = rng.uniform(-1, 1, (4000, 2))
    y = np.sin(60 * X[:, 0]) + 0.2 * rng.normal(size=len(X))
    model = MonotonicRegressor(random_state=0).fit(X, y)
    raced = [entry["member"] for entry in model.history_ if entry["n_bins"] > 8]
    assert [entry["member"] for entry in model.history_[:2]] == raced[:2] == [0, 1]


@pytest.mark.parametrize("with_offset", [False, True])
def test_what_a_start_explains_is_measured_against_its_mean(rng, monkeypatch, with_offset):
    X = rng.uniform(-1, 1, (3000, 2))
    offset = 2 * rng.normal(size=3000) if with_offset else np.zeros(3000)
    seen, original = [], Jury.explained
    monkeypatch.setattr(Jury, "explained", lambda self, one: seen.append(original(self, one)) or seen[-1])
    for slope, low, high in [(0.0, -0.02, 0.03), (2.0, 0.3, 0.9)]:
        y = slope * X[:, 0] + 0.5 * rng.normal(size=3000)
        MonotonicRegressor(random_state=0).fit(X, y + offset, **({"offset": offset} if with_offset else {}))
        assert low < seen[0] < high
        seen.clear()


def test_four_judge_few_rows_whatever_they_say(rng):
    X = rng.uniform(-1, 1, (400, 2))
    y = X[:, 0] + rng.normal(size=400)
    model = MonotonicRegressor(random_state=0).fit(X, y)
    four = MonotonicRegressor(random_state=0, n_estimators=4).fit(X, y)
    assert {entry["member"] for entry in model.history_} == {0, 1, 2, 3}
    assert model.n_estimators_ == 4
    assert np.array_equal(model.predict(X), four.predict(X))


def test_members_that_stay_at_their_starts_are_one_in_the_model(rng):
    """The average of additive functions, with every slope still in its interval, is one network for predictions."""
    X = rng.uniform(-1, 1, (400, 2))
    y = X[:, 0] + rng.normal(size=400)
    model = MonotonicRegressor(random_state=0, monotonic_cst=[1, 0], warm_start=True).fit(X, y)
    ((trunk,),) = model.frozen_.members
    assert len(trunk.form.weights) == 1
    starts = [arrays.weights[0] for arrays in model._fitted.arrays]
    assert len(starts) == 4
    mean = np.mean(starts, axis=0)
    assert np.allclose(trunk.form.weights[0] / y.std(), mean, rtol=0.01, atol=1e-12)
    model.set_params(n_estimators=6).fit(X, y)  # those there were still count one by one
    assert len(model._fitted.arrays) == model.n_estimators_ == 6
    assert model.certificate_ is not None


@pytest.mark.usefixtures("one_by_one")
def test_who_joins_is_who_would_have_been_there_from_the_start(rng):
    """The same folds, seeds and curve as with four members, but for the start's strength."""
    X, y = quiet(rng)
    auto = MonotonicRegressor(random_state=0, n_bins=8, max_iter=80).fit(X, y)
    four = MonotonicRegressor(random_state=0, n_bins=8, max_iter=80, n_estimators=4).fit(X, y)
    assert len(auto.frozen_.members) == 4
    assert np.array_equal(auto.predict(X), four.predict(X))


def test_threads_change_no_bit(rng):
    X, y = quiet(rng)
    one, two = (MonotonicRegressor(random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert np.array_equal(one.predict(X), two.predict(X))


def test_classes_are_joined_as_well(rng):
    X = rng.uniform(-1, 1, (3000, 3))
    y = (X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0).astype(int) + (X[:, 2] > 0.5)
    model = MonotonicClassifier(random_state=0, max_iter=20).fit(X, y)
    assert len(model.frozen_.members) in (2, 4)
    assert model.score(X, y) > 0.9


def test_nobody_joins_without_time(rng, monkeypatch):
    X, y = quiet(rng)
    monkeypatch.setattr(_joining, "PATIENT", np.inf)
    model = MonotonicRegressor(random_state=0, max_time=60.0).fit(X, y)
    assert len(model.frozen_.members) == 1


@pytest.mark.parametrize("how", ["interrupt", "late"])
@pytest.mark.parametrize("who", [1, 2])
def test_who_is_cut_short_on_the_way_is_left_out(rng, monkeypatch, how, who):
    X, y = quiet(rng)

    def cut(jobs, *more):
        if jobs[0].member == who and jobs[0].rung == 1:
            if how == "interrupt":
                raise KeyboardInterrupt
            time.sleep(2.1)
        return run_jobs(jobs, *more)

    monkeypatch.setattr(_coach, "run_jobs", cut)
    monkeypatch.setattr(_joining, "PATIENT", 0.0)
    limit = {"max_time": 2.0} if how == "late" else {}
    if how == "interrupt":
        with pytest.warns(UserWarning, match="interrupted"):
            model = MonotonicRegressor(random_state=0).fit(X, y)
    else:
        model = MonotonicRegressor(random_state=0, **limit).fit(X, y)
    assert len(model.frozen_.members) == model.n_estimators_ == who
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("passes", [5, 12])
def test_a_path_too_short_for_joining_on_the_way_has_partners_in_the_end(rng, passes):
    X, y = quiet(rng, 3000)
    model = MonotonicRegressor(random_state=0, max_iter=passes).fit(X, y)
    assert len(model.frozen_.members) == model.n_estimators_ > 1
    noise = MonotonicRegressor(random_state=0, max_iter=passes).fit(X, X[:, 4] + rng.normal(size=len(X)))
    assert noise.n_estimators_ == 1


def test_of_several_classes_only_who_was_cut_short_is_not_taken(rng, monkeypatch):
    """Without additive starts all members train on one and the same problem."""
    X = rng.uniform(-1, 1, (3000, 3))
    y = (X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0).astype(int) + (X[:, 2] > 0.5)

    def cut(jobs, *more):
        if jobs[0].member == 2 and jobs[0].rung == 1:
            raise KeyboardInterrupt
        return run_jobs(jobs, *more)

    monkeypatch.setattr(_coach, "run_jobs", cut)
    monkeypatch.setattr(_joining, "APART", 0.0)
    with pytest.warns(UserWarning, match="interrupted"):
        model = MonotonicClassifier(random_state=0, max_iter=60).fit(X, y)
    assert {entry["member"] for entry in model.history_ if entry["taken"]} == {0, 1}
    assert {entry["member"] for entry in model.history_ if not entry["taken"]} == {2, 3}
    assert model.n_estimators_ == 2


def test_followers_that_were_cut_short_do_not_count(rng, monkeypatch, tmp_path):
    X, _ = quiet(rng)
    y = 3 * X[:, 4] + X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X))
    model = MonotonicRegressor(random_state=0, n_bins=8, warm_start=True, n_estimators=1, max_iter=20)
    model.fit(X, y)
    assert model.frozen_.members[0][0].form.weights[1:], "the member has to have left its start, else nobody trains"

    def cut(jobs, *more):
        if jobs[0].rung == 1:
            raise KeyboardInterrupt
        return run_jobs(jobs, *more)

    monkeypatch.setattr(_coach, "run_jobs", cut)
    with pytest.warns(UserWarning, match="interrupted"):
        model.set_params(n_estimators=3).fit(X, y)
    model.save(tmp_path / "m")
    assert len(model.frozen_.members) == model.n_estimators_ == 1
    assert MonotonicRegressor.load(tmp_path / "m").n_estimators_ == 1


def test_a_loss_below_zero_is_explained_as_well(rng, monkeypatch):
    seen, original = [], Jury.explained
    monkeypatch.setattr(Jury, "explained", lambda self, one: seen.append(original(self, one)) or seen[-1])
    X, offset = rng.normal(size=(3000, 2)), 2 * rng.normal(size=3000)
    y = rng.poisson(np.exp(X[:, 0] + offset))
    MonotonicRegressor(random_state=0, loss="poisson", max_iter=2).fit(X, y, offset=offset)
    assert seen[0] > 0.2


def test_a_warm_start_says_how_many(rng):
    X, y = quiet(rng)
    model = MonotonicRegressor(random_state=0, warm_start=True).fit(X, y)
    with pytest.raises(InputError, match="got n_estimators='auto' after 4; raise n_estimators, to 5 or more"):
        model.fit(X, y)
    assert len(model.set_params(n_estimators=5).fit(X, y).frozen_.members) == 5


def test_bad_numbers_of_members_are_named():
    for wrong in (0, 2.5, "many", None):
        with pytest.raises(InputError, match="n_estimators is 'auto' or at least 1, a whole number; got"):
            MonotonicRegressor(n_estimators=wrong).fit(np.zeros((20, 1)), np.zeros(20))


@pytest.mark.parametrize(
    ("rows", "members", "expected"), [(400, "auto", 4), (400, 1, 1), (400, 12, 12), (10, "auto", 4), (10, 1, 1)]
)
def test_a_loaded_model_knows_how_many_members_there_are(rows, members, expected, rng, tmp_path):
    """Members that follow at their starts, or have too few rows, are never trained; the file tells of them too."""
    X = rng.uniform(-1, 1, (rows, 2))
    y = X[:, 0] + rng.normal(size=rows)
    model = MonotonicRegressor(random_state=0, n_estimators=members).fit(X, y)
    assert len(model.frozen_.members) == 1
    model.save(tmp_path / "m")
    assert model.n_estimators_ == MonotonicRegressor.load(tmp_path / "m").n_estimators_ == expected


def test_members_added_to_such_a_model_are_told_too(rng, tmp_path):
    X = rng.uniform(-1, 1, (400, 2))
    y = X[:, 0] + rng.normal(size=400)
    model = MonotonicRegressor(random_state=0, n_estimators=10, warm_start=True).fit(X, y)
    model.set_params(n_estimators=13).fit(X, y).save(tmp_path / "m")
    again = MonotonicRegressor.load(tmp_path / "m")
    assert again.n_estimators_ == model.n_estimators_ == 13
    stayed = [entry["member"] for entry in again.history_ if entry["n_steps"] == 0]
    assert sorted(stayed) == list(range(13))  # each once
