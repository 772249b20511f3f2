"""Small fitted estimators with every kind of column, and frozen networks of every form, for all exporters."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from monolip import FrozenNetwork, MonotonicClassifier, MonotonicRegressor, SlopeBounds
from monolip.frozen import Trunk
from tests.make import convex, frozen_networks

__all__ = ["RANGES", "estimator", "frozen", "table", "two_track"]

RANGES = {"x": (-3.0, 3.0), "y": (-3.0, 3.0), "z": (-3.0, 3.0)}


@cache
def table() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 300
    X = pd.DataFrame({"a": rng.uniform(0, 10, n), "b": rng.normal(size=n), "g": rng.choice([1.0, 2.0, 5.0], n)})
    X["city"] = rng.choice(["x", "y", "z"], n)
    X.loc[::17, "b"] = np.nan
    return X


@cache
def estimator(kind: str):
    """ "numbers", "strings", "logit", "first" (of two classes the first is named), "softmax" or "log"."""
    X = table()
    y = np.log1p(X.a) + 0.2 * X.b.fillna(0.0) + (X.city == "x") + 0.1 * X.g
    numeric = X[["a", "b", "g"]]
    common = {"max_iter": 2, "random_state": 0}
    if kind == "strings":
        model = MonotonicRegressor(monotonic_cst={"a": 1}, categorical_features=["city", "g"], **common)
        return model.fit(X, y)
    if kind == "numbers":
        return MonotonicRegressor(monotonic_cst={"a": 1}, categorical_features=["g"], **common).fit(numeric, y)
    if kind == "log":
        return MonotonicRegressor(loss="poisson", monotonic_cst={"a": 1}, **common).fit(numeric, np.round(np.exp(y)))
    if kind == "logit":
        return MonotonicClassifier(monotonic_cst={"a": 1, "b": -1}, **common).fit(numeric, y > y.median())
    if kind == "first":
        labels = pd.Series(np.where(y > y.median(), "bad", "good"), name="loan")
        return MonotonicClassifier(monotonic_cst={"a": {"bad": 1}, "b": {"bad": -1}}, **common).fit(numeric, labels)
    return MonotonicClassifier(monotonic_cst={"a": {2: 1}}, **common).fit(numeric, np.digitize(y, [1.5, 2.2]))


@cache
def frozen() -> dict[str, FrozenNetwork]:
    return frozen_networks(np.random.default_rng(7))


@cache
def two_track() -> FrozenNetwork:
    """The shape that runs in LHCb's trigger: 4-20-20-1, sorts of pairs, increasing in all features but the third."""
    slopes = SlopeBounds.from_monotonic_cst([1, 1, 0, 1], 2.0)
    form = convex(np.random.default_rng(3), [4, 20, 20, 1], 2, slopes)
    return FrozenNetwork(slopes, ((Trunk(form, (0,)),),))
