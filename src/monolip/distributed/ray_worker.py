"""What each worker of `fit_on_ray` does: take its rows, fit along with the others, hand checkpoints to Ray Train."""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from monolip.distributed.ray_rows import column_of
from monolip.slopes import SlopeBounds

__all__ = ["NETWORK", "STATE", "work"]

STATE, NETWORK = "fit.safetensors", "network.safetensors"
REPORT_SECONDS = 5.0  # between two reports: Ray Train collects them every two seconds, and a report waits for that


def work(config: dict[str, Any]) -> None:
    """What each worker does; Ray Train has joined the process group by now."""
    from monolip.nn.fit import Epoch, fit
    from monolip.nn.fit_group import rank_0_says
    from monolip.nn.fit_plan import FitPlan
    from monolip.nn.fit_start import start_network
    from monolip.nn.own_cores import own_cores

    train = import_module("ray.train")
    rank = train.get_context().get_world_rank()
    x, y = _rows(config["names"], config["target"], config["blocks"][rank])
    slopes = SlopeBounds(config["lower"], config["upper"], tuple(config["names"]))
    model = start_network(slopes, config["out_features"], config["hidden"], seed=config["seed"])
    folder = Path(tempfile.mkdtemp(prefix="monolip-"))

    reported = [-math.inf]

    def report(epoch: Epoch) -> None:
        if rank_0_says(time.monotonic() - reported[0] >= REPORT_SECONDS):
            kept = None
            if rank == 0:
                epoch.save(folder / STATE)
                kept = train.Checkpoint.from_directory(folder)
            train.report({"epoch": epoch.number, "loss": epoch.loss}, checkpoint=kept)
            reported[0] = time.monotonic()
        if config["on_epoch"] is not None:
            config["on_epoch"](rank, epoch.number, epoch.loss)

    try:
        earlier = train.get_checkpoint()
        if earlier is not None and rank == 0:
            with earlier.as_directory() as before:
                shutil.copy(Path(before) / STATE, folder / STATE)
        plan = FitPlan(**config["plan"])
        with own_cores(train.get_context().get_local_rank(), config["pin"]):
            done = fit(
                model, x, y, plan, n_rows=config["n_rows"], checkpoint=folder / STATE, checkpoint_seconds=math.inf,
                on_epoch=report,
            )  # fmt: skip
        kept = None
        if rank == 0:
            done.network.save(folder / NETWORK)
            kept = train.Checkpoint.from_directory(folder)
        times = {"epoch_seconds": list(done.epoch_seconds), "rows_per_second": done.rows_per_second}
        train.report({"epoch": plan.epochs, "losses": list(done.losses), **times}, checkpoint=kept)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rows(names: list[str], target: str, blocks: list[Any]) -> tuple[Any, Any]:
    """The blocks of one worker, out of Ray's object store; where a machine was lost, Ray makes them again."""
    xs, ys = [], []
    get, accessor = import_module("ray").get, import_module("ray.data.block").BlockAccessor
    for block in map(accessor.for_block, map(get, blocks)):
        if block.num_rows() == 0:
            continue  # cuts leave such blocks, and they have no columns
        batch = block.to_batch_format("numpy")
        xs.append(np.column_stack([column_of(batch, name).astype(np.float32) for name in names]))
        ys.append(column_of(batch, target))
    return np.concatenate(xs), np.concatenate(ys)
