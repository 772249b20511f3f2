"""A network, boosted trees, and their average, under the same directions: what averaging improves, and what it keeps.

    MONOLIP_DATA=../shared/data python benchmarks/averaging.py [--sets ordinal_esl] [--folds 5]

Fifteen tables of the open suite, five folds, one thread, every model with its default settings (LightGBM stops early on
an eighth of the training rows). An average is the mean of the predictions, or of the probabilities, as VotingRegressor
and VotingClassifier form it (docs/howto/averaging.md). "wrong" is the largest step against a direction, over the
largest prediction: an average keeps directions up to rounding. Writes benchmarks/results/averaging.json when all tables
were run.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from scipy.stats import gmean
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold

from contestants.ours import fit_ours, warm_up
from contestants.task import Predict, Task, main_error
from contestants.trees import lightgbm_plain
from record import record
from suite_data import at_least, list_sets, read_set


def boosted(task: Task) -> Predict:
    """HistGradientBoosting at its defaults."""
    kind = HistGradientBoostingClassifier if task.classes else HistGradientBoostingRegressor
    settings = {"monotonic_cst": dict(task.cst), "categorical_features": "from_dtype", "random_state": task.seed}
    model = kind(**settings).fit(task.X, task.y)
    return (lambda X: model.predict_proba(X)[:, 1]) if task.classes else model.predict


MODELS: dict[str, Callable[[Task], Predict]] = {
    "network": lambda task: fit_ours(task, {}),
    "HistGradientBoosting": boosted,
    "LightGBM": lightgbm_plain,
}
AVERAGES = {
    "network and HistGradientBoosting": ("network", "HistGradientBoosting"),
    "network and LightGBM": ("network", "LightGBM"),
    "network and both": ("network", "HistGradientBoosting", "LightGBM"),
}


def average_of(models: list[Predict]) -> Predict:
    """The mean, as scikit-learn's voting forms it."""
    return lambda X: np.mean([model(X) for model in models], axis=0)


def largest_wrong_step(predict: Predict, X: pd.DataFrame, cst: dict[str, int], seed: int, most: int = 200) -> float:
    """The largest step against a direction, from rows of X to values of other rows, over the largest |prediction|."""
    rng, worst = np.random.default_rng(seed), 0.0
    rows = X.iloc[rng.permutation(len(X))[:most]]
    for name, sign in cst.items():
        values = rows[name].to_numpy(dtype=float)
        other = rng.permutation(values)
        known = ~(np.isnan(values) | np.isnan(other))
        some = rows[known]
        ends = [some.assign(**{name: pick(values[known], other[known])}) for pick in (np.minimum, np.maximum)]
        before, after = (np.asarray(predict(end), dtype=float) for end in ends)
        largest = float(np.abs([before, after]).max(initial=0.0))
        worst = max(worst, float((-sign * (after - before)).max(initial=0.0)) / (largest or 1.0))
    return worst


def one_fold(task: Task, X: pd.DataFrame, y: np.ndarray) -> dict[str, dict[str, float]]:
    """X, y: rows to judge by. {model: {"error", "fit_s", "wrong"}}."""
    fitted, seconds = {}, {}
    for name, fit in MODELS.items():
        begun = time.perf_counter()
        fitted[name] = fit(task)
        seconds[name] = time.perf_counter() - begun
    for name, parts in AVERAGES.items():
        fitted[name] = average_of([fitted[part] for part in parts])
        seconds[name] = sum(seconds[part] for part in parts)
    return {
        name: {
            "error": main_error(y, np.asarray(predict(X), dtype=float), task.classes),
            "fit_s": seconds[name],
            "wrong": largest_wrong_step(predict, X, task.cst, task.seed),
        }
        for name, predict in fitted.items()
    }


def one_set(name: str, folds: int) -> dict[str, dict[str, Any]]:
    """{model: {"error": of each fold, "fit_s": their mean, "wrong": the largest}}."""
    X, y, facts = read_set(name)
    classes = facts["task"] == "binary"
    kind = StratifiedKFold if classes else KFold
    found = []
    for fold, (train, test) in enumerate(kind(folds, shuffle=True, random_state=0).split(X, y)):
        task = Task(X.iloc[train].reset_index(drop=True), y[train], facts["monotonic_cst"], classes, fold)
        found.append(one_fold(task, X.iloc[test], y[test]))
    return {
        model: {
            "error": [round(fold[model]["error"], 6) for fold in found],
            "fit_s": round(float(np.mean([fold[model]["fit_s"] for fold in found])), 4),
            "wrong": max(fold[model]["wrong"] for fold in found),
        }
        for model in found[0]
    }


def summary_of(sets: dict[str, dict[str, dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """Geometric means of error over the network's, by table; on how many an average is best of itself and its parts."""
    found = {}
    for model in (*MODELS, *AVERAGES):
        mean = {name: {m: float(np.mean(of[m]["error"])) for m in of} for name, of in sets.items()}
        ratios = [mean[name][model] / mean[name]["network"] for name in sets]
        parts = AVERAGES.get(model, ())
        found[model] = {
            "error_over_the_network": float(gmean(ratios)),
            "better_than_its_parts_on": sum(all(mean[n][model] < mean[n][p] for p in parts) for n in sets if parts),
            "median_fit_s": float(np.median([of[model]["fit_s"] for of in sets.values()])),
            "largest_wrong_step": max(of[model]["wrong"] for of in sets.values()),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=at_least(2), default=5)
    parser.add_argument("--sets", default="", help="names with commas; all without")
    arguments = parser.parse_args()
    names = arguments.sets.split(",") if arguments.sets else list(list_sets())
    warm_up()
    sets = {}
    for name in names:
        sets[name] = one_set(name, arguments.folds)
        print(f"{name:20s}", *(f"{m} {np.mean(of['error']):.4g};" for m, of in sets[name].items()), flush=True)
    summary = summary_of(sets)
    for model, of in summary.items():
        ratio, wrong = of["error_over_the_network"], of["largest_wrong_step"]
        print(f"{model:36s} error / the network's {ratio:.4f}, wrong {wrong:.1e}")
    if not arguments.sets:
        packages = ("monolip", "lightgbm", "scikit-learn", "numpy", "numba")
        record("averaging", {"summary": summary, "data_sets": sets}, packages, folds=arguments.folds, threads=1)


if __name__ == "__main__":
    main()
