"""What fit does: losses, weights, offsets, targets, many rows, seeds, and its BLAS threads."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from threading import Event, Thread

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _sampling
from monolip.estimators import fit as procedure
from monolip.estimators._one_blas_thread import one_blas_thread

from .tables import QUICK, credit


def wave(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 3))
    return X, np.exp(X[:, 0]) + np.sin(3 * X[:, 1]), rng


def test_defaults_learn_a_function_with_interactions_and_steps():
    X, f, rng = wave(1500)
    y = f * (1 + (X[:, 2] > 0.5)) + 0.1 * rng.normal(size=1500)
    model = MonotonicRegressor(random_state=0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.97


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile"])
def test_robust_losses_shrug_off_outliers(loss):
    X, y, rng = wave()
    dirty = np.where(rng.random(600) < 0.05, 1e3, y)
    model = MonotonicRegressor(loss=loss, monotonic_cst=[1, 0, 0], random_state=0).fit(X, dirty)
    assert np.median(np.abs(model.predict(X) - y)) < 0.5


def test_quantiles_lie_where_they_should():
    X, y, rng = wave(2000)
    noisy = y + rng.normal(size=2000)
    for q in (0.1, 0.9):
        model = MonotonicRegressor(loss="quantile", loss_parameter=q, random_state=0).fit(X, noisy)
        assert abs((noisy < model.predict(X)).mean() - q) < 0.05


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_log_links_give_positive_predictions_of_the_right_size(loss):
    X, _, rng = wave(1500)
    mean = 500 * np.exp(X[:, 0])
    y = rng.poisson(mean) if loss != "gamma" else mean * rng.gamma(5, 0.2, 1500)
    model = MonotonicRegressor(loss=loss, monotonic_cst=[1, 0, 0], random_state=0).fit(X, y)
    p = model.predict(X)
    assert (p > 0).all()
    assert np.abs(np.log(p / mean)).mean() < 0.15
    assert "log of the prediction per unit" in str(model.slopes_)
    assert (model.predict(X + np.array([1e-3, 0, 0])) >= p).all()


def test_an_offset_is_an_exposure_under_a_log_link():
    X, _, rng = wave(1500)
    exposure = rng.uniform(0.1, 10, 1500)
    y = rng.poisson(5 * exposure * np.exp(X[:, 0]))
    model = MonotonicRegressor(loss="poisson", random_state=0).fit(X, y, offset=np.log(exposure))
    assert np.abs(np.log(model.predict(X) / (5 * np.exp(X[:, 0])))).mean() < 0.1
    assert np.allclose(model.predict(X, offset=np.log(exposure)), model.predict(X) * exposure)


def test_an_offset_of_a_squared_loss_is_in_target_units():
    X, y, rng = wave()
    known = 100 * rng.normal(size=600)
    model = MonotonicRegressor(random_state=0).fit(X, y + known, offset=known)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.99
    assert np.allclose(model.predict(X, offset=known), model.predict(X) + known)


def test_rows_of_weight_zero_do_not_count_and_heavy_ones_do():
    X, y, rng = wave()
    bad = rng.random(600) < 0.3
    dirty = np.where(bad, -50.0, y)
    weighted = MonotonicRegressor(**QUICK).fit(X, dirty, sample_weight=(~bad).astype(float))
    alone = MonotonicRegressor(**QUICK).fit(X[~bad], y[~bad])
    assert np.allclose(weighted.predict(X), alone.predict(X), rtol=1e-6)
    constant = MonotonicRegressor(random_state=0).fit(np.zeros((100, 1)), np.r_[0, np.ones(99)], np.r_[99, np.ones(99)])
    assert abs(constant.predict([[0.0]])[0] - 0.5) < 0.1


def test_class_weights_move_probabilities():
    X, y, _ = wave()
    labels = y > np.quantile(y, 0.9)
    plain = MonotonicClassifier(**QUICK).fit(X, labels).predict_proba(X)[:, 1].mean()
    balanced = MonotonicClassifier(class_weight="balanced", **QUICK).fit(X, labels).predict_proba(X)[:, 1].mean()
    given = MonotonicClassifier(class_weight={False: 1, True: 9}, **QUICK).fit(X, labels).predict_proba(X)[:, 1].mean()
    assert plain < balanced
    assert plain < given


def test_the_same_seed_gives_the_same_bits_whatever_the_threads():
    X, y, _ = wave(300)
    one = MonotonicRegressor(**QUICK).fit(X, y)
    two = MonotonicRegressor(n_jobs=2, **QUICK).fit(X, y)
    assert one.frozen_.digest == two.frozen_.digest
    other = MonotonicRegressor(**{**QUICK, "random_state": 1}).fit(X, y)
    assert other.frozen_.digest != one.frozen_.digest


@pytest.mark.parametrize("n", [1, 2, 3, 8, 17, 40])
def test_few_rows_are_enough_to_fit_something_finite(n):
    X, y, _ = wave(n)
    model = MonotonicRegressor(monotonic_cst=[1, 0, 0], **QUICK).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_targets_of_any_size_and_constant_ones():
    X, y, _ = wave(200)
    for scale in (1e-150, 1e-9, 1e9, 1e150):
        assert MonotonicRegressor(**{**QUICK, "max_iter": 100}).fit(X, y * scale).score(X, y * scale) > 0.8
    assert np.allclose(MonotonicRegressor(**QUICK).fit(X, np.full(200, 1e6)).predict(X), 1e6, rtol=1e-6)


def test_of_very_many_rows_a_random_part_is_trained_on(monkeypatch):
    X, y, _ = wave(2000)
    monkeypatch.setattr(_sampling, "MAX_ROWS", 500)
    seen = []
    real = procedure.make_problem
    monkeypatch.setattr(procedure, "make_problem", lambda *parts: seen.append(parts[2].n_rows) or real(*parts))
    model = MonotonicRegressor(**QUICK).fit(X, y)
    assert set(seen) == {500}
    assert model.score(X, y) > 0.5


def test_architecture_and_batch_size_are_the_users():
    X, y = credit(200)
    model = MonotonicRegressor(hidden_layer_sizes=(8, 6, 4), batch_size=16, n_bins=0, **QUICK).fit(X, y)
    form = model.frozen_.members[0][0].form
    assert [w.shape[0] for w in form.weights] == [8, 6, 4, 1]
    linear = MonotonicRegressor(hidden_layer_sizes=(), n_bins=0, **QUICK).fit(X, y)
    assert len(linear.frozen_.members[0][0].form.weights) == 1


def test_blas_threads_change_no_bit_and_are_given_back(rng):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    X = rng.normal(size=(40_000, 6))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=40_000)
    digests = set()
    for threads in (1, 2, 4):
        with threadpool_limits(threads, "blas"):
            model = MonotonicRegressor(monotonic_cst=[1, 0, 0, 0, 0, 0], max_iter=1, random_state=0).fit(X, y)
            digests.add(model.frozen_.digest)
            pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
            assert {pool["num_threads"] for pool in pools} == {threads}
    assert len(digests) == 1


@pytest.mark.parametrize("before", [1, 2])
def test_blas_has_one_thread_within_a_fit_and_as_many_as_before_afterwards(before):
    pools = ThreadpoolController().select(user_api="blas")

    def threads():
        return {library.num_threads for library in pools.lib_controllers}

    with pools.limit(limits=before):
        had = threads()
        with one_blas_thread():
            assert threads() == {1}
            with one_blas_thread():
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == had


def test_blas_has_one_thread_whichever_thread_fits_and_whichever_ends_last():
    """threadpoolctl listens to the first thread that ever set a limit, and to no other as long as that lives."""
    pools = ThreadpoolController().select(user_api="blas")
    begun, ending, seen = Event(), Event(), []

    def threads():
        return {library.num_threads for library in pools.lib_controllers}

    def other():
        with one_blas_thread():
            seen.append(threads())
            begun.set()
            ending.wait(10)

    with pools.limit(limits=2):
        had = threads()
        for first in (True, False):  # this thread ends before the other one, and is not there at all
            begun.clear(), ending.clear()
            thread = Thread(target=other)
            with one_blas_thread() if first else nullcontext():
                thread.start()
                begun.wait(10)
            assert threads() == {1}
            ending.set()
            thread.join()
            assert threads() == had
    assert seen == [{1}, {1}]


FORKED = """
import os, threading
import numpy as np
from threadpoolctl import ThreadpoolController
from monolip.estimators import MonotonicRegressor
from monolip.estimators._one_blas_thread import one_blas_thread
pools = ThreadpoolController().select(user_api="blas")
threads = lambda: {library.num_threads for library in pools.lib_controllers}
X = np.random.default_rng(0).normal(size=(300, 6))
fit = lambda: MonotonicRegressor(max_iter=3, random_state=0).fit(X, X[:, 0])
with pools.limit(limits=2):
    had, stop = threads(), threading.Event()
    fit()
    def work():
        while not stop.is_set():
            fit()
    others = [threading.Thread(target=work) for _ in range(3)]
    [thread.start() for thread in others]
    with one_blas_thread():
        child = os.fork()
        if not child:
            fit()
            os._exit(0 if threads() == had else 3)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    stop.set()
    [thread.join() for thread in others]
    print(ended, threads() == had)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is forked here")
