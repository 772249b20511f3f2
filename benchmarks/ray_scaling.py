"""Weak scaling on Ray: rows a second of `fit_on_ray` with one and with two workers, one core and as many rows each.

    python benchmarks/ray_scaling.py            writes results/ray_scaling.json; about 7 minutes, on an idle machine

On a busy one it measures the others: whenever a worker waits for a message, another program may take its core for some
milliseconds, and both workers wait for it.

Weak scaling: every worker has the same number of rows and the same rows a step; two workers then do twice the work. The
efficiency is (rows a second of two) / (2 x rows a second of one), measured inside `fit` over the epochs of the second
half: neither Ray's start nor the reading of the table counts (Ray goes on starting processes of its own for some
seconds). It is measured for short and for long steps (`batch`: rows a step of each worker): the message and the waiting
come once a step, however long that is. Three things are measured by the same statistics, in turn, several rounds, each
round with a Ray of its own:

    ray            fit_on_ray
    torchrun       the same fit under torchrun, while no Ray runs: the difference is Ray's share, whose dozen processes
                   wake up on the two cores the workers need (one worker leaves them a free core)
    independent    fits that know nothing of each other, as Ray tasks: what the machine gives two processes over one
                   (short steps only: these fits wait for nobody)

The claim is weak_scaling["ray"]["median"], of the median epoch: what a fit takes from its start to its end. The fastest
epoch stands beside it: others on the machine count less there, and neither do the disturbances a fit has to bear. Both
are medians over the rounds. `ray_itself` is the processor time, in cores, that Ray's processes other than the two
workers take in the second half of the time these compute. Each worker has one thread; the machine needs two free cores.
With --pin every worker is held to one core (in all three kinds, alone too; fit_on_ray(pin=True)): the system then
cannot put two of them on one core when a message wakes them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from monolip import SlopeBounds
from record import record

FEATURES, HIDDEN = 20, (128, 128)
ROWS, EPOCHS, BATCHES = 131_072, 16, (8192, 32768)  # of each worker
COUNTS = {"one": 1, "two": 2}
STATISTICS = ("median", "fastest")
Rates = dict[str, dict[str, dict[str, float]]]  # kind, number of workers, statistic


def statistics_of(seconds: Any, rows: int) -> dict[str, float]:
    later = list(seconds)[len(seconds) // 2 :]
    return {"median": rows / median(later), "fastest": rows / min(later)}


def on_ray(count: int, size: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Beside the rates, in cores: what Ray's other processes took while the workers computed."""
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
    with watched() as shares:
        done = fit_on_ray(table, "y", slopes, plan, hidden=HIDDEN, workers=count, storage=run, pin=size.pin)
    later = shares[len(shares) // 2 :] or [math.nan]
    return {**statistics_of(done.epoch_seconds, size.rows * count), "ray_itself": median(later)}


@contextmanager
def watched(pause: float = 0.8) -> Iterator[list[float]]:
    """Cores taken by Ray's processes without its train workers, in each pause in which those were busy."""
    shares: list[float] = []
    over = threading.Event()

    def watch() -> None:
        before = processor_seconds()
        while not over.wait(pause):
            after = processor_seconds()
            grown = {who: seconds - before.get(who, seconds) for who, seconds in after.items()}
            workers = sum(seconds for (_, is_worker), seconds in grown.items() if is_worker)
            if workers > 0.5 * pause:
                shares.append((sum(grown.values()) - workers) / pause)
            before = after

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield shares
    finally:
        over.set()
        thread.join()


def processor_seconds() -> dict[tuple[int, bool], float]:
    """Of every process of Ray's on this machine, and whether it is a train worker."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_text()
            if "ray::" in words or "/ray/" in words:
                ticks = (folder / "stat").read_text().rpartition(")")[2].split()[11:13]
                who = int(folder.name), "RayTrainWorker" in words
                found[who] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return found


def fit_here(size: argparse.Namespace, place: int = 0) -> tuple[int, tuple[float, ...]]:
    """The same fit in this process, alone or in the group of its launcher: its rank and the seconds of each epoch."""
    import torch

    from monolip.nn.fit import fit
    from monolip.nn.fit_group import process_group
    from monolip.nn.fit_plan import FitPlan
    from monolip.nn.fit_start import start_network
    from monolip.nn.own_cores import own_cores

    torch.set_num_threads(1)
    with process_group() as (rank, count):
        x = np.random.default_rng(0).normal(size=(size.rows * count, FEATURES)).astype(np.float32)
        model = start_network(SlopeBounds([-2.0] * FEATURES, [2.0] * FEATURES), hidden=HIDDEN)
        plan = FitPlan(epochs=size.epochs, batch=size.batch * count, lanes=4, device="cpu")
        with own_cores(rank + place, int(size.pin)):
            return rank, fit(model, x, x[:, 0], plan).epoch_seconds


def under_torchrun(count: int, size: argparse.Namespace, folder: Path) -> dict[str, float]:
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}", __file__]
    sizes = [f"--{name}={value}" for name, value in vars(size).items() if name in ("rows", "batch", "epochs")]
    told = folder / f"{os.urandom(4).hex()}.json"
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    held = ["--pin"] if size.pin else []
    subprocess.run([*start, *sizes, *held, f"--tell={told}"], check=True, env=variables, stderr=subprocess.DEVNULL)
    return statistics_of(json.loads(told.read_text()), size.rows * count)


def independent(count: int, size: argparse.Namespace, _: Path) -> dict[str, float]:
    """The sum of what `count` fits side by side do."""
    import ray

    alone = ray.remote(num_cpus=1)(fit_here)
    fits = ray.get([alone.remote(size, place) for place in range(count)])
    found = [statistics_of(seconds, size.rows) for _, seconds in fits]
    return {name: sum(each[name] for each in found) for name in found[0]}


def one_round(sizes: list[argparse.Namespace], folder: Path) -> list[Rates]:
    """For each size: kind, number of workers, statistic."""
    import ray

    alone = [{name: under_torchrun(count, size, folder) for name, count in COUNTS.items()} for size in sizes]
    variables = {"RAY_TRAIN_V2_ENABLED": "1", "OMP_NUM_THREADS": "1", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": variables})
    found: list[Rates] = []
    for size, torchrun in zip(sizes, alone, strict=True):
        found.append(
            {"ray": {name: on_ray(count, size, folder) for name, count in COUNTS.items()}, "torchrun": torchrun}
        )
    found[0]["independent"] = {name: independent(count, sizes[0], folder) for name, count in COUNTS.items()}
    ray.shutdown()
    return found


def summary(size: argparse.Namespace, rounds: list[Rates]) -> dict[str, Any]:
    every = {
        kind: {n: {s: [round(r[kind][n][s]) for r in rounds] for s in STATISTICS} for n in COUNTS} for kind in rounds[0]
    }
    typical = {
        kind: {n: {s: round(median(rates[n][s])) for s in STATISTICS} for n in COUNTS} for kind, rates in every.items()
    }
    scaling = {
        kind: {s: round(rates["two"][s] / (2 * rates["one"][s]), 3) for s in STATISTICS}
        for kind, rates in typical.items()
    }
    itself = {n: round(median(r["ray"][n]["ray_itself"] for r in rounds), 3) for n in COUNTS}
    facts = {"rows_per_second": typical, "weak_scaling": scaling, "ray_itself": itself, "all_rounds": every}
    return {"batch": size.batch, **facts}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pin", action="store_true", help="hold every worker to one core")
    for name in ("rows", "batch", "epochs", "tell"):  # of a process of torchrun, which writes its seconds there
        parser.add_argument(f"--{name}", type=Path if name == "tell" else int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tell:
        rank, seconds = fit_here(options)
        if rank == 0:
            options.tell.write_text(json.dumps(seconds))
        return
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 would starve the workers on a busy machine
    os.environ.setdefault("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")  # nobody takes this machine away: see the how-to
    load = [round(value, 1) for value in os.getloadavg()]
    sizes = [argparse.Namespace(rows=ROWS, batch=batch, epochs=EPOCHS, pin=options.pin) for batch in BATCHES]
    rounds: list[list[Rates]] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            begun = time.perf_counter()
            rounds.append(one_round(sizes, Path(folder)))
            for size, rates in zip(sizes, rounds[-1], strict=True):
                print(size.batch, summary(size, [rates])["weak_scaling"], flush=True)
            print(f"{time.perf_counter() - begun:.0f} seconds", flush=True)
    results = [summary(size, list(found)) for size, found in zip(sizes, zip(*rounds, strict=True), strict=True)]
    for found in results:
        print(found["batch"], found["weak_scaling"], found["ray_itself"])
    settings = {
        "features": FEATURES,
        "hidden": HIDDEN,
        "rows": ROWS,
        "epochs": EPOCHS,
        "pin": options.pin,
        "load": load,
    }
    print(record("ray_scaling", results, ("ray", "torch", "numpy"), **settings))


if __name__ == "__main__":
    main()
