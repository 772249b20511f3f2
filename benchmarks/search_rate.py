"""Fits a minute of a hyper-parameter search on this machine: bare, with Optuna in memory, and with a file two share.

    python benchmarks/search_rate.py            writes results/search_rate.json; about a minute and a half

Each fit is one of examples/search_optuna.py: 300 rows x 5 features, one or two hidden layers of 8 to 32 units, 5 to 40
passes, then scored on 100 rows. Settings are drawn at random in "bare"; "default fit" has the estimator's own defaults.
Workers count from their first fit on, not their start. The load of the machine is recorded beside.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from record import ROOT, record

sys.path.insert(0, str(ROOT / "examples"))


def bare(seconds: float, seed: int, default: bool = False) -> dict[str, Any]:
    """Random settings, one fit after the other."""
    import optuna
    from search_optuna import DIRECTIONS, objective, parameters, table

    from monolip import MonotonicRegressor

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    drawn = [study.ask() for _ in range(400)]
    settings = [(parameters(trial), trial.params)[1] for trial in drawn]
    x, y = table()

    def one(k: int) -> None:
        if default:
            MonotonicRegressor(monotonic_cst=DIRECTIONS, n_jobs=1, random_state=k).fit(x[:300], y[:300]).predict(x)
        else:
            objective(optuna.trial.FixedTrial(settings[k % len(settings)]))

    return counted(one, seconds)


def with_optuna(seconds: float, seed: int, storage: str | None = None) -> dict[str, Any]:
    import optuna
    from search_optuna import objective, storage_of

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(
        storage=storage_of(storage), study_name="rate", sampler=sampler, direction="minimize", load_if_exists=True
    )
    return counted(lambda _: study.optimize(objective, n_trials=1), seconds)


def counted(one: Any, seconds: float) -> dict[str, Any]:
    one(0)  # loads what was compiled before
    begun, processor, count = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - begun < seconds:
        count += 1
        one(count)
    took, cpu = time.perf_counter() - begun, time.process_time() - processor
    return {"fits": count, "seconds": round(took, 2), "ms_cpu_per_fit": round(1e3 * cpu / count, 2)}


def worker(what: str, seconds: float, seed: int, storage: str | None, results: Any) -> None:
    result = bare(seconds, seed, what == "default fit") if storage is None else with_optuna(seconds, seed, storage)
    results.put(result)


def together(what: str, seconds: float, workers: int, storage: str | None) -> list[dict[str, Any]]:
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    processes = [spawn.Process(target=worker, args=(what, seconds, k, storage, results)) for k in range(workers)]
    for process in processes:
        process.start()
    found = [results.get(timeout=seconds + 120) for _ in processes]
    for process in processes:
        process.join()
    return found


def summary(name: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    rate = 60 * sum(part["fits"] / part["seconds"] for part in found)
    fits = sum(part["fits"] for part in found)
    cpu = sum(part["ms_cpu_per_fit"] * part["fits"] for part in found) / fits
    row = {"search": name, "workers": len(found), "fits": fits, "fits_per_minute": round(rate)}
    row |= {"ms_cpu_per_fit": round(cpu, 2), "fits_per_minute_and_free_core": round(60e3 / cpu)}
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    seconds, workers = options.seconds, options.workers
    load = os.getloadavg()
    rows = [
        summary("bare", [bare(seconds, 0)]),
        summary("bare", together("bare", seconds, workers, None)),
        summary("default fit", together("default fit", seconds, workers, None)),
        summary("Optuna, in memory", [with_optuna(seconds, 0)]),
    ]
    with tempfile.TemporaryDirectory() as folder:
        journal, base = f"journal:{Path(folder) / 'search.log'}", f"sqlite:///{Path(folder) / 'search.db'}"
        with_optuna(0.1, 9, journal)
        rows.append(summary("Optuna, journal file", together("optuna", seconds, workers, journal)))
        with_optuna(0.1, 9, base)
        rows.append(summary("Optuna, sqlite", together("optuna", seconds, workers, base)))
    settings = {"rows": 300, "features": 5, "load": [round(value, 1) for value in load]}
    print(record("search_rate", rows, ("numpy", "numba", "optuna"), **settings))


if __name__ == "__main__":
    main()
