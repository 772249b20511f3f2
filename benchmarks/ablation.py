"""What each piece of the default recipe is worth: error and fit time without it, on the open suite.

    MONOLIP_DATA=../shared/data python benchmarks/ablation.py [--folds 3] [--only "no additive start,8 members"]

Every variant sees the same folds as the default, in the same run, fold by fold, on one thread. Ratios to the default:
above 1 is worse (error) or slower (time). Pieces are taken out by setting constants of the recipe from outside.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import time
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

from monolip.engine import training_options
from monolip.engine.additive import fit_additive
from monolip.estimators import (
    MonotonicClassifier,
    MonotonicRegressor,
    _climber,
    _coach,
    _fitting,
    _joining,
    _misfit,
    _race,
    _recipe,
    _starts,
)
from record import record
from suite_data import list_sets, read_set

NO_DECAY = (0.0,) * 8
OPTIONS = training_options.TrainingOptions


def _with(**changed: Any) -> Any:
    """TrainingOptions with some constants fixed, whatever the recipe asks for."""
    return lambda **given: OPTIONS(**{**given, **changed})


def _one_by_one(problem: Any, rows: Any, *how: Any) -> list[Any]:
    return [fit_additive(problem, some, *how) for some in rows]


# name -> (parameters of the estimator, constants to change)
VARIANTS: dict[str, tuple[dict[str, Any], list[tuple[Any, str, Any]]]] = {
    "default": ({}, []),
    "no additive start": ({}, [(_starts, "fit_additives", lambda _, rows, *__: [[] for _ in rows])]),
    "additive starts found one by one": ({}, [(_starts, "fit_additives", _one_by_one)]),
    "additive start only": ({"max_iter": 1}, [(_fitting, "_rungs", lambda *_: ((_recipe.Rung(1, 0.3),), 0))]),
    "members judged one by one": ({}, [(_recipe.Recipe, "paired", property(lambda _: False))]),
    "two members of many rows from the start": ({}, [(_joining, "EXPLAINED", math.inf)]),
    "1 member": ({"n_estimators": 1}, []),
    "2 members, never more": ({"n_estimators": 2}, []),
    "4 members": ({"n_estimators": 4}, []),
    "8 members": ({"n_estimators": 8}, []),
    "no slope decay": ({}, [(_fitting, "DECAYS", NO_DECAY)]),
    "strong slope decay": ({}, [(_fitting, "DECAYS", (0.3,) * 8)]),
    "no centred gradients": ({}, [(_coach, "TrainingOptions", _with(centred=False))]),
    "no averaging of iterates": ({}, [(_coach, "TrainingOptions", _with(averaging=0.0))]),
    "no cosine schedule": ({}, [(_coach, "TrainingOptions", _with(cosine=False))]),
    "one slope rate, noise or not": ({}, [(_recipe, "RATE_IN_NOISE", _recipe.RATE)]),
    "half the slope rate": ({}, [(_recipe, "RATE", 0.08), (_recipe, "RATE_IN_NOISE", 0.04)]),
    "twice the slope rate": ({}, [(_recipe, "RATE", 0.32), (_recipe, "RATE_IN_NOISE", 0.16)]),
    "no bins": ({"n_bins": 0}, []),
    "8 bins": ({"n_bins": 8}, []),
    "32 bins": ({"n_bins": 32}, []),
    "64 bins": ({"n_bins": 64}, []),
    "all features in every network": ({}, [(_race, "narrowed", lambda recipe, *_: recipe)]),
    "64 bins at most": ({}, [(_race, "VERY_MANY", 64)]),
    "nobody follows": ({}, [(_joining, "DIVIDED", math.inf)]),
    "no scouts: all members climb the first rung": ({}, [(_recipe, "ends_with_scouts", lambda _: False)]),
    "no early end of noise": ({}, [(_misfit.Misfit, "is_noise", lambda _: False)]),
    "no longer paths": ({}, [(_fitting, "FURTHER", 0)]),
    "the strength of the lowest loss": ({}, [(_climber, "SURE", 0.0)]),
    "width 16": ({"hidden_layer_sizes": (16, 16)}, []),
    "width 128": ({"hidden_layer_sizes": (128, 128)}, []),
    "one hidden layer": ({"hidden_layer_sizes": (32,)}, []),
    "three hidden layers": ({"hidden_layer_sizes": (32, 32, 32)}, []),
    "twice the first rung": ({}, [(_fitting, "FIRST_STEPS", 100)]),
}


@contextlib.contextmanager
def _changed(constants: list[tuple[Any, str, Any]]) -> Iterator[None]:
    before = [(module, name, getattr(module, name)) for module, name, _ in constants]
    try:
        for module, name, value in constants:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def _fit(variant: str, X: Any, y: Any, test: Any, facts: dict[str, Any], seed: int) -> tuple[float, float]:
    """(error on the test rows, seconds of fit)."""
    parameters, constants = VARIANTS[variant]
    classes = facts["task"] == "binary"
    kind = MonotonicClassifier if classes else MonotonicRegressor
    model = kind(monotonic_cst=facts["monotonic_cst"], random_state=seed, **parameters)
    with _changed(constants):
        begun = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - begun
    if classes:
        return log_loss(test[1], np.clip(model.predict_proba(test[0])[:, 1], 1e-6, 1 - 1e-6)), seconds
    return root_mean_squared_error(test[1], model.predict(test[0])), seconds


def one_set(name: str, variants: list[str], folds: int) -> dict[str, dict[str, float]]:
    X, y, facts = read_set(name)
    cv = (StratifiedKFold if facts["task"] == "binary" else KFold)(5, shuffle=True, random_state=1)
    found: dict[str, list[tuple[float, float]]] = {variant: [] for variant in variants}
    for fold, (train, test) in enumerate(list(cv.split(X, y))[:folds]):
        for variant in variants:
            data = X.iloc[train], y[train], (X.iloc[test], y[test])
            found[variant].append(_fit(variant, *data, facts, fold))
    return {
        variant: dict(zip(("error", "fit_s"), np.mean(rows, axis=0), strict=True)) for variant, rows in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=3, help="of five (3)")
    parser.add_argument("--only", default="", help="variants with commas, beside the default; all without")
    parser.add_argument("--sets", default="", help="names with commas; all without")
    arguments = parser.parse_args()
    variants = ["default", *arguments.only.split(",")] if arguments.only else list(VARIANTS)
    sets = arguments.sets.split(",") if arguments.sets else list(list_sets())
    for variant in variants:  # compile before the clock starts
        for name in ("ordinal_esl", "mammographic"):
            X, y, facts = read_set(name)
            _fit(variant, X, y, (X, y), facts, 0)
    table = {}
    for name in sets:
        table[name] = one_set(name, variants, arguments.folds)
        print(f"{name:20s} {table[name]['default']['fit_s']:.3f} s", flush=True)
    summary = {}
    for variant in variants:
        ratios = np.array([[table[n][variant][k] / table[n]["default"][k] for k in ("error", "fit_s")] for n in sets])
        error, seconds = np.exp(np.log(ratios).mean(axis=0))
        worst = sets[int(ratios[:, 0].argmax())]
        summary[variant] = {
            "error": float(error), "time": float(seconds), "worst": float(ratios[:, 0].max()), "worst_set": worst,
        }  # fmt: skip
        print(
            f"{variant:28s} error {error:.4f}  time {seconds:.2f}  worst {ratios[:, 0].max():.3f} {worst}", flush=True
        )
    if not arguments.only and not arguments.sets:
        results = {"summary": summary, "data_sets": table}
        record("ablation", results, ("monolip", "scikit-learn", "numpy", "numba"), folds=arguments.folds, threads=1)


if __name__ == "__main__":
    main()
