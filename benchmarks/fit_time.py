"""Wall clock of a whole default `fit` against one LightGBM fit with the same promise: no search on either side.

    MONOLIP_DATA=../shared/data python benchmarks/fit_time.py [--rounds 5] [--sets airfoil,concrete]

Both get the training rows of a fold and hold out rows for early stopping inside the clock (up to 1500 trees, an eighth
held out). Rounds are interleaved (ours, theirs, ours, theirs, ...), a new fold each; one thread, then two. Compiled
kernels are loaded before the clock starts; a cold start (a new process: import, load, fit; and the very first one on a
machine, which compiles) stands beside it. A ratio is a median over rounds of ours / theirs in the same round; where all
rounds so far took less than a second there are five times as many, as small tables take two or three times as long by
the fold. The presets (contestants/ours.py) follow in the first rounds, one thread, against the same LightGBM fits.
Tables of the second suite (MONOLIP_DATA=build/second --result fit_time_second) are timed without presets and cold
start.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "2")  # LightGBM's limit; each fit asks for one thread or two

import warnings

import numpy as np

from accuracy_unit import Unit, split_of
from contestants import Predict, Task
from contestants.ours import PRESETS, fit_ours, warm_up
from contestants.task import main_error
from contestants.trees import lightgbm_plain
from record import record
from suite_data import list_sets, read_set

FOLDS, PRESET_ROUNDS = 5, 3
QUICK, AS_MANY = 1.0, 5  # seconds of all rounds, one thread; of so many times as many rounds then


def ours(task: Task) -> Predict:
    return fit_ours(task, {})


def clock(fit: Callable[[Task], Predict], task: Task) -> tuple[float, float, Predict]:
    """(seconds on the wall, seconds of processor time over all threads, the fitted model)."""
    begun, cpu = time.perf_counter(), time.process_time()
    predict = fit(task)
    return time.perf_counter() - begun, time.process_time() - cpu, predict


def one_set(name: str, rounds: int, threads: list[int], preset_rounds: int) -> dict[str, Any]:
    X, y, facts = read_set(name)
    classes = facts["task"] == "binary"
    found: dict[str, list[float]] = {}
    for k in range(AS_MANY * rounds):
        if k == rounds and sum(found[f"ours_{threads[0]}"]) + sum(found[f"trees_{threads[0]}"]) > QUICK:
            break
        train, test = split_of(Unit(name, k // FOLDS, k % FOLDS, FOLDS, "monolip"), X, y, classes)
        table = X.iloc[train].reset_index(drop=True)
        for t in threads:
            task = Task(table, y[train], facts["monotonic_cst"], classes, k, t)
            order = [("ours", ours), ("trees", lightgbm_plain)]
            for who, fit in order if k % 2 == 0 else order[::-1]:
                seconds, cpu, predict = clock(fit, task)
                found.setdefault(f"{who}_{t}", []).append(seconds)
                found.setdefault(f"{who}_{t}_cpu", []).append(cpu)
                if t == threads[0]:
                    found.setdefault(f"{who}_error", []).append(main_error(y[test], predict(X.iloc[test]), classes))
        if k < preset_rounds:
            alone = Task(table, y[train], facts["monotonic_cst"], classes, k, threads[0])
            for preset, (_, options) in PRESETS.items():
                found.setdefault(preset, []).append(clock(lambda t, o=options: fit_ours(t, o), alone)[0])
    size = {"rows": facts["rows"], "columns": facts["features"], "task": facts["task"]}
    return {**size, "rounds": len(found[f"ours_{threads[0]}"]), **_ratios(found, threads)}


def _ratios(found: dict[str, list[float]], threads: list[int]) -> dict[str, Any]:
    values = {key: np.array(v) for key, v in found.items()}
    return {
        "fit_s": {t: float(np.median(values[f"ours_{t}"])) for t in threads},
        "trees_fit_s": {t: float(np.median(values[f"trees_{t}"])) for t in threads},
        "time_ratio": {t: float(np.median(values[f"ours_{t}"] / values[f"trees_{t}"])) for t in threads},
        "cpu_ratio": {t: float(np.median(values[f"ours_{t}_cpu"] / values[f"trees_{t}_cpu"])) for t in threads},
        "preset_ratio": {
            preset: float(np.median(values[preset] / values[f"trees_{threads[0]}"][: len(values[preset])]))
            for preset in PRESETS
            if preset in values
        },
        "error_ratio": float(np.exp(np.mean(np.log(values["ours_error"] / values["trees_error"])))),
        "seconds": {key: [round(s, 5) for s in v] for key, v in found.items() if not key.endswith("error")},
    }


def _said(row: dict[str, Any], threads: list[int]) -> str:
    keys = ("fit_s", "trees_fit_s", "time_ratio", "cpu_ratio")
    return "   ".join(" ".join(f"{row[key][t]:7.3f}" for key in keys) for t in threads)


def cold_start(name: str) -> dict[str, float]:
    """Seconds in a new process, import included: with compiled kernels on disk, the very first time, and LightGBM's."""
    with tempfile.TemporaryDirectory() as empty:
        first = _in_new_process("ours", name, {"NUMBA_CACHE_DIR": empty})
        again = _in_new_process("ours", name, {"NUMBA_CACHE_DIR": empty})
    return {"first_ever_s": first, "new_process_s": again, "trees_new_process_s": _in_new_process("trees", name, {})}


