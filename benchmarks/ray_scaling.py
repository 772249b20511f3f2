"""Weak scaling on Ray: rows a second of `fit_on_ray` with one and with two workers, one core and as many rows each.

    python benchmarks/ray_scaling.py            writes results/ray_scaling.json; about five minutes, on an idle machine

On a busy one it measures the others: whenever a worker waits for a message, another program may take its core for some
milliseconds, and both workers wait for it.

Weak scaling: every worker has the same number of rows and the same rows a step; two workers then do twice the work. The
efficiency is (rows a second of two) / (2 x rows a second of one), measured inside `fit` over the epochs of the second
half: neither Ray's start nor the reading of the table counts (Ray goes on starting processes of its own for some
seconds). Three things are measured by the same statistics, in turn, several rounds, each round with a Ray of its own:

    ray            fit_on_ray
    torchrun       the same fit under torchrun, while no Ray runs: the difference is Ray's share, whose dozen processes
                   wake up on the two cores the workers need (one worker leaves them a free core)
    independent    fits that know nothing of each other, as Ray tasks: what the machine gives two processes over one

The claim is weak_scaling["ray"]["median"], of the median epoch: what a fit takes from its start to its end. The fastest
epoch stands beside it: others on the machine count less there, and neither do the disturbances a fit has to bear. Both
are medians over the rounds. Each worker has one thread; the machine needs two free cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from monolip import SlopeBounds
from record import record

FEATURES, HIDDEN = 20, (128, 128)
COUNTS = {"one": 1, "two": 2}


def statistics_of(seconds: Any, rows: int) -> dict[str, float]:
    later = list(seconds)[len(seconds) // 2 :]
    return {"median": rows / median(later), "fastest": rows / min(later)}


def on_ray(count: int, size: argparse.Namespace, folder: Path) -> dict[str, float]:
    import pandas
    import ray.data

    from monolip.distributed import fit_on_ray
    from monolip.nn.fit_plan import FitPlan

    x = np.random.default_rng(0).normal(size=(size.rows * count, FEATURES)).astype(np.float32)
    columns = {f"x{k}": x[:, k] for k in range(FEATURES)}
    table = ray.data.from_pandas(pandas.DataFrame({**columns, "y": x[:, 0]}))
    slopes = SlopeBounds([-2.0] * FEATURES, [2.0] * FEATURES, tuple(columns))
    plan = FitPlan(epochs=size.epochs, batch=size.batch * count, lanes=4, device="cpu")
    run = folder / os.urandom(4).hex()
    done = fit_on_ray(table, "y", slopes, plan, hidden=HIDDEN, workers=count, storage=run)
    return statistics_of(done.epoch_seconds, size.rows * count)


def fit_here(size: argparse.Namespace) -> tuple[int, tuple[float, ...]]:
    """The same fit in this process, alone or in the group of its launcher: its rank and the seconds of each epoch."""
    import torch

    from monolip.nn.fit import fit
    from monolip.nn.fit_group import process_group
    from monolip.nn.fit_plan import FitPlan
    from monolip.nn.fit_start import start_network

    torch.set_num_threads(1)
    with process_group() as (rank, count):
        x = np.random.default_rng(0).normal(size=(size.rows * count, FEATURES)).astype(np.float32)
        model = start_network(SlopeBounds([-2.0] * FEATURES, [2.0] * FEATURES), hidden=HIDDEN)
        plan = FitPlan(epochs=size.epochs, batch=size.batch * count, lanes=4, device="cpu")
        return rank, fit(model, x, x[:, 0], plan).epoch_seconds


def under_torchrun(count: int, size: argparse.Namespace, folder: Path) -> dict[str, float]:
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}", __file__]
    sizes = [f"--{name}={value}" for name, value in vars(size).items() if name in ("rows", "batch", "epochs")]
    told = folder / f"{os.urandom(4).hex()}.json"
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*start, *sizes, f"--tell={told}"], check=True, env=variables, stderr=subprocess.DEVNULL)
    return statistics_of(json.loads(told.read_text()), size.rows * count)


def independent(count: int, size: argparse.Namespace, _: Path) -> dict[str, float]:
    """The sum of what `count` fits side by side do."""
    import ray

    alone = ray.remote(num_cpus=1)(fit_here)
    found = [statistics_of(seconds, size.rows) for _, seconds in ray.get([alone.remote(size) for _ in range(count)])]
    return {name: sum(each[name] for each in found) for name in found[0]}


def one_round(size: argparse.Namespace, folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    import ray

    found = {"torchrun": {name: under_torchrun(count, size, folder) for name, count in COUNTS.items()}}
    variables = {"RAY_TRAIN_V2_ENABLED": "1", "OMP_NUM_THREADS": "1", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": variables})
    found["ray"] = {name: on_ray(count, size, folder) for name, count in COUNTS.items()}
    found["independent"] = {name: independent(count, size, folder) for name, count in COUNTS.items()}
    ray.shutdown()
    return found


def summary(rounds: list[dict[str, dict[str, dict[str, float]]]]) -> dict[str, Any]:
    kinds, statistics = ("ray", "torchrun", "independent"), ("median", "fastest")
    every = {
        kind: {n: {s: [round(r[kind][n][s]) for r in rounds] for s in statistics} for n in COUNTS} for kind in kinds
    }
    typical = {kind: {n: {s: round(median(every[kind][n][s])) for s in statistics} for n in COUNTS} for kind in kinds}
    scaling = {
        kind: {s: round(typical[kind]["two"][s] / (2 * typical[kind]["one"][s]), 3) for s in statistics}
        for kind in kinds
    }
    return {"rows_per_second": typical, "all_rounds": every, "weak_scaling": scaling}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=65_536, help="of each worker")
    parser.add_argument("--batch", type=int, default=8192, help="rows a step of each worker")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tell", type=Path, help=argparse.SUPPRESS)  # a process of torchrun writes its seconds there
    options = parser.parse_args()
    if options.tell:
        rank, seconds = fit_here(options)
        if rank == 0:
            options.tell.write_text(json.dumps(seconds))
        return
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 would starve the workers on a busy machine
    load = [round(value, 1) for value in os.getloadavg()]
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            rounds.append(one_round(options, Path(folder)))
            print(summary(rounds[-1:])["weak_scaling"], flush=True)
    results = summary(rounds)
    print(results["weak_scaling"])
    settings = {"features": FEATURES, "hidden": HIDDEN, "rows": options.rows, "batch": options.batch, "load": load}
    print(record("ray_scaling", results, ("ray", "torch", "numpy"), epochs=options.epochs, **settings))


if __name__ == "__main__":
    main()
