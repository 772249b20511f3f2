"""What ends a fit: validation loss, max_iter, time, Ctrl-C and callbacks. Whatever it is, a sound model is left."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

from monolip.certify import audit
from monolip.estimators import FitOptions, MonotonicClassifier, MonotonicRegressor
from monolip.estimators._progress import Display

from .fit_with import fit_with_ctrl_c, fit_without_time, n_trainings

# two kinds of bins, validated members and followers of each, few steps
OPTIONS = FitOptions(
    bin_kinds=(None, 4), n_bins=8, n_estimators=6, n_validated=2, n_stages=3, min_stages=3, first_steps=20,
    kind_tolerance=10.0,
)  # fmt: skip
MANY = {"n_validated": 1, "many_rows": 100}


def data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, np.tanh(3 * X[:, 0]) * (1 + X[:, 1]) + X[:, 2] + 0.05 * rng.normal(size=n)


def regressor(**more):
    return MonotonicRegressor(**{"monotonic_cst": [1, 0, 1], "fit_options": OPTIONS, "random_state": 0, **more})


def steps_of(model, member, refit=False):
    return [row["steps"] for row in model.history_ if row["member"] == member and row["refit"] is refit]


def is_sound(model, X, y):
    """It predicts, keeps its directions bit for bit, and can be certified, saved and copied."""
    assert np.isfinite(model.predict(X)).all()
    assert model.n_estimators_ >= 1
    assert model.certificate_ is not None
    steps = np.sort(np.concatenate([np.linspace(-2, 2, 401), np.nextafter(np.linspace(-2, 2, 401), 9)]))
    for feature in (0, 2):
        rows = np.tile(X[:1], (len(steps), 1))
        rows[:, feature] = steps
        assert (np.diff(model.predict(rows)) >= 0).all()
    chosen = {row["member"] for row in model.history_ if row["chosen"]}
    assert len(chosen) == model.n_estimators_
    return True


# -- max_iter and validation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "max_iter"), [(20, 5), (100, 1), (100, 3), (600, 2), (3000, 2)])
def test_no_member_makes_more_passes_than_asked_for(rng, n, max_iter):
    X = rng.normal(size=(n, 4))
    y = np.sin(2 * X[:, 0]) * X[:, 1]
    model = MonotonicRegressor(max_iter=max_iter, random_state=0).fit(X, y)
    batch = min(FitOptions().of("batch_size", n), n)
    for member in {row["member"] for row in model.history_}:
        assert sum(steps_of(model, member)) <= -(-max_iter * n // batch)
        assert sum(steps_of(model, member, refit=True)) <= max(steps_of(model, member))  # one stage once more
    assert model.n_iter_ <= max_iter + 1  # rounded


@pytest.mark.parametrize(
    ("n", "batch", "max_iter", "expected"), [(300, 64, 1, [5]), (640, 64, 20, [50, 150]), (640, 64, 5, [50])]
)
def test_stages_double_and_end_at_max_iter(n, batch, max_iter, expected):
    assert [stage.steps for stage in FitOptions(first_steps=50).stages(n, batch, max_iter)] == expected


@pytest.mark.parametrize("n", [300, 50_000])
def test_without_max_iter_stages_double_under_ever_less_decay(n):
    options = FitOptions()
    stages = options.stages(n, 64, None)
    assert [stage.steps for stage in stages] == [options.first_steps * 2**k for k in range(options.of("n_stages", n))]
    decays = [stage.decay for stage in stages]
    assert decays == sorted(decays, reverse=True)
    long = options.stages(n, 64, 10_000)
    assert sum(stage.steps for stage in long) == -(-10_000 * n // 64)
    assert long[: len(stages)] == stages


def test_training_goes_on_while_the_validation_loss_falls_and_no_longer(rng):
    X = rng.uniform(-1, 1, (800, 4))
    noise = X[:, 0] + rng.normal(size=800)
    product = X[:, 0] * X[:, 1] + 0.02 * rng.normal(size=800)
    short, long = (MonotonicRegressor(random_state=0).fit(X, y) for y in (noise, product))
    assert sum(row["steps"] for row in short.history_) < sum(row["steps"] for row in long.history_)
    assert short.n_iter_ < long.n_iter_
    for model in (short, long):
        losses = [row["validation_loss"] for row in model.history_ if row["member"] == 0 and not row["refit"]]
        assert all(np.isfinite(loss) for loss in losses)


def test_the_chosen_stage_has_the_lowest_validation_loss():
    """With one validated member of one kind its own loss is what decides."""
    X, y = data()
    options = FitOptions(bin_kinds=(None,), n_estimators=2, n_validated=1, first_steps=20)
    model = regressor(fit_options=options).fit(X, y)
    losses = [row["validation_loss"] for row in model.history_ if row["member"] == 0 and not row["refit"]]
    (chosen,) = {row["stage"] for row in model.history_ if row["chosen"]}
    assert chosen == int(np.argmin(losses))


@pytest.mark.parametrize("many", [{}, MANY])
def test_every_validated_member_is_trained_on_all_rows_in_the_end(many):
    X, y = data()
    options = FitOptions(**{**OPTIONS.get_params(), **many})
    jobs = []
    fit_without_time(regressor(fit_options=options), X, y, lambda job: jobs.append(job))  # nothing ends
    last = {job.member: job for job in jobs}
    assert len(last) == 6
    assert all(len(job.index) == len(X) for job in last.values())
    validated = [job for job in jobs if len(job.index) < len(X)]
    assert {len(job.index) for job in validated} <= {len(X) - len(X) // 8, len(X) - len(X) // 8 - 1}
    assert len({job.member for job in validated}) == (2 if many else 4)


def test_without_early_stopping_all_rows_are_trained_on():
    X, y = data()
    jobs = []
    model = fit_without_time(regressor(early_stopping=False), X, y, lambda job: jobs.append(job))
    assert all(len(job.index) == len(X) for job in jobs)
    assert all(row["validation_loss"] is None for row in model.history_)
    assert not any(row["refit"] for row in model.history_)
    assert model.score(X, y) > 0.9


# -- time ------------------------------------------------------------------------------------------------------------


def test_time_that_ends_the_fit_at_once_leaves_a_sound_model():
    X, y = data()
    for limit in (0.0, 1e-9, 1e-3):
        assert is_sound(regressor(max_time=limit, fit_options=None).fit(X, y), X, y)


def test_a_time_limit_is_kept(rng):
    X, y = data(5000)
    regressor(max_iter=1).fit(X[:300], y[:300])  # compiled before the clock starts
    begun = time.perf_counter()
    model = regressor(n_estimators=8, max_iter=3000, max_time=0.3, fit_options=None).fit(X, y)
    assert time.perf_counter() - begun < 5.0  # a busy machine; without the limit it takes minutes
    assert is_sound(model, X, y)


def test_a_limit_that_ended_training_early_is_reported_with_verbose_alone(capsys):
    X, y = data(5000)
    limits = {"max_iter": 3000, "max_time": 0.05, "fit_options": None}
    for verbose in (0, 1):
        model = regressor(verbose=verbose, **limits).fit(X, y)
        words = "fit: max_time=0.05 ended training early; with more time the model may be better"
        assert capsys.readouterr().err.splitlines().count(words) == verbose
    model.set_params(max_time=1e6, max_iter=1).fit(X, y)
    assert "ended training early" not in capsys.readouterr().err


@pytest.mark.parametrize("many", [{}, MANY])
def test_a_refit_that_time_cut_short_is_thrown_away(many):
    X, y = data()
    options = FitOptions(**{**OPTIONS.get_params(), **many})
    model = fit_without_time(regressor(fit_options=options), X, y, lambda job: len(job.index) == len(X))
    whole = regressor(fit_options=options).fit(X, y)
    assert any(row["refit"] for row in whole.history_)
    assert not any(row["refit"] for row in model.history_)
    assert model.n_estimators_ == (2 if many else 4) < whole.n_estimators_  # and there are no followers
    assert is_sound(model, X, y)
    assert model.score(X, y) > 0.9


def test_a_refit_is_thrown_away_member_by_member():
    X, y = data()
    model = fit_without_time(regressor(), X, y, lambda job: len(job.index) == len(X) and job.member == 1)
    refitted = {row["member"] for row in model.history_ if row["refit"]}
    whole = {row["member"] for row in regressor().fit(X, y).history_ if row["refit"]}
    assert 1 in whole
    assert refitted == whole - {1}
    assert is_sound(model, X, y)


def test_members_that_follow_and_were_cut_short_are_thrown_away():
    X, y = data()
    whole = regressor().fit(X, y)
    validated = {row["member"] for row in whole.history_ if row["validation_loss"] is not None}
    model = fit_without_time(regressor(), X, y, lambda job: job.member not in validated)
    assert {row["member"] for row in model.history_} == validated
    assert model.n_estimators_ == len(validated) < whole.n_estimators_
    assert is_sound(model, X, y)


# -- Ctrl-C ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("many", [{}, MANY])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_in_any_training_leaves_the_best_model_so_far(many, n_jobs):
    X, y = data()
    settings = {"fit_options": FitOptions(**{**OPTIONS.get_params(), **many}), "n_jobs": n_jobs, "batch_size": 100}
    count = n_trainings(regressor(**settings), X, y)
    assert count > 12  # stages, refits and followers
    scores = []
    for number in range(count):
        with pytest.warns(UserWarning, match="fit was interrupted; the model is the best one so far"):
            model = fit_with_ctrl_c(regressor(**settings), X, y, number)
        assert is_sound(model, X, y)
        scores.append(model.score(X, y))
    assert min(scores) > 0.7  # the additive model
    whole = regressor(**settings).fit(X, y)
    assert scores[-1] > whole.score(X, y) - 0.02


def test_ctrl_c_while_steps_are_made_leaves_the_best_model_so_far(monkeypatch):
    X, y = data()
    original = Display.update

    def interrupted(self, job, standing):
        original(self, job, standing)
        if job.stage == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Display, "update", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        model = regressor(verbose=1).fit(X, y)
    assert {row["stage"] for row in model.history_} >= {0, 1, 2}
    assert is_sound(model, X, y)


def test_ctrl_c_in_a_fit_of_several_classes():
    X, y = data()
    classes = np.digitize(y, [-0.5, 0.5])
    settings = {"fit_options": OPTIONS, "monotonic_cst": {0: {2: 1}}, "random_state": 0}
    for number in range(0, n_trainings(MonotonicClassifier(**settings), X, classes), 3):
        with pytest.warns(UserWarning, match="interrupted"):
            model = fit_with_ctrl_c(MonotonicClassifier(**settings), X, classes, number)
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)
        assert model.certificate_ is not None


def test_ctrl_c_in_a_warm_start_keeps_the_members_there_were(tmp_path):
    X, y = data()
    model = regressor(warm_start=True, n_estimators=4).fit(X, y)
    before = model.predict(X)
    with pytest.warns(UserWarning, match="interrupted"):
        fit_with_ctrl_c(model.set_params(n_estimators=6), X, y, 1)
    assert model.n_estimators_ == 4
    assert np.array_equal(model.predict(X), before)
    model.save(tmp_path / "m")
    assert MonotonicRegressor.load(tmp_path / "m").n_estimators_ == 4
    assert model.fit(X, y).n_estimators_ == 6


# -- callbacks -------------------------------------------------------------------------------------------------------


def without(rows, *names):
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def test_a_callback_sees_every_row_of_the_history_in_its_order():
    X, y = data()
    seen = []
    model = regressor().fit(X, y, callbacks=seen.append)
    assert without(seen, "chosen") == without(model.history_, "chosen")
    assert model.frozen_.digest == regressor().fit(X, y).frozen_.digest
    changed = regressor().fit(X, y, callbacks=lambda row: row.clear())  # a copy of its own
    assert without(changed.history_, "seconds") == without(model.history_, "seconds")


def test_a_callback_that_returns_true_ends_training_with_what_there_is():
    X, y = data()
    n_rows = len(regressor().fit(X, y).history_)
    for stop in range(n_rows):
        seen = []
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the user wanted it
            model = regressor().fit(X, y, callbacks=[seen.append, lambda _, s=seen, n=stop: len(s) > n])
        assert len(model.history_) >= stop + 1
        assert len(model.history_) <= stop + 4  # members of a stage are trained together
        assert is_sound(model, X, y)


@pytest.mark.parametrize("answer", [None, 1, "stop", False])
def test_only_true_ends_training(answer):
    X, y = data()
    model = regressor().fit(X, y, callbacks=lambda row: answer)
    assert model.frozen_.digest == regressor().fit(X, y).frozen_.digest


@pytest.mark.parametrize("many", [{}, MANY])
def test_ctrl_c_in_any_callback_leaves_what_was_trained_before(many):
    X, y = data()
    options = FitOptions(**{**OPTIONS.get_params(), **many})
    whole = regressor(fit_options=options).fit(X, y)
    for number in range(len(whole.history_)):
        seen = []

        def interrupt(row, seen=seen, number=number):
            seen.append(row)
            if len(seen) == number + 1:
                raise KeyboardInterrupt

        with pytest.warns(UserWarning, match="fit was interrupted; the model is the best one so far"):
            model = regressor(fit_options=options).fit(X, y, callbacks=interrupt)
        assert is_sound(model, X, y)
        shown = without(model.history_, "chosen", "seconds")
        assert shown == without(whole.history_, "chosen", "seconds")[: len(shown)]
        assert len(shown) > number
    assert model.frozen_.digest == whole.frozen_.digest  # all had been trained


def test_an_error_in_a_callback_is_the_users():
    X, y = data()

    def broken(row):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        regressor().fit(X, y, callbacks=broken)


def test_a_model_that_was_stopped_passes_an_audit():
    X, y = data()
    model = regressor().fit(X, y, callbacks=lambda row: row["stage"] == 1)
    report = audit(model.predict, X, [1, 0, 1], max_rows=50, max_evaluations=50_000)
    assert not report.violated