def _in_new_process(who: str, name: str, extra: dict[str, str]) -> float:
    command = [sys.executable, __file__, "--one", f"{who},{name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **extra})
    return float(json.loads(done.stdout.splitlines()[-1]))


def _first_fit(who: str, name: str) -> float:
    """In this process: the table is read before the clock starts, the model's package is imported after."""
    X, y, facts = read_set(name)
    task = Task(X, y, facts["monotonic_cst"], facts["task"] == "binary", 0)
    return clock(ours if who == "ours" else lightgbm_plain, task)[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sets", default="", help="names with commas; all without")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--write", action="store_true", help="write the result of a part as well")
    parser.add_argument("--result", default="fit_time", help="its name: benchmarks/results/NAME.json")
    parser.add_argument("--one", default="")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning, module="lightgbm")
    if arguments.one:
        print(json.dumps(_first_fit(*arguments.one.split(","))))
        return
    is_open_suite = arguments.result == "fit_time"
    if is_open_suite == os.environ.get("MONOLIP_DATA", "").startswith("build/"):
        raise SystemExit("the open suite makes the result 'fit_time', and tables in build/ another; say which it is")
    wanted = [name for name in arguments.sets.split(",") if name] or list(list_sets())
    threads = [int(t) for t in arguments.threads.split(",")]
    warm_up()
    table = {}
    print("data set, rows, error ratio; for each number of threads: s, trees s, ratio, ratio of processor time")
    for name in wanted:
        row = table[name] = one_set(name, arguments.rounds, threads, PRESET_ROUNDS if is_open_suite else 0)
        print(f"{name:20s} {row['rows']:6d} {row['error_ratio']:7.3f}   {_said(row, threads)}", flush=True)
    results: dict[str, Any] = {
        "median_cpu_ratio": {t: float(np.median([r["cpu_ratio"][t] for r in table.values()])) for t in threads},
        "median_time_ratio": {t: float(np.median([r["time_ratio"][t] for r in table.values()])) for t in threads},
    }
    if is_open_suite:
        results["median_preset_ratio"] = {
            p: float(np.median([r["preset_ratio"][p] for r in table.values()])) for p in PRESETS
        }
        results["cold_start"] = {"data_set": wanted[0], **cold_start(wanted[0])}
    results["data_sets"] = table
    print({key: value for key, value in results.items() if key != "data_sets"})
    if arguments.write or not arguments.sets:
        packages = ("monolip", "lightgbm", "numpy", "numba", "scikit-learn")
        record(arguments.result, results, packages, rounds=arguments.rounds)


if __name__ == "__main__":
    main()
