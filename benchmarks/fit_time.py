"""Wall clock of a whole default `fit` against one LightGBM fit with the same promise: no search on either side.

    MONOLIP_DATA=../shared/data python benchmarks/fit_time.py [--rounds 10] [--sets airfoil,concrete]
    MONOLIP_DATA=build/second python benchmarks/fit_time.py --rounds 6 --result fit_time_second

Both get the training rows of a fold and hold out rows for early stopping inside the clock (up to 1500 trees, an eighth
held out). Rounds alternate (ours, theirs; theirs, ours), a new fold each. All tables are timed with one thread first,
and then with two: a second thread of LightGBM's waits busily for some milliseconds after a fit, and would be charged to
the next one. Compiled kernels are loaded before the clock starts; a cold start (a new process: import, load, fit; and
the very first one on a machine, which compiles) stands beside it.

A table's ratio is the median over rounds of ours / theirs in the same round; mean_ratio is that of the mean times,
which counts rare long fits. Where all rounds so far took less than a second there are five times as many, as small
tables take up to ten times as long by the fold. interval: 95 % of the median over tables, rounds drawn anew. The
presets (contestants/ours.py) follow in the first rounds, one thread, against the same LightGBM fits; tables of the
second and third suite are timed without presets and cold start.
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
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "2")  # LightGBM's limit; each fit asks for one thread or two

import warnings

import numpy as np

from accuracy_unit import Unit, split_of
from contestants import CONTESTANTS, Predict, Task, missing_packages
from contestants.ours import PRESETS, fit_ours, warm_up
from contestants.task import main_error
from contestants.trees import lightgbm_plain
from record import record
from suite_data import at_least, list_sets, read_set

FOLDS, PRESET_ROUNDS = 5, 3
OTHERS = [Path(__file__).with_name(f"{name}_suite.json") for name in ("second", "third")]
QUICK, AS_MANY = 1.0, 5  # seconds of all rounds, one thread; of so many times as many rounds then


def ours(task: Task) -> Predict:
    return fit_ours(task, {})


def clock(fit: Callable[[Task], Predict], task: Task) -> tuple[float, float, Predict]:
    """(seconds on the wall, seconds of processor time over all threads, the fitted model)."""
    begun, cpu = time.perf_counter(), time.process_time()
    predict = fit(task)
    return time.perf_counter() - begun, time.process_time() - cpu, predict


def time_rounds(name: str, t: int, rounds: int, preset_rounds: int, found: dict[str, list[float]]) -> None:
    """Rounds of one table with t threads, into found; as many as there are already with another number of threads."""
    X, y, facts = read_set(name)
    classes, done = facts["task"] == "binary", len(found.get("ours_error", ()))
    for k in range(done or AS_MANY * rounds):
        if not done and k == rounds and sum(found[f"ours_{t}"]) + sum(found[f"trees_{t}"]) > QUICK:
            break
        train, test = split_of(Unit(name, k // FOLDS, k % FOLDS, FOLDS, "monolip"), X, y, classes)
        task = Task(X.iloc[train].reset_index(drop=True), y[train], facts["monotonic_cst"], classes, k, t)
        order = [("ours", ours), ("trees", lightgbm_plain)]
        for who, fit in order if k % 2 == 0 else order[::-1]:
            seconds, cpu, predict = clock(fit, task)
            found.setdefault(f"{who}_{t}", []).append(seconds)
            found.setdefault(f"{who}_{t}_cpu", []).append(cpu)
            if not done:
                found.setdefault(f"{who}_error", []).append(main_error(y[test], predict(X.iloc[test]), classes))
        for preset, (_, options) in PRESETS.items() if k < preset_rounds and not done else ():
            found.setdefault(preset, []).append(clock(lambda task, o=options: fit_ours(task, o), task)[0])


def _ratios(found: dict[str, list[float]], threads: list[int]) -> dict[str, Any]:
    values = {key: np.array(v) for key, v in found.items()}
    return {
        "fit_s": {t: float(np.median(values[f"ours_{t}"])) for t in threads},
        "trees_fit_s": {t: float(np.median(values[f"trees_{t}"])) for t in threads},
        "time_ratio": {t: float(np.median(values[f"ours_{t}"] / values[f"trees_{t}"])) for t in threads},
        "mean_ratio": {t: float(values[f"ours_{t}"].mean() / values[f"trees_{t}"].mean()) for t in threads},
        "cpu_ratio": {t: float(np.median(values[f"ours_{t}_cpu"] / values[f"trees_{t}_cpu"])) for t in threads},
        "preset_ratio": {
            preset: float(np.median(values[preset] / values[f"trees_{threads[0]}"][: len(values[preset])]))
            for preset in PRESETS
            if preset in values
        },
        "error_ratio": float(np.exp(np.mean(np.log(values["ours_error"] / values["trees_error"])))),
        "seconds": {key: [round(s, 5) for s in v] for key, v in found.items() if not key.endswith("error")},
    }


def _said(found: dict[str, list[float]], t: int) -> str:
    times, trees = np.array(found[f"ours_{t}"]), np.array(found[f"trees_{t}"])
    ratios = np.median(times / trees), times.mean() / trees.mean()
    return " ".join(f"{value:8.3f}" for value in (np.median(times), np.median(trees), *ratios))


def interval(table: dict[str, Any], t: int, draws: int = 4000) -> list[float]:
    """Of the median over tables of their ratios: where it lies for 95 % of the ways to draw as many rounds anew."""
    rng, drawn = np.random.default_rng(0), []
    for row in table.values():
        ratios = np.array(row["seconds"][f"ours_{t}"]) / np.array(row["seconds"][f"trees_{t}"])
        drawn.append(np.median(rng.choice(ratios, (draws, len(ratios))), axis=1))
    return [float(value) for value in np.quantile(np.median(drawn, axis=0), (0.025, 0.975))]


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
    arguments = _arguments()
    warnings.filterwarnings("ignore", category=UserWarning, module="lightgbm")
    if arguments.one:
        print(json.dumps(_first_fit(*arguments.one.split(","))))
        return
    if missing := missing_packages(CONTESTANTS["lightgbm_plain"]):
        raise SystemExit(f"times are relative to LightGBM's; pip install {' '.join(missing)}")
    known, others = list_sets(), [json.loads(path.read_text()) for path in OTHERS]
    is_open_suite = not any(tables.keys() & known.keys() for tables in others)
    if not is_open_suite and arguments.result == "fit_time":
        raise SystemExit("these are no tables of the open suite, whose result is 'fit_time'; say --result ANOTHER_NAME")
    wanted = [name for name in arguments.sets.split(",") if name] or list(known)
    if unknown := [name for name in wanted if name not in known]:
        raise SystemExit(f"there is no table {', '.join(unknown)}; got these: {', '.join(known)}")
    threads = arguments.threads
    print("loading kernels (the first time on a machine they are compiled, for a minute or two)", flush=True)
    warm_up()
    found: dict[str, dict[str, list[float]]] = {name: {} for name in wanted}
    for t in threads:
        print(f"threads: {t}. data set, rows, rounds, monolip s, LightGBM s, ratio, ratio of means", flush=True)
        for name in wanted:
            time_rounds(name, t, arguments.rounds, PRESET_ROUNDS if is_open_suite else 0, found[name])
            rounds = len(found[name][f"ours_{t}"])
            print(f"{name:20s} {known[name]['rows']:6d} {rounds:3d} {_said(found[name], t)}", flush=True)
    results = _results(found, known, threads)
    if is_open_suite:
        results["median_preset_ratio"] = {
            p: float(np.median([r["preset_ratio"][p] for r in results["data_sets"].values()])) for p in PRESETS
        }
        if not arguments.no_cold_start:
            print("cold starts: three new processes, one of which compiles everything", flush=True)
            results["cold_start"] = {"data_set": wanted[0], **cold_start(wanted[0])}
    print({key: value for key, value in results.items() if key != "data_sets"})
    if arguments.write or not (arguments.sets or arguments.no_cold_start):
        packages = ("monolip", "lightgbm", "numpy", "numba", "scikit-learn")
        record(arguments.result, results, packages, rounds=arguments.rounds)


def _results(found: dict[str, dict[str, list[float]]], known: dict[str, Any], threads: list[int]) -> dict[str, Any]:
    table = {}
    for name, each in found.items():
        size = {"rows": known[name]["rows"], "columns": known[name]["features"], "task": known[name]["task"]}
        table[name] = {**size, "rounds": len(each["ours_error"]), **_ratios(each, threads)}
    medians = {
        f"median_{key}": {t: float(np.median([r[key][t] for r in table.values()])) for t in threads}
        for key in ("cpu_ratio", "time_ratio", "mean_ratio")
    }
    return {**medians, "interval": {t: interval(table, t) for t in threads}, "data_sets": table}


def _threads(text: str) -> list[int]:
    return [at_least(1)(each) for each in text.split(",")]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=at_least(1), default=10, help="of each table, at least (10)")
    parser.add_argument("--sets", default="", help="names with commas; all without")
    parser.add_argument("--threads", type=_threads, default=[1, 2], help="numbers of threads with commas (1,2)")
    parser.add_argument("--write", action="store_true", help="write the result of a part as well")
    parser.add_argument("--no-cold-start", action="store_true", help="leave it out; nothing is written then")
    parser.add_argument("--result", default="fit_time", help="its name: benchmarks/results/NAME.json (fit_time)")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)  # a new process of a cold start
    return parser.parse_args()


if __name__ == "__main__":
    main()
