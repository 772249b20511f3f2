"""Any table: numpy, pandas, polars, Arrow; names, order of columns, categories, missing values, odd numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monolip.estimators import MonotonicClassifier, MonotonicRegressor

from .tables import QUICK, credit


@pytest.fixture(scope="module")
def fitted():
    X, y = credit()
    return MonotonicRegressor(monotonic_cst={"income": 1}, **QUICK).fit(X, y)


def test_polars_arrow_and_pandas_give_the_same_model(fitted):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X, y = credit()
    expected = fitted.predict(X)
    grades = polars.Enum(["low", "mid", "high"])
    frame = polars.DataFrame({name: X[name].to_list() for name in X}).with_columns(
        polars.col("grade").cast(grades), polars.col("age").fill_nan(None)
    )
    again = MonotonicRegressor(monotonic_cst={"income": 1}, **QUICK).fit(frame, y)
    assert np.array_equal(again.predict(frame), expected)
    table = pyarrow.Table.from_pandas(X)
    assert np.array_equal(again.predict(table), expected)
    assert np.array_equal(fitted.predict(table), expected)


def test_columns_are_found_by_name_whatever_their_order(fitted):
    X, _ = credit()
    assert np.array_equal(fitted.predict(X[X.columns[::-1]]), fitted.predict(X))
    assert fitted.feature_names_in_.tolist() == list(X)


def test_an_array_without_names_is_taken_in_order_with_a_warning(fitted):
    X, _ = credit(50)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        got = fitted.predict(X.to_numpy(dtype=object))
    assert np.array_equal(got, fitted.predict(X))


def test_unseen_categories_and_missing_ones_are_predicted(fitted):
    X, _ = credit(20)
    for city in ("Z", None, np.nan):
        assert np.isfinite(fitted.predict(X.assign(city=city))).all()
    assert np.isfinite(fitted.predict(X.assign(grade=None))).all()


def test_missing_numbers_unseen_in_training_count_as_the_median(fitted):
    X, _ = credit(20)
    column = fitted.frozen_.inputs.columns[0]
    assert column.missing is not None
    assert column.present is None
    assert np.isfinite(fitted.predict(X.assign(income=np.nan))).all()


@pytest.mark.parametrize("heavy", [False, True])
def test_far_beyond_the_training_data_f_is_flat_unless_slopes_were_given(heavy, rng):
    X = rng.standard_t(2, size=(400, 2)) if heavy else rng.normal(size=(400, 2))
    model = MonotonicRegressor(slopes={"x1": (0.5, 2.0)}, **QUICK).fit(X, X.sum(axis=1))
    end = max(X[:, 0].max(), X[:, 0].mean() + 4 * X[:, 0].std())
    assert np.ptp(model.predict([[end * 1.001, 0.0], [1e9, 0.0]])) == 0.0
    low, high = model.predict([[0.0, 1e6], [0.0, 2e6]])
    assert 0.5 <= (high - low) / 1e6 <= 2.0


def test_a_missing_value_is_a_state_with_a_value_of_its_own(rng):
    x = np.where(rng.random(600) < 0.3, np.nan, rng.normal(size=600))
    y = np.where(np.isnan(x), 3.0, np.tanh(x))
    model = MonotonicRegressor(monotonic_cst=[1], random_state=0).fit(x[:, None], y)
    assert abs(model.predict([[np.nan]])[0] - 3.0) < 0.3


def test_numbers_may_be_categories_by_position_mask_name_or_order():
    X, y = credit()
    raw = np.column_stack([X["income"], X["grade"].cat.codes])
    models = [
        MonotonicRegressor(categorical_features=given, **QUICK).fit(raw, y)
        for given in ([1], [False, True], {1: None}, ["x1"])
    ]
    for model in models[1:]:
        assert np.array_equal(model.predict(raw), models[0].predict(raw))
    ordered = MonotonicRegressor(categorical_features={1: [0, 1, 2]}, monotonic_cst={1: -1}, **QUICK).fit(raw, y)
    assert [row.promise for row in ordered.slopes_] == ["free", "decreasing (ordered category)"]


def test_many_categories_become_their_target_means():
    rng = np.random.default_rng(0)
    place = rng.integers(200, size=3000)
    y = np.sin(place) * 2 + 0.1 * rng.normal(size=3000)
    X = pd.DataFrame({"place": [f"p{k}" for k in place]})
    model = MonotonicRegressor(random_state=0).fit(X, y)
    assert model.frozen_.inputs.n_model < 40
    assert model.score(X, y) > 0.8


def test_constants_booleans_integers_and_heavy_tails_need_no_preparation(rng):
    n = 500
    X = pd.DataFrame(
        {
            "constant": 5,
            "flag": rng.random(n) < 0.5,
            "count": rng.poisson(3, n),
            "tail": rng.standard_cauchy(n) * 1e6,
            "tiny": rng.normal(size=n) * 1e-9 + 1.0,
            "nothing": np.nan,
            "nullable": pd.array([None if v < 0.1 else int(10 * v) for v in rng.random(n)], dtype="Int64"),
        }
    )
    y = X["flag"] + X["count"] + np.tanh(X["tail"] / 1e6)
    model = MonotonicRegressor(monotonic_cst={"tail": 1, "count": 1, "constant": 1}, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    for missing in ("lowest", "highest"):
        assert np.isfinite(MonotonicRegressor(missing=missing, **QUICK).fit(X, y).predict(X)).all()
    assert model.slopes_["constant"] == (0.0, 0.0)


def test_float32_integers_and_lists_are_accepted(rng):
    X = rng.integers(0, 9, (200, 2))
    y = X[:, 0] - X[:, 1]
    model = MonotonicRegressor(**QUICK).fit(X, y)
    for same in (X.astype(np.float32), X.tolist(), X.astype(float)):
        assert np.array_equal(model.predict(same), model.predict(X))


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["a", "b"], [2.0, 5.0], [-1, 1]])
def test_class_labels_of_any_kind_come_back_as_they_were(labels, rng):
    X = rng.normal(size=(200, 1))
    y = np.array(labels)[(X[:, 0] > 0).astype(int)]
    model = MonotonicClassifier(**QUICK).fit(X, y)
    assert model.predict(X).dtype == y.dtype
    assert model.score(X, y) > 0.9


def test_whole_numbers_of_128_bits_are_read():
    from monolip.estimators._tables import read_table

    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": pl.Series([1, 2, None], dtype=pl.Int128)})
    values = read_table(frame).columns[0].values
    assert np.array_equal(values, [1.0, 2.0, np.nan], equal_nan=True)
