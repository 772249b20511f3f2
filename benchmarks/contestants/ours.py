"""monolip as a user gets it: default settings, and the presets of the docs. An experiment is one line in VARIANTS."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd

from contestants.task import Predict, Task

__all__ = ["PRESETS", "VARIANTS", "fit_ours", "warm_up"]

# Settings that trade time for accuracy, and back. fit_options: the name of a preset of FitOptions, or its fields.
PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "monolip_1": ("monolip, one network", {"n_estimators": 1}),
    "monolip_fast": ("monolip, fast", {"fit_options": "fast"}),
    "monolip_accurate": ("monolip, accurate", {"fit_options": "accurate"}),
}

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "monolip": ("monolip, default", {}),
    "monolip_seed2": ("monolip, another seed", {"random_state": 1}),  # the spread over seeds; not ranked
    **PRESETS,
}


def fit_ours(task: Task, options: dict[str, Any]) -> Predict:
    """options: arguments of the estimator as JSON has them; a random_state there is added to the seed of the fold."""
    from monolip.estimators import MonotonicClassifier, MonotonicRegressor

    kind = MonotonicClassifier if task.classes else MonotonicRegressor
    rest = {key: value for key, value in options.items() if key != "random_state"}
    if "fit_options" in rest and isinstance(rest["fit_options"], str | dict):
        from monolip.estimators import FitOptions  # checkouts before it have none: old_and_new.py

        given = rest["fit_options"]
        rest["fit_options"] = getattr(FitOptions, given)() if isinstance(given, str) else FitOptions(**given)
    seed = task.seed + 100_003 * int(options.get("random_state", 0))
    model = kind(monotonic_cst=dict(task.cst), random_state=seed, n_jobs=task.threads, **rest)
    model.fit(task.X, task.y)
    return (lambda X: model.predict_proba(X)[:, 1]) if task.classes else model.predict


@functools.cache
def warm_up() -> None:
    """Load the compiled kernels (once a process), so that no fit is charged for it; cold starts: fit_time.py."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200), "c": pd.Categorical(["u", "v"] * 100)})
    y = X["a"].to_numpy() + rng.normal(size=200)
    for classes in (False, True):
        target = (y > 0).astype(int) if classes else y
        fit_ours(Task(X, target, {"a": 1}, classes, 0), {})(X)
