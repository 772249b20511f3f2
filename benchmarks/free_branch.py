"""What a free branch for features without a promise would add: f(x) + g(features that promise nothing).

    MONOLIP_DATA=../shared/data python benchmarks/free_branch.py [--folds 3]

g may be anything without losing a promise about the other features. Here it is boosted trees, early stopped, fitted to
what monolip leaves over on rows it had not seen (four parts of the training rows in turn), so that a gain is one of
form and not of learning by heart. Writes benchmarks/results/free_branch.json: error with g over the error without.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import lightgbm
import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold

from contestants.task import main_error
from monolip.estimators import MonotonicClassifier, MonotonicRegressor
from record import record
from suite_data import list_sets, read_set

TREES = {"verbose": -1, "num_threads": 1, "learning_rate": 0.03, "num_leaves": 8, "min_data_in_leaf": 20}


def left_over(kind: Any, cst: dict[str, int], X: pd.DataFrame, y: np.ndarray, deal: Any, seed: int) -> np.ndarray:
    """Scores of all rows by models that had not seen them."""
    scores = np.zeros(len(y))
    for train, test in deal(4, shuffle=True, random_state=seed).split(X, y):
        scores[test] = score(kind(monotonic_cst=cst, random_state=seed).fit(X.iloc[train], y[train]), X.iloc[test])
    return scores


def score(model: Any, X: pd.DataFrame) -> np.ndarray:
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def branch(X: pd.DataFrame, y: np.ndarray, scores: np.ndarray, classes: bool, seed: int) -> Any:
    """Boosted trees on top of given scores, stopped on an eighth of the rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    held, rows = order[: len(y) // 8], order[len(y) // 8 :]
    settings = {**TREES, "objective": "binary" if classes else "regression", "seed": seed}
    data = lightgbm.Dataset(X.iloc[rows], y[rows], init_score=scores[rows])
    valid = lightgbm.Dataset(X.iloc[held], y[held], init_score=scores[held], reference=data)
    stop = lightgbm.early_stopping(30, verbose=False)
    return lightgbm.train(settings, data, 300, valid_sets=[valid], callbacks=[stop])


def one_set(name: str, folds: int) -> dict[str, float] | None:
    X, y, facts = read_set(name)
    classes, cst = facts["task"] == "binary", facts["monotonic_cst"]
    free = [column for column in X if not cst.get(column, 0)]
    if not free:
        return None
    kind, deal = (MonotonicClassifier, StratifiedKFold) if classes else (MonotonicRegressor, KFold)
    errors: list[tuple[float, float]] = []
    for seed, (train, test) in enumerate(list(deal(5, shuffle=True, random_state=40).split(X, y))[:folds]):
        table, known, new = X.iloc[train].reset_index(drop=True), y[train], X.iloc[test]
        plain = score(kind(monotonic_cst=cst, random_state=seed).fit(table, known), new)
        trees = branch(table[free], known, left_over(kind, cst, table, known, deal, seed), classes, seed)
        more = trees.predict(new[free], raw_score=True) if trees.best_iteration else np.zeros(len(test))
        both = [1 / (1 + np.exp(-f)) if classes else f for f in (plain, plain + more)]
        errors.append((main_error(y[test], both[0], classes), main_error(y[test], both[1], classes)))
    without, with_it = np.mean(errors, axis=0)
    return {"features": X.shape[1], "free": len(free), "error_ratio": float(with_it / without)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folds", type=int, default=3)
    folds = parser.parse_args().folds
    found = {name: one_set(name, folds) for name in list_sets()}
    ratios = [row["error_ratio"] for row in found.values() if row]
    mean = float(np.exp(np.mean(np.log(ratios))))
    print({name: row and round(row["error_ratio"], 4) for name, row in found.items()}, f"geometric mean {mean:.4f}")
    packages = ("monolip", "lightgbm", "numpy", "scikit-learn")
    print(record("free_branch", {"data_sets": found, "geometric_mean": mean}, packages, folds=folds))


if __name__ == "__main__":
    main()
