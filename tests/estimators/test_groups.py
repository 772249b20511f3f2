"""Rows that belong together are held out together, and names of groups may be anything that names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monolip.errors import InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor
from monolip.estimators._groups import deal_groups, read_groups


def test_groups_stay_whole_and_folds_are_about_equal(rng):
    groups = rng.integers(0, 200, 4000) ** 2 // 200  # some are large
    folds = deal_groups(groups, 8, rng, 10**6)
    assert all(len(set(folds[groups == g])) == 1 for g in set(groups))
    assert np.bincount(folds).max() - np.bincount(folds).min() < 200
    few = deal_groups(groups % 3, 8, rng, 10**6)
    assert sorted(set(few.tolist())) == [0, 1, 2]
    assert deal_groups(np.zeros(50, int), 8, rng, 10**6) is None


def test_a_fold_needs_no_more_than_so_many_rows(rng):
    groups = rng.integers(0, 500, 5000)
    folds = deal_groups(groups, 8, rng, 100)
    assert all(len(set(folds[groups == g])) == 1 for g in set(groups))
    counts = np.bincount(folds + 1)
    assert counts[0] > 4000
    assert (counts[1:] <= 100).all()
    assert (counts[1:] > 70).all()
    one = deal_groups(np.r_[np.zeros(900, int), np.ones(900, int)], 2, rng, 100)
    assert sorted(set(one.tolist())) == [0, 1]  # a single group is held out whole, however large


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([1, 2], "2 for 100 rows"),
        ("a", "one column"),
        (7, "one column"),
        (np.zeros((100, 2)), "one column"),
        (pd.DataFrame({"a": range(100), "b": range(100)}), "one column"),
        ([{}] * 100, "unhashable"),
        (["a"] * 99 + [None], "none for row 99"),
        ([np.nan] + [1.0] * 99, "none for row 0"),
    ],
    ids=str,
)
def test_what_names_no_groups_is_refused(groups, words, rng):
    X = rng.normal(size=(100, 2))
    for model in (MonotonicRegressor(), MonotonicClassifier()):
        with pytest.raises(InputError, match=words):
            model.fit(X, np.arange(100) % 2, groups=groups)


def test_names_may_be_anything(rng):
    number = np.arange(80) // 4
    plain = read_groups(number, 80)
    for groups in (
        [(int(g), "a") for g in number], pd.Series(number, index=number), pd.DataFrame({"g": number}), number[:, None],
        number.astype(str), [int(g) if g % 2 else str(g) for g in number],
    ):  # fmt: skip
        assert (read_groups(groups, 80) == plain).all()


@pytest.mark.parametrize("n_groups", [2, 5, 40])
def test_few_groups_fit_and_stop(n_groups, rng):
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=400)
    model = MonotonicRegressor(monotonic_cst=[1, 0, 0], random_state=0).fit(X, y, groups=np.arange(400) % n_groups)
    assert np.mean((model.predict(X) - y) ** 2) < 0.1
    again = MonotonicRegressor(monotonic_cst=[1, 0, 0], random_state=0).fit(X, y, groups=np.arange(400) % n_groups)
    assert again.frozen_ == model.frozen_


def test_a_customer_whose_rows_are_copies_is_not_learned_by_heart(rng):
    """Noise that comes again: with groups, rows held out say that there is nothing to learn."""
    X, y = np.repeat(rng.normal(size=(150, 4)), 6, axis=0), np.repeat(rng.normal(size=150), 6)
    groups = np.repeat(np.arange(150), 6)
    model = MonotonicRegressor(monotonic_cst=[1, 0, 0, 0], random_state=0)
    apart = np.mean((model.fit(X, y).predict(X) - y) ** 2)
    together = np.mean((model.fit(X, y, groups=groups).predict(X) - y) ** 2)
    assert together > 0.8 * np.var(y)
    assert apart < together


@pytest.mark.parametrize("largest", [301, 580, 597, 600])
def test_a_group_of_most_rows_is_never_held_out_and_told(largest, rng):
    """As a placeholder for missing names makes one. Held out, it would leave a few rows to learn from."""
    X = rng.normal(size=(600, 3))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.1 * rng.normal(size=600)
    groups = np.maximum(np.arange(600) - largest, -1)
    model = MonotonicRegressor(monotonic_cst=[1, 0, 0], random_state=0)
    words = (
        "all rows are of one group" if largest == 600 else f"{largest} of 600 rows are of one group, .*{600 - largest}"
    )
    with pytest.warns(UserWarning, match=words):
        model.fit(X, y, groups=groups)
    assert np.mean((model.predict(X) - y) ** 2) < 0.05
    if largest < 600:
        folds = deal_groups(groups, 8, rng, 10**6)
        assert (folds[groups == -1] == -1).all()
        assert (folds[groups != -1] >= 0).all()
    assert (deal_groups(groups, 2, rng, 10**6, spare_large=False) >= 0).all() if largest < 600 else True
    model.set_params(early_stopping=False).fit(X, y, groups=groups)  # nobody is held out then: nothing to tell


def test_no_fold_takes_all_rows_of_a_class(rng):
    classes = np.repeat([0, 1], [227, 173])
    assert deal_groups(classes, 8, rng, 10**6, classes=classes) is None  # a group for each class: nothing to hold out
    groups = np.r_[np.arange(227) // 5, np.full(173, 99)]
    folds = deal_groups(groups, 8, rng, 10**6, classes=classes)
    assert (folds[classes == 1] == -1).all()
    assert set(folds.tolist()) == {-1, *range(int(folds.max()) + 1)}
    X = rng.normal(size=(400, 2)) + classes[:, None]
    model = MonotonicClassifier(monotonic_cst=[1, 0], random_state=0)
    with pytest.warns(UserWarning, match="227 of 400 rows are of one group"):
        model.fit(X, classes, groups=classes)
    assert model.score(X, classes) > 0.7
