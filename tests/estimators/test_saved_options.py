"""Options of the fit and its history in model files: equal after load, and refused where they cannot be."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from monolip.errors import FrozenFileError, InputError
from monolip.estimators import FitOptions, MonotonicClassifier, MonotonicRegressor
from monolip.estimators._saving import ENTRY, _seal, read_entry
from monolip.frozen import FrozenNetwork
from monolip.frozen_file import save

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (80, 2))
Y = X[:, 0] + X[:, 0] * X[:, 1]
QUICK = FitOptions.fast().set_params(n_estimators=2, n_stages=2, n_bins=4, slope_rate=0.2)


@pytest.fixture(scope="module")
def model():
    return MonotonicRegressor(monotonic_cst=[1, 0], fit_options=QUICK, random_state=0).fit(X, Y)


def edited(model, path, change):
    """The model's file, whose entry `change` has edited, under a valid seal."""
    model.save(path)
    entry = json.loads(read_entry(path))
    del entry["seal"]
    change(entry["parameters"])
    network = FrozenNetwork.load(path)
    save(network, path, {ENTRY: json.dumps({**entry, "seal": _seal(entry, network.digest)})})
    return path


@pytest.mark.parametrize("options", [None, FitOptions(), FitOptions.accurate(), QUICK, FitOptions(bin_kinds=(8,))])
@pytest.mark.parametrize("kind", [MonotonicRegressor, MonotonicClassifier])
def test_options_are_equal_after_load_and_pickle(kind, options, tmp_path):
    small = options and clone(options).set_params(n_estimators=1, n_stages=1)
    y = Y > 0 if kind is MonotonicClassifier else Y
    first = kind(fit_options=small, random_state=0).fit(X, y)
    first.save(tmp_path / "m")
    for again in (kind.load(tmp_path / "m"), pickle.loads(pickle.dumps(first))):
        assert again.fit_options == small
        assert again.get_params() == first.get_params()
        assert again.history_ == first.history_
        assert again.fit(X, y).frozen_.digest == first.frozen_.digest


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n_bin": 8}, "n_bin"),
        ({"n_bins": "many"}, "n_bins"),
        ({"n_bins": [8, 8, 8]}, "n_bins"),
        ({"n_bins": None}, "n_bins"),
        ({"n_bins": [8, 8.5]}, "n_bins"),
        ({"n_estimators": 10**12}, "n_estimators"),
        ({"first_steps": 10**400}, "first_steps"),
        ({"first_steps": True}, "first_steps"),
        ({"slope_rate": 1e300}, "slope_rate"),
        ({"slope_rate": -0.1}, "slope_rate"),
        ({"ridge_strengths": [1.0] * 10_000}, "ridge_strengths"),
        ({"hidden_layer_sizes": [0]}, "hidden_layer_sizes"),
        ({"hidden_layer_sizes": {"a": 1}}, "hidden_layer_sizes"),
        ({"validation_fraction": 0.0}, "validation_fraction"),
    ],
)
def test_options_that_cannot_be_are_an_error_that_names_file_and_field(model, change, says, tmp_path):
    def edit(parameters):
        parameters["fit_options"]["fit_options"][0] |= change

    with pytest.raises(FrozenFileError, match=says) as error:
        MonotonicRegressor.load(edited(model, tmp_path / "m.safetensors", edit))
    assert str(tmp_path / "m.safetensors") in str(error.value)
    assert len(str(error.value)) < 1500


@pytest.mark.parametrize(
    "written",
    [3, "fast", [1], {"fit_options": [3, []]}, {"fit_options": []}, {"fit_options": 1}, {"options": [{}, []]}],
)
def test_what_is_no_options_is_refused(model, written, tmp_path):
    with pytest.raises(FrozenFileError, match=r"m\.safetensors has malformed parameters"):
        MonotonicRegressor.load(
            edited(model, tmp_path / "m.safetensors", lambda parameters: parameters.update(fit_options=written))
        )


