"""What rows that are the same are worth: folds that may part them, and folds that keep them together.

    MONOLIP_DATA=../shared/data python benchmarks/duplicates.py [--sets wine_quality] [--repeats 2]

A table with many equal rows rewards learning them by heart: the row to be predicted has often been seen. Every
contestant is judged twice on 5 folds, rows dealt at random as in accuracy.py, and all rows with equal features in one
fold; nothing else differs. `by_heart` is made for the first kind: four wide members with many bins. Writes
benchmarks/results/duplicates.json.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.model_selection import GroupKFold, KFold

from contestants import CONTESTANTS, Task
from contestants.ours import fit_ours, warm_up
from contestants.task import Predict, main_error
from record import record
from suite_data import read_set

BY_HEART: dict[str, Any] = {"n_estimators": 4, "hidden_layer_sizes": (256, 64), "n_bins": 64}
FITS: dict[str, Callable[[Task], Predict]] = {
    **{name: CONTESTANTS[name].fit for name in ("monolip", "monolip_accurate", "lightgbm", "xgboost")},
    "by_heart": lambda task: fit_ours(task, BY_HEART),
}
FOLDS = 5


def one_set(name: str, repeats: int) -> dict[str, Any]:
    """Mean errors by kind of fold and contestant, and the share of rows whose features another row has as well."""
    X, y, facts = read_set(name)
    classes = facts["task"] == "binary"
    groups = X.groupby(list(X.columns), sort=False, dropna=False, observed=True).ngroup().to_numpy()
    found: dict[str, Any] = {"rows": len(X), "equal_to_another": float((np.bincount(groups)[groups] > 1).mean())}
    for kind in ("at_random", "kept_together"):
        errors: dict[str, list[float]] = {contestant: [] for contestant in FITS}
        for repeat in range(repeats):
            dealer = {"n_splits": FOLDS, "shuffle": True, "random_state": 100 + repeat}
            folds = KFold(**dealer).split(X) if kind == "at_random" else GroupKFold(**dealer).split(X, y, groups)
            for fold, (train, test) in enumerate(folds):
                table = X.iloc[train].reset_index(drop=True)
                task = Task(table, y[train], facts["monotonic_cst"], classes, 10 * repeat + fold)
                for contestant, fit in FITS.items():
                    errors[contestant].append(main_error(y[test], fit(task)(X.iloc[test]), classes))
        found[kind] = {contestant: float(np.mean(each)) for contestant, each in errors.items()}
        print(name, kind, {c: round(e, 4) for c, e in found[kind].items()}, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", default="wine_quality")
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    warm_up()
    found = {name: one_set(name, arguments.repeats) for name in arguments.sets.split(",")}
    packages = ("monolip", "lightgbm", "xgboost", "numpy", "scikit-learn")
    print(record("duplicates", found, packages, repeats=arguments.repeats))


if __name__ == "__main__":
    main()
