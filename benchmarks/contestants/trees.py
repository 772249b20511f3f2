"""Boosted trees with the same promised directions: early stopping up to 1500 trees, one search of equal budget for all.

Eight settings each = 2 sizes x 2 strengths of regularisation x 2 paces. A setting is judged on inner held-out rows of
the training fold, each training stopped there; the best is refitted on all training rows at its mean length.
"""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from contestants.task import Predict, Task, select

__all__ = ["GRIDS", "MOST_TREES", "catboost", "hist", "lightgbm", "lightgbm_plain", "lightgbm_unconstrained", "xgboost"]

MOST_TREES = 1500
PACES = {"quick": 50, "slow": 100}  # rounds without gain before stopping


def _grid(sizes: list[dict], strengths: list[dict], quick: dict, slow: dict) -> list[dict[str, Any]]:
    paces = ({"pace": "quick", **quick}, {"pace": "slow", **slow})
    return [{**size, **strength, **pace} for size, strength, pace in product(sizes, strengths, paces)]


GRIDS: dict[str, list[dict[str, Any]]] = {
    "lightgbm": _grid(
        [{"num_leaves": 8}, {"num_leaves": 31}],
        [{"min_data_in_leaf": 5}, {"min_data_in_leaf": 20}],
        {"learning_rate": 0.1},
        {
            "learning_rate": 0.04, "bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.8,
            "monotone_constraints_method": "intermediate",
        },
    ),
    "xgboost": _grid(
        [{"max_depth": 3}, {"max_depth": 6}],
        [{"min_child_weight": 1}, {"min_child_weight": 10}],
        {"learning_rate": 0.1},
        {"learning_rate": 0.04, "subsample": 0.8, "colsample_bytree": 0.8},
    ),
    "catboost": _grid(
        [{"depth": 4}, {"depth": 6}],
        [{"l2_leaf_reg": 1}, {"l2_leaf_reg": 6}],
        {"learning_rate": 0.1},
        {"learning_rate": 0.04, "rsm": 0.8},
    ),
    "hist": _grid(
        [{"max_leaf_nodes": 8}, {"max_leaf_nodes": 31}],
        [{"min_samples_leaf": 5}, {"min_samples_leaf": 20}],
        {"learning_rate": 0.1},
        {"learning_rate": 0.04, "max_features": 0.8},
    ),
}  # fmt: skip


def _free(task: Task) -> Task:
    return Task(task.X, task.y, {}, task.classes, task.seed, task.threads)


def _split(setting: dict[str, Any]) -> tuple[dict[str, Any], int]:
    options = {key: value for key, value in setting.items() if key != "pace"}
    return options, PACES[setting["pace"]]


# LightGBM ------------------------------------------------------------------------------------------------------------


def _lightgbm_train(task: Task, options: dict, rows: np.ndarray | None, held: np.ndarray | None, n: int, patience: int):
    import lightgbm as lgb

    settings = {
        "objective": "binary" if task.classes else "regression", "metric": "binary_logloss" if task.classes else "rmse",
        "num_threads": task.threads, "seed": task.seed, "verbosity": -1, "deterministic": True, "force_row_wise": True,
        **({"monotone_constraints": [task.cst.get(c, 0) for c in task.X]} if task.cst else {}), **options,
    }  # fmt: skip
    if not task.cst:
        settings.pop("monotone_constraints_method", None)
    rows = np.arange(len(task.y)) if rows is None else rows
    data = lgb.Dataset(task.X.iloc[rows], task.y[rows], free_raw_data=True)
    if held is None:
        return lgb.train(settings, data, n)
    stop = lgb.early_stopping(patience, verbose=False)
    valid = lgb.Dataset(task.X.iloc[held], task.y[held], reference=data)
    return lgb.train(settings, data, n, valid_sets=[valid], callbacks=[stop])


def _lightgbm_stopped(task: Task, setting: dict, rows: np.ndarray, held: np.ndarray) -> tuple[float, int]:
    options, patience = _split(setting)
    model = _lightgbm_train(task, options, rows, held, MOST_TREES, patience)
    return float(next(iter(model.best_score["valid_0"].values()))), model.best_iteration


def lightgbm(task: Task) -> Predict:
    setting, n = select(task, GRIDS["lightgbm"], _lightgbm_stopped)
    return _lightgbm_train(task, _split(setting)[0], None, None, n, 0).predict


def lightgbm_unconstrained(task: Task) -> Predict:
    return lightgbm(_free(task))