def test_a_field_that_a_file_lacks_takes_its_default_and_one_of_another_version_must_have_had_its_own(model, tmp_path):
    def lacks(parameters):
        del parameters["fit_options"]["fit_options"][0]["slope_rate"]

    def knows(parameters):
        written, usual = parameters["fit_options"]["fit_options"]
        written["momentum"] = 0.9
        usual.append("momentum")

    found = MonotonicRegressor.load(edited(model, tmp_path / "m", lacks)).fit_options
    assert found.slope_rate == FitOptions().slope_rate
    assert found.n_bins == (4, 4)
    assert MonotonicRegressor.load(edited(model, tmp_path / "m", knows)).fit_options == QUICK


@pytest.mark.parametrize(
    "row",
    [
        {"member": 0},
        {"stream_rows": -1, "validation_loss": 0.5},
        {"stream_rows": 7, "validation_loss": "low"},
        {"stream_rows": 10**30, "validation_loss": 0.5},
        7,
    ],
)
def test_a_history_that_cannot_be_is_refused(model, row, tmp_path):
    def edit(parameters):
        facts = parameters["facts of the fit"]["dict"]
        next(value for key, value in facts if key == "history").append({"dict": list(row.items())} if row != 7 else 7)

    with pytest.raises(FrozenFileError, match=r"m\.safetensors has malformed facts"):
        MonotonicRegressor.load(edited(model, tmp_path / "m.safetensors", edit))


@pytest.mark.parametrize(
    ("name", "value"),
    [("member", -1), ("member", True), ("member", 0.5), ("refit", 1), ("chosen", None), ("seconds", "long"),
     ("validation_loss", [1.0]), ("steps", 10**30), ("steps", None)],
)  # fmt: skip
def test_a_row_of_the_history_holds_what_rows_hold(model, name, value, tmp_path):
    def edit(parameters):
        facts = parameters["facts of the fit"]["dict"]
        first = next(value for key, value in facts if key == "history")[0]["dict"]
        first[:] = [[key, value if key == name else old] for key, old in first]

    with pytest.raises(FrozenFileError, match=r"m\.safetensors has malformed facts"):
        MonotonicRegressor.load(edited(model, tmp_path / "m.safetensors", edit))


def test_a_search_may_draw_numbers_of_numpy():
    model = MonotonicRegressor(fit_options=clone(QUICK), random_state=0)
    grid = {"fit_options__n_bins": np.array([2, 8]), "fit_options__slope_rate": np.array([0.1], np.float32)}
    found = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, Y)
    assert found.best_estimator_.fit_options.n_bins in ((2, 2), (8, 8))
    assert type(found.best_estimator_.fit_options.n_bins[0]) is int


def test_options_changed_in_place_make_another_definition_for_a_warm_start():
    options = clone(QUICK)
    model = MonotonicRegressor(fit_options=options, n_estimators=1, warm_start=True, random_state=0).fit(X, Y)
    options.set_params(slope_rate=0.3)
    with pytest.raises(InputError, match="fit_options"):
        model.set_params(n_estimators=2).fit(X, Y)


def test_members_of_a_kind_that_was_left_out_keep_their_numbers():
    """Otherwise two members of the history have one number."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (300, 3))
    model = MonotonicRegressor(random_state=0, fit_options=FitOptions(n_stages=3)).fit(X, np.sin(9 * X[:, 0]) + X[:, 1])
    bins = {}
    for row in model.history_:
        bins.setdefault(row["member"], set()).add(row["n_bins"])
    chosen = {row["member"] for row in model.history_ if row["chosen"]}
    assert len(chosen) < len(bins), "no kind of bins was left out"
    assert all(len(found) == 1 for found in bins.values())
    assert len(chosen) == model.n_estimators_ == FitOptions().n_estimators[0]


def test_a_callback_sees_each_row_and_ends_training():
    seen = []
    model = MonotonicRegressor(random_state=0, fit_options=clone(QUICK)).fit(X, Y, callbacks=seen.append)
    assert [{**row, "chosen": False} for row in model.history_] == seen
    cut = MonotonicClassifier(random_state=0, fit_options=clone(QUICK))
    cut.fit(X, Y > 0, callbacks=[seen.append, lambda row: row["stage"] == 1])
    assert max(row["stage"] for row in cut.history_) == 1
    with pytest.raises(InputError, match="callbacks are functions"):
        cut.fit(X, Y > 0, callbacks=["print"])
