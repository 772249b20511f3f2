"""Fit one network on Spark's executors: TorchDistributor starts torchrun's processes there, which run `train`.

    python examples/spark_fit.py --table folder --loss logistic --increasing debt --decreasing income --processes 2

The table is a folder that all executors see, with x.npy (rows scaled to about 1), y.npy and names.txt (a name of a
column of x a line); each process maps the files into memory and reads its own rows alone. Without --master the
executors are processes of this machine. Needs pyspark and Java 17.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any


def train(folder: str, out: str, promise: dict[str, Any], plan: dict[str, Any], float64: bool) -> tuple[int, str]:
    """What each process does: nothing here knows of Spark. Returns what rank 0 has to say."""
    import numpy as np
    import torch

    from monolip import SlopeBounds
    from monolip.nn import ConvexMLP
    from monolip.nn.fit import fit
    from monolip.nn.fit_group import process_group
    from monolip.nn.fit_lanes import Lanes
    from monolip.nn.fit_plan import FitPlan

    torch.set_num_threads(1)
    how = FitPlan(**plan)
    with process_group("gloo") as (rank, world):
        x, y = (np.load(f"{folder}/{name}.npy", mmap_mode="r") for name in "xy")
        own = Lanes(how, len(x), rank, world).rows
        torch.manual_seed(0)  # every process builds the same network
        slopes = SlopeBounds.from_monotonic_cst(**promise)
        model = ConvexMLP(slopes, hidden=(16, 16), dtype=torch.float64 if float64 else None)
        done = fit(model, x[own], y[own], how, n_rows=len(x), checkpoint=f"{out}.checkpoint")
        if rank == 0:
            done.network.save(out)
            Path(f"{out}.checkpoint").unlink()
    return world, done.network.digest


def given() -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    columns = {"type": lambda text: [name for name in text.split(",") if name], "metavar": "NAME,NAME"}
    parser.add_argument("--table", required=True, type=Path)
    parser.add_argument("--increasing", **columns, required=True, help="columns the answer must not fall in; or ''")
    parser.add_argument("--decreasing", **columns, required=True, help="columns the answer must not rise in; or ''")
    parser.add_argument("--loss", choices=["squared", "logistic"], required=True)
    parser.add_argument("--max-slope", type=float, default=2.0)
    parser.add_argument("--out", default="network.safetensors")
    parser.add_argument("--master", help="of a cluster; this machine if none")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--lanes", type=int, default=8, help="the number of processes divides it, and it the batch")
    parser.add_argument("--float64", action="store_true")
    options = parser.parse_args()
    lost = [name for name in ("x.npy", "y.npy", "names.txt") if not (options.table / name).is_file()]
    if lost:
        parser.error(f"--table is a folder with x.npy, y.npy and names.txt; {options.table} has no {lost[0]}")
    return options


def main() -> None:
    options = given()
    from pyspark.ml.torch.distributor import TorchDistributor
    from pyspark.sql import SparkSession

    directions = {name: 1 for name in options.increasing} | {name: -1 for name in options.decreasing}
    names = [name for name in (options.table / "names.txt").read_text().split("\n") if name]
    promise = {"monotonic_cst": directions, "max_slope": options.max_slope, "feature_names": names}
    plan = {name: getattr(options, name) for name in ("epochs", "batch", "lanes", "loss")}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors of this machine; a cluster has its own
    session = SparkSession.builder.master(options.master or f"local[{options.processes}]")
    spark = session.config("spark.ui.enabled", "false").getOrCreate()
    try:
        launcher = TorchDistributor(num_processes=options.processes, local_mode=False, use_gpu=False)
        table, out = str(options.table.resolve()), str(Path(options.out).resolve())
        world, digest = launcher.run(train, table, out, promise, plan, options.float64)
        print(f"{world} processes on Spark came to {digest}; wrote {out}")
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
