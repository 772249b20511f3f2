"""A loaded estimator knows the constraints it was fitted under: fitted again, it keeps them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from monolip.errors import FrozenFileError, InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor
from monolip.estimators._saving import ENTRY, _seal, read_entry, read_parameters, write_parameters
from monolip.frozen import FrozenNetwork
from monolip.frozen_file import save
from monolip.input_transform import InputTransform

from .tables import QUICK, credit, one_ulp_up


@pytest.fixture(scope="module")
def data():
    return credit(150)


def everything(**more):
    """Parameters of every kind that defines a promise."""
    return {
        "monotonic_cst": {"income": np.int64(1), "grade": 1, 2: -1},
        "slopes": {"debt": (-1e-3, np.float64(0.0))},
        "max_slope": {"age": 0.5},
        "missing": {"age": "lowest"},
        "categorical_features": {"grade": ["low", "mid", "high"], "city": None},
        "hidden_layer_sizes": (16, 16),
        **QUICK,
        **more,
    }


def test_a_loaded_model_fits_again_under_the_same_constraints(data, tmp_path):
    X, y = data
    model = MonotonicRegressor(loss="huber", loss_parameter=1.5, **everything()).fit(X, y)
    model.save(tmp_path / "m")
    again = MonotonicRegressor.load(tmp_path / "m")
    assert again.get_params() == model.get_params()
    for refitted in (clone(again).fit(X, y), again.fit(X, y)):
        assert refitted.frozen_.digest == model.frozen_.digest
        assert (refitted.predict(one_ulp_up(X, "income")) >= refitted.predict(X)).all()
        assert refitted.slopes_["income"][0] >= 0
        assert refitted.slopes_["debt"] == model.slopes_["debt"]


@pytest.mark.parametrize("labels", [(0, 1), (False, True), ("bad", "good"), (1.0, 2.0)])
def test_labels_of_classes_keep_their_types(data, tmp_path, labels):
    X, y = data
    target = np.array(labels)[(y > 10).astype(int)]
    cst, weight = {"income": {labels[0]: -1}}, {labels[0]: 1.0, labels[1]: 3.0}
    model = MonotonicClassifier(monotonic_cst=cst, class_weight=weight, **QUICK).fit(X, target)
    model.save(tmp_path / "m")
    again = MonotonicClassifier.load(tmp_path / "m")
    assert again.get_params() == model.get_params()
    assert clone(again).fit(X, target).frozen_.digest == model.frozen_.digest


def test_arrays_come_back_as_lists_and_random_states_as_none(tmp_path, rng):
    X = rng.normal(size=(80, 2))
    parameters = {"monotonic_cst": np.array([1, 0]), "categorical_features": np.array([False, False])}
    model = MonotonicRegressor(**{**QUICK, **parameters, "random_state": np.random.RandomState(0)}).fit(X, X[:, 0])
    model.save(tmp_path / "m")
    again = MonotonicRegressor.load(tmp_path / "m")
    assert (again.monotonic_cst, again.categorical_features) == ([1, 0], [False, False])
    assert again.random_state is None
    assert again.fit(X, X[:, 0]).slopes_["x0"][0] >= 0


def test_a_promise_that_cannot_be_written_is_an_error_at_save(data, tmp_path):
    X, y = data
    model = MonotonicRegressor(**QUICK).fit(X, y).set_params(monotonic_cst={"income": object()})
    with pytest.raises(InputError, match=r"monotonic_cst=.*cannot be written as JSON; use numbers"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_the_wrong_class_is_told_the_right_one(data, tmp_path):
    X, y = data
    MonotonicClassifier(**QUICK).fit(X, y > 10).save(tmp_path / "c")
    with pytest.raises(
        FrozenFileError, match=r"not saved by a MonotonicRegressor .* load it with MonotonicClassifier\.load"
    ):
        MonotonicRegressor.load(tmp_path / "c")


def edited(path, change):
    """The file again, with another entry of parameters."""
    network, entry = FrozenNetwork.load(path), json.loads(read_entry(path))
    change(entry)
    save(network, path, {ENTRY: json.dumps(entry)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda e: e["parameters"].update(monotonic_cst=None), "do not match their seal"),
        (lambda e: e.update(estimator="MonotonicClassifier"), "do not match their seal"),
        (lambda e: e.update(version=3), "parameters of version 2; got version 3"),
        (lambda e: e.pop("seal"), "malformed parameters"),
        (lambda e: e.update(parameters=[]), "parameters of version 2"),
        (lambda e: e.update(more=1), "parameters of version 2"),
        (lambda e: e.update(defaults=[1]), "parameters of version 2"),
        (lambda e: e.update(defaults=["monotonic_cst"]), "do not match their seal"),
    ],
)
def test_edited_parameters_are_refused(data, tmp_path, change, words):
    X, y = data
    path = tmp_path / "m"
    MonotonicRegressor(monotonic_cst={"income": 1}, **QUICK).fit(X, y).save(path)
    edited(path, change)
    with pytest.raises(FrozenFileError, match=words):
        MonotonicRegressor.load(path)


def test_parameters_of_another_model_and_a_bare_network_are_refused(data, tmp_path):
    X, y = data
    free, bound = (MonotonicRegressor(monotonic_cst=cst, **QUICK).fit(X, y) for cst in (None, {"income": 1}))
    free.save(tmp_path / "free")
    save(bound.frozen_, tmp_path / "m", {ENTRY: read_entry(tmp_path / "free")})
    with pytest.raises(FrozenFileError, match="of another model"):
        MonotonicRegressor.load(tmp_path / "m")
    bound.frozen_.save(tmp_path / "bare")
    with pytest.raises(
        FrozenFileError, match=r"not saved by MonotonicRegressor\.save; load it with FrozenNetwork\.load"
    ):
        MonotonicRegressor.load(tmp_path / "bare")


@pytest.mark.parametrize("value", [{"set": []}, {"dict": [[[1], 2]]}, {"dict": 3}, {}])
def test_tags_nobody_writes_are_refused(value):
    text = write_parameters("M", {"a": 1}, {"a": 0}, "digest")
    entry = {**json.loads(text), "parameters": {"a": value}}
    entry["seal"] = _seal({k: v for k, v in entry.items() if k != "seal"}, "digest")
    with pytest.raises(FrozenFileError, match="malformed parameters"):
        read_parameters(json.dumps(entry), "M", {"a": 0}, frozenset(), "digest", "path")
    with pytest.raises(FrozenFileError, match=r"malformed parameters \(some are missing\)"):
        read_parameters(text, "M", {"a": 0}, {"b"}, "digest", "path")


def resealed(path, change):
    """The file as another version would have written it."""
    network, entry = FrozenNetwork.load(path), json.loads(read_entry(path))
    change(entry)
    entry["seal"] = _seal({key: value for key, value in entry.items() if key != "seal"}, network.digest)
    save(network, path, {ENTRY: json.dumps(entry)})


def test_a_parameter_that_a_file_lacks_takes_its_default(data, tmp_path):
    X, y = data
    path, model = tmp_path / "m", MonotonicRegressor(monotonic_cst={"income": 1}, **QUICK).fit(X, y)
    model.save(path)
    resealed(path, lambda entry: entry["parameters"].pop("validation_fraction"))
    again = MonotonicRegressor.load(path)
    assert again.get_params() == model.get_params()
    assert again.validation_fraction == MonotonicRegressor().validation_fraction
    assert (again.predict(X) == model.predict(X)).all()


def test_an_unknown_parameter_is_ignored_at_its_default_and_else_named(data, tmp_path):
    X, y = data
    path, model = tmp_path / "m", MonotonicRegressor(monotonic_cst={"income": 1}, **QUICK).fit(X, y)
    model.save(path)

    def newer(entry):
        entry["parameters"]["momentum"], entry["monolip"] = 0.5, "9.1"
        entry["defaults"].append("momentum")

    resealed(path, newer)
    again = MonotonicRegressor.load(path)
    assert again.get_params() == model.get_params()
    resealed(path, lambda entry: entry["defaults"].remove("momentum"))
    with pytest.raises(FrozenFileError, match=r"got \['momentum'\], which monolip 9\.1 wrote .*FrozenNetwork\.load"):
        MonotonicRegressor.load(path)
    assert FrozenNetwork.load(path) == model.frozen_


def zeros_of(kind, zero):
    """Rows in which zero is the lowest value, one of two values, a category, or a class."""
    rng = np.random.default_rng(0)
    X, y = np.abs(rng.normal(size=(200, 2))), rng.normal(size=200)
    if kind == "lowest":
        X[:40, 0] = zero
    elif kind in ("two", "category"):
        X[:, 0] = np.where(X[:, 0] > 0.7, 1.0, zero)
    elif kind == "class":
        y = np.where(y > 0, 1.0, zero)
    return X, y


@pytest.mark.parametrize("kind", ["lowest", "two", "category", "class"])
def test_minus_zero_makes_no_other_model(kind, tmp_path):
    estimator = MonotonicClassifier if kind == "class" else MonotonicRegressor
    more = {"categorical_features": [0]} if kind == "category" else {}
    one, two = (estimator(**QUICK, **more).fit(*zeros_of(kind, zero)) for zero in (0.0, -0.0))
    assert one.frozen_.digest == two.frozen_.digest
    two.save(tmp_path / "m")
    assert estimator.load(tmp_path / "m").frozen_ == two.frozen_


def test_a_file_that_holds_minus_zero_is_read_as_it_was_written(tmp_path):
    """As fits wrote it once: its digest, and so its certificate, stay valid."""
    X, y = zeros_of("lowest", 0.0)
    network = MonotonicRegressor(**QUICK).fit(X, y).frozen_
    first, *others = network.inputs.columns
    assert first.seen[0] == 0.0
    old = replace(first, seen=(-0.0, *first.seen[1:]))
    network = replace(network, inputs=InputTransform((old, *others)))
    network.save(tmp_path / "m")
    assert FrozenNetwork.load(tmp_path / "m").digest == network.digest
