"""Which rows are validated on: folds of equal size, with a share of every class, random, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.estimators import FitOptions, MonotonicClassifier
from monolip.estimators._targets import class_target, number_target
from monolip.estimators.folds import every_row, make_folds, rows_of_fold


def folds_of(classes, rng, **options):
    labels = np.arange(int(classes.max()) + 1)
    return make_folds(class_target(classes, labels, None, None), FitOptions(**options), rng)


@pytest.mark.parametrize("n_folds", [8, 4])
def test_folds_are_equal_and_hold_an_equal_share_of_every_class(rng, n_folds):
    classes = rng.choice([0, 1, 2], 800, p=[0.9, 0.09, 0.01])
    folds = folds_of(classes, rng, validation_fraction=1 / n_folds)
    assert np.bincount(folds).tolist() == [800 // n_folds] * n_folds
    for k in range(3):
        share = np.bincount(folds[classes == k], minlength=n_folds)
        assert share.max() - share.min() <= 1


@pytest.mark.parametrize("rare", [2, 5, 8, 15])
def test_the_first_folds_hold_rows_of_a_rare_class(rng, rare):
    classes = np.zeros(4000, np.int64)
    classes[rng.permutation(4000)[:rare]] = 1
    folds = folds_of(classes, rng, validation_fraction=1 / 8)
    held = np.bincount(folds[classes == 1], minlength=8)
    assert (held[: min(rare, 8)] > 0).all()
    assert held.max() - held.min() <= 1
    assert np.ptp(np.bincount(folds)) <= 1


@pytest.mark.parametrize("n", [16, 17, 100, 1001])
def test_every_row_is_trained_on_or_validated_on(rng, n):
    target = number_target(rng.normal(size=n), "squared_error", None, None, None, n)
    folds = make_folds(target, FitOptions(), rng)
    assert np.ptp(np.bincount(folds)) <= 1
    seen = []
    for fold in range(int(folds.max()) + 1):
        trained, validated = rows_of_fold(folds, fold)
        assert np.array_equal(np.sort(np.concatenate([trained, validated])), every_row(n))
        seen.append(validated)
    assert np.array_equal(np.sort(np.concatenate(seen)), every_row(n))


def test_with_very_few_rows_there_are_no_folds(rng):
    target = number_target(rng.normal(size=15), "squared_error", None, None, None, 15)
    assert make_folds(target, FitOptions(), rng) is None


def test_rows_beyond_the_most_that_are_needed_are_always_trained_on(rng):
    target = number_target(rng.normal(size=4000), "squared_error", None, None, None, 4000)
    folds = make_folds(target, FitOptions(max_validation_rows=30), rng)
    for fold in range(int(folds.max()) + 1):
        trained, validated = rows_of_fold(folds, fold)
        assert len(validated) == 30
        assert len(trained) == 3970


def test_the_same_seed_deals_the_same_folds():
    target = number_target(np.arange(500.0), "squared_error", None, None, None, 500)
    one, two = (make_folds(target, FitOptions(), np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, make_folds(target, FitOptions(), np.random.default_rng(8)))


def test_validation_rows_are_random_rows_of_a_sorted_table(rng):
    X = rng.normal(size=(2400, 2))
    y = np.sort((rng.random(2400) < 0.3).astype(int))
    options = FitOptions(max_validation_rows=100)
    model = MonotonicClassifier(fit_options=options, random_state=0).fit(X, y)
    assert model.calibration_.error < 0.15
