"""Inside scikit-learn: searches, pipelines, calibration, partial dependence, routing; and through pickle and joblib."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.inspection import partial_dependence
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from monolip.errors import FrozenFileError
from monolip.estimators import MonotonicClassifier, MonotonicRegressor

from .tables import QUICK, credit

CST = {"income": 1, "debt": -1}
GOOD = {feature: {"good": sign} for feature, sign in CST.items()}


@pytest.fixture(scope="module")
def data():
    return credit(200)


@pytest.fixture(scope="module")
def models(data):
    X, y = data
    regressor = MonotonicRegressor(monotonic_cst=CST, **QUICK).fit(X, y)
    two = MonotonicClassifier(monotonic_cst=GOOD, **QUICK).fit(X, np.where(y > 10, "good", "bad"))
    three = MonotonicClassifier(monotonic_cst={"income": {2: 1}}, **QUICK).fit(X, np.digitize(y, [9.5, 10.5]))
    return {"regressor": regressor, "two": two, "three": three}


def test_grid_search_and_cross_validation_in_processes(data):
    X, y = data
    search = GridSearchCV(MonotonicRegressor(monotonic_cst=CST, **QUICK), {"n_bins": [0, 8]}, cv=2).fit(X, y)
    assert search.best_estimator_.slopes_["income"][0] >= 0
    scores = cross_validate(MonotonicClassifier(monotonic_cst=CST, **QUICK), X, y > 10, cv=2, n_jobs=2)
    assert (scores["test_score"] > 0.5).all()


def test_pipelines_and_column_transformers_keep_names(data):
    X, y = data
    scale = ColumnTransformer(
        [("scale", StandardScaler(), ["debt"])], remainder="passthrough", verbose_feature_names_out=False
    )
    scale.set_output(transform="pandas")
    pipe = make_pipeline(scale, MonotonicRegressor(monotonic_cst=CST, **QUICK)).fit(X, y)
    assert pipe[-1].feature_names_in_[0] == "debt"
    assert (pipe.predict(X.assign(income=X["income"] * 2)) >= pipe.predict(X)).all()


def test_calibrated_classifier_and_partial_dependence(data, models):
    X, y = data
    calibrated = CalibratedClassifierCV(MonotonicClassifier(monotonic_cst=CST, **QUICK), cv=2).fit(X, y > 10)
    assert calibrated.predict_proba(X).shape == (200, 2)
    shape = partial_dependence(models["regressor"], X, ["income"], kind="individual")["individual"][0]
    assert (np.diff(shape, axis=1) >= 0).all()


def test_sample_weights_are_routed(data):
    X, y = data
    with sklearn.config_context(enable_metadata_routing=True):
        model = MonotonicRegressor(**QUICK).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"n_bins": [0]}, cv=2)
        search.fit(X, y, sample_weight=np.where(np.arange(200) < 100, 1.0, 1e-3))
    assert np.isfinite(search.best_score_)


def test_clone_pickle_and_joblib_keep_every_bit(data, models, tmp_path):
    X, _ = data
    for name, model in models.items():
        joblib.dump(model, tmp_path / name)
        for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / name)):
            assert np.array_equal(again.predict(X), model.predict(X))
            assert again.frozen_.digest == model.frozen_.digest
        assert clone(model).get_params() == model.get_params()


def test_save_and_load_need_no_pickle_and_keep_every_bit(data, models, tmp_path):
    X, _ = data
    for name, model in models.items():
        path = tmp_path / f"{name}.safetensors"
        model.save(path)
        again = type(model).load(path)
        method = "predict" if name == "regressor" else "predict_proba"
        assert np.array_equal(getattr(again, method)(X[X.columns[::-1]]), getattr(model, method)(X))
        assert str(again.slopes_) == str(model.slopes_)
        if name != "regressor":
            assert np.array_equal(again.predict(X), model.predict(X))
            assert again.classes_.tolist() == model.classes_.tolist()
    with pytest.raises(FrozenFileError, match="was not saved by a MonotonicClassifier"):
        MonotonicClassifier.load(tmp_path / "regressor.safetensors")


def test_a_loaded_model_without_names_takes_arrays(tmp_path, rng):
    X = rng.normal(size=(100, 2))
    model = MonotonicRegressor(**QUICK).fit(X, X[:, 0])
    model.save(tmp_path / "m")
    again = MonotonicRegressor.load(tmp_path / "m")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert not hasattr(again, "feature_names_in_")


def test_refitting_on_an_array_forgets_the_names(data):
    X, y = data
    model = MonotonicRegressor(**QUICK).fit(X, y)
    model.fit(X[["income", "debt"]].to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2


def test_set_output_of_a_surrounding_pipeline_is_pandas(data):
    X, y = data
    scaler = StandardScaler().set_output(transform="pandas")
    pipe = make_pipeline(scaler, MonotonicRegressor(monotonic_cst=CST, **QUICK)).fit(X[["income", "debt"]], y)
    assert isinstance(pipe[0].transform(X[["income", "debt"]]), pd.DataFrame)
    assert pipe[-1].slopes_["debt"][1] <= 0
