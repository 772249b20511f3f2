"""Rows per second of `predict` on large batches and the latency of one row, beside LightGBM and XGBoost, one thread.

    python benchmarks/predict_speed.py            writes benchmarks/results/predict_speed.json, about a minute

All are fitted on the same 20,000 rows of 5 and of 13 columns and predict the same rows from a contiguous numpy array.
"small" is one member of d-16-16-1 without bins (below 600 weights); "default" is MonotonicRegressor as it comes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import lightgbm
import numpy as np
import xgboost

from monolip.estimators import MonotonicRegressor
from record import record

ROWS, ROUNDS = 200_000, 9


def table(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, np.exp(X[:, 0] / 2) + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + 0.3 * rng.normal(size=rows)


def best_seconds(call: Callable[[], object], repeats: int) -> float:
    """The fastest of several: other work on the machine only ever adds.

    Processor time of the one thread there is: elapsed time on an idle machine, and still right on a busy one.
    """
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        call()
        times.append(time.process_time() - begun)
    return min(times)


def weights_of(model: MonotonicRegressor) -> int:
    forms = [trunk.form for member in model.frozen_.members for trunk in member]
    return int(sum((w != 0).sum() + b.size for form in forms for w, b in zip(form.weights, form.biases, strict=True)))


def predict_of(name: str, model: Any) -> Callable[[np.ndarray], object]:
    """A warm call; of LightGBM the booster's own, which is faster than its wrapper."""
    call = partial(model.booster_.predict, num_threads=1) if name.startswith("lightgbm") else model.predict
    call(np.zeros((1000, model.n_features_in_)))
    return call  # type: ignore[no-any-return]


def compare(columns: int) -> dict[str, object]:
    X, y = table(20_000, columns, 0)
    cst = [1, *[0] * (columns - 1)]
    small = {"hidden_layer_sizes": (16, 16), "n_bins": 0, "n_estimators": 1}
    ours: dict[str, dict[str, Any]] = {"small": small, "default": {}}
    models = {
        **{
            f"monolip {k}": MonotonicRegressor(monotonic_cst=cst, random_state=0, **v).fit(X, y)
            for k, v in ours.items()
        },
        "lightgbm default": lightgbm.LGBMRegressor(monotone_constraints=cst, n_jobs=1, verbose=-1).fit(X, y),
        "xgboost default": xgboost.XGBRegressor(monotone_constraints=tuple(cst), n_jobs=1).fit(X, y),
    }
    Z, _ = table(ROWS, columns, 1)
    one = np.ascontiguousarray(Z[:1])
    rows: dict[str, dict[str, float]] = {}
    calls = {name: predict_of(name, model) for name, model in models.items()}
    best = dict.fromkeys(calls, np.inf)
    for _ in range(ROUNDS):  # in turn: whatever else the machine does meets all of them
        for name, predict in calls.items():
            best[name] = min(best[name], best_seconds(lambda p=predict: p(Z), 1))
    for name, predict in calls.items():
        seconds, latency = best[name], best_seconds(lambda p=predict: p(one), 200)
        rows[name] = {"rows_per_second": ROWS / seconds, "one_row_microseconds": 1e6 * latency}
        if name.startswith("monolip"):
            rows[name] |= {"weights": weights_of(models[name])}
        print(
            f"{columns:2d} columns  {name:28s} {ROWS / seconds:12,.0f} rows/s   one row {1e6 * latency:8.1f} us",
            flush=True,
        )
    speed = {name: row["rows_per_second"] for name, row in rows.items()}
    ratios = {
        f"{ours} / {theirs}": speed[ours] / speed[theirs]
        for ours in ("monolip small", "monolip default")
        for theirs in ("lightgbm default", "xgboost default")
    }
    for name, ratio in ratios.items():
        print(f"            {name:36s} {ratio:6.1f}x")
    return {"models": rows, "ratios": ratios}


def main() -> None:
    results = {f"{columns} columns": compare(columns) for columns in (5, 13)}
    record("predict_speed", results, ("monolip", "lightgbm", "xgboost", "numpy", "numba"), rows=ROWS, threads=1)


if __name__ == "__main__":
    main()
