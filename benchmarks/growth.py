"""How fit and predict grow with rows and columns, beside LightGBM: seconds and peak memory, one thread.

    python benchmarks/growth.py [--rows 1e3,1e4,1e5,1e6] [--columns 5,50,500]
    writes benchmarks/results/growth.json, about five minutes

Each measurement runs in a process of its own that has fitted and predicted 200 rows before, so that code is loaded.
Extra memory is the highest resident memory during fit less what was resident just before it (libraries, the table,
its target). What a fit of 200 rows x 10 columns needs beyond that, measured in the same way, is the fixed part: it is
printed first and kept as a row of the results, and never subtracted. Beyond twice: extra memory less two tables.
Part of it does not grow with the table: the start's sample of at most 2^21 cells, and its Gram matrix.
Tables have 10 columns while rows grow, 10,000 rows while columns grow. Of more than 262,144 rows monolip trains on a
random part of that size, LightGBM on all.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from record import record

COLUMNS, ROWS, FEWEST_ROWS = 10, 10_000, 200


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
    before = resident()
    begun = time.perf_counter()
    model.fit(X, y)
    fit = time.perf_counter() - begun
    used = highest() - before
    before = resident()
    begun = time.perf_counter()
    model.predict(X)
    predict = time.perf_counter() - begun
    return {
        "fit_s": fit, "predict_s": predict, "fit_extra_mb": used, "predict_extra_mb": highest() - before,
        "table_mb": X.nbytes / 2**20, "times_table": used * 2**20 / X.nbytes,
        "beyond_twice_mb": used - 2 * X.nbytes / 2**20,
    }  # fmt: skip


def resident() -> float:
    """Megabytes resident now; from here on `highest` looks for the most."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def highest() -> float:
    """The most megabytes that were resident since `resident` was asked."""
    return _status("VmHWM")


def _status(name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None, "this benchmark reads Linux's own account of memory"
    return int(found[1]) / 1024


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
    shapes = [(FEWEST_ROWS, COLUMNS), *((int(float(n)), COLUMNS) for n in arguments.rows.split(","))]
    shapes += [(ROWS, int(d)) for d in arguments.columns.split(",")]
    table = []
    words = ["rows", "columns", "who", "fit s", "predict s", "extra MB", "table MB", "times", "beyond 2"]
    print(" ".join(f"{word:>9s}" for word in words))
    for n, d in shapes:
        for who in ("monolip", "lightgbm"):
            found = in_own_process(who, n, d)
            table.append({"rows": n, "columns": d, "who": who, **found})
            numbers = [found[name] for name in ("fit_extra_mb", "table_mb", "times_table", "beyond_twice_mb")]
            seconds = f"{found['fit_s']:9.2f} {found['predict_s']:9.3f}"
            print(f"{n:9d} {d:9d} {who:>9s} {seconds} " + " ".join(f"{x:9.1f}" for x in numbers), flush=True)
    record("growth", table, ("monolip", "lightgbm", "numpy", "numba"), threads=1)


if __name__ == "__main__":
    main()
