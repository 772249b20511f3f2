"""Inputs an adversarial review found: each is read as it is meant, or refused with the column's or parameter's name."""

from __future__ import annotations

import datetime
import time
import warnings

import numba
import numpy as np
import pandas as pd
import polars as pl
import pytest

from monolip import frozen_file
from monolip.engine import _compile
from monolip.engine.problem import Problem
from monolip.engine.trainer import Trainer
from monolip.engine.training_options import TrainingOptions
from monolip.errors import FrozenFileError, InputError, SlopeError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor, _memory

from .tables import QUICK

N = 60
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
Y = FRAME["a"].to_numpy() + 0.1 * RNG.normal(size=N)


def fit(X=FRAME, y=Y, *, weight=None, offset=None, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MonotonicRegressor(**{**QUICK, **parameters}).fit(X, y, sample_weight=weight, offset=offset)
        model.predict(X)
    return model


@pytest.mark.parametrize("order", [["x0", "x1"], ["x1", "x0"]])
def test_a_file_remembers_whether_columns_were_named(tmp_path, order):
    X = FRAME.set_axis(order, axis=1)
    model = fit(X)
    model.save(tmp_path / "model")
    loaded = MonotonicRegressor.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == order
    assert np.array_equal(loaded.predict(X[order[::-1]]), model.predict(X))
    bare = fit(X.to_numpy())
    bare.save(tmp_path / "bare")
    bare = MonotonicRegressor.load(tmp_path / "bare")
    assert not hasattr(bare, "feature_names_in_")
    X = X.set_axis(["x0", "x1"], axis=1)
    assert np.array_equal(bare.predict(X[["x1", "x0"]]), bare.predict(X.to_numpy()))


def test_categories_of_another_type_are_refused():
    model = fit(pd.DataFrame({"c": ["p", "q"] * (N // 2)}))
    assert len(model.predict(pd.DataFrame({"c": ["p", None, "new"]}))) == 3
    assert len(model.predict(pd.DataFrame({"c": [None, np.nan]}))) == 2
    with pytest.raises(InputError, match=r"column 'c' held categories like 'p', 'q' in training; got 1.0; convert"):
        model.predict(pd.DataFrame({"c": [1, 2]}))
    numbers = pd.DataFrame({"c": [1, 2] * (N // 2)})
    with pytest.raises(InputError, match=r"column 'c' held categories like 1.0, 2.0 in training; got '1'"):
        fit(numbers, categorical_features=["c"]).predict(numbers.astype(str))
    with pytest.raises(InputError, match="an order lists the categories of its column; got '1', '2' for column 'c'"):
        fit(numbers, categorical_features={"c": ["1", "2"]})


IDS = [2**53, 2**53 + 1] * (N // 2)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"c": IDS}),
        pd.DataFrame({"c": np.array(IDS, dtype=object)}),
        pd.DataFrame({"c": pd.array([*IDS[:-1], None], dtype="Int64")}),
        pl.DataFrame({"c": IDS}),
        np.array(IDS)[:, None],
    ],
)
def test_large_integer_ids_stay_apart(X, tmp_path):
    model = fit(X, np.array([0.0, 1.0] * (N // 2)), categorical_features=[0])
    assert model.predict(X[:2])[0] < model.predict(X[:2])[1]
    model.save(tmp_path / "model")
    assert np.array_equal(MonotonicRegressor.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1, 2], r"got \[1, 2\] in row 0 of column 'a'"),
        (pd.Period("2020-01-01"), "got Period"),
        (datetime.date(2020, 1, 1), r"got datetime.date\(2020, 1, 1\) in row 0 of column 'a'; convert it"),
        (1 + 2j, "got .1.2j. in row 0 of column 'a'"),
        (b"1", "got b'1' in row 0 of column 'a'"),
        (10**400, "column 'a' holds numbers; int too large to convert to float in row 0; rescale"),
    ],
)
def test_values_that_are_no_numbers_are_refused_by_column(value, words):
    with pytest.raises(InputError, match=words):
        fit(FRAME.assign(a=pd.Series([value] * N)))


def test_arrays_of_dates_nested_lists_and_lazy_frames():
    for dtype in ("datetime64[D]", "timedelta64[D]"):
        with pytest.raises(InputError, match=rf"got {dtype[:-3]}.* in column 'x0'; convert it to numbers"):
            fit(np.array([["NaT"]] * N, dtype=dtype))
    rows = [[1.0, "a"], [2.0, "b"]] * (N // 2)
    assert fit(rows).frozen_.inputs.numeric == (0,)
    with pytest.raises(InputError, match=r"got a LazyFrame; pass X.collect\(\)"):
        fit(pl.DataFrame({"a": [1.0]}).lazy())
    with pytest.raises(InputError, match="a category type in numeric column 'a'"):
        fit().predict(FRAME.assign(a=FRAME["a"].astype("category")))


def test_a_tiny_validation_fraction_is_a_row():
    started = time.perf_counter()
    fit(validation_fraction=1e-7)
    assert time.perf_counter() - started < 30


def test_a_file_too_large_to_load_is_not_written(tmp_path, monkeypatch):
    assert frozen_file._MAX_HEADER == 64 * 2**20
    monkeypatch.setattr(frozen_file, "_MAX_HEADER", 100)
    with pytest.raises(FrozenFileError, match="at most 100 bytes of names and categories"):
        fit().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_memory_that_caches_would_give_up_counts_as_free(monkeypatch):
    assert _memory.free_bytes() > 0
    monkeypatch.setattr(_memory, "_group_room", lambda: 17)
    assert _memory.free_bytes() == 17
    monkeypatch.setattr(_memory, "_available", lambda: None)
    monkeypatch.setattr(_memory, "_group_room", lambda: None)
    assert _memory.free_bytes() is None


def test_a_cache_that_cannot_be_written_stops_nothing(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.core.caching.FunctionCache, "_save_overload", full)

    def twice(x):
        return 2 * x

    assert _compile.compiled()(twice)(3) == 6


@pytest.mark.parametrize("value", [1e-9, -1e-300, 3.0, 1e150])
def test_constant_targets_are_predicted_to_scale(value):
    assert np.allclose(fit(y=np.full(N, value)).predict(FRAME) / value, 1.0, rtol=1e-6)


def test_columns_at_the_edge_of_floats():
    fit(FRAME.assign(a=np.nan), slopes={"a": (0, 1)})
    for scale, slopes in ((1e-309, {"a": (0, 1)}), (1e-308, None), (1.7e308, None)):
        with pytest.raises(InputError, match="in column 'a'; rescale it"):
            fit(FRAME.assign(a=np.sign(FRAME["a"]) * scale), slopes=slopes)
    fit(FRAME.assign(a=FRAME["a"] * 1e-280), max_slope=1.0)
    for target in (np.sign(Y) * 1.7e308, Y * 1e300):
        with pytest.raises(InputError, match="targets lie within"):
            fit(y=target)
    outlier = np.where(np.arange(N) == 0, 1e60, Y)
    assert np.abs(fit(y=outlier, loss="absolute_error").predict(FRAME)).max() < 10


def test_weights_of_any_size():
    one = np.ones(N)
    assert np.array_equal(fit(weight=one * 2.0**1020).predict(FRAME), fit(weight=one).predict(FRAME))
    fit(weight=one * 1e307)
    fit(weight=np.where(np.arange(N) == 3, 1e50, 1.0))
    heavy = MonotonicClassifier(class_weight={False: 1e300, True: 1e300}, **QUICK)
    heavy.fit(FRAME, Y > 0, sample_weight=one * 1e99)
    rare = (np.arange(N) == 5).astype(float)
    with pytest.raises(InputError, match="poisson loss is above 0 in some row that counts"):
        fit(y=rare, weight=1 - rare, loss="poisson")
    problem = Problem(np.ones((2, 1)), [0.0, 1.0], [-1.0], [1.0], sample_weight=[1e50, 1.0])
    with pytest.raises(InputError, match="rows that judge a network must count"):
        Trainer(problem, TrainingOptions(n_steps=1), [0]).loss([1])


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", None] * (N // 2), "y contains NaN or None in row 1"),
        (["a", 1] * (N // 2), "all strings or all numbers; got 'a' and 1"),
        (np.array(["a", 1] * (N // 2), dtype=object), "all strings or all numbers; got 'a' and 1"),
    ],
)
def test_labels_of_two_kinds_are_refused(labels, words):
    with pytest.raises(InputError, match=words):
        MonotonicClassifier(**QUICK).fit(FRAME, labels)


def test_slopes_that_cannot_be_learned():
    with pytest.raises(SlopeError, match=r"slopes of 'a', .* must be learnable in single precision"):
        fit(slopes={"a": (1e50, 1e50)})
    with pytest.raises(SlopeError, match="the slope interval of 'a' must hold a number after scaling"):
        fit(FRAME / 100, slopes={"a": (1e-320, 1e-320)})
    for generous in ({"slopes": {"a": (0, 1e50)}}, {"slopes": {"a": (-1e308, 1e308)}}, {"max_slope": 1e308}):
        fit(**generous)
    fit(y=Y * 1e198, max_slope=1e300)
    with pytest.raises(SlopeError, match=r"got shape \(2, 2\) for 2 features; match them"):
        fit(monotonic_cst=np.ones((2, 2)))


NONSENSE = {
    "batch_size": ("x", 1.5, True, None, [32]),
    "n_bins": ("x", -1, 2.7, None),
    "max_iter": ("x", True, [1], float("nan")),
    "max_time": ("x", -1, float("nan")),
    "hidden_layer_sizes": ("32", ("a",), (32.5,), {"a": 1}),
    "validation_fraction": ("x", 0.0, float("nan")),
    "early_stopping": ("yes", None, 2),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in NONSENSE.items() for value in values])
def test_nonsense_parameters_are_refused_by_name(name, value):
    with pytest.raises(InputError, match=rf"{name} (is|lies)"):
        fit(**{name: value})


def test_nonsense_weights_and_offsets_are_refused_by_name():
    model = fit()
    for given in ("x", ["x"] * N):
        with pytest.raises(InputError, match="sample_weight holds numbers, one a row"):
            fit(weight=given)
        for attempt in (lambda given=given: fit(offset=given), lambda given=given: model.predict(FRAME, offset=given)):
            with pytest.raises(InputError, match="offset holds numbers, one a row"):
                attempt()
    with pytest.raises(InputError, match=r"offset is one finite number a row.*got nan in row 7; fill or drop it"):
        fit(offset=np.where(np.arange(N) == 7, np.nan, 0.0))
