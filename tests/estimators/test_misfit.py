"""What a start leaves over: pairs of features that explain it, and noise that they do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _fitting
from monolip.estimators._misfit import (
    CELLS,
    MOST_OUTER,
    MOST_PAIRS,
    Misfit,
    _number_of_contrasts,
    _pairs,
    _quarters_of,
)


def pairs_of(X, y, **settings) -> bool:
    """Whether the start of a fit misses pairs of features."""
    found, kind = [], MonotonicRegressor if np.asarray(y).dtype.kind == "f" else MonotonicClassifier

    class Watched(Misfit):
        def __init__(self, *given) -> None:
            super().__init__(*given)
            found.append(not Misfit.is_noise(self))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("monolip.estimators._fitting.Misfit", Watched)
        patch.setattr("monolip.estimators._race.EARNED", np.inf)
        kind(random_state=0, **settings).fit(X, y)
    return found[0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:, 0] * x[:, 1],
        lambda x: np.sign(x[:, 0]) * np.sign(x[:, 1]) + 3 * x[:, 2],
        lambda x: np.sin(4 * (x[:, 0] + x[:, 1])),
        lambda x: 2 * np.minimum(x[:, 0], x[:, 1]) + x[:, 2],
    ],
)
def test_pairs_are_found_in_numbers_and_classes(rng, function):
    X = rng.uniform(-1, 1, (800, 5))
    z = function(X)
    assert pairs_of(X, z + 0.3 * np.std(z) * rng.normal(size=800))
    assert pairs_of(X, rng.random(800) < 1 / (1 + np.exp(-6 * (z - np.median(z)))))


def test_noise_around_an_additive_function_is_no_pair(rng):
    """Of forty tables with fifteen pairs each."""
    found = 0
    for _ in range(40):
        X = rng.uniform(-1, 1, (300, 6))
        y = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=300)
        found += pairs_of(X, y, max_iter=1, hidden_layer_sizes=(2,))
    assert found <= 2


def test_a_category_and_a_number_are_a_pair(rng):
    kind = rng.choice(list("abcdefg"), 1000, p=[0.4, 0.3, 0.1, 0.05, 0.05, 0.05, 0.05])
    x = rng.uniform(-1, 1, 1000)
    X = pd.DataFrame({"kind": pd.Categorical(kind), "x": x, "gap": np.where(rng.random(1000) < 0.3, np.nan, x)})
    y = np.where(kind == "a", x, -x) + 0.3 * rng.normal(size=1000)
    assert pairs_of(X, y)
    assert not pairs_of(X, x + (kind == "a") + rng.normal(size=1000))


def test_where_there_is_no_telling_training_goes_on(rng):
    X = rng.uniform(-1, 1, (140, 33))  # more features than are crossed
    assert pairs_of(X, X[:, 0] + rng.normal(size=140), max_iter=1, hidden_layer_sizes=(2,))
    constant = MonotonicRegressor(random_state=0).fit(X[:, :2], np.ones(140))
    assert np.ptp(constant.predict(X[:, :2])) == 0.0


def test_scales_of_target_and_weights_change_nothing(rng):
    X = rng.uniform(-1, 1, (500, 3))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=500)
    for scale in (1e-30, 1.0, 1e30):
        assert pairs_of(X, y * scale)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:, 3] + x[:, 0] * x[:, 1] * x[:, 2],
        lambda x: np.sign(x[:, 0] * x[:, 1] * x[:, 2] * x[:, 3]),
        lambda x: np.where(np.isnan(x[:, 4]), np.sign(x[:, 0]), -np.sign(x[:, 0])),
        lambda x: np.sin(2 * (x[:, 0] + x[:, 1] + x[:, 2])),
    ],
)
def test_three_features_four_and_what_is_missing_are_found(rng, function):
    X = rng.normal(size=(1000, 5))
    X[rng.random(1000) < 0.8, 4] = np.nan
    z = function(X)
    assert pairs_of(X, z + 0.2 * rng.normal(size=1000))
    assert pairs_of(X, rng.random(1000) < 1 / (1 + np.exp(-4 * z)))


def test_a_product_of_three_is_learned(rng):
    X = rng.normal(size=(3000, 4))
    y = X[:, 3] + X[:, 0] * X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=3000)
    for seed in range(4):
        model = MonotonicRegressor(random_state=seed).fit(X[:1000], y[:1000])
        assert np.mean((model.predict(X[1000:]) - y[1000:]) ** 2) < 0.6


def test_a_start_that_is_too_coarse_for_one_feature_leaves_something(rng):
    x = rng.normal(size=(1500, 1))
    y = x[:, 0] ** 2 + 0.3 * rng.normal(size=1500)
    model = MonotonicRegressor(n_bins=4, random_state=0).fit(x, y)
    assert max(entry["n_steps"] for entry in model.history_) >= 100


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([0, 0, 0, 0, 0, 1, 2, 3], 3),
        ([5.0] * 8, 1),
        ([1, 2, 3, 4, 5, 6, 7, 8], 4),
        ([np.nan] * 5 + [1, 2, 3], 3),
        ([np.nan] * 7 + [1], 2),
        ([np.nan] * 8, 1),
        ([0, 1, 1, 1, 1, 1, 1, 1], 2),
        ([0, 0, 0, 0, 0, 0, 0, 1], 2),
        ([0, 1] * 4, 2),
    ],
)
def test_values_that_are_equal_lie_in_one_quarter(values, codes):
    x = np.array(values, dtype=np.float64)
    (found,) = _quarters_of(x[None])
    assert found.min() >= 0
    assert found.max() < CELLS
    assert len(np.unique(found)) >= codes
    for value in np.unique(x):
        same = np.isnan(x) if np.isnan(value) else x == value
        assert len(np.unique(found[same])) == 1


def test_a_path_that_loses_at_once_goes_on_where_two_features_cross(rng, monkeypatch):
    """The first fifty steps of a wave are worse than its start, and say nothing about it."""
    X = rng.random((200, 6))
    z = 2 * np.sin(6 * (X[:, 0] + X[:, 1])) + X[:, 2]
    y = z + 0.5 * rng.normal(size=200)
    model = MonotonicRegressor(random_state=0).fit(X, y)
    fresh = rng.random((2000, 6))
    true = 2 * np.sin(6 * (fresh[:, 0] + fresh[:, 1])) + fresh[:, 2]
    assert np.mean((model.predict(fresh) - true) ** 2) < 0.5 * np.var(true)
    noise = MonotonicRegressor(random_state=0).fit(X, X[:, 2] + rng.normal(size=200))
    steps = [entry["n_steps"] for entry in noise.history_]
    monkeypatch.setattr(_fitting.Misfit, "is_noise", lambda _: False)
    longer = MonotonicRegressor(random_state=0).fit(X, X[:, 2] + rng.normal(size=200))
    assert sum(steps) < sum(entry["n_steps"] for entry in longer.history_)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9, 13, 14, 17])
def test_as_many_contrasts_are_counted_as_are_looked_at(n):
    """Each product of three is looked at three times, of two pairs twice, and once for every way to pair four."""
    three = _pairs(n, 2 * n if n <= MOST_OUTER else n)[2]
    first, second, apart = _pairs(n, n)
    four = (apart[:, first] & apart[:, second]).sum() // 2 if n * (n - 1) // 2 <= MOST_PAIRS else 0
    assert _number_of_contrasts(n) == max(1, three.sum() // 3 + four)
