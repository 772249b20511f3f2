"""An estimator whose forest reads a feature with a direction: it is told, kept by predict, saved, and audited."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.certify.auditing import audit
from monolip.cli._forest import forest_line
from monolip.estimators._freezing import with_forest

from ..forests import FAR, directed_forest, steps_across

QUICK = {"n_estimators": 1, "max_iter": 20, "random_state": 0, "trees": False}


def rows(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"dose": rng.normal(size=n), "age": rng.normal(size=n), "day": rng.normal(size=n)})
    X.loc[::9, "dose"] = np.nan
    return X, (X.dose.fillna(-2) - X.age + 0.1 * rng.normal(size=n)).to_numpy()


def with_trees(kind: str):
    """dose: increasing, missing counts as lowest; age: decreasing; both, and day, are read by trees."""
    X, y = rows()
    given = {"monotonic_cst": {"dose": 1, "age": -1}, "missing": {"dose": "lowest"}, **QUICK}
    model = MonotonicRegressor(**given) if kind == "number" else MonotonicClassifier(**given)
    model.fit(X, y if kind == "number" else y > 0)
    forest = directed_forest(np.random.default_rng(1), (0, 1, 2), {0: 1, 1: -1}, 12, 4, (-FAR, 0.0, 0.0), codes=())
    model._adopt(with_forest(model.frozen_, forest), model._schema)
    return model, X


@pytest.mark.parametrize("kind", ["number", "class"])
def test_what_is_told_is_kept_and_comes_back(kind, tmp_path):
    model, X = with_trees(kind)
    assert model.tree_features_ == ("dose", "age", "day")
    promises = {row.feature: row.promise for row in model.slopes_}
    assert promises == {"dose": "increasing (trees)", "age": "decreasing (trees)", "day": "free (trees)"}
    claims = {claim.feature: (claim.promise, claim.missing) for claim in model.certificate_}
    assert claims["dose"] == ("increasing", "lowest")
    assert claims["age"][0] == "decreasing"
    assert claims["day"] == ("free", None)
    assert model.certificate_.check().startswith("PROVED")
    line = forest_line(model, None, False)
    assert line.endswith("What they read has no slope bounds; directions hold (dose, age).")
    model.save(tmp_path / "m.safetensors")
    loaded = type(model).load(tmp_path / "m.safetensors")
    assert loaded.frozen_.digest == model.frozen_.digest
    assert (loaded.predict(X) == model.predict(X)).all()
    assert str(loaded.slopes_) == str(model.slopes_)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", ["number", "class"])
def test_predictions_keep_it_bit_for_bit(kind, exact):
    model, X = with_trees(kind)
    ask = model.predict if kind == "number" else (lambda table, exact: model.predict_proba(table, exact=exact)[:, 1])
    for k, (name, sign) in enumerate((("dose", 1), ("age", -1))):
        steps = steps_across(model.frozen_.inputs.forest, k)
        steps = steps[np.isfinite(steps)]
        steps = np.append(np.nan, steps) if name == "dose" else steps  # missing counts as lowest
        table = X.iloc[:20].loc[X.index[:20].repeat(len(steps))].assign(**{name: np.tile(steps, 20)})
        found = ask(table, exact=exact).reshape(20, len(steps))
        assert (sign * np.diff(found, axis=1) >= 0).all()
        assert (np.diff(found, axis=1) != 0).sum() > 20


def test_an_audit_finds_nothing():
    model, X = with_trees("number")
    report = audit(model, X, {"dose": 1, "age": -1}, max_rows=30, max_evaluations=20_000)
    assert not report.violated
    assert report.thresholds_read > 10
