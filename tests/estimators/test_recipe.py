"""The recipe: where a path ends, how members are judged together, and what the start is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss

from monolip.engine.architecture import Architecture
from monolip.engine.judging import outputs_of, row_losses
from monolip.engine.problem import Problem
from monolip.errors import InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _coach, _recipe, _training
from monolip.estimators._climber import Rung, Used, deal_folds, plainest
from monolip.estimators._coach import Coach
from monolip.estimators._jury import POWER, Jury
from monolip.estimators._misfit import Misfit
from monolip.estimators._recipe import Recipe

RUNGS = (Rung(50, 0.3), Rung(100, 0.1), Rung(200, 0.05))
RUNGS_4 = (50, 100, 200, 400)


def recipe(rng, n=400, n_members=2, rungs=RUNGS, n_threads=1, **more):
    x = rng.normal(size=(n, 3)).astype(np.float32)
    y = x[:, 0] + np.abs(x[:, 1] - x[:, 2]) + 0.1 * rng.normal(size=n)
    problem = Problem(x, y, [0, -9, -9], [9, 9, 9], architecture=Architecture(hidden=(16, 16)))
    return Recipe(problem, deal_folds(n, 8, rng, None), rungs, np.ones(3), n_members, Coach(64, 0, n_threads), **more)


def test_an_additive_function_with_noise_is_left_at_its_start(rng):
    X = rng.uniform(-1, 1, (600, 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=600)
    model = MonotonicRegressor(monotonic_cst=[1, -1, 0, 0], random_state=0).fit(X, y)
    assert all(len(trunk.form.weights) == 1 for member in model.frozen_.members for trunk in member)
    assert max(entry["n_steps"] for entry in model.history_) <= 200


def test_an_interaction_takes_the_path_further(rng):
    X = rng.uniform(-1, 1, (1000, 2))
    model = MonotonicRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    assert max(entry["n_steps"] for entry in model.history_) >= 800
    assert model.score(X, X[:, 0] * X[:, 1]) > 0.98


def test_members_are_judged_by_the_loss_their_average_would_have(rng):
    run = recipe(rng, n=3000)
    assert run.paired
    chosen, climbers = run.run()
    one, two = climbers
    assert np.array_equal(one.holdout, two.holdout)
    f = [outputs_of(climber.network(chosen.rung), run.problem, climber.holdout) for climber in climbers]
    both = np.mean(row_losses(run.problem, run.problem.places(one.holdout), (f[0] + f[1]) / 2) ** POWER)
    curve = run.jury.curve
    assert curve[chosen.rung] == pytest.approx(both, rel=1e-4)  # two members: the loss of their average itself
    assert curve[chosen.rung] == min(curve)


def test_four_members_extrapolate_to_four(rng):
    run = recipe(rng, n=3000, n_members=4)
    _, climbers = run.run()
    held = [climber.holdout for climber in climbers]
    assert np.array_equal(held[0], held[1])
    assert not np.intersect1d(held[0], held[2]).size
    singles, pairs = [], []
    for a, b in ((0, 1), (2, 3)):
        f = [outputs_of(climbers[k].network(-1), run.problem, held[k]) for k in (a, b)]
        loss = [row_losses(run.problem, run.problem.places(held[a]), g) ** POWER for g in (*f, (f[0] + f[1]) / 2)]
        singles += [loss[0].mean(), loss[1].mean()]
        pairs.append(loss[2].mean())
    variance = 2 * (np.mean(singles) - np.mean(pairs))
    assert run.jury.curve[-1] == pytest.approx(np.mean(singles) - variance + variance / 4, rel=1e-4)


def test_few_rows_are_held_out_by_one_member_each(rng):
    run = recipe(rng, n=400)
    assert not run.paired
    _, (one, two) = run.run()
    assert not np.intersect1d(one.holdout, two.holdout).size


def test_eight_members_of_few_rows_judge_every_row_once(rng):
    run = recipe(rng, n=400, n_members=9)
    _, climbers = run.run()
    held = np.concatenate([climber.holdout for climber in climbers if climber.holdout is not None])
    assert np.array_equal(np.sort(held), np.arange(400))
    assert len(climbers) == 9  # the ninth follows


def test_no_path_over_many_rows_ends_before_four_passes(rng):
    """Half a pass says little of what a large table has to teach, however little its first rungs gain."""
    X = rng.normal(size=(60_000, 3))
    y = X[:, 0] + rng.normal(size=60_000)  # the start is all there is to learn: nothing is gained by climbing
    model = MonotonicRegressor(n_estimators=1, hidden_layer_sizes=(4,), random_state=0).fit(X, y)
    path = [entry["n_steps"] for entry in model.history_]
    assert sum(path) * 128 >= 4 * 60_000


def test_decay_follows_the_penalty_of_the_start(rng):
    run = recipe(rng, rungs=(*RUNGS, Rung(400, 0.02)))
    run.strength = 30.0
    assert [run.decay(k) for k in range(4)] == [0.3, 0.1, 0.05, pytest.approx(0.2)]
    run.strength = 0.01
    assert run.decay(3) == pytest.approx(0.02 * _recipe.LEAST)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie", "quantile", "absolute_error", "huber"])
def test_every_loss_has_a_sound_start(rng, loss):
    X = rng.uniform(-1, 1, (400, 2))
    y = rng.gamma(5.0, np.exp(X[:, 0]) / 5.0)
    model = MonotonicRegressor(loss=loss, monotonic_cst=[1, 0], max_iter=30, random_state=0).fit(X, y)
    assert np.corrcoef(model.predict(X), np.exp(X[:, 0]))[0, 1] > 0.9


def test_classes_with_a_start_keep_offsets_and_weights(rng):
    X = rng.normal(size=(500, 2))
    offset = rng.normal(size=500)
    y = rng.random(500) < 1 / (1 + np.exp(-(X[:, 0] + offset)))
    model = MonotonicClassifier(monotonic_cst=[1, 0], random_state=0)
    model.fit(X, y, sample_weight=rng.uniform(0.5, 2, 500), offset=offset)
    slope = np.polyfit(X[:, 0], model.decision_function(X), 1)[0]
    assert 0.6 < slope < 1.5


def test_more_columns_than_the_start_can_hold_are_screened(rng):
    X = rng.normal(size=(300, 1500))
    y = 3 * X[:, 7] + 0.5 * rng.normal(size=300)
    model = MonotonicRegressor(n_bins=0, random_state=0).fit(X[:200], y[:200])
    plain = Ridge(100.0).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > plain.score(X[200:], y[200:]) - 0.05


def test_classes_of_pure_noise_get_their_shares(rng):
    X, y = rng.normal(size=(120, 40)), np.tile([0, 1, 2], 40)
    P = MonotonicClassifier(random_state=0).fit(X, y).predict_proba(rng.normal(size=(50, 40)))
    assert np.abs(P - 1 / 3).max() < 0.25


@pytest.mark.parametrize("n", [3, 8, 15])
def test_too_few_rows_to_hold_any_out_give_an_additive_function(n, rng):
    X = rng.normal(size=(n, 2))
    model = MonotonicClassifier(random_state=0).fit(X, np.arange(n) % 2)
    assert all(len(trunk.form.weights) == 1 for member in model.frozen_.members for trunk in member)
    P = model.predict_proba(X)
    assert P.min() > 1e-3


def test_an_interaction_is_not_taken_for_noise(rng):
    X = rng.uniform(-1, 1, (4000, 3))
    y = np.sign(X[:, 0] * X[:, 1]) + 0.2 * rng.normal(size=4000)
    model = MonotonicRegressor(random_state=0).fit(X[:3000], y[:3000])
    assert model.score(X[3000:], y[3000:]) > 0.85


def test_held_out_rows_are_random_rows_of_a_sorted_table(rng, monkeypatch):
    from monolip.estimators import _fitting

    monkeypatch.setattr(_fitting, "MAX_HELD_OUT", 100)
    X = rng.normal(size=(2400, 2))
    y = np.sort((rng.random(2400) < 0.3).astype(int))
    model = MonotonicClassifier(random_state=0).fit(X, y)
    assert model.calibration_.error < 0.15


def test_a_mostly_zero_column_keeps_its_other_values(rng):
    X = np.where(rng.random((2000, 8)) < 0.95, 0.0, rng.exponential(1.0, (2000, 8)))
    y = X.sum(1) + 0.05 * rng.normal(size=2000)
    model = MonotonicRegressor(random_state=0).fit(X[:1500], y[:1500])
    assert model.score(X[1500:], y[1500:]) > 0.95


def test_a_large_offset_costs_no_precision(rng):
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 0.02 * rng.normal(size=300)
    offset = np.full(300, 1e8)
    model = MonotonicRegressor(random_state=0).fit(X, y + offset, offset=offset)
    assert np.abs(model.predict(X) - X[:, 0]).mean() < 0.05


def test_warm_members_are_those_of_a_fit_with_all_of_them(rng):
    X = rng.uniform(-1, 1, (5200, 2))
    y = np.sin(8 * X[:, 0]) + 0.1 * rng.normal(size=5200)
    warm = MonotonicRegressor(n_estimators=4, warm_start=True, max_iter=4, random_state=0).fit(X, y)
    warm.set_params(n_estimators=5).fit(X, y)
    cold = MonotonicRegressor(n_estimators=5, max_iter=4, random_state=0).fit(X, y)
    assert warm.frozen_.inputs.n_model == cold.frozen_.inputs.n_model
    assert np.abs(warm.predict(X) - cold.predict(X)).max() < 1e-9


def test_many_categories_of_several_classes_are_averaged_class_by_class(rng):
    kind = rng.integers(0, 60, 3000)
    y = np.where(kind % 2, rng.choice([0, 3], 3000), rng.choice([1, 2], 3000))  # class numbers average to the same
    X = pd.DataFrame({"kind": [f"k{k}" for k in kind], "x": rng.normal(size=3000)})
    model = MonotonicClassifier(random_state=0).fit(X[:2000], y[:2000])
    assert log_loss(y[2000:], model.predict_proba(X[2000:])) < 0.8  # 1.39 without knowing the category, 0.69 with it


def test_columns_of_one_name_are_refused():
    X = pd.DataFrame(np.zeros((20, 2)), columns=["a", "a"])
    with pytest.raises(InputError, match=r"column names are distinct; got \['a'\] more than once; rename"):
        MonotonicRegressor().fit(X, np.arange(20.0))


def test_every_member_ends_with_all_rows_and_is_judged_before(rng, monkeypatch):
    jobs = []
    monkeypatch.setattr(_coach, "run_jobs", lambda given, *rest: jobs.extend(given) or _training.run_jobs(given, *rest))
    run = recipe(rng, n=2500, n_members=6)
    chosen, climbers = run.run()
    assert chosen.rung > 0
    last = {job.member: job for job in jobs}
    assert all(len(last[member].index) == 2500 and last[member].holdout is None for member in range(6))
    followers = [job for job in jobs if job.member >= _recipe.PROBES]
    assert followers
    assert all(len(job.index) == 2500 for job in followers)
    judged = [job for job in jobs if job.holdout is not None]
    assert all(not np.intersect1d(job.index, job.holdout).size for job in judged)
    for climber in climbers:  # what was judged is kept beside what is used
        assert climber.result(chosen.rung) is not climber.network(chosen.rung)


@pytest.mark.parametrize(("noise", "expected"), [(10.0, 30.0), (0.0, 0.3)])
def test_a_strength_that_rows_do_not_tell_from_the_best_is_the_usual_one(rng, noise, expected):
    """Differences lost in noise leave the usual strength; differences that are sure decide."""
    strengths = (3000.0, 300.0, 30.0, 3.0, 0.3)
    better = np.array([0.4, 0.3, 0.2, 0.1, 0.0])[:, None]  # the weakest is the best by a little
    signs = np.array([rng.permutation(np.repeat([1.0, -1.0], 150)) for _ in strengths])  # means are zero
    losses = 10 + better + noise * signs
    at = plainest(losses, np.ones(300), strengths)
    assert strengths[at] == expected


def test_rows_of_no_weight_have_no_say_in_the_strength(rng):
    losses = np.zeros((2, 50))
    losses[0, :25], losses[1, 25:] = 1.0, 1.0
    weight = np.repeat([0.0, 1.0], 25)
    assert plainest(losses, weight, (300.0, 3.0)) == 0


def test_a_path_that_still_gains_earns_more_rungs(rng):
    run = recipe(rng, n=2000, rungs=(*RUNGS, Rung(400, 0.02), Rung(800, 0.02)), unearned=2)
    assert (run.judged, run._length) == (2, 3)
    run.climb(5)
    assert run.ended
    assert run.climbed == run.judged > 2  # the last one is left for the finish
    chosen, _ = run.run()
    assert chosen.rung <= run.judged


def test_a_path_over_noise_earns_nothing(rng):
    run = recipe(rng, rungs=(*RUNGS, Rung(400, 0.02), Rung(800, 0.02)), unearned=2)
    run.problem.data.y[:, 0] = rng.normal(size=400)
    run.run()
    assert run.unearned == 2
    assert max(entry["n_steps"] for entry in run.coach.history) <= 200


def test_climbing_in_two_goes_is_climbing(rng):
    one, two = (recipe(np.random.default_rng(7), n=2600, rungs=(*RUNGS, Rung(400, 0.02))) for _ in range(2))
    assert two.climb(1)
    assert two.climbed == 1
    chosen, climbers = one.run()
    again, others = two.run()
    assert chosen == again
    for a, b in zip(climbers, others, strict=True):
        assert np.array_equal(a.result(chosen.rung).weights[0], b.result(chosen.rung).weights[0])


@pytest.mark.parametrize(
    ("best", "climbed", "gain", "further"),
    [(0, 2, 0.1, None), (1, 2, 0.1, None), (1, 1, 0.1, 0), (3, 3, 0.1, 3), (3, 3, 0.001, 2)],
    ids=["the start", "passed", "ended early", "gaining until the end", "hardly gaining at the end"],
)
def test_how_a_path_is_finished(rng, best, climbed, gain, further):
    run = recipe(rng, n=100, rungs=(*RUNGS, Rung(400, 0.02)))
    run.jury.curve = [1.0, 1.0, 1.0 - gain]
    chosen = run._chosen(best, climbed)
    assert (chosen.rung, chosen.further) == (best, further)
    assert chosen.steps == sum(rung.steps for rung in run.rungs[:best]) + (0 if further is None else RUNGS_4[further])


def test_a_finish_that_was_cut_short_is_thrown_away(rng, monkeypatch):
    run = recipe(rng)
    cut = lambda given, *rest: [  # noqa: E731
        replace(result, stopped="time" if job.holdout is None else result.stopped)
        for job, result in zip(given, _training.run_jobs(given, *rest), strict=True)
    ]
    monkeypatch.setattr(_coach, "run_jobs", cut)
    chosen, climbers = run.run()
    assert chosen.rung > 0
    assert all(climber.finished is None for climber in climbers)


def test_members_added_later_train_under_the_same_decay(rng):
    X = rng.normal(size=(600, 4))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=600)
    warm = MonotonicRegressor(n_estimators=4, warm_start=True, random_state=0).fit(X, y)
    before = {entry["slope_decay"] for entry in warm.history_}
    warm.set_params(n_estimators=6).fit(X, y)
    assert {entry["slope_decay"] for entry in warm.history_ if entry["member"] >= 4} <= before


def test_members_added_later_keep_the_calibration_there_was(rng):
    X = rng.normal(size=(300, 2))
    y = rng.random(300) < 1 / (1 + np.exp(-X[:, 0]))
    model = MonotonicClassifier(warm_start=True, random_state=0).fit(X, y)
    before = model.calibration_
    assert before is not None
    assert model.set_params(n_estimators=5).fit(X, y).calibration_ == before


@pytest.mark.parametrize(("n", "max_iter"), [(20, 5), (100, 1), (100, 3), (600, 2)])
def test_no_member_makes_more_passes_than_asked_for(rng, n, max_iter):
    X = rng.normal(size=(n, 4))
    y = np.sin(2 * X[:, 0]) * X[:, 1]
    model = MonotonicRegressor(max_iter=max_iter, random_state=0).fit(X, y)
    batch = min(64, n)
    steps = sum(entry["n_steps"] for entry in model.history_ if entry["member"] == 0)
    assert steps <= -(-max_iter * n // batch)
    assert model.n_iter_ <= max_iter + 1  # rounded


@pytest.mark.parametrize(("owner", "place"), [(Coach, "train"), (Jury, "hear"), (Coach, "_results")])
def test_an_interrupt_anywhere_keeps_what_was_learned(rng, monkeypatch, owner, place):
    calls, real = [], getattr(owner, place)

    def interrupted(self, *given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(self, *given)

    monkeypatch.setattr(owner, place, interrupted)
    run = recipe(rng, n=3000, n_members=5)
    chosen, climbers = run.run()
    assert run.coach.interrupted
    assert len(climbers) >= 2
    assert all(np.isfinite(climber.result(chosen.rung).weights[0]).all() for climber in climbers)


def test_an_interrupt_that_no_training_saw_is_reported(rng, monkeypatch):
    from concurrent.futures import Future

    result, asked = Future.result, []

    def interrupted(self, timeout=None):
        asked.append(1)
        if len(asked) == 1:
            raise KeyboardInterrupt
        return result(self, timeout)

    run = recipe(rng, n_threads=2)
    monkeypatch.setattr(Future, "result", interrupted)
    run.run()
    assert run.coach.interrupted


def noise_of(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 3))
    return X, X[:, 0] + 2 * rng.normal(size=600)


def test_one_or_two_members_find_out_for_four_that_few_rows_hold_only_noise(tmp_path):
    trained = []
    for seed in range(6):
        model = MonotonicRegressor(random_state=seed).fit(*noise_of(seed))
        trained.append(tuple(entry["member"] for entry in model.history_ if entry["n_steps"]))
        assert model.n_estimators_ == 4
        model.save(tmp_path / "model")
        assert MonotonicRegressor.load(tmp_path / "model").n_estimators_ == 4
    assert trained.count((0,)) + trained.count((0, 1)) >= 2  # where they lose; else the others climb too
    assert all(members in ((0,), (0, 1)) or set(members) == {0, 1, 2, 3} for members in trained)


@pytest.mark.parametrize(
    ("lost", "climb"),
    [((0.011,), {0}), ((0.009, 0.001), {0, 1}), ((0.009, -0.001), {0, 1, 2, 3}), ((-0.1, -0.1), {0, 1, 2, 3})],
)
def test_a_second_scout_is_asked_where_the_first_one_hardly_loses(monkeypatch, lost, climb):
    answers = iter(lost)
    monkeypatch.setattr(Misfit, "is_noise", lambda _: True)
    monkeypatch.setattr("monolip.estimators._ending._lost", lambda recipe, scouts: next(answers))
    model = MonotonicRegressor(random_state=0).fit(*noise_of(0))
    assert {entry["member"] for entry in model.history_ if entry["n_steps"]} == climb
    assert next(answers, None) is None


def test_scouts_that_lose_are_followed_where_features_cross(rng):
    X = rng.normal(size=(600, 3))
    model = MonotonicRegressor(random_state=0).fit(X, np.sin(2 * (X[:, 0] + X[:, 1])) + 0.1 * rng.normal(size=600))
    first = {entry["member"] for entry in model.history_ if entry["n_steps"] == 50}
    assert first == {0, 1, 2, 3}


def beaten_table(seed):
    """Classes of few rows and many features: cells of few rows look as if features crossed, and networks lose much."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(240, 20))
    X[:, 6:] = (X[:, 6:] > 0.8).astype(float)
    return X, rng.random(240) < 1 / (1 + np.exp(-X[:, :6].sum(axis=1)))


