"""The audit finds what is broken, shrinks it to what shows it, and finds nothing where nothing is broken."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor

from monolip.certify import audit
from monolip.errors import InputError, SlopeError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
Y = X[:, 0] + np.sin(2 * X[:, 1]) - 0.8 * X[:, 2] + 0.5 * RNG.standard_t(3, size=600)
CST = [1, 0, -1, 0]
QUICK = {"max_evaluations": 24_000, "max_rows": 60}


def falls_at(threshold, drop=0.25):
    """Increasing everywhere but at one number."""
    return lambda x: x[:, 0] - drop * (x[:, 0] > threshold)


def test_one_fall_is_found_and_shrunk_to_neighbouring_floats():
    report = audit(falls_at(0.3), X, [1, 0, 0, 0], **QUICK)
    assert report.violated
    assert report.beyond_rounding
    one = report.violations[0]
    assert (one.value_from, one.value_to) == (0.3, np.nextafter(0.3, 1))
    assert one.drop == pytest.approx(0.25)
    assert one.changed == 0
    assert report.features[0].share_affected == 1.0
    assert "not a proof" not in str(report)  # a find is one


@pytest.mark.parametrize("sign", [1, -1])
def test_every_counterexample_falls_when_scored_again(sign):
    model = HistGradientBoostingRegressor(loss="quantile", quantile=0.9, monotonic_cst=CST, max_iter=60).fit(X, Y)

    def predict(x):
        return sign * model.predict(x)

    report = audit(predict, X, np.multiply(sign, CST), **QUICK)
    assert len(report.violations) > 4
    before, after = predict(report.before), predict(report.after)
    assert (before > after).all()
    np.testing.assert_array_equal(before - after, [one.drop for one in report.violations])
    assert np.count_nonzero(report.before != report.after, axis=1).max() == 1
    for one, start, end in zip(report.violations, report.before, report.after, strict=True):
        j = int(one.feature[1:])
        assert (start[j], end[j]) == (one.value_from, one.value_to)
        assert np.sign(end[j] - start[j]) == sign * CST[j]


@pytest.mark.parametrize("loss", ["quantile", "absolute_error"])
def test_silent_violations_of_histogram_boosting_are_found(loss):
    given = {"quantile": 0.9} if loss == "quantile" else {}
    model = HistGradientBoostingRegressor(loss=loss, monotonic_cst=CST, max_iter=60, **given).fit(X, Y)
    report = audit(model, X, CST, **QUICK)
    assert report.beyond_rounding
    assert report.thresholds_read > 50
    assert report.worst_drop > 0.02


def test_nothing_is_found_in_histogram_boosting_that_is_monotone():
    model = HistGradientBoostingRegressor(monotonic_cst=CST, max_iter=40).fit(X, Y)
    report = audit(model, X, CST, **QUICK)
    assert not report.violated
    assert report.worst_drop == 0.0
    assert report.violations == ()
    assert len(report.before) == 0
    assert "no violation found" in str(report)
    assert "not a proof" in str(report)


def test_nothing_is_found_in_our_estimators():
    model = MonotonicRegressor(monotonic_cst=CST, random_state=0, max_iter=30).fit(X, Y)
    assert not audit(model, X, CST, **QUICK).violated
    labels = np.digitize(Y, [-0.5, 0.5])
    cst = {"x0": {2: 1}}
    classifier = MonotonicClassifier(monotonic_cst={0: {2: 1}}, random_state=0, max_iter=30).fit(X, labels)
    assert not audit(classifier, X, cst, **QUICK).violated
    binary = MonotonicClassifier(monotonic_cst=CST, random_state=0, max_iter=30).fit(X, Y > 0)
    assert not audit(binary, X, CST, **QUICK).violated
    assert audit(binary, X, {"x0": {False: 1}}, **QUICK).violated


def test_a_tree_threshold_far_from_the_data_is_found_through_the_model():
    """A fall inside [0.5, 0.5 + 1e-9] of one of many features is invisible to any grid of data."""
    data = np.repeat(np.arange(200) / 200, 3)[:, None] * np.ones((1, 2))
    target = data[:, 0] - 0.5 * (np.abs(data[:, 0] - 0.25) < 1e-12)
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor().fit(data, target)
    assert audit(tree, data[::50], [1, 1], **QUICK).violated


def test_rounding_and_real_violations_are_told_apart():
    def rounds(x):
        x = x.astype(np.float32)
        return (x[:, 0] + np.float32(1e3) * x[:, 1]) - np.float32(1e3) * x[:, 1] + np.float32(0.5) * x[:, 0]

    report = audit(rounds, X, [1, 0, 0, 0], **QUICK)
    assert report.violated or not report.beyond_rounding
    wave = audit(lambda x: x[:, 0] + 1e-15 * np.sin(1e17 * x[:, 0]), X, [1, 0, 0, 0], **QUICK)
    assert wave.violated
    assert not wave.beyond_rounding
    assert {one.size for one in wave.violations} == {"rounding"}
    assert "rounding only" in str(wave)


def test_a_tolerance_silences_what_is_below_it():
    assert audit(falls_at(0.3), X, [1, 0, 0, 0], tolerance=0.2, **QUICK).violated
    assert not audit(falls_at(0.3), X, [1, 0, 0, 0], tolerance=0.26, **QUICK).violated


def test_same_seed_same_report():
    def model(x):
        return x[:, 0] - 0.5 * (x[:, 0] > 0.1) * (x[:, 1] > 1.5) * (x[:, 3] < -1)

    first, again = (audit(model, X, [1, 0, 0, 0], seed=3, max_seconds=None, **QUICK) for _ in range(2))
    assert str(first).split(" s, ")[1] == str(again).split(" s, ")[1]
    for field in dataclasses.fields(first):
        if field.name not in ("seconds", "features"):
            np.testing.assert_array_equal(getattr(first, field.name), getattr(again, field.name))


def test_breeding_finds_a_corner_no_row_is_in():
    """The fall needs three other features in a corner that holds about one row in a hundred thousand."""

    def model(x):
        corner = (x[:, 1] > 1.9) & (x[:, 2] < -1.7) & (x[:, 3] > 1.5)
        slope = 0.001 * ((x[:, 1] > 1.5) | (x[:, 3] > 1.5))
        return x[:, 0] - (slope + corner) * (x[:, 0] > 0)

    corner = (X[:, 1] > 1.9) & (X[:, 2] < -1.7) & (X[:, 3] > 1.5)
    assert not corner.any()
    report = audit(model, X, [1, 0, 0, 0], max_rows=500, max_evaluations=300_000)
    assert report.worst_drop > 0.5
    assert report.violations[0].changed > 0


def test_beyond_range_can_be_switched_off():
    model = falls_at(X[:, 0].max() + 0.1, drop=50.0)
    assert audit(model, X, [1, 0, 0, 0], **QUICK).violated
    assert not audit(model, X, [1, 0, 0, 0], beyond_range=False, **QUICK).violated
    assert not audit(model, np.ones((3, 4)), [1, 0, 0, 0], beyond_range=False, **QUICK).violated


def test_bits_that_depend_on_the_batch_are_reported_and_not_blamed_on_the_feature():
    def by_size(x):
        return x[:, 0] + 1e-9 * (len(x) % 7)

    def by_place(x):
        return x[:, 0] + 1e-9 * (np.arange(len(x)) % 8)

    for model in (by_size, by_place):
        report = audit(model, X, [1, 0, 0, 0], **QUICK)
        assert not report.violated
        assert report.batch_dependent > 0.5
        assert "batches of other sizes" in str(report)
    assert audit(falls_at(0), X, [1, 0, 0, 0], **QUICK).batch_dependent == 0.0


def test_what_does_not_fall_again_is_not_listed():
    """Falls in batches of 60 rows only: the search finds it, the handed-out tables do not show it."""

    def model(x):
        return x[:, 0] - 0.5 * (x[:, 0] > 0.3) * (len(x) == 60)

    report = audit(model, X, [1, 0, 0, 0], **QUICK, max_counterexamples=7)
    assert report.violations == ()
    assert report.not_replayed > 0
    assert "not listed" in str(report)


def test_infinite_scores_are_ordered_too():
    def up(x):
        return np.where(x[:, 0] > 1, np.inf, np.where(x[:, 0] < -1, -np.inf, x[:, 0]))

    assert not audit(up, X, [1, 0, 0, 0], **QUICK).violated
    down = audit(lambda x: -up(x), X, [1, 0, 0, 0], **QUICK)
    assert down.worst_drop == np.inf
    assert down.beyond_rounding
    assert len(down.violations) > 0

    def gap(x):  # NaN is no place in an order: not a fall
        return np.where((x[:, 0] > X[:, 0].max()) | (x[:, 0] < X[:, 0].min()), np.nan, x[:, 0])

    assert not audit(gap, X, [1, 0, 0, 0], **QUICK).violated


def test_frozen_networks_are_audited_with_and_without_raw_columns():
    frozen = MonotonicRegressor(monotonic_cst=CST, random_state=0, max_iter=20).fit(X, Y).frozen_
    assert not audit(frozen, X, CST, **QUICK).violated
    assert audit(frozen, X, np.negative(CST), **QUICK).beyond_rounding
    from monolip import ConvexForm, FrozenNetwork, SlopeBounds
    from monolip.frozen import Trunk

    line = FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(ConvexForm(([[0.5]],), ([0.25],), ()), (0,)),),))
    assert not audit(line, X[:, :1], [1], **QUICK).violated


def test_progress_is_shown_when_asked_for(capsys):
    audit(falls_at(0), X, [1, 0, 0, 0], verbose=1, **QUICK)
    assert "rows scored" in capsys.readouterr().err
    audit(falls_at(0), X, [1, 0, 0, 0], **QUICK)
    assert capsys.readouterr().err == ""


def test_time_is_kept():
    import time

    def slow(x):
        time.sleep(0.02)
        return x[:, 0]

    report = audit(slow, X, [1, 1, 0, 0], max_seconds=0.5)
    assert report.seconds < 10
    assert report.out_of_time
    assert "not searched" in str(report) or "max_seconds" in str(report)


@pytest.mark.parametrize(
    ("model", "cst", "error", "words"),
    [
        (falls_at(0), [0, 0, 0, 0], SlopeError, "needs a direction"),
        (falls_at(0), [1, 0], SlopeError, "one entry per feature"),
        (falls_at(0), {"x9": 1}, SlopeError, "x9"),
        (lambda x: np.full(len(x), np.nan), [1, 0, 0, 0], InputError, "NaN"),
        (lambda x: np.array(["a"] * len(x)), [1, 0, 0, 0], InputError, "numbers"),
        (lambda x: np.zeros(3), [1, 0, 0, 0], InputError, "3 scores"),
        (lambda x: RNG.normal(size=len(x)), [1, 0, 0, 0], InputError, "randomness"),
        (3, [1, 0, 0, 0], InputError, "int"),
        ("nowhere.onnx", [1, 0, 0, 0], InputError, "nowhere.onnx"),
    ],
)
def test_what_cannot_be_audited_is_refused_with_a_reason(model, cst, error, words):
    with pytest.raises(error, match=words):
        audit(model, X, cst)


@pytest.mark.parametrize(
    "given",
    [
        {"tolerance": -1.0},
        {"tolerance": float("nan")},
        {"max_rows": 0},
        {"max_evaluations": 2.5},
        {"max_evaluations": 9},
    ],
)
def test_settings_that_mean_nothing_are_refused(given):
    with pytest.raises(InputError, match="got"):
        audit(falls_at(0), X, [1, 0, 0, 0], **given)


@pytest.mark.parametrize("limit", [10, 11, 137, 1_000, 4_001, 20_000])
@pytest.mark.parametrize("threshold", [0.3, np.inf])
def test_a_search_scores_no_more_rows_than_it_may(limit, threshold):
    """Every row that the model was asked for is counted: in the search, or afterwards."""
    asked = []

    def model(x):
        asked.append(len(x))
        return np.nan_to_num(falls_at(threshold)(x))

    report = audit(model, np.where(X > 2, np.nan, X), [1, 0, 0, 0], max_evaluations=limit)
    assert report.evaluations <= limit
    assert report.evaluations + report.later_evaluations == sum(asked)
    assert report.evaluations >= limit / 2  # and no part of it is left lying
    assert (" more to shrink what was found" in str(report)) == bool(report.violations)


@settings(max_examples=25, deadline=None)
@given(
    threshold=st.floats(-2, 2),
    drop=st.floats(1e-6, 3),
    direction=st.sampled_from([1, -1]),
    feature=st.integers(0, 3),
)
def test_a_fall_anywhere_in_the_data_is_found(threshold, drop, direction, feature):
    def model(x):
        z = direction * x[:, feature]
        return np.floor(z * 4) / 4 * 1e-9 - drop * (z > threshold)

    cst = np.zeros(4, int)
    cst[feature] = direction
    report = audit(model, X[:60], cst, max_evaluations=8_000)
    assert report.worst_drop >= drop * 0.99
    one = report.violations[0]
    assert min(direction * one.value_from, direction * one.value_to) <= threshold
    assert max(direction * one.value_from, direction * one.value_to) > threshold
    assert abs(one.value_from - one.value_to) < 1e-9


def test_every_feature_has_a_turn_however_little_may_be_scored():
    X = np.random.default_rng(0).normal(size=(200, 30))
    report = audit(lambda x: x[:, :29].sum(axis=1) - x[:, 29], X, [1] * 30, max_evaluations=10_000)
    assert report.violated
    assert report.evaluations <= 10_000
    assert not any(np.isnan(feature.share_affected) for feature in report.features)


def test_features_that_were_not_searched_are_counted_in_the_headline():
    X = np.random.default_rng(0).normal(size=(200, 30))
    report = audit(lambda x: x.sum(axis=1), X, [1] * 30, max_evaluations=10)
    assert "27 of 30 not searched" in str(report).splitlines()[0]
    assert f"{report.later_evaluations:,} more to draw curves" in str(report).splitlines()[0]


def test_rows_that_gradients_are_taken_of_count_too():
    scored = 0

    def count(x):
        nonlocal scored
        scored += len(x)
        return x.sum(axis=1)

    def gradient(x):
        nonlocal scored
        scored += len(x)
        return np.ones_like(x)

    X = np.random.default_rng(0).normal(size=(100, 3))
    report = audit(count, X, [1, 1, 1], gradient=gradient, max_evaluations=20_000)
    assert report.evaluations <= 20_000
    assert scored == report.evaluations + report.later_evaluations
