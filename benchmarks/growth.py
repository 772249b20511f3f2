"""How fit and predict grow with rows and columns, beside LightGBM: seconds and peak memory, one thread.

    python benchmarks/growth.py [--rows 1e3,1e4,1e5,1e6] [--columns 5,50,500]
    writes benchmarks/results/growth.json, about five minutes

Each measurement runs in a process of its own, so that the peak of resident memory is its own; what the process held
before fit (libraries, the table itself) is subtracted. Tables have 10 columns while rows grow, 10,000 rows while
columns grow. Of more than 262,144 rows monolip trains on a random part of that size, LightGBM on all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time

from record import record

COLUMNS, ROWS = 10, 10_000


def measure(who: str, n: int, d: int) -> dict[str, float]:
    """In this process: fit and predict once on an n x d table."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.exp(X[:, 0] / 2) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)
    if who == "lightgbm":
        import lightgbm

        model = lightgbm.LGBMRegressor(monotone_constraints=[1] + [0] * (d - 1), n_jobs=1, verbose=-1)
        warm = lightgbm.LGBMRegressor(n_estimators=1, verbose=-1, n_jobs=1)
    else:
        from monolip.estimators import MonotonicRegressor

        model = MonotonicRegressor(monotonic_cst=[1] + [0] * (d - 1), random_state=0)
        warm = MonotonicRegressor(n_estimators=1, max_iter=1, random_state=0)
    warm.fit(X[:200, :3], y[:200]).predict(X[:200, :3])
    before = peak()
    begun = time.perf_counter()
    model.fit(X, y)
    fit = time.perf_counter() - begun
    used = peak() - before
    begun = time.perf_counter()
    model.predict(X)
    predict = time.perf_counter() - begun
    return {
        "fit_s": fit, "predict_s": predict, "fit_extra_mb": used, "predict_extra_mb": peak() - before - used,
        "table_mb": X.nbytes / 2**20,
    }  # fmt: skip


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_own_process(who: str, n: int, d: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", f"{who},{n},{d}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="1e3,1e4,1e5,1e6")
    parser.add_argument("--columns", default="5,50,500")
    parser.add_argument("--one", default="")
    arguments = parser.parse_args()
    if arguments.one:
        who, n, d = arguments.one.split(",")
        print(json.dumps(measure(who, int(n), int(d))))
        return
    shapes = [(int(float(n)), COLUMNS) for n in arguments.rows.split(",")]
    shapes += [(ROWS, int(d)) for d in arguments.columns.split(",")]
    table = []
    print(f"{'rows':>9s} {'columns':>7s} {'who':>9s} {'fit s':>8s} {'predict s':>9s} {'extra MB':>9s} {'table MB':>9s}")
    for n, d in shapes:
        for who in ("monolip", "lightgbm"):
            found = in_own_process(who, n, d)
            table.append({"rows": n, "columns": d, "who": who, **found})
            print(
                f"{n:9d} {d:7d} {who:>9s} {found['fit_s']:8.2f} {found['predict_s']:9.3f} {found['fit_extra_mb']:9.0f} "
                f"{found['table_mb']:9.1f}",
                flush=True,
            )
    record("growth", table, ("monolip", "lightgbm", "numpy", "numba"), threads=1)


if __name__ == "__main__":
    main()
