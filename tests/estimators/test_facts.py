"""What a fit says about itself: history and calibration survive a file, caps are printed, warm starts know rows."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from monolip.errors import FrozenFileError, InputError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor
from monolip.estimators._facts import Facts, count_members
from monolip.estimators._saving import ENTRY, _seal, read_entry
from monolip.estimators.calibration import measure_calibration
from monolip.frozen import FrozenNetwork
from monolip.frozen_file import save

from .tables import QUICK, credit


@pytest.fixture(scope="module")
def data():
    return credit(200)


@pytest.fixture(scope="module")
def classifier(data):
    X, y = data
    return MonotonicClassifier(monotonic_cst={"income": 1}, max_slope={"age": 0.05, "income": 1e-3}, **QUICK).fit(
        X, y > 10
    )


def test_a_loaded_model_has_its_history_and_its_calibration(classifier, tmp_path):
    classifier.save(tmp_path / "m")
    again = MonotonicClassifier.load(tmp_path / "m")
    assert again.history_ == classifier.history_
    assert again.n_iter_ == classifier.n_iter_
    assert again.calibration_ == classifier.calibration_
    assert str(again.slopes_) == str(classifier.slopes_)


def test_members_that_a_model_has_not_are_not_counted():
    """Members of a kind that was left out have rows too; those of a stream have no member."""
    rows = [{"member": m, "stage": k, "chosen": m != 2 and k == 1} for m in range(4) for k in range(3)]
    assert count_members([*rows, {**rows[1], "refit": True}, {"stream_rows": 7, "validation_loss": 0.5}]) == 3
    assert count_members([]) == 0


def test_numbers_that_json_cannot_hold_become_none():
    row = {"stream_rows": np.int64(7), "validation_loss": np.nan}
    text = json.dumps(Facts([row, {**row, "validation_loss": np.float32(0.5)}], np.int64(3)).written(), allow_nan=False)
    losses = [row["validation_loss"] for row in Facts.read(json.loads(text), (), "f").history]
    assert losses == [None, 0.5]


@pytest.mark.parametrize(
    "change",
    [
        lambda f: None,
        lambda f: {**f, "more": 1},
        lambda f: {**f, "history": {}},
        lambda f: {**f, "history": [1]},
        lambda f: {**f, "history": [{"loss": [[1.0]]}]},
        lambda f: {**f, "history": f["history"] * 10_001},
        lambda f: {**f, "n_iter": "many"},
        lambda f: {**f, "n_iter": -1},
        lambda f: {**f, "capped": ["nobody"]},
        lambda f: {**f, "capped": [["age"]]},
        lambda f: {**f, "calibration": [1.0]},
        lambda f: {**f, "calibration": [0.1, "x", [], 0.2]},
        lambda f: {**f, "calibration": [0.1, 0.2, [[1, 2]], 0.2]},
        lambda f: {**f, "calibration": [0.1, 0.2, [[0.1, 0.2, float("inf")]], 0.2]},
    ],
)
def test_malformed_facts_are_refused(change):
    good = Facts(
        [{"stream_rows": 7, "validation_loss": 1.0}], 2, ("age",), measure_calibration([[0.5, 0.5]], np.array([0]))
    ).written()
    names = ("age", "income")
    assert Facts.read(good, names, "file").n_iter == 2
    with pytest.raises(FrozenFileError, match=r"^file has malformed facts of its fit .*; get an undamaged copy\.$"):
        Facts.read(change(good), names, "file")


def test_facts_in_a_file_are_checked_even_under_a_valid_seal(classifier, tmp_path):
    path = tmp_path / "m"
    classifier.save(path)
    network, entry = FrozenNetwork.load(path), json.loads(read_entry(path))
    entry["parameters"]["facts of the fit"] = {"dict": [["n_iter", 1]]}
    entry["seal"] = _seal({k: v for k, v in entry.items() if k != "seal"}, network.digest)
    save(network, path, {ENTRY: json.dumps(entry)})
    with pytest.raises(FrozenFileError, match="malformed facts"):
        MonotonicClassifier.load(path)


def test_a_capped_feature_prints_its_cap_and_others_stay_free(classifier):
    rows = {row.feature: row for row in classifier.slopes_}
    assert rows["age"].promise == "bounded"
    assert rows["income"].promise == "increasing"
    low, high = rows["age"].promised
    assert -0.05 <= low <= rows["age"].lower
    assert rows["age"].upper <= high <= 0.05
    assert rows["income"].promised == pytest.approx((0.0, 1e-3))
    assert (rows["debt"].promise, rows["debt"].promised) == ("free", None)
    text = str(classifier.slopes_)
    assert "bounded [-0.05, 0.05]" in text
    assert "increasing [0, 0.001]" in text


def test_a_cap_on_all_features_and_an_interval_are_printed_too(data):
    X, y = data
    table = MonotonicRegressor(max_slope=2.0, slopes={"debt": (-1e-3, 0.5)}, **QUICK).fit(X, y).slopes_
    promised = {row.feature: (row.promise, row.promised) for row in table}
    assert promised["debt"] == ("bounded", (-1e-3, 0.5))
    assert promised["income"][0] == promised["age"][0] == "bounded"
    assert "[-0.001, 0.5]" in table._repr_html_()


@pytest.mark.parametrize("estimator", [MonotonicRegressor, MonotonicClassifier])
def test_a_warm_start_refuses_other_rows(data, estimator):
    X, y = data
    y = y if estimator is MonotonicRegressor else y > 10
    model = estimator(warm_start=True, **QUICK).fit(X, y)
    model.set_params(n_estimators=3)
    other = X.copy()
    other.loc[7, "age"] = 33.25
    relabelled = X.copy()
    relabelled.loc[0, "city"] = next(city for city in "ABC" if city != X["city"][0])
    for changed in (other, relabelled):
        with pytest.raises(InputError, match=r"got a different X; change nothing but n_estimators, or set warm_start"):
            model.fit(changed, y)
    order = np.arange(len(y))
    order[[0, 1]] = 1, 0
    with pytest.raises(InputError, match="got a different X"):
        model.fit(X.iloc[order].reset_index(drop=True), y)
    assert len(model.fit(X.copy(), y)._fitted.networks) == 3


def test_a_warm_start_knows_rows_by_their_values_not_their_container(rng):
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = MonotonicRegressor(warm_start=True, **QUICK).fit(X, y).set_params(n_estimators=3)
    assert len(model.fit(np.asfortranarray(X), y)._fitted.networks) == 3
    with pytest.raises(InputError, match="different y"):
        model.set_params(n_estimators=4).fit(X, y, offset=rng.normal(size=60))
    frame = pd.DataFrame(X, columns=["x0", "x1"])
    with pytest.raises(InputError, match="on the same columns"):  # named columns are other columns
        model.fit(frame, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_measures_its_calibration_on_rows_it_held_out(n_classes):
    X, y = credit(600)
    codes = np.digitize(y, [9.5, 10.5]) if n_classes == 3 else (y > 10).astype(int)
    model = MonotonicClassifier(random_state=0, n_estimators=4).fit(X, codes)
    inside = model.calibration_
    validated = {row["member"] for row in model.history_ if row["validation_loss"] is not None}
    used = validated & {row["member"] for row in model.history_ if row["chosen"]}
    assert sum(rows for _, _, rows in inside.bins) == len(used) * 75  # each of them on an eighth of the rows
    fresh, z = credit(4000, 1)
    new = model.calibration(fresh, np.digitize(z, [9.5, 10.5]) if n_classes == 3 else (z > 10).astype(int))
    assert abs(inside.log_loss - new.log_loss) < 0.12  # 300 rows say this much about 4000
    assert abs(inside.brier - new.brier) < 0.05
    assert "Brier score" in repr(inside)
    assert model.recalibrate(fresh, model.predict(fresh)).calibration_ is None


def test_calibration_follows_weights_and_is_none_without_held_out_rows(data):
    X, y = data
    assert MonotonicClassifier(early_stopping=False, **QUICK).fit(X, y > 10).calibration_ is None
    assert not hasattr(MonotonicRegressor(**QUICK).fit(X, y), "calibration_")
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]])
    twice = measure_calibration(np.repeat(p, [3, 1, 2], axis=0), np.repeat([0, 1, 1], [3, 1, 2]), n_bins=1)
    once = measure_calibration(p, np.array([0, 1, 1]), n_bins=1, weight=np.array([3.0, 1.0, 2.0]))
    assert once[:2] == pytest.approx(twice[:2])
    assert once.brier == pytest.approx(twice.brier) == pytest.approx((3 * 0.01 + 0.81 + 2 * 0.04) / 6)


def test_calibration_is_measured_when_asked_for_and_a_pickle_holds_no_rows(data):
    X, y = data
    model = MonotonicClassifier(**QUICK)
    assert not hasattr(model, "calibration_")
    model.fit(X, y > 10)
    assert model._held_out is not None
    again = pickle.loads(pickle.dumps(model))
    assert again._held_out is None
    assert again.calibration_ == model.calibration_
    assert model.calibration_ is model.calibration_  # measured once
