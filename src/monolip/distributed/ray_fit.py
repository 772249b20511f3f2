"""fit_on_ray: `monolip.nn.fit` on the workers of Ray Train, the table in Ray Data.

Nothing of monolip is pickled: promise, sizes and plan travel as plain values, checkpoints and the network as
safetensors files.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monolip.distributed.bad_files import what_is_wrong_with_files
from monolip.distributed.ray_rows import parts_by_lanes, refuse_unusable
from monolip.distributed.ray_worker import NETWORK, STATE, work
from monolip.distributed.worker_error import WorkerError
from monolip.errors import InputError
from monolip.frozen import FrozenNetwork
from monolip.slopes import SlopeBounds

if TYPE_CHECKING:
    from monolip.nn.fit_plan import FitPlan

__all__ = ["RayFit", "fit_on_ray"]


@dataclass(frozen=True)
class RayFit:
    """network: frozen, proved again when it was read from its file. losses: mean training loss of each epoch.

    epoch_seconds, rows_per_second: as in `monolip.nn.fit.Fit`, of the last (or only) start of the workers.
    """

    network: FrozenNetwork
    losses: tuple[float, ...]
    epoch_seconds: tuple[float, ...]
    rows_per_second: float


def fit_on_ray(
    dataset: Any,
    target: str,
    slopes: SlopeBounds,
    plan: FitPlan | None = None,
    *,
    hidden: Sequence[int] = (32, 32),
    out_features: int = 1,
    workers: int = 2,
    storage: str | PathLike[str],
    name: str = "monolip",
    max_failures: int = 3,
    seed: int = 0,
    resources: dict[str, float] | None = None,
    pin: bool = False,
    on_epoch: Callable[[int, int, float], None] | None = None,
) -> RayFit:
    """Fit a ConvexMLP on a Ray Dataset with `workers` processes; the result is that of one process up to rounding.

    After the first epoch, and then every few seconds, rank 0 hands a checkpoint to Ray Train. When a worker dies
    (killed, out of memory, its machine gone), Ray starts all of them again from the last one it collected,
    `max_failures` times: the epochs of the last seconds are done again, with the same result.

    Args:
        dataset: ray.data.Dataset with the target and a column for each feature name of `slopes`; finite numbers only,
            scaled to about 1. It is read before the workers start; each holds its own share of the rows in memory.
        target: name of the target column.
        slopes: the promise, with feature names.
        plan: how to train; the number of workers has to divide its lanes. device="cuda" gives each worker a GPU.
        hidden, out_features: of the network; seed: of its start.
        storage, name: folder (shared by all machines, or an address Ray can write to) and run of the checkpoints.
        resources: of each worker, e.g. {"CPU": 4}; None: one CPU.
        pin: hold every worker to as many cores of its machine as it has CPUs, for machines that do nothing else.
        on_epoch: called on every worker as on_epoch(rank, epochs_done, loss).
    """
    from monolip.nn.fit_plan import FitPlan

    train = import_module("ray.train")
    plan, storage = plan or FitPlan(), os.path.expanduser(storage)  # of an address nothing is changed
    names = _features(dataset, slopes, target)
    wanted = resources or {"CPU": 1}
    _tell_of_missing_cpus(workers, wanted)
    parts = _parts(dataset, names, target, plan, out_features, workers, f"{storage}/{name}")
    config = {
        "names": names, "target": target, "lower": slopes.lower.tolist(), "upper": slopes.upper.tolist(),
        "hidden": [int(width) for width in hidden], "out_features": int(out_features), "seed": int(seed),
        "plan": asdict(plan), "n_rows": sum(int(part.count()) for part in parts), "on_epoch": on_epoch,
        "pin": max(1, int(wanted.get("CPU", 1))) if pin else 0,
        "blocks": [[ref for bundle in part.iter_internal_ref_bundles() for ref in bundle.block_refs] for part in parts],
    }  # fmt: skip
    options = {"max_failures": max_failures, "storage_path": str(storage), "name": name}
    trainer = _trainer(workers, config, plan, wanted, options)
    try:
        result = trainer.fit()
    except train.TrainingFailedError as error:
        raise WorkerError(
            f"a fit on Ray may lose workers {max_failures} times; it lost them once more: {_short(error)}; repair what "
            f"they name and call again{_kept(f'{storage}/{name}')}."
        ) from error
    return _result(result)


def _parts(
    dataset: Any, names: list[str], target: str, plan: FitPlan, out_features: int, workers: int, run: str
) -> list[Any]:
    """Rows for each worker. What is wrong with them is told before a worker starts, and no start is repeated for it."""
    try:
        parts = parts_by_lanes(dataset, plan, workers)
        refuse_unusable(parts, names, target, plan, out_features)
    except Exception as error:
        wrong = what_is_wrong_with_files(dataset, [*names, target])
        if wrong is not None:
            raise WorkerError(f"{wrong}, and call again{_kept(run)}.") from error
        if isinstance(error, InputError):
            raise
        raise WorkerError(
            f"a fit on Ray reads its table first; Ray could not: {_short(error)}; repair what it names and call "
            f"again{_kept(run)}."
        ) from error
    return parts


def _kept(run: str) -> str:
    """Whether there is something to go on from; where the folder is not of this machine, nobody knows here."""
    if "://" not in run and not any(Path(run).rglob(STATE)):
        return ": no checkpoint was written yet, so that it begins anew"
    sure = "the last checkpoint" if "://" not in run else "a checkpoint"
    return f" with the same storage and name: {sure} under {run} is whole, and the fit goes on from it"


def _tell_of_missing_cpus(workers: int, resources: dict[str, float]) -> None:
    ray = import_module("ray")
    there = ray.cluster_resources().get("CPU", 0.0) if ray.is_initialized() else math.inf
    if workers * resources.get("CPU", 1.0) > there:
        warnings.warn(
            f"every worker has CPUs of its own; {workers} workers of {resources.get('CPU', 1.0):g} need more than the "
            f"{there:g} of this cluster; the fit waits until machines join it, or use fewer workers.",
            stacklevel=3,
        )


def _trainer(
    workers: int, config: dict[str, Any], plan: FitPlan, resources: dict[str, float], run: dict[str, Any]
) -> Any:
    """Without `datasets=`: Ray Train would start one more process for them, which wakes a hundred times a second."""
    train = import_module("ray.train")
    failures = train.FailureConfig(max_failures=run.pop("max_failures"))
    return import_module("ray.train.torch").TorchTrainer(
        work,
        train_loop_config=config,
        scaling_config=train.ScalingConfig(
            num_workers=workers, use_gpu=plan.device == "cuda", resources_per_worker=resources
        ),
        run_config=train.RunConfig(
            failure_config=failures, checkpoint_config=train.CheckpointConfig(num_to_keep=2), **run
        ),
    )


def _features(dataset: Any, slopes: SlopeBounds, target: str) -> list[str]:
    if slopes.feature_names is None:
        raise InputError("columns are found by name; the slopes have no feature names; pass feature_names=[...].")
    names = list(slopes.feature_names)
    try:
        schema = dataset.schema()
    except Exception as error:  # of Ray or of Arrow: neither names the file
        wrong = what_is_wrong_with_files(dataset, [*names, target])
        raise error if wrong is None else InputError(f"{wrong}.") from error
    missing = [name for name in (*names, target) if name not in schema.names]
    if missing:
        raise InputError(f"every feature and the target is a column; {missing[:5]} are not; got {schema.names[:20]}.")
    return names


def _result(result: Any) -> RayFit:
    with result.checkpoint.as_directory() as folder:
        network = FrozenNetwork.load(Path(folder) / NETWORK)
    facts = result.metrics
    return RayFit(network, tuple(facts["losses"]), tuple(facts["epoch_seconds"]), float(facts["rows_per_second"]))


def _short(error: BaseException) -> str:
    """The last words of each worker; those that died themselves before those that lost the others by it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    starts = [k for k, line in enumerate(lines) if line.startswith("[Rank")]
    if not starts:
        return " / ".join([*lines[:2], *lines[-2:]] if len(lines) > 4 else lines)[:600]
    parts = [lines[start:stop] for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True)]
    parts.sort(key=lambda part: not any("died" in line for line in part))
    return " / ".join(f"{part[0].replace(' Error Snippet', '').rstrip(':')} {part[-1][:300]}" for part in parts)[:700]
