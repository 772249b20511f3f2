"""Few bins or many: what the rows held out decide, and that nothing else depends on the race."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from monolip.errors import InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _fitting, _race
from monolip.estimators._calibration import calibrate
from monolip.estimators._fineness import MOST_PIECES, too_fine
from monolip.estimators._misfit import Misfit
from monolip.estimators._preparing import penalties
from monolip.estimators._recipe import Recipe
from monolip.estimators._schema import learn_schema
from monolip.estimators._tables import read_table


def bins_of(model: MonotonicRegressor) -> int:
    return len(model.frozen_.inputs.columns[0].maps) - 1


def waves(rng: np.random.Generator, n: int, count: float, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(0, 1, (n, 2))
    return X, np.sin(2 * np.pi * count * X[:, 0]) + noise * rng.normal(size=n)


@pytest.mark.parametrize("n", [1500, 6000])
def test_many_bins_are_for_features_with_many_bends(rng, n):
    X, y = waves(rng, n, 8)
    model = MonotonicRegressor(random_state=0).fit(X[: n // 2], y[: n // 2])
    assert bins_of(model) == _race.MANY
    few = MonotonicRegressor(n_bins=_race.FEW, random_state=0).fit(X[: n // 2], y[: n // 2])
    error, other = (np.mean((m.predict(X[n // 2 :]) - y[n // 2 :]) ** 2) for m in (model, few))
    assert error < 0.5 * other


def test_noise_and_straight_lines_keep_few(rng):
    X = rng.uniform(-1, 1, (1500, 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=1500)
    model = MonotonicRegressor(monotonic_cst=[1, -1, 0, 0], random_state=0).fit(X, y)
    assert bins_of(model) == _race.FEW
    explicit = MonotonicRegressor(monotonic_cst=[1, -1, 0, 0], n_bins=_race.FEW, random_state=0).fit(X, y)
    assert model.frozen_.digest == explicit.frozen_.digest  # as if nobody had asked


def test_the_winner_is_what_its_number_of_bins_gives(rng):
    X, y = waves(rng, 1500, 8)
    model = MonotonicRegressor(random_state=0).fit(X, y)
    explicit = MonotonicRegressor(n_bins=_race.MANY, random_state=0).fit(X, y)
    assert model.frozen_.digest == explicit.frozen_.digest
    assert len(model.history_) > len(explicit.history_)  # the path that was given up is told too


def test_a_promise_holds_with_many_bins(rng):
    X = rng.uniform(0, 1, (1500, 2))
    y = np.floor(12 * X[:, 0]) + np.sin(9 * X[:, 1])
    model = MonotonicRegressor(monotonic_cst=[1, 0], random_state=0).fit(X, y)
    assert bins_of(model) == _race.MANY
    grid = np.sort(np.concatenate([np.linspace(-0.5, 1.5, 4001), np.nextafter(np.linspace(0, 1, 4001), 2)]))
    for other in (0.1, 0.5, 0.9):
        assert (np.diff(model.predict(np.column_stack([grid, np.full(len(grid), other)]))) >= 0).all()
    assert model.slopes_["x0"][0] >= 0


def test_features_of_few_values_are_not_tried_twice(rng):
    X = rng.integers(0, 5, (1200, 3)).astype(float)
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=1200)
    model = MonotonicRegressor(random_state=0).fit(X, y)
    seen = [(entry["member"], entry["n_steps"]) for entry in model.history_ if entry["holdout_loss"] is not None]
    assert len(seen) == len(set(seen))


def test_warm_members_keep_the_bins_that_won(rng):
    X, y = waves(rng, 1500, 8)
    warm = MonotonicRegressor(n_estimators=2, warm_start=True, random_state=0).fit(X, y)
    warm.set_params(n_estimators=3).fit(X, y)
    assert bins_of(warm) == _race.MANY
    assert len(warm.frozen_.members) == 3


def test_time_that_ends_in_the_race_ends_it(rng):
    X, y = waves(rng, 1500, 8)
    model = MonotonicRegressor(max_time=1e-3, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_an_interrupt_in_the_race_keeps_the_first_path(rng, monkeypatch):
    X, y = waves(rng, 1500, 8)
    real, made = Recipe.climb, []

    def climb(self, until):
        made.append(self)
        if len(made) == 2:
            self.coach.interrupted = True
        return real(self, until)

    monkeypatch.setattr(Recipe, "climb", climb)
    model = MonotonicRegressor(random_state=0)
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(X, y)
    assert bins_of(model) == _race.FEW


@pytest.mark.parametrize("place", ["learn_inputs", "make_problem", "penalties"])
def test_an_interrupt_while_the_second_path_is_made_keeps_the_first(rng, monkeypatch, place):
    X, y = waves(rng, 1500, 8)
    real, calls = getattr(_fitting, place), []

    def interrupted(*given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(_fitting, place, interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        model = MonotonicRegressor(random_state=0).fit(X, y)
    assert bins_of(model) == _race.FEW


def test_a_second_path_is_begun_only_with_time_for_it(rng, monkeypatch):
    X, y = waves(rng, 1500, 8)
    monkeypatch.setattr(_race, "LONGER", np.inf)
    assert bins_of(MonotonicRegressor(max_time=60.0, random_state=0).fit(X, y)) == _race.FEW
    assert bins_of(MonotonicRegressor(random_state=0).fit(X, y)) == _race.MANY  # there is no end of time


def test_features_full_of_one_value_still_get_a_certificate_that_is_accepted(rng, monkeypatch):
    """One value in four rows of ten doubles the quantiles; the checker takes so many pieces and no more."""
    X = rng.uniform(-3, 3, (3000, 24))
    X[rng.random(X.shape) < 0.42] = 0.0
    y = np.floor(X[:, 0] * 6) / 6 + 0.5 * np.sin(20 * X[:, 1]) + 0.02 * rng.normal(size=3000)
    monkeypatch.setattr(Misfit, "bends", lambda _: True)
    monkeypatch.setattr(_race, "WORTH", -np.inf)  # many bins win
    quick = {"n_estimators": 1, "hidden_layer_sizes": (4,), "max_iter": 12, "random_state": 0}
    model = MonotonicRegressor(**quick).fit(X, y)
    assert bins_of(model) > 2 * _race.FEW
    assert not too_fine(model.frozen_.inputs)
    monkeypatch.setattr(_race, "too_fine", lambda _: False)
    assert too_fine(MonotonicRegressor(**quick).fit(X, y).frozen_.inputs)  # as it would be
    with pytest.raises(InputError, match=r"n_bins=250 with 24 features is more than that; use n_bins='auto', or at"):
        MonotonicRegressor(n_bins=250).fit(X, y)
    with pytest.raises(InputError, match=r"n_bins is 'auto' or 0 to 256, a whole number; got 257"):
        MonotonicRegressor(n_bins=257).fit(X, y)


def test_the_checker_has_the_same_limit():
    text = (Path(__file__).parents[2] / "checker" / "monolip_check.py").read_text()
    names, _, values = re.search(r"^(MOST_BYTES, MOST_PIECES.*?)( = )(.*)$", text, re.M).groups()
    found = dict(zip(names.split(", "), values.split(", "), strict=False))["MOST_PIECES"]
    assert found == f"2**{MOST_PIECES.bit_length() - 1}"


@pytest.mark.parametrize(("columns", "most"), [(3, 64), (40, 51), (70, 4), (130, 0)])
def test_bins_are_bounded_in_wide_tables(rng, columns, most):
    X = rng.uniform(0, 1, (400, columns))
    y = np.sin(40 * X[:, 0])
    model = MonotonicRegressor(random_state=0, max_iter=20).fit(X, y)
    assert bins_of(model) <= most


def test_as_many_bins_as_asked_for(rng):
    column = calibrate("x", rng.normal(size=5000), style="quantile", n_bins=50, missing="state")
    assert len(column.maps) == 51


def test_many_narrow_bins_cost_as_much_as_few_wide_ones(rng):
    table = rng.normal(size=(3000, 1))
    sums = []
    for bins in (8, 64):
        model = MonotonicRegressor(n_bins=bins, max_iter=1, random_state=0).fit(table, table[:, 0])
        sums.append(penalties(model.frozen_.inputs)[1:].sum())
    assert sums[0] == pytest.approx(sums[1])


def start_of(X: np.ndarray, y: np.ndarray, kind: type = MonotonicRegressor) -> bool:
    """Whether the start of a fit with few bins misses bends."""
    found, real = [], Misfit.bends

    def watch(misfit):
        found.append(real(misfit))
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Misfit, "bends", watch)
        patch.setattr(_race, "EARNED", np.inf)
        kind(random_state=0).fit(X, y)
    return found[0]


@pytest.mark.parametrize("kind", [MonotonicRegressor, MonotonicClassifier])
def test_a_misfit_is_found_and_noise_is_none(rng, kind):
    X = rng.uniform(0, 1, (3000, 3))
    wave = np.sin(50 * X[:, 0])
    line = X[:, 0] - 0.5
    if kind is MonotonicRegressor:
        assert start_of(X, wave + rng.normal(size=3000), kind)
        assert not start_of(X, line + rng.normal(size=3000), kind)
    else:
        assert start_of(X, rng.random(3000) < 1 / (1 + np.exp(-3 * wave)), kind)
        assert not start_of(X, rng.random(3000) < 1 / (1 + np.exp(-3 * line)), kind)


def test_the_order_of_rows_is_no_misfit(rng):
    """Rows sorted by the target, and a feature of few values: ties must not be cut by row number."""
    X = pd.DataFrame({"a": rng.integers(0, 4, 2000), "b": rng.integers(0, 3, 2000)})
    y = X["a"] + rng.normal(size=2000)
    order = np.argsort(y.to_numpy())
    assert not start_of(X.iloc[order], y.to_numpy()[order])


def test_both_paths_hold_out_the_same_rows(rng, monkeypatch):
    X, y = waves(rng, 1500, 8)
    seen = []
    real = _race.better_path

    def watched(table, schema, n_bins, learn, make):
        def kept(inputs):
            path = make(inputs)
            seen.append(path.recipe.folds)
            return path

        return real(table, schema, n_bins, learn, kept)

    monkeypatch.setattr("monolip.estimators._fitting.better_path", watched)
    MonotonicRegressor(random_state=0).fit(X, y)
    assert len(seen) == 2
    assert np.array_equal(*seen)


def test_the_schema_counts_numbers_only(rng):
    X = pd.DataFrame({"kind": rng.choice(list("abc"), 900), "flag": rng.choice(["x", "y"], 900)})
    schema = learn_schema(read_table(X), None)
    assert all(categories is not None for categories in schema.categories)
    MonotonicRegressor(random_state=0).fit(X, rng.normal(size=900))  # nothing to cut into bins
