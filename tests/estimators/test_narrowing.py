"""Features that networks do without: what rows held out decide, what the start keeps, and that nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.engine.judging import JudgedRows
from monolip.engine.problem import Problem
from monolip.engine.training import train
from monolip.engine.training_options import TrainingOptions
from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _narrowing, _race
from monolip.report import plot_history

NOISE = 14


def churn(rng, n):
    """Classes that two pairs of features decide together, beside many features that say nothing."""
    X = rng.normal(size=(n, 4 + NOISE))
    risky = ((X[:, 0] > 0.8) & (X[:, 1] > 0)) | ((X[:, 2] > 0.8) & (X[:, 3] > 0))
    return X, (rng.random(n) < np.where(risky, 0.85, 0.07)).astype(int)


def product(rng, n, noise):
    """A product of two features on top of main effects, beside features with main effects alone."""
    X = rng.normal(size=(n, 12))
    return X, X[:, 0] * X[:, 1] + X[:, 2:] @ np.linspace(0.2, 1, 10) + noise * rng.normal(size=n)


def bent(model) -> set[int]:
    """Features whose first-layer slopes differ between units: networks use them beside the start."""
    inputs, found = model.frozen_.inputs, set()
    for member in model.frozen_.members:
        first = member[0].form.weights[0]
        for j in range(inputs.n_raw):
            columns = first[:, inputs.starts[j] : inputs.starts[j + 1]]
            if (columns != columns[0]).any():
                found.add(j)
    return found


def loss_of(model, X, y):
    p = model.predict_proba(X)[np.arange(len(y)), y]
    return float(-np.log(p).mean())


def test_features_that_say_nothing_are_left_to_the_start(rng, monkeypatch):
    X, y = churn(rng, 9000)
    model = MonotonicClassifier(random_state=0).fit(X[:3000], y[:3000])
    assert {0, 1, 2, 3} <= bent(model)
    assert len(bent(model)) < 4 + NOISE / 2
    taken = [entry for entry in model.history_ if entry["taken"]]
    assert {entry["n_features"] for entry in taken} == {len(bent(model))}
    assert any(not entry["taken"] for entry in model.history_)
    monkeypatch.setattr(_race, "narrowed", lambda recipe, *_: recipe)
    wide = MonotonicClassifier(random_state=0).fit(X[:3000], y[:3000])
    assert len(bent(wide)) == 4 + NOISE
    assert loss_of(model, X[3000:], y[3000:]) < 0.97 * loss_of(wide, X[3000:], y[3000:])


def test_where_networks_lose_those_features_are_tried_that_pairs_tell_of(rng, monkeypatch):
    X, y = product(rng, 4800, 2.0)
    model = MonotonicRegressor(random_state=0).fit(X[:800], y[:800])
    assert bent(model) == {0, 1}
    assert all(model.slopes_[f"x{j}"] != (0.0, 0.0) for j in range(2, 12))  # main effects are the start's
    monkeypatch.setattr(_race, "narrowed", lambda recipe, *_: recipe)
    wide = MonotonicRegressor(random_state=0).fit(X[:800], y[:800])
    error, other = (np.mean((m.predict(X[800:]) - y[800:]) ** 2) for m in (model, wide))
    assert error < 0.97 * other


def test_features_that_help_stay(rng):
    X = rng.uniform(-1, 1, (3000, 4))
    y = np.sin(3 * X[:, 0] * X[:, 1]) + X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=3000)
    model = MonotonicRegressor(random_state=0).fit(X, y)
    assert bent(model) == {0, 1, 2, 3}
    assert {entry["n_features"] for entry in model.history_} == {None}  # nothing else was tried


@pytest.mark.parametrize("direction", [1, -1])
def test_promises_hold_for_features_of_either_kind(rng, direction):
    X, y = churn(rng, 3000)
    told = {0: direction, 5: direction}
    model = MonotonicClassifier(monotonic_cst=[told.get(j, 0) for j in range(X.shape[1])], random_state=0).fit(X, y)
    steps = np.sort(np.concatenate([np.linspace(-4, 4, 1501), np.nextafter(np.linspace(-4, 4, 1501), 9)]))
    for j in told:
        rows = np.repeat(X[:1], len(steps), axis=0)
        rows[:, j] = steps
        assert (direction * np.diff(model.predict_proba(rows)[:, 1]) >= 0).all()


def test_threads_and_followers_keep_to_the_same_features(rng):
    X, y = churn(rng, 3000)
    one = MonotonicClassifier(n_estimators=4, random_state=0).fit(X, y)
    two = MonotonicClassifier(n_estimators=4, random_state=0, n_jobs=2).fit(X, y)
    assert one.frozen_.digest == two.frozen_.digest
    warm = MonotonicClassifier(n_estimators=2, warm_start=True, random_state=0).fit(X, y)
    before = bent(warm)
    warm.set_params(n_estimators=4).fit(X, y)
    assert len(warm.frozen_.members) == 4
    assert bent(warm) == before != set(range(X.shape[1]))


def test_ctrl_c_while_help_is_measured_keeps_the_path(rng, monkeypatch):
    X, y = churn(rng, 3000)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_narrowing, "_helpful", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        model = MonotonicClassifier(random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert len(bent(model)) == X.shape[1]


def test_ctrl_c_in_a_later_round_keeps_the_path_that_was_taken(rng, monkeypatch):
    X, y = churn(rng, 3000)
    asked, ask = [], _narrowing._helpful

    def interrupted_later(*arguments):
        asked.append(1)
        if len(asked) > 1:
            raise KeyboardInterrupt
        return ask(*arguments)

    monkeypatch.setattr(_narrowing, "_helpful", interrupted_later)
    with pytest.warns(UserWarning, match="interrupted"):
        model = MonotonicClassifier(random_state=0).fit(X, y)
    assert len(asked) == 2
    assert {e["n_features"] for e in model.history_ if e["taken"]} == {len(bent(model))} != {X.shape[1]}


def test_paths_of_equally_many_bins_are_told_apart():
    rng = np.random.default_rng(1)
    X = rng.integers(1, 10, (1500, 4)).astype(float)
    y = np.where(X[:, 1] % 2 == 0, 2, -2) * np.where(X[:, 2] > 4, 1, -1) + 0.5 * X[:, 3] * (X[:, 0] > 4)
    model = MonotonicRegressor(random_state=0, n_estimators=1).fit(X, y + 0.3 * rng.normal(size=1500))
    taken = [entry["n_steps"] for entry in model.history_ if entry["taken"] and entry["holdout_loss"] is not None]
    assert taken[:3] == [50, 100, 200]  # from its beginning, and once
    assert taken.count(50) == 1


def test_a_picture_of_the_history_shows_the_path_taken(rng):
    X, y = churn(rng, 3000)
    model = MonotonicClassifier(random_state=0).fit(X, y)
    axis = plot_history(model)
    longest = max(line.get_xdata().max() for line in axis.lines if len(line.get_xdata()))
    taken = sum(e["n_steps"] for e in model.history_ if e["taken"] and e["member"] == 0)
    assert longest <= taken


def test_outputs_without_some_columns_are_means_over_other_rows(rng):
    x, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    problem = Problem(x, y, np.full(5, -2.0), np.full(5, 2.0), double=True)
    network = train(problem, TrainingOptions(n_steps=40)).network
    rows, orders = JudgedRows(problem, np.arange(200)), [rng.permutation(200) for _ in range(3)]
    found = rows.outputs_without(network, slice(1, 3), orders, rows.products(network))
    expected = np.zeros(found.shape)
    for order in orders:
        other = x.copy()
        other[:200, 1:3] = x[:200][order, 1:3]
        changed = Problem(other, y, np.full(5, -2.0), np.full(5, 2.0), double=True)
        expected += JudgedRows(changed, np.arange(200)).outputs(network) / 3
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
