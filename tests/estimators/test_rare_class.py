"""Probabilities of classes with very few rows, and target means of models that an older version made."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.estimators import MonotonicClassifier
from monolip.estimators._categories import encode, first_mean
from monolip.estimators._tables import RawColumn
from monolip.estimators.fit_options import FitOptions
from monolip.input_columns import CategoryColumn


@pytest.mark.parametrize(("n", "rare"), [(3000, 4), (20_000, 6)])
def test_probabilities_of_a_rare_class_are_not_driven_to_nothing(rng, n, rare):
    X, y = rng.normal(size=(n, 6)), np.zeros(n, int)
    y[rng.permutation(n)[:rare]] = 1
    mean = MonotonicClassifier(random_state=0).fit(X, y).predict_proba(X)[:, 1].mean()
    assert 0.25 < mean * n / rare < 4


@pytest.mark.parametrize("single", [FitOptions.one_hot_levels, 32])
def test_target_means_are_found_where_they_are(rng, single):
    labels = [f"c{k:02d}" for k in range(40)]
    values = np.array(labels, object)[rng.integers(0, 40, 4000)]
    column = encode(RawColumn("c", values), tuple(labels), ordered=False, target=rng.normal(size=4000))
    assert first_mean(column) == FitOptions.one_hot_levels
    wider = np.zeros((42, 33))
    wider[np.arange(32), np.arange(32)] = 1.0
    wider[:, 32] = column.table[:, FitOptions.one_hot_levels]
    table = column.table if single == FitOptions.one_hot_levels else wider
    assert first_mean(CategoryColumn("c", tuple(labels), table, False)) == single
    assert first_mean(CategoryColumn("c", tuple(labels), table[:, :single], False)) == single
