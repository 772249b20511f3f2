"""What each field of FitOptions is worth: error and fit time with other values, on the open suite.

    MONOLIP_DATA=../shared/data python benchmarks/ablation.py [--folds 3] [--only "one member,8 bins"]

Every variant sees the same folds as the default, in the same run, fold by fold, on one thread. Ratios to the default:
above 1 is worse (error) or slower (time); the standard error of an error ratio is over tables.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

from monolip.estimators import FitOptions, MonotonicClassifier, MonotonicRegressor
from record import record
from suite_data import list_sets, read_set

DEFAULT = FitOptions()


def times(factor: float, *names: str) -> dict[str, Any]:
    """Return fields multiplied by a factor; whole numbers stay whole, and at least 1."""

    def one(number: Any) -> Any:
        return max(1, round(number * factor)) if isinstance(number, int) else number * factor

    found = {name: getattr(DEFAULT, name) for name in names}
    return {name: tuple(map(one, v)) if isinstance(v, tuple) else one(v) for name, v in found.items()}


def plus(number: int, name: str) -> dict[str, Any]:
    """Return a field with a number added to each of its parts."""
    return {name: tuple(part + number for part in getattr(DEFAULT, name))}


# name -> fields that differ from the default
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "FitOptions.fast()": FitOptions.fast().get_params(),
    "FitOptions.accurate()": FitOptions.accurate().get_params(),
    # Members.
    "one member": {"n_estimators": 1},
    "half the members": times(0.5, "n_estimators"),
    "twice the members": times(2, "n_estimators"),
    "no followers: every member is validated": {"n_validated": DEFAULT.n_estimators},
    "one validated member of each kind": {"n_validated": 1},
    # Kinds of bins.
    "one kind of bins: all bins": {"bin_kinds": (None,)},
    "one kind of bins: 8 bins": {"bin_kinds": (8,)},
    "one kind of bins: no bins": {"bin_kinds": (0,)},
    "two kinds of bins: all and 8": {"bin_kinds": (None, 8)},
    "only the best kind of bins": {"kind_tolerance": 0.0},
    "every kind of bins is kept": {"kind_tolerance": 1e6},
    # Bins and categories.
    "8 bins": {"n_bins": 8},
    "32 bins": {"n_bins": 32},
    "twice the bins": times(2, "n_bins", "total_bins"),
    "half the rows per bin": times(0.5, "rows_per_bin"),
    "4 one-hot levels": {"one_hot_levels": 4},
    "50 one-hot levels": {"one_hot_levels": 50},
    # Stages and early stopping.
    "no early stopping: all stages, the best is chosen": {"min_stages": DEFAULT.n_stages},
    "stop below an improvement of 5 %": {"min_improvement": 0.05},
    "stop below an improvement of 0.1 %": {"min_improvement": 0.001},
    "two stages less": plus(-2, "n_stages"),
    "two stages more": plus(2, "n_stages"),
    "half the first stage": times(0.5, "first_steps"),
    "twice the first stage": times(2, "first_steps"),
    "twice the validation rows": times(2, "validation_fraction", "max_validation_rows"),
    "own validation rows up to 10,000 rows": {"many_rows": 10_000},
    # Training.
    "no slope decay": {"slope_decays": (0.0,)},
    "half the slope decay": times(0.5, "slope_decays"),
    "twice the slope decay": times(2, "slope_decays"),
    "slope decay of the first stage throughout": {"slope_decays": DEFAULT.slope_decays[:1]},
    "half the slope rate": times(0.5, "slope_rate"),
    "twice the slope rate": times(2, "slope_rate"),
    "half the batch size": times(0.5, "batch_size"),
    "twice the batch size": times(2, "batch_size"),
    "one ridge strength": {"ridge_strengths": (DEFAULT.usual_strength,)},
    # Networks.
    "half the width": times(0.5, "hidden_layer_sizes"),
    "twice the width": times(2, "hidden_layer_sizes"),
    "one hidden layer": {"hidden_layer_sizes": DEFAULT.hidden_layer_sizes[:1]},
    "three hidden layers": {"hidden_layer_sizes": (*DEFAULT.hidden_layer_sizes, DEFAULT.hidden_layer_sizes[-1])},
}


def fit(variant: str, X: Any, y: Any, test: Any, facts: dict[str, Any], seed: int) -> tuple[float, float]:
    """Return the error on the test rows, and the seconds of the fit."""
    classes = facts["task"] == "binary"
    kind = MonotonicClassifier if classes else MonotonicRegressor
    options = FitOptions(**VARIANTS[variant])
    model = kind(monotonic_cst=facts["monotonic_cst"], fit_options=options, random_state=seed)
    begun = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begun
    if classes:
        return log_loss(test[1], np.clip(model.predict_proba(test[0])[:, 1], 1e-6, 1 - 1e-6)), seconds
    return root_mean_squared_error(test[1], model.predict(test[0])), seconds


def one_set(name: str, variants: list[str], folds: int) -> dict[str, dict[str, float]]:
    """Return the mean error and fit time of each variant on one table."""
    X, y, facts = read_set(name)
    cv = (StratifiedKFold if facts["task"] == "binary" else KFold)(5, shuffle=True, random_state=1)
    found: dict[str, list[tuple[float, float]]] = {variant: [] for variant in variants}
    for fold, (train, test) in enumerate(list(cv.split(X, y))[:folds]):
        for variant in variants:
            data = X.iloc[train], y[train], (X.iloc[test], y[test])
            found[variant].append(fit(variant, *data, facts, fold))
    return {
        variant: dict(zip(("error", "fit_s"), np.mean(rows, axis=0).tolist(), strict=True))
        for variant, rows in found.items()
    }


def summary_of(sets: dict[str, dict[str, dict[str, float]]], variant: str) -> dict[str, Any]:
    """Return geometric means over tables of error and time over the default's, and the standard error of the former."""
    names = list(sets)
    logs = np.log([[sets[n][variant][k] / sets[n]["default"][k] for k in ("error", "fit_s")] for n in names])
    error, seconds = np.exp(logs.mean(axis=0)).tolist()
    spread = float(error * logs[:, 0].std(ddof=1) / np.sqrt(len(names))) if len(names) > 1 else None
    worst = int(logs[:, 0].argmax())
    return {
        "error": error, "error_se": spread, "time": seconds, "worst": float(np.exp(logs[worst, 0])),
        "worst_set": names[worst],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=3, help="of five (3)")
    parser.add_argument("--only", default="", help="variants with commas, beside the default; all without")
    parser.add_argument("--sets", default="", help="names with commas; all without")
    arguments = parser.parse_args()
    variants = ["default", *arguments.only.split(",")] if arguments.only else list(VARIANTS)
    unknown = [variant for variant in variants if variant not in VARIANTS]
    if unknown:
        raise SystemExit(f"variants are {', '.join(VARIANTS)}; got {unknown[0]!r}")
    sets = arguments.sets.split(",") if arguments.sets else list(list_sets())
    for name in ("ordinal_esl", "mammographic"):  # compile before the clock starts
        X, y, facts = read_set(name)
        fit("default", X, y, (X, y), facts, 0)
    table: dict[str, dict[str, dict[str, float]]] = {}
    for name in sets:
        table[name] = one_set(name, variants, arguments.folds)
        print(f"{name:20s} {table[name]['default']['fit_s']:.3f} s", flush=True)
    summary = {variant: summary_of(table, variant) for variant in variants}
    for variant, of in summary.items():
        spread = "" if of["error_se"] is None else f" +- {of['error_se']:.4f}"
        print(
            f"{variant:50s} error {of['error']:.4f}{spread}  time {of['time']:.2f}  "
            f"worst {of['worst']:.3f} {of['worst_set']}"
        )
    if not arguments.only and not arguments.sets:
        results = {"summary": summary, "data_sets": table}
        record("ablation", results, ("monolip", "scikit-learn", "numpy", "numba"), folds=arguments.folds, threads=1)


if __name__ == "__main__":
    main()