def lightgbm_plain(task: Task) -> Predict:
    """LightGBM's own defaults, one fit stopped on an eighth, kept as it is: what fit_time.py puts on the clock."""
    held = np.random.default_rng(task.seed).permutation(len(task.y))[: max(1, len(task.y) // 8)]
    rows = np.setdiff1d(np.arange(len(task.y)), held)
    return _lightgbm_train(task, {}, rows, held, MOST_TREES, 50).predict


# XGBoost -------------------------------------------------------------------------------------------------------------


def _xgboost_train(task: Task, options: dict, rows: np.ndarray | None, held: np.ndarray | None, n: int, patience: int):
    import xgboost as xgb

    settings = {
        "objective": "binary:logistic" if task.classes else "reg:squarederror", "nthread": task.threads,
        "eval_metric": "logloss" if task.classes else "rmse", "tree_method": "hist", "seed": task.seed,
        "monotone_constraints": tuple(task.cst.get(c, 0) for c in task.X), **options,
    }  # fmt: skip
    rows = np.arange(len(task.y)) if rows is None else rows
    data = xgb.DMatrix(task.X.iloc[rows], task.y[rows], enable_categorical=True, nthread=task.threads)
    if held is None:
        return xgb.train(settings, data, n, verbose_eval=False)
    valid = xgb.DMatrix(task.X.iloc[held], task.y[held], enable_categorical=True, nthread=task.threads)
    watch = [(valid, "valid")]
    return xgb.train(settings, data, n, evals=watch, early_stopping_rounds=patience, verbose_eval=False)


def _xgboost_stopped(task: Task, setting: dict, rows: np.ndarray, held: np.ndarray) -> tuple[float, int]:
    options, patience = _split(setting)
    model = _xgboost_train(task, options, rows, held, MOST_TREES, patience)
    return float(model.best_score), model.best_iteration + 1


def xgboost(task: Task) -> Predict:
    import xgboost as xgb

    setting, n = select(task, GRIDS["xgboost"], _xgboost_stopped)
    model = _xgboost_train(task, _split(setting)[0], None, None, n, 0)
    return lambda X: model.predict(xgb.DMatrix(X, enable_categorical=True, nthread=task.threads)).astype(float)


# CatBoost ------------------------------------------------------------------------------------------------------------


def _catboost_table(X: pd.DataFrame) -> pd.DataFrame:
    """Its promise is lost beside its own treatment of categories (catboost#2272): they go in one-hot."""
    return pd.get_dummies(X, dtype=float)


def _catboost_train(task: Task, options: dict, rows: np.ndarray | None, held: np.ndarray | None, n: int, patience: int):
    import catboost as cb

    X = _catboost_table(task.X)
    directions = [task.cst.get(c, 0) for c in X]
    model = (cb.CatBoostClassifier if task.classes else cb.CatBoostRegressor)(
        iterations=n, random_seed=task.seed, thread_count=task.threads, allow_writing_files=False, verbose=False,
        **({"monotone_constraints": directions} if any(directions) else {}), **options,
    )  # fmt: skip
    if rows is None or held is None:
        return model.fit(X, task.y)
    return model.fit(
        X.iloc[rows], task.y[rows], eval_set=(X.iloc[held], task.y[held]), early_stopping_rounds=patience,
        use_best_model=True,
    )  # fmt: skip


def _catboost_stopped(task: Task, setting: dict, rows: np.ndarray, held: np.ndarray) -> tuple[float, int]:
    options, patience = _split(setting)
    model = _catboost_train(task, options, rows, held, MOST_TREES, patience)
    return float(next(iter(model.get_best_score()["validation"].values()))), model.get_best_iteration() + 1


def catboost(task: Task) -> Predict:
    setting, n = select(task, GRIDS["catboost"], _catboost_stopped)
    model = _catboost_train(task, _split(setting)[0], None, None, n, 0)
    if task.classes:
        return lambda X: model.predict_proba(_catboost_table(X))[:, 1]
    return lambda X: model.predict(_catboost_table(X))


# scikit-learn --------------------------------------------------------------------------------------------------------


def _hist_model(task: Task, options: dict, n: int, patience: int | None):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if task.classes else HistGradientBoostingRegressor
    return kind(
        max_iter=n, monotonic_cst=dict(task.cst), categorical_features="from_dtype", random_state=task.seed,
        early_stopping=patience is not None, n_iter_no_change=patience or 1, **options,
    )  # fmt: skip


def _hist_stopped(task: Task, setting: dict, rows: np.ndarray, held: np.ndarray) -> tuple[float, int]:
    options, patience = _split(setting)
    model = _hist_model(task, options, MOST_TREES, patience)
    model.fit(task.X.iloc[rows], task.y[rows], X_val=task.X.iloc[held], y_val=task.y[held])
    losses = -np.asarray(model.validation_score_)  # before the first tree, then after each
    error = float(losses.min())
    return (error if task.classes else float(np.sqrt(2 * error))), max(1, int(losses.argmin()))


def hist(task: Task) -> Predict:
    setting, n = select(task, GRIDS["hist"], _hist_stopped)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = _hist_model(task, _split(setting)[0], n, None).fit(task.X, task.y)
    return (lambda X: model.predict_proba(X)[:, 1]) if task.classes else model.predict
