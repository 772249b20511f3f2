"""Hyper-parameter search with Optuna: in one process, or by several that share a file or a data base.

    python examples/search_optuna.py --trials 200
    python examples/search_optuna.py --trials 400 --workers 2 --storage journal:search.log
    python examples/search_optuna.py --trials 100 --workers 2 --storage sqlite:///search.db

Every worker on every machine that names the same storage and study takes part in the same search. The winner is fitted
on all rows, and leaves as a model file and its certificate. Needs pip install ".[search]" in a checkout.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from monolip import MonotonicRegressor

DIRECTIONS = [1, 1, -1, 0, 0]


def table(rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, len(DIRECTIONS)))
    return x, np.maximum(x[:, 0], x[:, 1]) - x[:, 2] + np.sin(2 * x[:, 3]) + 0.2 * rng.normal(size=rows)


def parameters(trial: Any) -> dict[str, Any]:
    """What is searched. The promise (monotonic_cst) is not: it is a demand, no tuning knob."""
    width = trial.suggest_categorical("width", [8, 16, 32])
    return {
        "hidden_layer_sizes": (width,) * trial.suggest_int("depth", 1, 2),
        "n_bins": trial.suggest_categorical("n_bins", [0, 4, 8]),
        "max_slope": trial.suggest_float("max_slope", 1.0, 30.0, log=True),
        "max_iter": trial.suggest_int("max_iter", 5, 40, log=True),
    }


def objective(trial: Any) -> float:
    """Root mean squared error on rows the fit has not seen."""
    (x, y), cut = table(), 300
    model = MonotonicRegressor(
        monotonic_cst=DIRECTIONS, n_estimators=1, early_stopping=False, n_jobs=1, random_state=0, **parameters(trial)
    )
    model.fit(x[:cut], y[:cut])
    return float(np.sqrt(np.mean((model.predict(x[cut:]) - y[cut:]) ** 2)))


def storage_of(name: str | None) -> Any:
    if name is None or not name.startswith("journal:"):
        return name
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    return JournalStorage(JournalFileBackend(name.removeprefix("journal:")))


def work(storage: str | None, study: str, trials: int, seed: int | None) -> Any:
    """One worker: joins the study, or begins it. Two with the same seed would try the same settings."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)  # workers try different things at a time
    joined = optuna.create_study(
        storage=storage_of(storage), study_name=study, sampler=sampler, direction="minimize", load_if_exists=True
    )
    joined.optimize(objective, n_trials=trials)
    return joined


def search(storage: str | None, study: str, trials: int, workers: int, seed: int | None = None) -> Any:
    """The study after `trials` more trials by so many processes (several need a storage they share).

    seed: None draws another one in every process, on every machine; a number repeats the same search in one process.
    """
    if workers == 1:
        return work(storage, study, trials, seed)
    if storage is None:
        raise SystemExit("several workers share a storage; add --storage journal:FILE or sqlite:///FILE")
    work(storage, study, 1, seed)  # the study exists before anybody joins it
    spawn = multiprocessing.get_context("spawn")
    shares = [(trials - 1) * (k + 1) // workers - (trials - 1) * k // workers for k in range(workers)]
    seeds = [None if seed is None else seed + k + 1 for k in range(workers)]
    others = [spawn.Process(target=work, args=(storage, study, n, s)) for s, n in zip(seeds, shares, strict=True) if n]
    for other in others:
        other.start()
    for other in others:
        other.join()
    if any(other.exitcode for other in others):
        raise SystemExit("a worker failed; its message stands above; the trials done so far are in the storage")
    return optuna.load_study(storage=storage_of(storage), study_name=study)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--storage")
    parser.add_argument("--study", default="monolip")
    parser.add_argument("--seed", type=int, help="repeats a search; on several machines give each another, or none")
    parser.add_argument("--out", type=Path, default=Path("best.safetensors"))
    options = parser.parse_args()
    if options.out.exists():
        parser.error(f"the winner goes to a new file; {options.out} exists; name another by --out")
    begun = time.perf_counter()
    study = search(options.storage, options.study, options.trials, options.workers, options.seed)
    seconds = time.perf_counter() - begun
    best = MonotonicRegressor(
        monotonic_cst=DIRECTIONS, random_state=0, **parameters(optuna.trial.FixedTrial(study.best_params))
    )
    best.fit(*table())
    best.save(options.out)
    options.out.with_suffix(".certificate.json").write_text(best.certificate_.to_json())
    print(f"{len(study.trials)} trials, {60 * options.trials / seconds:,.0f} a minute; error {study.best_value:.4f}")
    print(f"{study.best_params}; wrote {options.out}")


if __name__ == "__main__":
    main()
