"""Other monotone models, re-run: boosted trees with the same promised directions, and a network with a penalty."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paper.datasets.data_set import DataSet

__all__ = ["GRIDS", "TREES", "Fitted", "Score", "fit_trees", "n_leaves", "select_trees", "stages"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Score = Callable[[FloatArray], FloatArray]  # log-odds, or values


class Fitted(NamedTuple):
    """A model: its score, and its size: weights and biases, or leaves."""

    score: Score
    size: int


MOST, PATIENCE, RATE = 1000, 50, 0.05
GRIDS: dict[str, tuple[dict[str, Any], ...]] = {
    "LightGBM": ({"num_leaves": 7}, {"num_leaves": 31}),
    "XGBoost": ({"max_depth": 3}, {"max_depth": 6}),
    "HistGradientBoosting": ({"max_leaf_nodes": 7}, {"max_leaf_nodes": 31}),
}
TREES = tuple(GRIDS)


def _model(name: str, data: DataSet, setting: dict[str, Any], trees: int, seed: int, stopping: bool) -> Any:
    signs = data.signs.tolist()
    if name == "LightGBM":
        import lightgbm

        kind = lightgbm.LGBMClassifier if data.classes else lightgbm.LGBMRegressor
        return kind(
            n_estimators=trees, learning_rate=RATE, monotone_constraints=signs, random_state=seed, n_jobs=1,
            verbose=-1, **setting,
        )  # fmt: skip
    if name == "XGBoost":
        import xgboost

        return (xgboost.XGBClassifier if data.classes else xgboost.XGBRegressor)(
            n_estimators=trees, learning_rate=RATE, monotone_constraints=tuple(signs), random_state=seed, n_jobs=1,
            early_stopping_rounds=PATIENCE if stopping else None, **setting,
        )  # fmt: skip
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    return (HistGradientBoostingClassifier if data.classes else HistGradientBoostingRegressor)(
        max_iter=trees, learning_rate=RATE, monotonic_cst=signs, random_state=seed, early_stopping=stopping,
        n_iter_no_change=PATIENCE, **setting,
    )  # fmt: skip


def select_trees(name: str, data: DataSet, rows: IntArray, held: IntArray, seed: int) -> tuple[dict[str, Any], int]:
    """The setting and number of trees with the least loss (log-loss, squared error) on the rows held out."""
    with warnings.catch_warnings():  # LightGBM renames arguments from version to version
        warnings.simplefilter("ignore")
        found = [_stopped(name, data, setting, rows, held, seed) for setting in GRIDS[name]]
    best = int(np.argmin([loss for loss, _ in found]))
    return GRIDS[name][best], found[best][1]


def _stopped(
    name: str, data: DataSet, setting: dict[str, Any], rows: IntArray, held: IntArray, seed: int
) -> tuple[float, int]:
    X, y = data.X.to_numpy(), data.y
    model = _model(name, data, setting, MOST, seed, True)
    if name == "LightGBM":
        import lightgbm

        stop = lightgbm.early_stopping(PATIENCE, verbose=False)
        model.fit(X[rows], y[rows], eval_set=[(X[held], y[held])], callbacks=[stop])
        (scores,) = model.best_score_["valid_0"].values()
        return float(scores), int(model.best_iteration_)
    if name == "XGBoost":
        model.fit(X[rows], y[rows], eval_set=[(X[held], y[held])], verbose=False)
        return float(model.best_score), int(model.best_iteration) + 1
    model.fit(X[rows], y[rows], X_val=X[held], y_val=y[held])
    losses = -np.asarray(model.validation_score_)  # before the first tree, then after each
    return float(losses.min()), max(1, int(losses.argmin()))


def fit_trees(name: str, data: DataSet, setting: dict[str, Any], trees: int, rows: IntArray, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _model(name, data, setting, trees, seed, False).fit(data.X.to_numpy()[rows], data.y[rows])


def score_of(model: Any, classes: bool) -> Score:
    """Log-odds of class 1 (so that 0 is a probability of one half), or the value."""
    if not classes:
        return lambda X: np.asarray(_quiet(model.predict, X), dtype=float)

    def score(X: FloatArray) -> FloatArray:
        p = np.clip(_quiet(model.predict_proba, X)[:, 1].astype(float), 1e-12, 1 - 1e-12)
        return np.asarray(np.log(p) - np.log1p(-p))

    return score


def n_leaves(name: str, model: Any) -> int:
    """Of all trees: each is a number that was learned (where to split is learned too, and not counted)."""
    if name == "LightGBM":
        return sum(int(tree["num_leaves"]) for tree in model.booster_.dump_model()["tree_info"])
    if name == "XGBoost":
        return sum(dump.count("leaf=") for dump in model.get_booster().get_dump())
    return sum(int(tree.get_n_leaf_nodes()) for stage in model._predictors for tree in stage)


def _quiet(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    with warnings.catch_warnings():  # LightGBM wonders about feature names of arrays
        warnings.simplefilter("ignore")
        return function(*given, **named)


def stages(name: str, model: Any, X: FloatArray, classes: bool, trees: int, every: int = 5) -> Iterator[FloatArray]:
    """Scores after 5, 10, 15, ... trees: what a protocol that peeks chooses from."""
    if name == "HistGradientBoosting":
        staged = model.staged_predict_proba(X) if classes else model.staged_predict(X)
        for k, p in enumerate(staged, start=1):
            if k % every == 0:
                yield _logit(p[:, 1]) if classes else p
        return
    for k in range(every, trees + 1, every):
        part = {"num_iteration": k} if name == "LightGBM" else {"iteration_range": (0, k)}
        p = _quiet(model.predict_proba if classes else model.predict, X, **part)
        yield _logit(p[:, 1]) if classes else np.asarray(p, dtype=float)


def _logit(p: FloatArray) -> FloatArray:
    p = np.clip(p.astype(float), 1e-12, 1 - 1e-12)
    return np.asarray(np.log(p) - np.log1p(-p))
