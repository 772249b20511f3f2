"""Seconds per epoch of the engine beside the reference package, on the same network, data and batch size.

    python benchmarks/training_speed.py       writes benchmarks/results/training_speed.json, about a minute

One thread. The reference (monotonicnetworks) trains paper form with Adam on tensors already in memory, without a data
loader, which favours it. The engine trains the same paper form with plain Adam, and convex form with its full recipe
(centred gradients, iterate averaging). Each is timed in turn, several rounds; the median round is reported.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import monotonicnetworks as reference
import numba
import numpy as np
import torch

from monolip.engine.architecture import Architecture
from monolip.engine.problem import Problem
from monolip.engine.trainer import Trainer
from monolip.engine.training_options import TrainingOptions

RESULTS = Path(__file__).parent / "results" / "training_speed.json"
BATCH = 256
# features, hidden widths, rows, how many times faster is wanted
CASES = [(13, (2, 2), 4937, 200), (13, (16, 16), 4937, 50), (276, (8,), 48_000, 20), (13, (64, 64), 4937, 8)]
INCREASING = 4  # the first features are increasing, the others free


def table(features: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, features)).astype(np.float32)
    return x, (rng.random(rows) < 1 / (1 + np.exp(-x[:, 0] + x[:, 5]))).astype(np.float32)


def reference_epoch(features: int, hidden: tuple[int, ...], x: np.ndarray, y: np.ndarray) -> Callable[[], None]:
    """One epoch of the reference package's own layers, Adam and binary cross-entropy."""
    layers: list[torch.nn.Module] = []
    widths = [features, *hidden, 1]
    for k, (fan, out) in enumerate(pairwise(widths)):
        layers.append(reference.direct_norm(torch.nn.Linear(fan, out), kind="inf" if k else "one-inf"))
        if k < len(hidden):
            layers.append(reference.GroupSort(out // 2))
    signs = [1.0] * INCREASING + [0.0] * (features - INCREASING)
    model = reference.MonotonicWrapper(torch.nn.Sequential(*layers), monotonic_constraints=signs)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    inputs, targets = torch.tensor(x), torch.tensor(y)[:, None]
    loss = torch.nn.BCEWithLogitsLoss()

    def epoch() -> None:
        for rows in torch.randperm(len(inputs)).split(BATCH):
            optimiser.zero_grad()
            loss(model(inputs[rows]), targets[rows]).backward()
            optimiser.step()

    return epoch


def engine_epoch(
    features: int, hidden: tuple[int, ...], x: np.ndarray, y: np.ndarray, paper_form: bool, epochs: int
) -> Callable[[], None]:
    """As many steps of the engine as make `epochs` passes over the rows."""
    lower = np.where(np.arange(features) < INCREASING, 0.0, -1.0)
    upper = np.where(np.arange(features) < INCREASING, 2.0, 1.0)
    shape = Architecture(hidden=hidden, fan_in=None, paper_form=paper_form)
    problem = Problem(x, y, lower, upper, loss="logistic", architecture=shape)
    plain = {"centred": False, "averaging": 0.0, "slope_decay": 0.0} if paper_form else {}
    options = TrainingOptions(n_steps=10**7, batch_size=BATCH, cosine=False, **plain)  # type: ignore[arg-type]
    trainer = Trainer(problem, options)
    return lambda: trainer.advance(round(epochs * len(x) / BATCH))


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(features: int, hidden: tuple[int, ...], rows: int, wanted: float, rounds: int) -> dict[str, Any]:
    x, y = table(features, rows)
    many = 50 if rows < 10_000 else 3
    contenders = {"reference": (reference_epoch(features, hidden, x, y), 1)}
    for form in ("paper", "convex"):
        contenders[form] = (engine_epoch(features, hidden, x, y, form == "paper", many), many)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):  # side by side; the first round warms up
        for name, (work, epochs) in contenders.items():
            took = seconds(work) / epochs
            if number:
                times[name].append(took)
    result: dict[str, Any] = {
        "network": "-".join(map(str, (features, *hidden, 1))), "rows": rows, "batch_size": BATCH,
        "ms_per_epoch": {name: round(1e3 * median(t), 4) for name, t in times.items()},
        "fastest_ms_per_epoch": {name: round(1e3 * min(t), 4) for name, t in times.items()},
    }  # fmt: skip
    for form in ("paper", "convex"):
        result[f"times_faster_{form}"] = round(median(times["reference"]) / median(times[form]), 1)
    return {**result, "wanted": wanted}


def main() -> None:
    parser = argparse.ArgumentParser(description="Seconds per epoch, engine and reference package.")
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    results = []
    for case in CASES:
        results.append(measure(*case, rounds))
        print(json.dumps(results[-1]))
    versions = {"torch": torch.__version__, "monotonicnetworks": "1.5.1", "numba": numba.__version__}
    report = {
        "command": f"python benchmarks/training_speed.py --rounds {rounds}",
        "machine": {"processor": platform.machine(), "system": platform.system(), "python": sys.version.split()[0]},
        "threads": 1,
        "versions": {**versions, "numpy": np.__version__},
        "results": results,
    }
    RESULTS.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
