"""Honest 5-fold error and fit time on the open suite, beside monotone LightGBM with early stopping, in one run.

    MONOLIP_DATA=../shared/data python benchmarks/suite_table.py [--folds 5] [--only airfoil,concrete]

Both see only the training rows of a fold, choose everything on rows they hold out themselves, and use one thread.
Error: RMSE (regression) or log-loss (two classes) on the test rows; ratios below 1 are ours being better or faster.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import lightgbm
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

from monolip.estimators import MonotonicClassifier, MonotonicRegressor
from record import record


def data_folder() -> Path:
    here = Path(os.environ.get("MONOLIP_DATA", Path(__file__).parents[2] / "shared" / "data"))
    return here / "suite"


def fit_ours(X: pd.DataFrame, y: np.ndarray, cst: dict[str, int], classes: bool, seed: int):
    kind = MonotonicClassifier if classes else MonotonicRegressor
    model = kind(monotonic_cst=cst, random_state=seed).fit(X, y)
    return (lambda Z: model.predict_proba(Z)[:, 1]) if classes else model.predict


def fit_trees(X: pd.DataFrame, y: np.ndarray, cst: dict[str, int], classes: bool, seed: int):
    """Up to 1500 trees at LightGBM's own defaults, stopped on a held-out eighth (as ours holds out eighths)."""
    rows = np.random.default_rng(seed).permutation(len(y))
    held, kept = rows[: len(y) // 8], rows[len(y) // 8 :]
    kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    model = kind(
        n_estimators=1500, monotone_constraints=[cst.get(c, 0) for c in X], n_jobs=1, random_state=seed, verbose=-1
    )
    stop = lightgbm.early_stopping(50, verbose=False)
    model.fit(X.iloc[kept], y[kept], eval_X=X.iloc[held], eval_y=y[held], callbacks=[stop])
    return (lambda Z: model.predict_proba(Z)[:, 1]) if classes else model.predict


def one_set(frame: pd.DataFrame, meta: dict, folds: int) -> dict:
    y, classes = frame["y"].to_numpy(), meta["task"] == "binary"
    X = frame.drop(columns="y")
    X = X.astype({c: "category" for c in X if not pd.api.types.is_numeric_dtype(X[c])})
    cv = (StratifiedKFold if classes else KFold)(5, shuffle=True, random_state=0)
    score = (lambda t, p: log_loss(t, np.clip(p, 1e-6, 1 - 1e-6))) if classes else root_mean_squared_error
    found: dict[str, list] = {"ours": [], "trees": [], "ours_s": [], "trees_s": []}
    for fold, (train, test) in enumerate(list(cv.split(X, y))[:folds]):
        for name, fit in (("ours", fit_ours), ("trees", fit_trees)):
            begun = time.perf_counter()
            predict = fit(X.iloc[train], y[train], meta["monotonic_cst"], classes, fold)
            found[f"{name}_s"].append(time.perf_counter() - begun)
            found[name].append(float(score(y[test], predict(X.iloc[test]))))
    mean = {name: float(np.mean(values)) for name, values in found.items()}
    ratios = np.array(found["ours"]) / np.array(found["trees"])
    return {
        "rows": len(X), "columns": X.shape[1], "task": meta["task"],
        "error": mean["ours"], "trees_error": mean["trees"], "error_ratio": float(np.exp(np.log(ratios).mean())),
        "error_ratio_se": float(np.log(ratios).std(ddof=1) / np.sqrt(len(ratios))) if len(ratios) > 1 else None,
        "fit_s": mean["ours_s"], "trees_fit_s": mean["trees_s"], "time_ratio": mean["ours_s"] / mean["trees_s"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning, module="lightgbm")
    folder = data_folder()
    suite = json.loads((folder / "suite.json").read_text())
    wanted = [name for name in suite if not arguments.only or name in arguments.only.split(",")]
    warm = pd.DataFrame({"a": np.arange(64.0)})  # compile before the clock starts
    fit_ours(warm, np.arange(64.0), {}, False, 0)
    fit_ours(warm, np.arange(64) % 2, {}, True, 0)
    table = {}
    print(f"{'data set':20s} {'rows':>6s} {'ours':>9s} {'trees':>9s} {'ratio':>6s} {'s':>7s} {'trees s':>7s} {'x':>5s}")
    for name in wanted:
        row = table[name] = one_set(pd.read_parquet(folder / f"{name}.parquet"), suite[name], arguments.folds)
        print(
            f"{name:20s} {row['rows']:6d} {row['error']:9.4g} {row['trees_error']:9.4g} {row['error_ratio']:6.3f} "
            f"{row['fit_s']:7.2f} {row['trees_fit_s']:7.2f} {row['time_ratio']:5.2f}",
            flush=True,
        )
    geometric = {
        key: float(np.exp(np.mean([np.log(row[key]) for row in table.values()])))
        for key in ("error_ratio", "time_ratio")
    }
    print(f"geometric mean: error {geometric['error_ratio']:.3f}, fit time {geometric['time_ratio']:.2f}")
    rest = sorted(row["error_ratio"] for row in table.values())[1:]
    geometric["error_ratio_without_best_set"] = float(np.exp(np.mean(np.log(rest)))) if rest else None
    print(f"without our best set: error {geometric['error_ratio_without_best_set']:.3f}")
    if not arguments.only:
        results = {"geometric_mean": geometric, "data_sets": table}
        record(
            "suite_table", results, ("monolip", "lightgbm", "scikit-learn", "numpy"), folds=arguments.folds, threads=1
        )


if __name__ == "__main__":
    main()
