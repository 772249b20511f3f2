"""Appendix A: every training image right that can be right, on one GPU; a small version of it on a CPU (--fast)."""

from __future__ import annotations

import os
import time
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from paper.appendix_a.attainable import identical
from paper.appendix_a.images import Images, read_images
from paper.appendix_a.memorising import Memorised, memorise
from paper.appendix_a.proving import certificate_facts, falling_probability, proved_facts
from paper.appendix_a.recipes import COIN, OURS, PUBLISHED, Recipe
from paper.appendix_a.tasks import TASKS, Task, make_task
from paper.missing_data import DamagedDataError, MissingDataError
from paper.results_file import recording

__all__ = [
    "SMALL",
    "device_name",
    "main",
    "one_task",
    "processes",
    "read_sets",
    "recipe_of",
    "set_of",
    "told",
    "warm_up",
]

SEEDS = 3
PACKAGES = ("monolip", "numpy", "torch")
PUBLISHED_EPOCHS = 1000  # of 100,000
SETS = {"mnist": "mnist", "cifar10": "cifar10", "cifar100": "cifar100", "cifar101": "cifar100"}
CERTIFIED_FAST = ("mnist true", "cifar101 threshold")
ABLATED = ("mnist random", "cifar100 random")
ABLATIONS = {
    "ours": {},
    "paper form": {"form": "paper", "hidden": 0.2},
    "without whitening": {"strength": None},
    "without focus": {"focus": 0.0},
    "plain mini-batches, paper form": {"form": "paper", "hidden": 0.2, "strength": None, "focus": 0.0},
}
SMALL = {"width": 64, "batch": 100, "round_steps": 20, "warm_up": 20, "rate": 1e-2}
SMALL |= {"seconds": 1e9, "steps": 2000}  # a limit that does not depend on the clock; 420 were the most needed


def main(*, fast: bool) -> None:
    """Writes appendix_a.json."""
    if not fast and not torch.cuda.is_available():
        raise MissingDataError("appendix_a needs a CUDA GPU at full size; use --fast for its small version on a CPU")
    with recording("appendix_a", fast=fast, packages=PACKAGES) as numbers, TemporaryDirectory() as folder:
        device = "cpu" if fast else "cuda"
        ours = OURS.but(**SMALL) if fast else OURS
        numbers |= {"device": device_name(device), "width": ours.width, "temperature": ours.temperature}
        numbers["recipe"] = {k: getattr(ours, k) for k in ("form", "batch", "rate", "strength", "focus")}
        numbers["published_epochs"] = 20 if fast else PUBLISHED_EPOCHS
        sets, numbers["missing"], damaged = read_sets(small=fast)
        if damaged:  # the runner ends with exit code 1
            numbers["damaged"] = damaged
        numbers["identical"] = {name: identical(own.pixels, own.labels) for name, own in sets.items()}
        warm_up(device)
        workers = ProcessPoolExecutor(processes(), mp_context=get_context("spawn"))
        found: dict[str, Any] = {}
        waiting: dict[str, Future[dict[str, Any]]] = {}
        for name in (name for name in TASKS if set_of(name) in sets):
            task = make_task(name, sets[set_of(name)])
            file = Path(folder) / f"{name}.safetensors"
            recipe, seeds = recipe_of(name, ours), 1 if fast else SEEDS
            found[name] = one_task(task, recipe, device, seeds, numbers["published_epochs"], file)
            if not fast or name in CERTIFIED_FAST:
                waiting[name] = workers.submit(certificate_facts, file, goodness=task.goodness is not None)
        ablated = [] if fast else [name for name in ABLATED if set_of(name) in sets]
        numbers["ablation"] = {name: _ablate(make_task(name, sets[set_of(name)])) for name in ablated}
        if "cifar100" in sets:
            original = make_task("cifar101 coin, original", sets["cifar100"], guarantee="logit")
            numbers["original_guarantee"] = _probability(original, recipe_of(original.name, ours), device)
        for name, future in waiting.items():
            found[name]["certificate"] = future.result()
        workers.shutdown()
        numbers["tasks"] = found


