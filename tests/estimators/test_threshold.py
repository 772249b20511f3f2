"""Thresholds hit their target as nearly as ties allow, and say how many ties there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monolip.errors import InputError
from monolip.estimators import MonotonicClassifier, choose_threshold

from .tables import QUICK, credit

scores = st.lists(st.integers(0, 6), min_size=1, max_size=30)


@given(scores, st.floats(0, 1))
def test_a_rate_is_never_exceeded_and_one_step_looser_would(values, goal):
    found = choose_threshold(values, rate=goal)
    accepted = np.mean(np.array(values) >= found.value)
    assert accepted == pytest.approx(found.rate)
    assert accepted <= goal + 1e-12
    below = [v for v in values if v < found.value]
    if below:
        assert np.mean(np.array(values) >= max(below)) > goal
    assert found.ties == np.sum(np.array(values) == found.value)


@given(scores, st.floats(0.01, 1), st.integers(0, 2**32 - 1))
def test_a_recall_is_always_reached_and_one_step_tighter_would_not(values, goal, seed):
    y = np.random.default_rng(seed).random(len(values)) < 0.5
    y[0] = True
    found = choose_threshold(values, y, recall=goal)
    positives = np.array(values)[y]
    assert np.mean(positives >= found.value) >= goal - 1e-12
    above = [v for v in values if v > found.value]
    if above:
        assert np.mean(positives >= min(above)) < goal + 1e-12
    assert found == choose_threshold(values, y, efficiency=goal)


def test_weights_count():
    assert choose_threshold([1.0, 2.0, 3.0], rate=0.5, sample_weight=[1, 1, 2]).value == 3.0
    assert choose_threshold([1.0, 2.0, 3.0], rate=0.5, sample_weight=[2, 1, 1]).value == 2.0


def test_a_rate_that_ties_make_impossible_accepts_nobody():
    found = choose_threshold([1.0, 1.0], [True, False], rate=0.3)
    assert found.rate == 0.0
    assert found.value > 1.0


def test_of_a_classifier():
    X, y = credit(300)
    model = MonotonicClassifier(monotonic_cst={"income": 1}, **QUICK).fit(X, y > 10)
    found = model.threshold(X, y > 10, recall=0.9)
    accepted = model.decision_function(X) >= found.value
    assert accepted[y > 10].mean() == found.recall >= 0.9
    three = MonotonicClassifier(**QUICK).fit(X, np.digitize(y, [9.5, 10.5]))
    with pytest.raises(InputError, match="a threshold needs two classes"):
        three.threshold(X, rate=0.1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "exactly one of rate"),
        ({"rate": 0.1, "recall": 0.1}, "exactly one of rate"),
        ({"rate": 1.5}, "exactly one of rate"),
        ({"recall": 0.5}, "a target recall needs y"),
        ({"recall": 0.5, "y": [False, False]}, "at least one positive row"),
        ({"rate": 0.5, "scores": []}, "scores are numbers in one dimension"),
    ],
)
def test_targets_that_make_no_sense_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        choose_threshold(**{"scores": [0.0, 1.0], **arguments})


def test_a_threshold_prints_as_its_table():
    text = repr(choose_threshold([0.1, 0.5, 0.5, 0.9], [0, 1, 0, 1], recall=1.0))
    assert text.splitlines()[1].split() == ["0.5", "0.75", "1", "2"]