def test_a_process_forked_while_others_fit_can_fit_and_has_its_blas_threads():
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=120)
    assert found.stdout.split() == ["0", "True"], found.stderr


def test_all_of_a_fit_has_one_blas_thread(rng, monkeypatch):
    pools, seen = ThreadpoolController().select(user_api="blas"), []
    for name in ("freeze", "make_problem"):
        original = getattr(procedure, name)

        def noting(*given, original=original, **named):
            seen.append({library.num_threads for library in pools.lib_controllers})
            return original(*given, **named)

        monkeypatch.setattr(procedure, name, noting)
    with pools.limit(limits=2):
        MonotonicRegressor(max_iter=3, random_state=0).fit(rng.normal(size=(80, 2)), rng.normal(size=80))
    assert len(seen) >= 2
    assert all(threads == {1} for threads in seen)


def test_whole_numbers_are_classes_however_they_come_and_too_many_are_told(rng):
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
    forms = [y, y.astype(np.uint8), y.astype(bool), y[::-1][::-1]]
    models = [MonotonicClassifier(**QUICK).fit(X, form) for form in (*forms, y.tolist(), y.astype(float))]
    assert len({model.decision_function(X).tobytes() for model in models}) == 1
    with pytest.warns(UserWarning, match="number of unique classes is greater than 50%"):
        MonotonicClassifier(n_estimators=1, max_iter=1, random_state=0).fit(X[:24], np.arange(24) % 13)
