"""Fit one network on Spark's executors: TorchDistributor starts torchrun's processes there, which run `train`.

    python examples/spark_fit.py --table folder --out network.safetensors --processes 2

The table is a folder that all executors see, with x.npy and y.npy; each process maps the files into memory and reads
its own rows alone. Without --master the executors are processes of this machine. Needs pyspark and Java 17.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def train(table: str, out: str, epochs: int, float64: bool) -> tuple[int, str]:
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
    plan = FitPlan(epochs=epochs, batch=256)
    with process_group("gloo") as (rank, world):
        x, y = (np.load(f"{table}/{name}.npy", mmap_mode="r") for name in "xy")
        own = Lanes(plan, len(x), rank, world).rows
        torch.manual_seed(0)  # every process builds the same network
        slopes = SlopeBounds.from_monotonic_cst([1, 1, -1, *[0] * (x.shape[1] - 3)], max_slope=2.0)
        model = ConvexMLP(slopes, hidden=(16, 16), dtype=torch.float64 if float64 else None)
        done = fit(model, x[own], y[own], plan, n_rows=len(x), checkpoint=f"{out}.checkpoint")
        if rank == 0:
            done.network.save(out)
            Path(f"{out}.checkpoint").unlink()
    return world, done.network.digest


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--table", required=True)
    parser.add_argument("--out", default="network.safetensors")
    parser.add_argument("--master", help="of a cluster; this machine if none")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--float64", action="store_true")
    options = parser.parse_args()
    from pyspark.ml.torch.distributor import TorchDistributor
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors of this machine; a cluster has its own
    session = SparkSession.builder.master(options.master or f"local[{options.processes}]")
    spark = session.config("spark.ui.enabled", "false").getOrCreate()
    try:
        launcher = TorchDistributor(num_processes=options.processes, local_mode=False, use_gpu=False)
        table, out = str(Path(options.table).resolve()), str(Path(options.out).resolve())
        world, digest = launcher.run(train, table, out, options.epochs, options.float64)
        print(f"{world} processes on Spark came to {digest}; wrote {out}")
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
