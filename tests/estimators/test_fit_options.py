"""FitOptions: every field has an effect, bad values are refused, searches and clones work, arguments come first."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from monolip.errors import InputError
from monolip.estimators import FitOptions, MonotonicClassifier, MonotonicRegressor
from monolip.input_columns import CategoryColumn

SMALL = {
    "n_bins": (24, 32),
    "bin_kinds": (None, 4),
    "n_estimators": (5, 3),
    "n_validated": (2, 1),
    "n_stages": (3, 2),
    "min_stages": (1, 2),
    "batch_size": (64, 32),
    "first_steps": 20,
    "ridge_strengths": (300.0, 30.0, 3.0),
}


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, (n, 3)), columns=["a", "b", "c"])
    code = rng.integers(0, 20, n)
    X["kind"] = [f"k{k}" for k in code]
    y = X["a"] * X["b"] + np.sin(4 * X["c"]) + 0.1 * (code % 7) + 0.3 * rng.normal(size=n)
    return X, y.to_numpy()


def digest(name, **changes):
    """Of the model that is fitted with these options, on a table where the field of this name says anything."""
    options = FitOptions(**{**SMALL, **WHERE.get(name, {}), **changes})
    X, y = table()
    if name == "usual_strength":  # validation rows do not tell strengths apart
        y = np.random.default_rng(0).normal(size=len(y))
    early_stopping = not name.startswith("unvalidated")
    model = MonotonicRegressor(fit_options=options, early_stopping=early_stopping, random_state=0)
    return model.fit(X, y).frozen_.digest


CHANGES = {
    "many_rows": 100,
    "validation_fraction": 0.25,
    "max_validation_rows": 20,
    "n_bins": 8,
    "total_bins": 12,
    "rows_per_bin": 100,
    "bin_kinds": (None,),
    "one_hot_levels": 3,
    "ridge_strengths": (1.0,),
    "usual_strength": 300.0,
    "n_estimators": 4,
    "n_validated": 1,
    "hidden_layer_sizes": (8, 8),
    "batch_size": 16,
    "first_steps": 30,
    "n_stages": 1,
    "slope_decays": (0.5,),
    "slope_rate": 0.05,
    "wide_features": 1,
    "min_improvement": 0.9,
    "min_stages": 3,
    "kind_tolerance": 10.0,
    "unvalidated_stages": 1,
    "unvalidated_decay": 3.0,
}


WHERE = {"min_stages": {"min_improvement": 0.9}, "kind_tolerance": {"kind_tolerance": 0.0}}


def test_there_are_at_most_25_fields():
    assert {field.name for field in fields(FitOptions)} == set(CHANGES)
    assert len(CHANGES) <= 25


@pytest.mark.parametrize("name", CHANGES)
def test_every_field_changes_the_model(name):
    assert digest(name) != digest(name, **{name: CHANGES[name]})


def test_a_number_stands_for_a_pair_and_a_list_for_a_tuple():
    options = FitOptions(n_bins=16, slope_decays=[0.1, 0.05], ridge_strengths=3.0, bin_kinds=None)
    assert options.n_bins == (16, 16)
    assert options.slope_decays == (0.1, 0.05)
    assert options.ridge_strengths == (3.0,)
    assert options.bin_kinds == (None,)
    assert FitOptions(n_bins=np.int64(16), slope_rate=np.float32(0.5)) == FitOptions(n_bins=16, slope_rate=0.5)
    assert type(FitOptions(rows_per_bin=np.int64(4)).rows_per_bin) is int


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_bins", "many"),
        ("n_bins", -1),
        ("n_bins", 2.5),
        ("n_bins", True),
        ("n_bins", None),
        ("n_bins", 257),
        ("n_bins", (8, "x")),
        ("n_bins", (8, 16, 32)),
        ("n_bins", ()),
        ("bin_kinds", ()),
        ("bin_kinds", ("all",)),
        ("validation_fraction", 0.0),
        ("validation_fraction", 0.6),
        ("validation_fraction", float("nan")),
        ("max_validation_rows", 0),
        ("rows_per_bin", 0),
        ("ridge_strengths", ()),
        ("ridge_strengths", (1.0, 0.0)),
        ("ridge_strengths", {"a": 1.0}),
        ("usual_strength", 0),
        ("n_estimators", 0),
        ("n_validated", (4, 0)),
        ("hidden_layer_sizes", (8, 0)),
        ("batch_size", 0),
        ("first_steps", 0),
        ("slope_rate", float("inf")),
        ("slope_rate", [0.1]),
        ("slope_decays", (-0.1,)),
        ("wide_features", 0),
        ("min_improvement", "little"),
        ("unvalidated_stages", 1.5),
        ("min_stages", 10**30),
        ("slope_decays", (0.1,) * 10_000),
    ],
)
def test_bad_values_are_refused_by_the_name_of_their_field(name, value):
    with pytest.raises(InputError, match=rf"^{name} of FitOptions holds .*; got .*; correct it\.$") as caught:
        FitOptions(**{name: value})
    assert "np." not in str(caught.value)
    with pytest.raises(InputError, match=rf"^{name} of FitOptions holds"):
        FitOptions().set_params(**{name: value})


def test_unknown_fields_are_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"FitOptions has the fields many_rows, .*; got 'bins'; correct the name"):
        FitOptions().set_params(bins=8)
    with pytest.raises(TypeError, match="bins"):
        FitOptions(bins=8)
    with pytest.raises(FrozenInstanceError):
        FitOptions().n_bins = 8


@pytest.mark.parametrize("given", ["fast", {"n_bins": 8}, FitOptions])
def test_options_of_another_type_are_refused(given):
    X, y = table(50)
    with pytest.raises(InputError, match=r"fit_options is a FitOptions or None; got .*; write fit_options=FitOptions"):
        MonotonicRegressor(fit_options=given).fit(X, y)


def test_parameters_go_out_and_in_as_scikit_learn_wants_them():
    options = FitOptions(n_bins=16, slope_rate=0.1)
    assert options.get_params()["n_bins"] == (16, 16)
    assert FitOptions(**options.get_params()) == options
    assert options.set_params(n_bins=8) is options
    assert options == FitOptions(n_bins=8, slope_rate=0.1)
    model = MonotonicRegressor(fit_options=options)
    assert model.get_params()["fit_options__n_bins"] == (8, 8)
    again = clone(model)
    assert again.fit_options == options
    assert again.fit_options is not options
    assert len({FitOptions(), FitOptions(), FitOptions.fast()}) == 2  # equal ones have equal hashes


def test_a_field_set_through_the_estimator_changes_no_other_estimator():
    options = FitOptions()
    one, two = MonotonicRegressor(fit_options=options), MonotonicRegressor(fit_options=options)
    one.set_params(fit_options__n_bins=4)
    assert one.fit_options.n_bins == (4, 4)
    assert two.fit_options == options == FitOptions()
    none = MonotonicRegressor().set_params(fit_options__n_bins=4)
    assert none.fit_options == FitOptions(n_bins=4)


def bins_of(model):
    return len(model.frozen_.inputs.columns[0].maps) - 1


@pytest.mark.parametrize("options", [None, FitOptions(n_estimators=1, n_validated=1)])
def test_single_fields_can_be_searched(options):
    X, y = table(200)
    model = MonotonicRegressor(fit_options=options, max_iter=10, random_state=0)
    grid = {"fit_options__n_bins": np.array([4, 8]), "fit_options__slope_rate": [0.1]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    best = search.best_estimator_
    assert bins_of(best) == search.best_params_["fit_options__n_bins"]
    assert best.fit_options.slope_rate == 0.1
    assert model.fit_options == options


def test_an_argument_of_the_constructor_overrides_the_field_of_its_name():
    X, y = table(200)
    options = FitOptions(**{**SMALL, "hidden_layer_sizes": (4, 4), "n_bins": 16, "n_estimators": 3})
    given = {"hidden_layer_sizes": (8,), "n_bins": 5, "n_estimators": 2, "random_state": 0}
    model = MonotonicRegressor(fit_options=options, **given).fit(X, y)
    (shapes,) = {tuple(weight.shape[0] for weight in trunk.form.weights) for ((trunk),) in model.frozen_.members}
    assert shapes == (8, 1)
    assert bins_of(model) == 5
    assert model.n_estimators_ == 2
    assert model.fit_options == options  # as it was given
    for more, steps in (({}, 4), ({"batch_size": 10}, 20)):
        one = MonotonicRegressor(fit_options=options, max_iter=1, random_state=0, **more).fit(X, y)
        assert max(row["steps"] for row in one.history_) == steps
    plain = MonotonicRegressor(fit_options=options, random_state=0).fit(X, y)
    named = MonotonicRegressor(fit_options=FitOptions(**{**options.get_params(), "n_bins": 5}), random_state=0)
    assert bins_of(plain) == 16
    assert bins_of(named.fit(X, y)) == 5


def test_the_share_of_validation_rows_is_the_arguments_too():
    X, y = table(400)
    counts = []
    for more in ({}, {"validation_fraction": 0.25}):
        model = MonotonicClassifier(fit_options=FitOptions(**SMALL), n_bins=0, max_iter=2, random_state=0, **more)
        counts.append(sum(rows for _, _, rows in model.fit(X[["a", "b"]], y > 0).calibration_.bins))
    assert counts == [2 * 50, 2 * 100]  # two members with rows of their own


def test_presets_fit_and_average_more_or_fewer_networks(rng):
    X = rng.uniform(-1, 1, (300, 2))
    y = X[:, 0] * X[:, 1] + 0.05 * rng.normal(size=300)
    members = []
    for options in (FitOptions.fast(), FitOptions(), FitOptions.accurate()):
        model = MonotonicRegressor(monotonic_cst=[1, 0], fit_options=options, random_state=0).fit(X, y)
        members.append(model.n_estimators_)
        assert model.certificate_ is not None
    assert members[0] < members[1] < members[2]
    subclass = type("Mine", (FitOptions,), {})
    assert type(subclass.fast()) is subclass


def test_no_hidden_layer_is_an_additive_model(rng):
    X = rng.uniform(-1, 1, (100, 2))
    for settings in ({"hidden_layer_sizes": ()}, {"fit_options": FitOptions(hidden_layer_sizes=())}):
        model = MonotonicRegressor(max_iter=5, random_state=0, **settings).fit(X, X[:, 0])
        assert all(len(trunk.form.weights) == 1 for (trunk,) in model.frozen_.members)


def test_levels_with_a_column_of_their_own():
    X, y = table()
    for levels in (0, 3, 12):
        options = FitOptions(**{**SMALL, "one_hot_levels": levels})
        model = MonotonicRegressor(fit_options=options, max_iter=2, random_state=0).fit(X, y)
        column = model.frozen_.inputs.columns[-1]
        assert isinstance(column, CategoryColumn)
        assert column.n_model == max(levels, 1) + 1  # and one of target means
        assert np.isfinite(model.predict(X)).all()


def test_a_warm_start_refuses_other_options(rng):
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    model = MonotonicRegressor(fit_options=FitOptions(**SMALL), warm_start=True, n_estimators=4, random_state=0)
    model.fit(X, y)
    for change in ({"fit_options__slope_rate": 0.01}, {"fit_options": None}):
        with pytest.raises(InputError, match=r"got a different .*fit_options"):
            clone_of(model).set_params(n_estimators=5, **change).fit(X, y)


def clone_of(model):
    """The same fitted estimator in another object."""
    import copy

    return copy.copy(model)
