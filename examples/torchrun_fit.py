"""Fit one network on a table with any number of processes: the same program for torchrun, Slurm and TorchDistributor.

    torchrun --standalone --nproc-per-node 2 examples/torchrun_fit.py --out network.safetensors
    torchrun --standalone --nproc-per-node 2 examples/torchrun_fit.py --table folder --loss logistic \\
        --increasing debt --decreasing income --checkpoint fit.checkpoint

Started as `python examples/torchrun_fit.py` it is a single process, and comes to the same network up to rounding.
The table is a folder with x.npy (rows scaled to about 1), y.npy and names.txt (a name of a column of x a line);
processes map the files into memory and read their own rows alone. Without --table a small one is made up.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

from monolip import SlopeBounds
from monolip.nn import ConvexMLP
from monolip.nn.fit import Epoch, fit
from monolip.nn.fit_group import process_group
from monolip.nn.fit_lanes import Lanes
from monolip.nn.fit_plan import FitPlan


def made_up(rows: int = 4096) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(rows, 4))
    return x, np.maximum(x[:, 0], x[:, 1]) - 0.5 * x[:, 2] + 0.1 * x[:, 3]


def opened(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    if folder is None:
        return made_up()
    return np.load(folder / "x.npy", mmap_mode="r"), np.load(folder / "y.npy", mmap_mode="r")


def promised(options: Any) -> SlopeBounds:
    """Without a table of the user's: what is known of the one made up."""
    if options.table is None:
        return SlopeBounds.from_monotonic_cst([1, 1, -1, 0], max_slope=options.max_slope)
    names = (options.table / "names.txt").read_text().split("\n")
    names = [name for name in names if name]
    directions = {name: 1 for name in options.increasing} | {name: -1 for name in options.decreasing}
    return SlopeBounds.from_monotonic_cst(directions, max_slope=options.max_slope, feature_names=names)


def given() -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    columns = {"type": lambda text: [name for name in text.split(",") if name], "metavar": "NAME,NAME"}
    parser.add_argument("--table", type=Path)
    parser.add_argument("--increasing", **columns, help="columns the answer must not fall in; '' for none")
    parser.add_argument("--decreasing", **columns, help="columns the answer must not rise in; '' for none")
    parser.add_argument("--loss", choices=["squared", "logistic"])
    parser.add_argument("--max-slope", type=float, default=2.0)
    parser.add_argument("--out", type=Path, default=Path("network.safetensors"))
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--lanes", type=int, default=8, help="the number of processes divides it, and it the batch")
    parser.add_argument("--float64", action="store_true")
    options = parser.parse_args()
    if options.table is not None:
        missing = [name for name in ("increasing", "decreasing", "loss") if getattr(options, name) is None]
        if missing:  # nobody but you knows what your table promises
            parser.error(f"a table of yours has promises and a loss of yours; add --{' --'.join(missing)}")
        lost = [name for name in ("x.npy", "y.npy", "names.txt") if not (options.table / name).is_file()]
        if lost:
            parser.error(f"--table is a folder with x.npy, y.npy and names.txt; {options.table} has no {lost[0]}")
    return options


def main() -> None:
    options = given()
    torch.set_num_threads(1)
    slopes = promised(options)
    plan = FitPlan(epochs=options.epochs, batch=options.batch, lanes=options.lanes, loss=options.loss or "squared")
    with process_group() as (rank, world):
        x, y = opened(options.table)
        own = Lanes(plan, len(x), rank, world).rows
        torch.manual_seed(0)  # every process builds the same network
        model = ConvexMLP(slopes, hidden=(16, 16), dtype=torch.float64 if options.float64 else None)

        def tell(epoch: Epoch) -> None:
            if rank == 0:
                print(f"epoch {epoch.number}: loss {epoch.loss:.5f}", flush=True)

        done = fit(model, x[own], y[own], plan, n_rows=len(x), checkpoint=options.checkpoint, on_epoch=tell)
        if rank == 0:
            done.network.save(options.out)
            rate = f"{done.rows_per_second:,.0f} rows/s" if done.epoch_seconds else "every epoch was in the checkpoint"
            print(f"{world} processes, {rate}; wrote {options.out}")


if __name__ == "__main__":
    main()
