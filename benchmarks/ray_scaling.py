"""Weak scaling on Ray: rows a second of `fit_on_ray` with one and with two workers, one core and as many rows each.

    python benchmarks/ray_scaling.py            writes results/ray_scaling.json; about five minutes, on an idle machine

Weak scaling: every worker has the same number of rows and the same rows a step; two workers then do twice the work. The
efficiency is (rows a second of two) / (2 x rows a second of one), measured inside `fit` in the fastest epoch of the
second half, so that neither Ray's start nor the reading of the table counts (Ray goes on starting processes of its own
for some seconds), and others on the machine little; weak_scaling_median is the same for the median epoch of that half.
Both are run in turn, several rounds; medians. Each worker has one thread; the machine needs two free cores. Beside it
stands what the machine itself gives two independent processes over one: where that is below 1, cores share caches and
clocks.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from monolip import SlopeBounds
from record import record

FEATURES, HIDDEN = 20, (128, 128)


def table(rows: int) -> Any:
    import pandas
    import ray.data

    x = np.random.default_rng(0).normal(size=(rows, FEATURES)).astype(np.float32)
    columns = {f"x{k}": x[:, k] for k in range(FEATURES)}
    return ray.data.from_pandas(pandas.DataFrame({**columns, "y": np.maximum(x[:, 0], x[:, 1]) - x[:, 2]}))


def rate(workers: int, rows: int, batch: int, epochs: int, folder: Path) -> tuple[float, float]:
    from monolip.distributed import fit_on_ray
    from monolip.nn.fit_plan import FitPlan

    slopes = SlopeBounds([-2.0] * FEATURES, [2.0] * FEATURES, tuple(f"x{k}" for k in range(FEATURES)))
    plan = FitPlan(epochs=epochs, batch=batch * workers, lanes=4)
    run = folder / os.urandom(4).hex()
    done = fit_on_ray(table(rows * workers), "y", slopes, plan, hidden=HIDDEN, workers=workers, storage=run)
    later = done.epoch_seconds[epochs // 2 :]
    return rows * workers / min(later), rows * workers / median(later)


def independent(rows: int, batch: int, epochs: int, count: int) -> float:
    """Sum of rows a second of `count` fits side by side that know nothing of each other."""
    import ray

    @ray.remote(num_cpus=1)
    def alone() -> float:
        import torch

        from monolip.nn.fit import fit
        from monolip.nn.fit_plan import FitPlan
        from monolip.nn.fit_start import start_network

        torch.set_num_threads(1)
        x = np.random.default_rng(0).normal(size=(rows, FEATURES)).astype(np.float32)
        model = start_network(SlopeBounds([-2.0] * FEATURES, [2.0] * FEATURES), hidden=HIDDEN)
        done = fit(model, x, x[:, 0], FitPlan(epochs=epochs, batch=batch, lanes=4, device="cpu"))
        return rows / min(done.epoch_seconds[epochs // 2 :])

    return float(sum(ray.get([alone.remote() for _ in range(count)])))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=65_536, help="of each worker")
    parser.add_argument("--batch", type=int, default=8192, help="rows a step of each worker")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 would starve the workers on a busy machine
    import ray

    load = [round(value, 1) for value in os.getloadavg()]
    variables = {"RAY_TRAIN_V2_ENABLED": "1", "OMP_NUM_THREADS": "1", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": variables})
    size = (options.rows, options.batch, options.epochs)
    found: dict[str, list[float]] = {
        f"{kind}{n}": [] for n in ("one", "two") for kind in ("", "median ", "independent ")
    }
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for name, count in (("one", 1), ("two", 2)):
                fastest, middle = rate(count, *size, Path(folder))
                found[name].append(fastest)
                found[f"median {name}"].append(middle)
                found[f"independent {name}"].append(independent(*size, count))
            print({name: round(values[-1]) for name, values in found.items()}, flush=True)
    ray.shutdown()
    typical = {name: median(values) for name, values in found.items()}
    machine = typical["independent two"] / (2 * typical["independent one"])
    results = {
        "rows_per_second": {name: round(value) for name, value in typical.items()},
        "all_rounds": {name: [round(value) for value in values] for name, values in found.items()},
        "weak_scaling": round(typical["two"] / (2 * typical["one"]), 3),
        "weak_scaling_median": round(typical["median two"] / (2 * typical["median one"]), 3),
        "weak_scaling_of_the_machine": round(machine, 3),
    }
    print(results["weak_scaling"], "of the machine's", results["weak_scaling_of_the_machine"])
    settings = {"features": FEATURES, "hidden": HIDDEN, "rows": options.rows, "batch": options.batch, "load": load}
    print(record("ray_scaling", results, ("ray", "torch", "numpy"), epochs=options.epochs, **settings))


if __name__ == "__main__":
    main()