def test_scouts_that_lose_much_are_not_followed_where_features_hardly_cross(monkeypatch):
    """The path ends with them, at the start, which longer paths do not leave either."""
    monkeypatch.setattr(Misfit, "is_noise", lambda _: False)

    def members_of(seed):
        model = MonotonicClassifier(monotonic_cst=[1] * 3 + [0] * 17, random_state=seed).fit(*beaten_table(seed))
        assert all(len(trunk.form.weights) == 1 for member in model.frozen_.members for trunk in member)
        return {entry["member"] for entry in model.history_ if entry["n_steps"]}

    assert [members_of(seed) for seed in (1, 2, 5)] == [{0}, {0}, {0, 1}]  # one is enough if it loses clearly
    monkeypatch.setattr(Misfit, "is_hardly_more", lambda _: False)
    assert [members_of(seed) for seed in (1, 2, 5)] == [{0, 1, 2, 3}] * 3


def test_scouts_that_lose_much_are_followed_where_the_start_explains_nothing(rng, monkeypatch):
    """What such a start could not explain may still be learned."""
    monkeypatch.setattr(Misfit, "is_noise", lambda _: False)
    monkeypatch.setattr(Misfit, "is_hardly_more", lambda _: True)
    X = rng.normal(size=(240, 13))
    model = MonotonicRegressor(random_state=0).fit(X, rng.normal(size=240))
    assert {entry["member"] for entry in model.history_ if entry["n_steps"]} == {0, 1, 2, 3}


