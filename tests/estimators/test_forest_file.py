"""The file of a network with a forest beside it: the same bits after loading, an error after damage."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from monolip.errors import FrozenFileError, MonolipError, StructureError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor, WithFreeForest, _saving
from monolip.estimators._forest_file import FORMAT, FrozenSum
from monolip.estimators._free_columns import FreeColumn
from monolip.sealed_file import header_length


def jumps(n=900):
    rng = np.random.default_rng(5)
    b = rng.uniform(size=n)
    b[::9] = np.nan
    X = pd.DataFrame({"a": rng.normal(size=n), "b": b, "c": rng.choice(list("uvw"), n), "d": rng.uniform(size=n)})
    return X, (X.a + 2 * (np.floor(15 * X.d) % 2) + (X.c == "v") + X.b.isna()).to_numpy()


def fitted(kind=MonotonicRegressor, cv=None):
    X, y = jumps()
    f = kind(monotonic_cst={"a": 1}, n_estimators=1, max_iter=10, random_state=0)
    model = WithFreeForest(f, n_trees=4, min_samples_leaf=4, cv=cv, random_state=3)
    return model.fit(X, y if kind is MonotonicRegressor else y > np.median(y)), X


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model, X = fitted()
    assert model.share_ > 0
    path = tmp_path_factory.mktemp("forest") / "model.safetensors"
    model.save(path)
    return path.read_bytes(), X, model.predict(X)


@pytest.mark.parametrize("kind", [MonotonicRegressor, MonotonicClassifier])
def test_a_loaded_model_is_the_same(kind, tmp_path):
    model, X = fitted(kind)
    assert model.share_ > 0
    model.save(tmp_path / "m.safetensors")
    again = WithFreeForest.load(tmp_path / "m.safetensors")
    rows = X.assign(c=["new", None, *X.c[2:]])
    assert again.predict(rows).tobytes() == model.predict(rows).tobytes()
    for name in ("share_", "gain_", "free_features_", "n_trees", "min_samples_leaf", "random_state", "n_features_in_"):
        assert getattr(again, name) == getattr(model, name)
    assert again.estimator_.frozen_ == model.estimator_.frozen_
    assert str(again.estimator.get_params()) == str(model.estimator.get_params())
    again.save(tmp_path / "n.safetensors")
    assert FrozenSum.load(tmp_path / "n.safetensors").digest == FrozenSum.load(tmp_path / "m.safetensors").digest
    if kind is MonotonicClassifier:
        assert again.classes_.tolist() == model.classes_.tolist()
        assert again.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()


def test_a_model_without_a_forest_is_saved_as_well(tmp_path, rng):
    X = rng.normal(size=(100, 2))
    for cst in ([1, 0], [1, 1]):
        with pytest.warns(UserWarning, match="every feature") if cst[1] else np.errstate():
            model = WithFreeForest(MonotonicRegressor(monotonic_cst=cst, max_iter=2)).fit(X, X[:, 0])
        model.save(tmp_path / "m.safetensors")
        again = WithFreeForest.load(tmp_path / "m.safetensors")
        assert again.forest_ is None
        assert again.predict(X).tobytes() == model.predict(X).tobytes()


def test_what_a_file_cannot_hold_is_left_out(tmp_path):
    from sklearn.model_selection import KFold

    model, _ = fitted(cv=KFold(2))
    model.save(tmp_path / "m.safetensors")
    assert WithFreeForest.load(tmp_path / "m.safetensors").cv is None
    with pytest.raises(FrozenFileError, match="no pickle"):
        model.save(tmp_path / "m.pkl")


@given(st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_flipped_bits_are_found(saved, tmp_path, data):
    content, X, found = saved
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    (tmp_path / "d.safetensors").write_bytes(bytes(damaged))
    with suppress(FrozenFileError):
        assert WithFreeForest.load(tmp_path / "d.safetensors").predict(X).tobytes() == found.tobytes()


def sealed_again(content, change):
    """The file with something changed, under a true digest: what only a check of the content can find."""
    tensors = read_tensors(content)
    metadata = json.loads(content[8 : 8 + header_length(content)])["__metadata__"]
    header = json.loads(metadata["monolip"])
    change(header["structure"], tensors)
    header["digest"] = FORMAT.digest(header["structure"], tensors)
    return write_tensors(tensors, {**metadata, "monolip": json.dumps(header, sort_keys=True)})


def put(name, place, value):
    def change(_, tensors):
        tensors[name] = tensors[name].copy()
        tensors[name][place] = value

    return change


def words(**new):
    return lambda structure, _: structure.update(new)


@pytest.mark.parametrize(
    "change",
    [
        put("forest.child", 0, 0),  # a circle
        put("forest.child", 0, 10**6),
        put("forest.child", 0, -5),
        put("forest.child", 0, 2**40 + 1),
        put("forest.feature", 0, 99),
        put("forest.feature", 0, -7),
        put("forest.value", -1, np.nan),
        put("forest.value", -1, np.inf),
        put("forest.threshold", 0, np.nan),
        words(share=2.0),
        words(share=0.0),
        words(share=-0.5),
        words(share="much"),
        words(share=True),
        words(share=1),
        lambda structure, _: structure["columns"][1].update(labels=["w", "v", "u"]),
        lambda structure, _: structure["columns"][1].update(labels=[]),
        lambda structure, _: structure["columns"][1].update(unknown=5.0),
        lambda structure, _: structure["columns"][2].update(unknown=1.0),
        words(nodes=[1]),
        words(nodes=[]),
        words(nodes=[-3, 5]),
        words(nodes="all"),
        words(columns=[]),
        words(extra=1),
        lambda structure, _: structure["columns"][0].update(place=77),
        lambda structure, _: structure["columns"][0].update(labels=["u"]),
        lambda structure, _: structure["columns"].reverse(),
        lambda structure, _: structure.pop("network"),
        lambda _, tensors: tensors.pop("forest.value"),
        lambda _, tensors: tensors.update(other=np.zeros(3)),
        lambda _, tensors: tensors.update({"forest.value": tensors["forest.value"][:0]}),
        lambda _, tensors: tensors.update({"forest.threshold": tensors["forest.threshold"][:3]}),
        lambda _, tensors: tensors.update({"forest.value": tensors["forest.value"][:, None]}),
        lambda _, tensors: tensors.update({"forest.threshold": tensors["forest.threshold"][:, None]}),
        lambda structure, _: structure["columns"][0].update(place=0),  # what the network promises a direction of
    ],
)
def test_a_true_seal_on_false_content_helps_nothing(change, saved, tmp_path):
    (tmp_path / "f.safetensors").write_bytes(sealed_again(saved[0], change))
    with pytest.raises(FrozenFileError):
        FrozenSum.load(tmp_path / "f.safetensors")
    (tmp_path / "f.safetensors").write_bytes(sealed_again(saved[0], words()))
    assert FrozenSum.load(tmp_path / "f.safetensors").share > 0, "it is the change that was refused"


def test_other_files_are_told_apart(saved, tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(saved[0])
    with pytest.raises(FrozenFileError, match=r"load it with WithFreeForest\.load"):
        MonotonicRegressor.load(path)
    model, _ = fitted()
    model.estimator_.save(tmp_path / "f.safetensors")
    with pytest.raises(FrozenFileError, match=r"load it with FrozenNetwork\.load, or the load of the estimator"):
        WithFreeForest.load(tmp_path / "f.safetensors")
    with pytest.raises(FileNotFoundError):
        WithFreeForest.load(tmp_path / "none.safetensors")


def test_a_forest_that_sees_a_promised_feature_is_refused(tmp_path):
    model, _ = fitted()
    model._columns = replace(model._columns, places=(0, 2, 3))
    with pytest.raises(StructureError, match="has a direction"):
        model.save(tmp_path / "m.safetensors")
    X, y = jumps()
    f = MonotonicRegressor(slopes={"d": (-1.0, 2.0)}, max_slope={"b": 3.0}, max_iter=5, random_state=0)
    model = WithFreeForest(f, cv=2, n_trees=2, random_state=0).fit(X, y)
    assert model.free_features_ == ("a", "c")
    for place in (1, 3):
        model._columns = replace(model._columns, places=(place,), columns=(FreeColumn(None, 0.0, -np.inf),))
        model.forest_, model.share_ = None, 0.0
        model.save(tmp_path / "m.safetensors")
        with pytest.raises(FrozenFileError, match="promise"):
            WithFreeForest.load(tmp_path / "m.safetensors")


@pytest.mark.parametrize("wrong", [{"monotonic_cst": {"zzz": 1}}, {"max_slope": "a"}, {"missing": 5}])
def test_parameters_that_cannot_be_meant_are_told_of_the_file(wrong, tmp_path):
    model, _ = fitted()
    model.estimator_.set_params(**wrong)
    model.save(tmp_path / "m.safetensors")
    with pytest.raises(FrozenFileError, match=r"m\.safetensors"):
        WithFreeForest.load(tmp_path / "m.safetensors")


def test_parameters_in_deep_nests_are_an_error_not_a_crash(saved, tmp_path):
    content = saved[0]
    metadata = json.loads(content[8 : 8 + header_length(content)])["__metadata__"]
    entry = json.loads(metadata["monolip.forest"])
    del entry["seal"]
    for _ in range(600):
        entry["parameters"]["cv"] = [entry["parameters"]["cv"]]
    entry["seal"] = _saving._seal(entry, json.loads(metadata["monolip"])["digest"])
    damaged = write_tensors(read_tensors(content), {**metadata, "monolip.forest": json.dumps(entry)})
    (tmp_path / "m.safetensors").write_bytes(damaged)
    with pytest.raises(FrozenFileError, match=r"malformed parameters .*Recursion"):
        WithFreeForest.load(tmp_path / "m.safetensors")


def test_how_large_a_file_may_be(tmp_path):
    model, _ = fitted()
    model.save(tmp_path / "m.safetensors")
    with pytest.raises(FrozenFileError, match="max_bytes"):
        WithFreeForest.load(tmp_path / "m.safetensors", max_bytes=100)


def test_an_untrusted_file_is_an_error_not_a_crash(tmp_path):
    for content in (b"", b"x" * 20, b"\xff" * 8 + b"{}", b"PK\x03\x04" + b"0" * 100):
        (tmp_path / "z.safetensors").write_bytes(content)
        with pytest.raises(MonolipError):
            WithFreeForest.load(tmp_path / "z.safetensors")
