"""What an adversarial review broke: promises that were ignored, and data that destroyed a fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monolip.errors import InputError, SlopeError, StructureError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _sampling
from monolip.estimators._calibration import calibrate
from monolip.estimators._categories import encode, out_of_fold
from monolip.estimators._tables import RawColumn, read_table
from monolip.estimators._targets import class_target, number_target
from monolip.estimators.fit_options import FitOptions
from monolip.input_columns import CategoryColumn

from .tables import QUICK, credit

GRADES = ["low", "mid", "high"]


def line(n=600, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    return z, z + 0.3 * rng.normal(size=n), rng


@pytest.mark.parametrize("rows_per_level", [1, 3, 5])
def test_labels_that_say_nothing_do_not_hurt(rows_per_level):
    z, _, rng = line(800)
    y = z + rng.normal(size=800)  # half noise, which leaks through a mean that holds the row itself
    ids = [f"r{i}" for i in rng.permutation(800) // rows_per_level]
    X = pd.DataFrame({"z": z, "id": ids})
    settings = {**QUICK, "max_iter": 60}
    plain = MonotonicRegressor(**settings).fit(X[["z"]][:400], y[:400]).score(X[["z"]][400:], y[400:])
    with_id = MonotonicRegressor(**settings).fit(X[:400], y[:400]).score(X[400:], y[400:])
    assert plain > 0.45
    assert with_id > plain - 0.05


def test_many_labels_that_matter_still_help():
    z, y, rng = line(1200)
    group = rng.integers(0, 60, 1200)
    y = y + 2 * rng.normal(size=60)[group]
    X = pd.DataFrame({"z": z, "group": [f"g{i}" for i in group]})
    assert MonotonicRegressor(**{**QUICK, "max_iter": 60}).fit(X[:800], y[:800]).score(X[800:], y[800:]) > 0.75


def test_a_rows_own_target_is_not_in_its_mean():
    _, y, rng = line(400)
    values = np.array([f"g{i}" for i in rng.integers(0, 40, 400)], dtype=object)
    column = encode(RawColumn("g", values), tuple(sorted(set(values))), ordered=False, target=y)
    naive = column.evaluate(values)[:, FitOptions.one_hot_levels]
    honest = out_of_fold(column, RawColumn("g", values), y, None, np.random.default_rng(0))
    assert honest.shape == (400, 1)
    own, others = (np.corrcoef(x, y)[0, 1] for x in (naive, honest[:, 0]))
    assert others < 0.1 < own  # noise: nothing to learn, unless the answer is in it
    singles = np.array([f"r{i}" for i in range(400)], dtype=object)
    assert (
        encode(RawColumn("id", singles), tuple(sorted(singles)), ordered=False, target=y).n_model
        == FitOptions.one_hot_levels
    )


@pytest.mark.parametrize(("missing", "sign"), [("lowest", 1), ("highest", -1), ("lowest", -1), ("highest", 1)])
@pytest.mark.parametrize("seen", [True, False])
def test_a_missing_ordered_category_sits_at_its_end(missing, sign, seen):
    X, y = credit(300)
    X["grade"] = X["grade"].astype(object)
    y = y + np.where(np.arange(300) < 60, 5.0 * (1 if missing == "lowest" else -1) * sign, 0.0)  # against the promise
    if seen:
        X.loc[:59, "grade"] = None
    model = MonotonicRegressor(
        monotonic_cst={"grade": sign}, categorical_features={"grade": GRADES}, missing={"grade": missing}, **QUICK
    ).fit(X[["income", "grade"]], y)
    order = [None, *GRADES] if missing == "lowest" else [*GRADES, None]
    f = np.stack([model.predict(X[["income"]].assign(grade=pd.Series([g] * 300, dtype=object))) for g in order])
    assert (sign * np.diff(f, axis=0) >= 0).all()


def test_lowest_needs_an_order():
    X, y = credit(100)
    with pytest.raises(SlopeError, match="unordered category 'city'"):
        MonotonicRegressor(missing={"city": "lowest"}, **QUICK).fit(X, y)


def test_an_ordered_table_that_falls_cannot_exist():
    rows = [[0.0], [2.0], [1.0], [0.0], [0.0]]
    with pytest.raises(StructureError, match="never falls"):
        CategoryColumn("g", ("a", "b", "c"), rows, ordered=True)
    assert CategoryColumn("g", ("a", "b", "c"), rows).n_model == 1
    assert CategoryColumn("g", ("a", "b", "c"), [[0.0], [1.0], [1.0], [-3.0], [9.0]], ordered=True).ordered


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"loss": "absolute_error"}, "loss"),
        ({"loss": "huber", "loss_parameter": 2.0}, "loss"),
        ({"monotonic_cst": [-1]}, "monotonic_cst"),
        ({"slopes": {0: (0, 1)}}, "slopes"),
        ({"max_slope": 2.0}, "max_slope"),
        ({"max_slope": {0: 2.0}}, "max_slope"),
        ({"missing": "lowest"}, "missing"),
        ({"n_bins": 3}, "n_bins"),
        ({"hidden_layer_sizes": (8,)}, "hidden_layer_sizes"),
    ],
)
def test_a_warm_start_refuses_other_parameters(change, word):
    z, y, _ = line(200)
    model = MonotonicRegressor(warm_start=True, **QUICK).fit(z[:, None], y)
    before = model.predict(z[:, None])
    with pytest.raises(InputError, match=rf"different.*{word}.*warm_start=False"):
        model.set_params(n_estimators=4, **change).fit(z[:, None], y)
    assert np.array_equal(model.predict(z[:, None]), before)


def test_a_warm_start_refuses_another_target():
    z, y, _ = line(200)
    model = MonotonicRegressor(warm_start=True, max_slope=2.0, **QUICK).fit(z[:, None], y)
    with pytest.raises(InputError, match="different y"):
        model.set_params(n_estimators=4).fit(z[:, None], 100 * y)
    assert len(model.fit(z[:, None], y)._fitted.networks) == 4
    classes = MonotonicClassifier(warm_start=True, **QUICK).fit(z[:, None], y > 0)
    with pytest.raises(InputError, match="different y"):
        classes.set_params(n_estimators=4).fit(z[:, None], np.where(y > 0, "a", "b"))
    with pytest.raises(InputError, match="different y"):
        classes.set_params(class_weight={True: 9, False: 1}).fit(z[:, None], y > 0)
    assert len(classes.set_params(class_weight=None).fit(z[:, None], y > 0)._fitted.networks) == 4


def test_a_refit_that_fails_leaves_the_classes():
    z, y, _ = line(200)
    model = MonotonicClassifier(**QUICK).fit(z[:, None], np.where(y > 0, "b", "a"))
    with pytest.raises(SlopeError):
        model.set_params(monotonic_cst=[7]).fit(z[:, None], np.where(y > 0, "d", "c"))
    assert set(model.predict(z[:, None])) == {"a", "b"}


@pytest.mark.parametrize("value", [1e9, 1e200, -999.0])
@pytest.mark.parametrize("max_slope", [None, {0: 3.0}])
def test_one_sentinel_does_not_erase_a_column(value, max_slope):
    z, _, _ = line(600)
    X = z[:, None].copy()
    X[7] = value
    model = MonotonicRegressor(max_slope=max_slope, **{**QUICK, "max_iter": 100}).fit(X, z)
    rest = np.arange(600) != 7
    assert model.score(X[rest], z[rest]) > 0.9


def test_a_narrow_bulk_beside_a_far_level_is_seen():
    _, _, rng = line()
    x = np.where(rng.random(600) < 0.95, 1e-7 * rng.random(600), 1.0)
    y = np.where(x == 1.0, 2.0, 1e7 * x)
    bulk = x < 1
    model = MonotonicRegressor(**{**QUICK, "max_iter": 100}).fit(x[:, None], y)
    assert model.score(x[bulk][:, None], y[bulk]) > 0.9


@pytest.mark.parametrize("x", [[0.0, 5e-324, 1e-323, 1.0], [1.0, 1 + 2**-52, 1 + 2**-51, 1e300], [-1e299, 0.0, 1e299]])
@pytest.mark.parametrize("style", ["quantile", "clipped"])
def test_slopes_stay_finite_where_values_are_ulps_apart(x, style):
    maps = calibrate("x", np.repeat(x, 50), style=style, n_bins=8, missing="state").maps
    assert all(np.isfinite(phi.pieces).all() for phi in maps)


def test_a_cap_and_an_interval_of_one_feature_are_refused():
    z, y, _ = line(100)
    with pytest.raises(SlopeError, match=r"slopes and max_slope.*'x0'; keep one"):
        MonotonicRegressor(slopes={0: (0, 5)}, max_slope={0: 1.0}, **QUICK).fit(z[:, None], y)


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile"])
def test_a_cap_counts_plain_standard_deviations_for_every_loss(loss):
    z, _, rng = line(400)
    y = np.where(rng.random(400) < 0.1, 50.0 * z, z)  # quartiles see little of its spread
    model = MonotonicRegressor(loss=loss, max_slope=1.0, n_bins=0, **QUICK).fit(z[:, None], y)
    promised = model.frozen_.raw_promise.upper[0]
    assert promised == pytest.approx(y.std() / z.std(), rel=1e-9)


def test_of_many_rows_rare_classes_stay_whole_and_weights_make_up(monkeypatch):
    monkeypatch.setattr(_sampling, "MAX_ROWS", 400)
    rng = np.random.default_rng(0)
    codes = np.sort(np.r_[np.zeros(8000), np.ones(1990), np.full(10, 2)]).astype(np.int64)
    given = rng.random(10_000) + 0.5
    table = read_table(rng.normal(size=(10_000, 2)))
    for weight in (None, given):
        target = class_target(codes, np.arange(3), weight, None)
        part_table, part = _sampling.rows_that_count(table, target, rng)
        assert part_table.n_rows == len(part.y) <= 400
        assert (part.classes == 2).sum() == 10
        total, exact = np.bincount(codes, weights=weight), 1e-9 if weight is None else 0.1
        assert np.bincount(part.classes, weights=part.weight) == pytest.approx(total, rel=exact)


def test_of_many_zeros_the_rare_counts_stay(monkeypatch):
    monkeypatch.setattr(_sampling, "MAX_ROWS", 400)
    rng = np.random.default_rng(0)
    y = (rng.random(10_000) < 0.01).astype(float) * 3
    target = number_target(y, "poisson", None, None, None, 10_000)
    _, part = _sampling.rows_that_count(read_table(rng.normal(size=(10_000, 2))), target, rng)
    assert (part.y > 0).sum() == (y > 0).sum()
    assert np.average(part.y, weights=part.weight) == pytest.approx(1.0)


def test_an_offset_of_three_classes_is_refused():
    z, _, rng = line(100)
    y = rng.integers(0, 3, 100)
    with pytest.raises(InputError, match="an offset needs one output"):
        MonotonicClassifier(**QUICK).fit(z[:, None], y, offset=z)
    model = MonotonicClassifier(**QUICK).fit(z[:, None], y)
    with pytest.raises(InputError, match="an offset needs one output"):
        model.predict_proba(z[:, None], offset=z)


def test_a_class_weight_of_zero_leaves_one_class():
    z, y, _ = line(100)
    with pytest.raises(InputError, match="only one class, 1"):
        MonotonicClassifier(class_weight={0: 0, 1: 1}, **QUICK).fit(z[:, None], (y > 0).astype(int))