@pytest.mark.parametrize("seed", [7, 0, 2])
def test_a_wave_beside_main_effects_is_found_although_scouts_lose_much(seed):
    """Of five features a contrast of 4.7 standard deviations is no chance; of thirteen it may be."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(3200, 5))
    rng.normal(size=5)
    y = X[:, 0] - 0.8 * X[:, 1] + 2 * np.sin(2 * X[:, 2:].sum(axis=1)) + 0.1 * rng.normal(size=3200)
    model = MonotonicRegressor(monotonic_cst=[1, -1, 0, 0, 0], random_state=seed).fit(X[:200], y[:200])
    assert np.sqrt(np.mean((model.predict(X[200:]) - y[200:]) ** 2)) < 1.1


def test_a_wave_of_many_features_is_not_taken_for_noise():
    """No quarter of features shows it, nor do 350 steps; it is found in the fourth rung."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (6000, 4))
        f = np.sin(4 * X.sum(axis=1))
        model = MonotonicRegressor(random_state=seed).fit(X[:4000], f[:4000] + 0.4 * rng.normal(size=4000))
        assert np.mean((model.predict(X[4000:]) - f[4000:]) ** 2) < 0.5 * f.var()


@pytest.mark.parametrize("members", [2, 4])  # asked after the first rung, and by scouts
def test_ctrl_c_while_noise_is_looked_for_keeps_the_rungs(members, rng, monkeypatch):
    def interrupt(_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("monolip.estimators._misfit.Misfit.is_noise", interrupt)
    X = rng.normal(size=(600, 3))
    with pytest.warns(UserWarning, match="interrupted"):
        model = MonotonicRegressor(n_estimators=members, random_state=0).fit(X, X[:, 0] + 3 * rng.normal(size=600))
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("features", "used", "part"), [(3, None, 1), (32, None, 1), (64, None, 0.5**0.5), (320, 32, 1), (320, 96, 3**-0.5)]
)
def test_of_many_features_each_takes_smaller_steps(features, used, part, rng):
    """Those that networks use: what is left to the start takes none."""
    path, usual = recipe(rng, n_features=features), recipe(rng)
    path.used = None if used is None else Used(np.ones(3, bool), used)
    assert path._rung(0).rate == pytest.approx(usual._rung(0).rate * part)
    assert path._rung(0).steps == usual._rung(0).steps


@pytest.mark.parametrize(("features", "rungs"), [(3, 4), (127, 4), (128, 5), (511, 5), (512, 6)])
def test_smaller_steps_tell_later_what_there_is_to_learn(features, rungs, rng):
    assert recipe(rng, n_features=features).jury.short == rungs


def test_a_path_over_many_features_is_not_ended_before_it_can_gain():
    """Networks find a bent index of two hundred features only after some hundred steps, and lose until then."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(7000, 200)), np.abs(rng.normal(size=200))
    f = 1 / (1 + np.exp(-3 * x @ w / np.linalg.norm(w)))
    y = f / f.std() + 0.1 * rng.normal(size=7000)
    model = MonotonicRegressor(monotonic_cst=[1] * 200, random_state=0).fit(x[:5000], y[:5000])
    assert np.sqrt(np.mean((model.predict(x[5000:]) - f[5000:] / f.std()) ** 2)) < 0.15
