"""What the first fit of a process costs: imports, loading compiled code, and compiling it where no cache exists.

    python benchmarks/cold_start.py               writes benchmarks/results/cold_start.json, about a minute

Every measurement is a new process that imports monolip, fits the default estimator on 300 rows of 5 columns and
predicts them. "process" is its whole life, from the shell's point of view, and "processor" the processor time of that,
which other work on the machine disturbs less; "import", "fit" and "predict" are parts of it. With a warm cache the
fastest of several; with an empty one a single run, which compiles everything it uses.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

from record import record

REPEATS = 5
CHILD = """
import json, time
begun = time.perf_counter()
import numpy as np
import monolip
estimator = monolip.{name}
imported = time.perf_counter()
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
y = X[:, 0] + rng.normal(size=300)
model = estimator(monotonic_cst=[1, 0, 0, 0, 0], random_state=0)
before = time.perf_counter()
model.fit(X, {target})
fitted = time.perf_counter()
model.predict(X)
done = time.perf_counter()
print(json.dumps({{"import": imported - begun, "fit": fitted - before, "predict": done - fitted}}))
"""
TARGETS = {"MonotonicRegressor": "y", "MonotonicClassifier": "y > 0"}


def one_process(name: str, cache: str) -> dict[str, float]:
    """Seconds of a new process and of its parts."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_CACHE_DIR": cache}
    code = CHILD.format(name=name, target=TARGETS[name])
    begun, used = time.perf_counter(), processor_seconds()
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    seconds: dict[str, float] = json.loads(done.stdout)
    whole = {"process": time.perf_counter() - begun, "processor": processor_seconds() - used}
    return {**whole, "import and fit": seconds["import"] + seconds["fit"], **seconds}


def processor_seconds() -> float:
    """Of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(name: str) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as cache:  # always empty at first, whatever was compiled before
        empty = one_process(name, cache)
        runs = [one_process(name, cache) for _ in range(REPEATS)]
    warm = min(runs, key=lambda run: run["process"])  # one run's parts, so that they add up
    for label, seconds in (("empty cache", empty), ("warm cache", warm)):
        parts = "  ".join(f"{part} {value:6.3f}" for part, value in seconds.items())
        print(f"{name:20s} {label:12s} {parts}", flush=True)
    return {"empty cache": empty, "warm cache": warm}


def main() -> None:
    results = {name: measure(name) for name in TARGETS}
    record("cold_start", results, ("monolip", "numba", "numpy", "scikit-learn"), repeats=REPEATS, unit="seconds")


if __name__ == "__main__":
    main()
