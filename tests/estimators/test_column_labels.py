"""What a key of monotonic_cst, slopes, max_slope, missing and categorical_features means, in every kind of table."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor, audit
from monolip.errors import InputError, SlopeError
from monolip.slopes import SlopeBounds

from .tables import QUICK

N = 200
X = np.random.default_rng(0).normal(size=(N, 3))
Y = X @ [1.0, -1.0, 0.3]
NAMES = ["c", "b", "a"]
FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "arrow": lambda columns: pa.table(columns),
    "batch": lambda columns: pa.record_batch(columns),
}


def labelled(labels, values=X):
    return pd.DataFrame(values, columns=labels)


def fit(X=X, y=Y, **parameters):
    return MonotonicRegressor(**QUICK, **parameters).fit(X, y)


def promised(model):
    return [row.promise for row in model.slopes_]


@pytest.mark.parametrize(
    "labels", [[2, 1, 0], [7, -1, 3], [2.0, 1.0, 0.5], [("a", 1), ("a", 2), ("b", 1)], ["a", 1, 2]]
)
def test_a_key_that_is_a_column_label_means_that_column(labels):
    frame = labelled(labels) if not isinstance(labels[0], tuple) else labelled(pd.MultiIndex.from_tuples(labels))
    for j, label in enumerate(labels):
        model = fit(frame, monotonic_cst={label: 1})
        assert [word == "increasing" for word in promised(model)] == [k == j for k in range(3)]
        model = fit(frame, slopes={label: (0.0, 0.5)})
        assert [row.promised is not None for row in model.slopes_] == [k == j for k in range(3)]
        assert model.slopes_[label] == model.slopes_[model.frozen_.inputs.names[j]]
        model = fit(frame, max_slope={label: 2.0})
        assert [row.promised is not None for row in model.slopes_] == [k == j for k in range(3)]


def test_missing_and_categories_go_by_label():
    values = np.round(X)
    values[::5] = np.nan
    frame = labelled([2, 1, 0], values)
    model = fit(frame, missing={2: "lowest"}, monotonic_cst={2: 1})
    lower, higher = frame.copy(), frame.copy()
    lower[2], higher[2] = np.nan, frame[2].fillna(-9.0)
    assert (model.predict(lower) <= model.predict(higher)).all()
    for given in ([2], np.array([2]), {2: None}):
        assert fit(frame, categorical_features=given).frozen_.inputs.numeric == (1, 2)
    order = sorted(set(values[:, 0][~np.isnan(values[:, 0])]))
    assert fit(frame, categorical_features={2: order}, monotonic_cst={2: 1}).frozen_.inputs.columns[0].ordered


def test_a_table_without_its_first_column_keeps_its_labels():
    whole = pd.DataFrame(np.column_stack([Y, X]))  # as read_csv(header=None) gives it
    frame = whole.drop(columns=0)
    model = fit(frame, whole[0], monotonic_cst={1: 1, 2: -1})
    assert promised(model) == ["increasing", "decreasing", "free"]
    assert list(model.frozen_.inputs.names) == ["x1", "x2", "x3"]
    assert model.slopes_[1] == model.slopes_["x1"]
    assert model.score(frame, whole[0]) > 0.8
    with pytest.raises(SlopeError, match=r"means the column with that label.*got 0; the labels are 1, 2, 3"):
        fit(frame, whole[0], monotonic_cst={0: 1})
    with pytest.raises(KeyError, match="a number means the column with that label"):
        model.slopes_[0]


def test_classes_and_their_directions_go_by_label():
    frame = labelled([2, 1, 0])
    model = MonotonicClassifier(monotonic_cst={2: {True: 1}}, **QUICK).fit(frame, Y > 0)
    assert promised(model)[0] == "increasing"
    three = np.digitize(Y, [-0.5, 0.5])
    model = MonotonicClassifier(monotonic_cst={2: {2: 1}}, **QUICK).fit(frame, three)
    assert [row.promise for row in model.slopes_ if row.output == "2"] == ["increasing", "free", "free"]


@pytest.mark.parametrize("labels", [[2, 1, 0], [7, -1, 3]])
def test_predict_takes_whole_numbers_as_labels_too(labels, tmp_path):
    frame = labelled(labels)
    model = fit(frame, monotonic_cst={labels[0]: 1})
    model.save(tmp_path / "model")
    for same in (model, MonotonicRegressor.load(tmp_path / "model")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.array_equal(same.predict(frame[sorted(labels)]), model.predict(X))
            assert np.array_equal(same.predict(X), model.predict(X))
        assert same.slopes_[labels[0]] == model.slopes_[labels[0]]
    assert np.array_equal(model.frozen_.evaluate_raw(frame[sorted(labels)])[:, 0], model.predict(X))


def test_columns_with_other_labels_are_taken_by_position_and_that_is_said():
    model = fit(labelled([1, 2, 3]))
    with pytest.warns(UserWarning, match=r"taken by position: .* column labels 1, 2, 3, and X has 0, 1, 2"):
        found = model.predict(labelled([0, 1, 2]))
    assert np.array_equal(found, model.predict(X))
    pairs = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    model = fit(labelled(pairs))
    with pytest.warns(UserWarning, match="taken by position"):
        model.predict(labelled(pairs)[[("b", 1), ("a", 1), ("a", 2)]])


def test_arrays_go_by_position_whatever_the_labels_are():
    frame = labelled([2, 1, 0])
    assert promised(fit(frame, monotonic_cst=[1, 0, 0])) == ["increasing", "free", "free"]
    assert fit(frame, categorical_features=[True, False, False]).frozen_.inputs.numeric == (1, 2)
    assert promised(fit(X, monotonic_cst={0: 1})) == ["increasing", "free", "free"]
    assert promised(fit(labelled([0, 1, 2]), monotonic_cst={0: 1})) == ["increasing", "free", "free"]


@pytest.mark.parametrize("kind", FRAMES)
def test_where_columns_have_names_a_number_is_a_position(kind):
    frame = FRAMES[kind](dict(zip(NAMES, X.T, strict=True)))
    for key in (0, "c"):
        model = fit(frame, monotonic_cst={key: 1})
        assert promised(model) == ["increasing", "free", "free"]
    assert model.slopes_[0] == model.slopes_["c"]
    assert model.slopes_[1] == model.slopes_["b"]


@pytest.mark.parametrize("kind", FRAMES)
def test_a_number_that_is_the_name_of_another_column_is_refused(kind):
    frame = FRAMES[kind](dict(zip(["2", "1", "0"], X.T, strict=True)))
    with pytest.raises(SlopeError, match="got 2, which is also the name of another column; write '2' for that"):
        fit(frame, monotonic_cst={2: 1})
    with pytest.raises(SlopeError, match="got 0"):
        fit(frame, categorical_features=[0])
    model = fit(frame, monotonic_cst={1: 1, "2": 1})  # the column called "1" is the one at position 1
    assert promised(model) == ["increasing", "increasing", "free"]
    with pytest.raises(KeyError, match="also the name of another column"):
        model.slopes_[2]


def test_slopes_of_a_table_without_names_go_by_position():
    model = fit(X, slopes={0: (0.0, 0.5)})
    assert model.slopes_[0] == model.slopes_["x0"]
    assert model.slopes_[np.int64(2)] == model.slopes_["x2"]
    for wrong in (3, -1, True, 0.5):
        with pytest.raises(KeyError, match="no slopes of"):
            model.slopes_[wrong]


def test_negative_positions_are_refused_and_negative_labels_are_labels():
    for frame in (X, labelled([0, 1, 2]), labelled(["c", "b", "a"])):
        with pytest.raises(SlopeError, match="feature positions run from 0 to 2; got -1"):
            fit(frame, monotonic_cst={-1: 1})
    assert promised(fit(labelled([0, 1, -1]), monotonic_cst={-1: 1})) == ["free", "free", "increasing"]


def test_booleans_mean_columns_labelled_by_booleans_only():
    frame = labelled([False, True], X[:, :2])
    assert promised(fit(frame, monotonic_cst={True: 1})) == ["free", "increasing"]
    assert promised(fit(frame, monotonic_cst={np.True_: 1})) == ["free", "increasing"]
    with pytest.raises(SlopeError, match=r"means the column with that label.*got 1; the labels are False, True"):
        fit(frame, monotonic_cst={1: 1})
    assert fit(frame, categorical_features=[False, True]).frozen_.inputs.numeric == (0,)  # a mask, always
    for other in (X, labelled([2, 1, 0]), labelled(["c", "b", "a"])):
        with pytest.raises(SlopeError, match="got True"):
            fit(other, monotonic_cst={True: 1})


def test_duplicate_labels_are_refused():
    for labels, shown in (([1, 1, 0], r"\['1'\]"), (["a", "a", "b"], r"\['a'\]"), ([True, 1, 0], "")):
        with pytest.raises(InputError, match=f"column names are distinct; got {shown}"):
            fit(labelled(labels))
    with pytest.raises(InputError, match="column names are distinct"):
        fit(labelled([2, 1, 0])).predict(labelled([2, 2, 0]))
    repeated = pa.table([pa.array(column) for column in X.T], names=["a", "a", "b"])
    for arrow in (repeated, repeated.to_batches()[0]):
        with pytest.raises(InputError, match=r"column names are distinct; got \['a'\] more than once"):
            fit(arrow)
    with pytest.raises(SlopeError, match="each feature may be given once; got 'x2' again, by name and by label"):
        fit(labelled([2, 1, 0]), monotonic_cst={2: 1, "x2": 1})


def test_slope_bounds_refuse_a_number_that_is_another_name():
    with pytest.raises(SlopeError, match="got 0, which is also the name of another column"):
        SlopeBounds.from_monotonic_cst({0: 1}, 1.0, feature_names=["1", "0"])


def test_an_audit_goes_by_label():
    frame = labelled([2, 1, 0])
    report = audit(lambda table: -table[2].to_numpy(), frame, {2: 1}, max_evaluations=2000)
    assert report.violated
    assert not audit(lambda table: table[2].to_numpy(), frame, {2: 1}, max_evaluations=2000).violated
    per_class = {2: {True: 1}}
    model = MonotonicClassifier(monotonic_cst=per_class, **QUICK).fit(frame, Y > 0)
    assert not audit(model, frame, per_class, max_evaluations=2000).violated
    with pytest.raises(SlopeError, match="the labels are 2, 1, 0"):
        audit(model, frame, {5: 1}, max_evaluations=2000)


def test_an_audit_of_ordered_categories_finds_them_by_label():
    grade = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
    frame = pd.DataFrame({3: X[:, 1], 1: np.array(["d", "c", "b", "a"])[grade]})
    model = fit(frame, Y, categorical_features={1: ["d", "c", "b", "a"]}, monotonic_cst={1: 1})
    assert not audit(model, frame[[1, 3]], {1: 1}, max_evaluations=2000).violated


@pytest.mark.parametrize("odd", [[1, 2], {"a": 1}])
def test_keys_that_are_no_features_are_refused(odd):
    with pytest.raises(SlopeError, match="a feature is a name or a position"):
        fit(labelled([2, 1, 0]), categorical_features=[odd, odd])


def test_a_record_batch_is_what_its_table_is(tmp_path):
    table = pa.table({"income": X[:, 0], "debt": X[:, 1], "city": np.array(["A", "B"])[(X[:, 2] > 0).astype(int)]})
    (batch,) = table.to_batches()
    parameters = {"monotonic_cst": {"income": 1, "debt": -1}}
    model, same = fit(batch, **parameters), fit(table, **parameters)
    assert list(model.feature_names_in_) == ["income", "debt", "city"]
    assert np.array_equal(model.predict(table), same.predict(table))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in (batch, batch.select(["city", "debt", "income"])):
            assert np.array_equal(model.predict(other), same.predict(table))
            assert np.array_equal(model.frozen_.evaluate_raw(other)[:, 0], same.predict(table))
    for predict in (model.predict, same.predict):
        with pytest.raises(InputError, match=r"seen at fit time, yet now missing:\n- debt"):
            predict(batch.select(["income", "city"]))
        with pytest.raises(InputError, match=r"unseen at fit time:\n- more"):
            predict(pa.RecordBatch.from_arrays([*batch.columns, batch.column(0)], [*table.column_names, "more"]))
    assert not audit(model, batch, {"income": 1}, max_evaluations=2000).violated
    reversed_ = batch.select(["city", "debt", "income"])
    assert audit(model, reversed_, {"income": -1}, max_evaluations=2000).violated