def read_sets(*, small: bool) -> tuple[dict[str, Images], dict[str, str], list[str]]:
    """The image sets that are on this machine, how to get those that are not, and which of these are damaged."""
    found, missing, damaged = {}, {}, []
    for name in sorted(set(SETS.values())):
        try:
            images = read_images(name)
        except (MissingDataError, DamagedDataError) as error:
            missing[name] = str(error)
            if isinstance(error, DamagedDataError):
                damaged.append(name)
            print(f"  {name} skipped: {error}", flush=True)
            continue
        found[name] = _small(images) if small else images
    if not found:
        raise (DamagedDataError if damaged else MissingDataError)(" | ".join(missing.values()))
    return found, missing, damaged


def recipe_of(name: str, ours: Recipe) -> Recipe:
    """Our recipe as the task `name` needs it."""
    return ours.but(slowest=COIN.slowest) if "coin" in name else ours


def processes() -> int:
    """Certificates beside each other: one core is left for the training."""
    return min(len(TASKS), max(1, (os.cpu_count() or 2) - 1))


def set_of(task: str) -> str:
    return SETS[task.split(" ")[0]]


def one_task(task: Task, ours: Recipe, device: str, seeds: int, epochs: int, file: Path) -> dict[str, Any]:
    """All seeds of our recipe, the published one for some epochs, and what is proved of the first network."""
    started = time.perf_counter()
    runs = [memorise(task, ours, device=device, seed=seed) for seed in range(seeds)]
    first = runs[0]
    frozen = first.network.freeze()  # type: ignore[operator]
    frozen.save(file)
    proved = proved_facts(first, frozen, task, ours.temperature)
    theirs = PUBLISHED.but(steps=epochs, round_steps=20, width=ours.width, seconds=1e9)
    published = memorise(task, theirs, device=device)
    count, possible = len(task.labels), int(task.possible.sum())
    print(
        f"  {task.name:24s} {first.right} of {possible} ({count}) in "
        f"{', '.join(f'{run.seconds:.1f}' for run in runs)} s; published recipe {published.right} after {epochs} "
        f"epochs, {published.seconds:.0f} s; all in {time.perf_counter() - started:.0f} s",
        flush=True,
    )
    short = [possible - run.right for run in runs if run.right < possible]
    if short:
        print(
            f"  {task.name:24s} misses its maximum: {', '.join(map(str, short))} of {possible} still wrong", flush=True
        )
    return {
        "images": count,
        "attainable": possible,
        "classes": task.n_classes,
        "slowest": ours.slowest,
        "runs": [told(run) for run in runs],
        "published": told(published),
        "frozen": proved,
    }


def told(run: Memorised) -> dict[str, Any]:
    """A run as JSON, its curve thinned to at most 60 points."""
    kept = sorted({round(k) for k in np.linspace(0, len(run.curve) - 1, 60)})
    return {
        "right": run.right,
        "seconds": round(run.seconds, 2),
        "phases": {name: round(seconds, 2) for name, seconds in run.phases.items()},
        "steps": run.steps,
        "epochs": round(run.curve[-1][1], 1),
        "smallest_margin": run.smallest_margins[0][1],
        "curve": [[round(run.curve[k][0], 3), round(run.curve[k][1], 2), run.curve[k][2]] for k in kept],
    }


def _ablate(task: Task) -> dict[str, Any]:
    changed = {name: OURS.but(seconds=10.0, **changes) for name, changes in ABLATIONS.items()}
    return {name: told(memorise(task, recipe, device="cuda")) for name, recipe in changed.items()}


def _probability(task: Task, recipe: Recipe, device: str) -> dict[str, Any]:
    run = memorise(task, recipe, device=device)
    return {"task": task.name, "right": run.right, **falling_probability(run.network, task, recipe.temperature)}


def _small(images: Images) -> Images:
    """The first 300 images, every 8th value of each (every 2nd of MNIST)."""
    every = 2 if images.name == "mnist" else 8
    return Images(images.name, images.pixels[:300, ::every].copy(), images.labels[:300], images.n_classes)


def device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else "CPU"


def warm_up(device: str) -> None:
    """Loads the libraries of the GPU, which belongs to no task."""
    square = torch.eye(256, device=device, dtype=torch.float64)
    torch.linalg.eigh(square @ square)
    _ = square.float() @ square.float()
