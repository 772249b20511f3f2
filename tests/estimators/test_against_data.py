"""A promise that the rows speak against is told; noise, weak features and right promises are not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.errors import PromiseWarning
from monolip.estimators._against_data import MOST, against_the_data

arrow = pytest.importorskip("pyarrow")


def rows(seed: int = 0, n: int = 600) -> tuple[object, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    x[::17, 1] = np.nan
    y = x[:, 0] - np.nan_to_num(x[:, 1]) + 0.5 * rng.normal(size=n)
    return arrow.table({"up": x[:, 0], "down": x[:, 1], "noise": x[:, 2]}), y


def told(signs: dict[str, int], seed: int = 0, weight: bool = False) -> list[str]:
    X, y = rows(seed)
    model = MonotonicRegressor(monotonic_cst=signs, max_iter=5, random_state=0)
    w = np.ones(len(y)) if weight else None
    return list(against_the_data(model.fit(X, y, sample_weight=w), X, y, w))


def test_fit_warns_as_scikit_learn_users_expect_and_as_an_error_it_harms_no_model():
    X, y = rows()
    right = MonotonicRegressor(monotonic_cst={"up": 1}, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right.fit(X, y)
    before = right.predict(X)
    with pytest.warns(PromiseWarning, match="'up' was promised to be decreasing and ended flat") as caught:
        MonotonicRegressor(monotonic_cst={"up": -1}, max_iter=5, random_state=0).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__  # it names the line that asked for the fit
    right.set_params(monotonic_cst={"up": -1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PromiseWarning):
            right.fit(X, y)
    assert np.array_equal(right.predict(X), before)


def test_links_and_offsets():
    """Under every link what is unexplained is told from what is expected, exposures included."""
    X, y = rows(3)
    shift = np.random.default_rng(3).normal(size=len(y))
    for loss, target in (("poisson", np.round(np.exp(y + shift))), ("absolute_error", y + shift)):
        for sign, count in ((1, 0), (-1, 1)):
            model = MonotonicRegressor(loss=loss, monotonic_cst={"up": sign}, max_iter=5, random_state=0)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(X, target, offset=shift)
            assert len(caught) == count


def test_many_rows_take_a_part():
    X, y = rows(4, 3 * MOST)
    model = MonotonicRegressor(monotonic_cst={"up": -1, "noise": 1}, max_iter=2, random_state=0).fit(X, y)
    assert len(list(against_the_data(model, X, y))) == 1


def test_a_wrong_sign_is_told():
    (one,) = told({"up": -1, "down": -1})
    assert one.startswith("'up' was promised to be decreasing and ended flat")
    assert "rises with it" in one
    (two,) = told({"up": 1, "down": 1}, weight=True)
    assert "'down' was promised to be increasing" in two
    assert "falls with it" in two


@pytest.mark.parametrize("seed", range(4))
def test_right_promises_and_noise_are_not(seed: int):
    for sign in (1, -1):
        assert told({"up": 1, "down": -1, "noise": sign}, seed) == []


def test_classes_two_and_three():
    X, y = rows(1)
    two = np.where(y > 0, "yes", "no")
    model = MonotonicClassifier(monotonic_cst={"up": {"no": 1}}, max_iter=5, random_state=0).fit(X, two)
    (one,) = against_the_data(model, X, two)
    assert "'up' was promised to be increasing in P(y = no) and ended flat" in one
    assert "unexplained falls with it" in one
    assert one.endswith("Of P(y = yes) it is written {'up': {'yes': +1}} (command line: --positive yes).")
    plain = MonotonicClassifier(monotonic_cst={"up": {"yes": -1}}, max_iter=5, random_state=0).fit(X, two)
    (one,) = against_the_data(plain, X, two)
    assert "'up' was promised to be decreasing in P(y = yes)" in one
    assert "unexplained rises with it" in one
    assert one.endswith("Of P(y = no) it is written {'up': {'no': -1}} (command line: --positive no).")
    right = MonotonicClassifier(monotonic_cst={"up": {"no": -1}}, max_iter=5, random_state=0).fit(X, two)
    assert list(against_the_data(right, X, two)) == []
    three = np.digitize(y, [-0.5, 0.5])
    many = MonotonicClassifier(monotonic_cst={"up": {2: 1}}, max_iter=5, random_state=0).fit(X, three)
    assert list(against_the_data(many, X, three)) == []


def test_columns_without_an_answer():
    _, y = rows(2)
    odd = arrow.table({"same": np.ones(len(y)), "far": np.where(y > 0, 1e300, -1e300), "whole": np.arange(len(y))})
    model = MonotonicRegressor(monotonic_cst={"same": 1, "far": 1, "whole": 1}, max_iter=2, random_state=0)
    assert list(against_the_data(model.fit(odd, y), odd, y)) == []


@pytest.mark.parametrize("kind", [MonotonicRegressor, MonotonicClassifier])
def test_a_wrong_sign_is_told_where_trees_read_the_feature(kind):
    """They have no slopes, and as little of what was forbidden as the network."""
    read = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 8))
        z = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=400)
        y = z if kind is MonotonicRegressor else z > 0
        model = kind(monotonic_cst=[-1, -1, 0, 0, 0, 0, 0, 0], trees=True, random_state=seed)
        with pytest.warns(PromiseWarning, match="'x0' was promised to be decreasing"):
            model.fit(X, y)
        assert len(list(against_the_data(model, X, y))) == 1
        read += "x0" in model.tree_features_
        right = kind(monotonic_cst=[1, -1, 0, 0, 0, 0, 0, 0], trees=True, random_state=seed).fit(X, y)
        assert not list(against_the_data(right, X, y))
    assert read >= 3


@pytest.mark.parametrize("sign", [1, -1])
def test_promises_are_looked_at_where_trees_read_other_features(sign):
    """By a fit, and by who asks afterwards: both say the same."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 3))
    y = X[:, 0] + np.floor(60 * X[:, 1]) % 3
    model = MonotonicRegressor(monotonic_cst=[sign, 0, 0], trees="free", random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert model.tree_features_ == ("x1", "x2")
    told = list(against_the_data(model, X, y))
    assert told == [str(warning.message) for warning in caught if warning.category is PromiseWarning]
    assert sign < 0 or not told
