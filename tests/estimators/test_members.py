"""Members: how many, of which kinds, added later, counted in files; their average; threads change no bit."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from monolip.errors import InputError
from monolip.estimators import FitOptions, MonotonicClassifier, MonotonicRegressor

KINDS = {"bin_kinds": (None, 4, 0), "n_bins": 8, "first_steps": 20, "n_stages": 3, "min_stages": 2}
OPTIONS = FitOptions(**KINDS, n_validated=2, n_estimators=9, kind_tolerance=10.0)


def data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] + 0.05 * rng.normal(size=n)


def noise(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X[:, 0] + 2 * rng.normal(size=n)


def regressor(**more):
    return MonotonicRegressor(**{"fit_options": OPTIONS, "random_state": 0, **more})


def kinds_of(model):
    """How many members see so many bins of a feature at most."""
    of_member = {row["member"]: row["n_bins"] for row in model.history_}
    return sorted(list(of_member.values()).count(n_bins) for n_bins in set(of_member.values()))


def without_seconds(model):
    """The history, member by member: rows of members added later come last in it."""
    rows = sorted(model.history_, key=lambda row: (row["member"], row["refit"], row["stage"]))
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@pytest.mark.parametrize(("n", "expected"), [(300, 7), (700, 4)])
def test_as_many_members_as_the_options_say(n, expected):
    options = FitOptions(**KINDS, many_rows=500, n_estimators=(7, 4), n_validated=1, kind_tolerance=10.0)
    model = regressor(fit_options=options).fit(*data(n))
    assert model.n_estimators_ == expected
    assert len({row["member"] for row in model.history_}) == expected


@pytest.mark.parametrize("members", [1, 2, 3, 5, 6, 10])
def test_as_many_members_as_asked_for_shared_out_evenly_over_the_kinds(members):
    model = regressor(n_estimators=members).fit(*data())
    assert model.n_estimators_ == members
    assert len(model.frozen_.members) <= members
    counts = kinds_of(model)
    assert sum(counts) == members
    assert len(counts) == min(members, 3)
    assert counts[-1] - counts[0] <= 1


def test_kinds_with_a_much_higher_validation_loss_are_left_out(rng):
    X = rng.uniform(0, 1, (600, 2))
    y = np.sin(2 * np.pi * 8 * X[:, 0]) + 0.05 * rng.normal(size=600)
    options = FitOptions(**{**KINDS, "n_bins": 64}, n_estimators=6, n_validated=2, kind_tolerance=0.05)
    model = regressor(fit_options=options).fit(X, y)
    chosen = {row["n_bins"] for row in model.history_ if row["chosen"]}
    tried = {row["n_bins"] for row in model.history_}
    assert len(tried) == 3
    assert chosen == {max(tried)}
    assert model.n_estimators_ == 6


def test_features_with_two_values_have_one_kind_of_members(rng):
    X = rng.integers(0, 2, (300, 4)).astype(float)
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=300)
    model = regressor().fit(X, y)
    assert len(kinds_of(model)) == 1
    assert model.n_estimators_ == 9


@pytest.mark.parametrize("n_estimators", [0, 2.5, "many", None, -1])
def test_bad_numbers_of_members_are_refused(n_estimators):
    with pytest.raises(InputError, match="n_estimators is 'auto' or at least 1, a whole number; got"):
        MonotonicRegressor(n_estimators=n_estimators).fit(np.zeros((20, 1)), np.zeros(20))


# -- the average -----------------------------------------------------------------------------------------------------


def test_members_that_stay_additive_are_one_function_and_still_count(tmp_path):
    X, y = noise()
    model = MonotonicRegressor(monotonic_cst=[1, 0], warm_start=True, random_state=0).fit(X, y)
    ((trunk,),) = model.frozen_.members
    assert len(trunk.form.weights) == 1
    count = model.n_estimators_
    assert count > 1
    model.save(tmp_path / "m")
    assert MonotonicRegressor.load(tmp_path / "m").n_estimators_ == count
    more = model.set_params(n_estimators=count + 3).fit(X, y)
    assert more.n_estimators_ == count + 3
    assert len(more.frozen_.members) == 1
    more.save(tmp_path / "m")
    again = MonotonicRegressor.load(tmp_path / "m")
    assert again.n_estimators_ == count + 3
    assert again.history_ == more.history_
    assert more.certificate_ is not None


@pytest.mark.parametrize(
    ("rows", "members"), [(300, "auto"), (300, 1), (300, 12), (10, "auto"), (10, 1), (10, 5), (3000, "auto")]
)
@pytest.mark.parametrize("make", [noise, data])
def test_a_loaded_model_knows_how_many_members_there_are(make, rows, members, tmp_path):
    model = MonotonicRegressor(random_state=0, n_estimators=members, max_iter=20).fit(*make(rows))
    expected = FitOptions().of("n_estimators", rows) if members == "auto" else members
    model.save(tmp_path / "m")
    assert model.n_estimators_ == MonotonicRegressor.load(tmp_path / "m").n_estimators_ == expected


def test_more_members_are_the_mean_of_more_networks(rng):
    """Predictions of fits with other seeds scatter less where more members are averaged."""
    X, y = data(200)
    fresh = rng.uniform(-1, 1, (200, 3))
    spread = []
    for members in (1, 8):
        options = FitOptions(**{**KINDS, "bin_kinds": (None,)}, n_estimators=members, n_validated=1)
        models = [regressor(fit_options=options, random_state=seed).fit(X, y) for seed in range(4)]
        spread.append(np.std([model.predict(fresh) for model in models], axis=0).mean())
    assert spread[1] < 0.8 * spread[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_members_of_classifiers_are_averaged_too(n_classes):
    X, y = data(500)
    classes = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    model = MonotonicClassifier(fit_options=OPTIONS, random_state=0).fit(X, classes)
    assert model.n_estimators_ == 9
    assert model.score(X, classes) > 0.8


# -- members added later ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_bins", ["auto", 5])
@pytest.mark.parametrize(("first", "later"), [(6, 7), (6, 12), (9, 10), (7, 9)])
def test_members_added_later_are_those_of_a_fit_with_all_of_them(first, later, n_bins):
    """From as many members on as are validated; those added later follow, with all rows, to the stage chosen."""
    X, y = data()
    warm = regressor(n_estimators=first, warm_start=True, n_bins=n_bins).fit(X, y)
    warm.set_params(n_estimators=later).fit(X, y)
    cold = regressor(n_estimators=later, n_bins=n_bins).fit(X, y)
    assert warm.frozen_.digest == cold.frozen_.digest
    assert warm.n_estimators_ == cold.n_estimators_ == later
    assert without_seconds(warm) == without_seconds(cold)


def test_members_added_later_are_those_of_a_fit_with_all_where_a_kind_was_left_out(rng):
    X = rng.uniform(0, 1, (600, 2))
    y = np.sin(2 * np.pi * 8 * X[:, 0]) + 0.05 * rng.normal(size=600)
    options = FitOptions(**{**KINDS, "n_bins": 64}, n_estimators=6, n_validated=1, kind_tolerance=0.05)
    warm = regressor(fit_options=options, n_estimators=4, warm_start=True).fit(X, y)
    warm.set_params(n_estimators=7).fit(X, y)
    cold = regressor(fit_options=options, n_estimators=7).fit(X, y)
    assert len({row["n_bins"] for row in cold.history_ if row["chosen"]}) == 1
    assert warm.frozen_.digest == cold.frozen_.digest
    assert without_seconds(warm) == without_seconds(cold)
    numbers = [row["member"] for row in cold.history_ if row["stage"] == 1 and not row["refit"]]
    assert len(numbers) == len(set(numbers))  # no number stands for two members


@pytest.mark.parametrize("make", [MonotonicRegressor, MonotonicClassifier])
@pytest.mark.parametrize("n", [300, 10])
def test_members_added_later_leave_those_there_are_as_they_were(make, n):
    X, y = data(n)
    y = y if make is MonotonicRegressor else (y > 0).astype(int)
    model = make(warm_start=True, fit_options=OPTIONS, n_estimators=2, random_state=0).fit(X, y)
    before = [trunk.form.weights[0] for (trunk,) in model.frozen_.members]
    rows = len(model.history_)
    model.set_params(n_estimators=5).fit(X, y)
    assert model.n_estimators_ == 5
    kept = [trunk.form.weights[0] for (trunk,) in model.frozen_.members]
    if len(before[0]) > 1:  # networks; additive models become one
        assert all(any(np.array_equal(weight, other) for other in kept) for weight in before)
    assert len(model.history_) > rows
    new = [row for row in model.history_[rows:] if row["member"] > 1]
    assert all(row["validation_loss"] is None for row in new)
    assert all(row["training_loss"] is not None for row in new if row["stage"])


def test_members_added_later_make_the_same_steps_under_the_same_decay_on_the_same_bins():
    X, y = data()
    model = regressor(warm_start=True, n_estimators=6).fit(X, y)
    stages = {(row["n_bins"], row["stage"], row["steps"], row["slope_decay"]) for row in model.history_}
    model.set_params(n_estimators=12).fit(X, y)
    added = [row for row in model.history_ if row["member"] >= 6]
    assert {row["member"] for row in added} == set(range(6, 12))
    assert {(row["n_bins"], row["stage"], row["steps"], row["slope_decay"]) for row in added} <= stages


def test_a_warm_start_says_how_many_there_are():
    X, y = data()
    model = regressor(warm_start=True, n_estimators="auto").fit(X, y)
    with pytest.raises(InputError, match="got n_estimators='auto' after 9; raise n_estimators to at least 10"):
        model.fit(X, y)
    with pytest.raises(InputError, match="raise n_estimators to at least 10, or set warm_start=False"):
        model.set_params(n_estimators=9).fit(X, y)
    assert model.set_params(n_estimators=10).fit(X, y).n_estimators_ == 10


@pytest.mark.parametrize("change", [{"max_iter": 1}, {"batch_size": 7}, {"early_stopping": False}])
def test_a_warm_start_refuses_members_that_would_be_trained_otherwise(change):
    X, y = data()
    model = regressor(warm_start=True, n_estimators=6).fit(X, y)
    before = model.predict(X)
    with pytest.raises(InputError, match=rf"got a different {next(iter(change))}; change nothing but n_estimators"):
        model.set_params(n_estimators=7, **change).fit(X, y)
    assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_members_added_later_keep_the_calibration_there_was(n_classes):
    X, y = data()
    classes = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    model = MonotonicClassifier(warm_start=True, fit_options=OPTIONS, n_estimators=6, random_state=0).fit(X, classes)
    before = model.calibration_
    assert before is not None
    assert model.set_params(n_estimators=8).fit(X, classes).calibration_ == before
    unasked = MonotonicClassifier(warm_start=True, fit_options=OPTIONS, n_estimators=6, random_state=0).fit(X, classes)
    assert unasked.set_params(n_estimators=8).fit(X, classes).calibration_ == before


# -- the same bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [300, 3000])
def test_threads_change_no_bit(n):
    X, y = data(n)
    settings = {"max_iter": 30, "batch_size": 100}  # long enough for threads to be used
    digests = {regressor(n_jobs=jobs, **settings).fit(X, y).frozen_.digest for jobs in (1, 2, 3, -1)}
    assert len(digests) == 1
    assert regressor(random_state=1, **settings).fit(X, y).frozen_.digest not in digests


@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_change_no_bit_of_classifiers(n_classes):
    X, y = data(400)
    classes = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    weight = np.random.default_rng(0).uniform(0.5, 2, 400)
    models = [
        MonotonicClassifier(fit_options=OPTIONS, n_jobs=jobs, batch_size=100, random_state=0)
        .fit(X, classes, sample_weight=weight) for jobs in (1, 2)
    ]  # fmt: skip
    assert models[0].frozen_.digest == models[1].frozen_.digest
    assert models[0].calibration_ == models[1].calibration_


def test_a_fit_in_another_thread_has_the_same_bits():
    X, y = data(1500)
    digests = []

    def fit():
        digests.append(regressor(monotonic_cst=[0, 0, 1]).fit(X, y).frozen_.digest)

    with threadpool_limits(2, "blas"):
        fit()
        thread = Thread(target=fit)
        thread.start()
        thread.join()
    assert len(set(digests)) == 1
