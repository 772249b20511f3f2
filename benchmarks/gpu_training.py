"""Training on a GPU: one step of a wide network against the reference package, and rows a second across widths.

    python benchmarks/gpu_training.py gpu     on a machine with a CUDA device and monotonicnetworks 1.5.1, two minutes
    python benchmarks/gpu_training.py cpu     the engine (numba) and torch on the CPU of this machine, two minutes

Both write their part of benchmarks/results/gpu_training.json.

Step: 3072-1024-1024-100, all 50,000 rows a step, cross-entropy, Adam. The reference runs as its users run it: eager
float32. Ours are the steps `monolip.nn.fit` makes (recorded as a CUDA graph, compiled or not). All are timed in turn,
several rounds; the median is reported. Widths: 16 features, two hidden layers of that width, one output, squared loss;
whole epochs of `fit`, its shuffling included; in the part "cpu" processor time of one thread counts, so that others on
the machine do not. device="auto" follows from these numbers.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from monolip import SlopeBounds
from monolip.nn import ConvexMLP
from monolip.nn.fit import fit
from monolip.nn.fit_lanes import Lanes
from monolip.nn.fit_plan import FitPlan
from monolip.nn.fit_steps import Stepper
from record import ROOT, record

PATH = ROOT / "benchmarks" / "results" / "gpu_training.json"
SHAPE, ROWS, FEATURES = (3072, 1024, 1024, 100), 50_000, 16
WIDTHS, BATCHES = (8, 16, 64, 256, 1024), (256, 8192)
WAYS: dict[str, dict[str, Any]] = {
    "float32": {"precision": "float32", "compiled": False},
    "tf32": {"precision": "tf32", "compiled": False},
    "bf16": {"precision": "bf16", "compiled": False},
    "tf32 compiled": {"precision": "tf32", "compiled": True},
    "bf16 compiled": {"precision": "bf16", "compiled": True},
}


def reference_step(x: torch.Tensor, y: torch.Tensor) -> Callable[[], Any]:
    from reference import reference_network

    model = reference_network(SHAPE).to(x.device)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimiser.step()

    return step


def our_step(x: torch.Tensor, y: torch.Tensor, **way: Any) -> Callable[[], Any]:
    d, *hidden, outputs = SHAPE
    model = ConvexMLP(SlopeBounds(np.full(d, -1.0), np.full(d, 1.0)), outputs, tuple(hidden)).to(x.device)
    plan = FitPlan(epochs=1000, batch=len(x), loss="cross-entropy", rate=1e-3, **way)
    inputs = x.bfloat16() if plan.precision == "bf16" else x
    stepper = Stepper(model, plan, Lanes(plan, len(x)), inputs, y)
    order = torch.zeros((1, 1), dtype=torch.int64, device=x.device)
    return lambda: stepper.run(order)


def milliseconds(step: Callable[[], Any], steps: int) -> float:
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - begun) / steps


def wide_step(rows: int, rounds: int = 5, steps: int = 20) -> dict[str, Any]:
    x, y = torch.rand(rows, SHAPE[0], device="cuda"), torch.randint(0, SHAPE[-1], (rows,), device="cuda")
    ways: dict[str, Callable[[], Any]] = {"reference": reference_step(x, y)}
    result: dict[str, Any] = {"shape": "-".join(map(str, SHAPE)), "rows": rows}
    for name, way in WAYS.items():
        try:
            begun = time.perf_counter()
            ways[name] = our_step(x, y, **way)
            for _ in range(5):  # three steps, the recording, one replay
                ways[name]()
            result[f"{name}: seconds to start"] = round(time.perf_counter() - begun, 2)
        except Exception as error:
            traceback.print_exc()
            del ways[name]
            result[f"{name}: failed"] = repr(error)[:200]
    milliseconds(ways["reference"], 5)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, step in ways.items():
            times[name].append(milliseconds(step, steps))
    result["ms_per_step"] = {name: round(median(values), 3) for name, values in times.items()}
    base = result["ms_per_step"]["reference"]
    result["times_faster"] = {name: round(base / value, 1) for name, value in result["ms_per_step"].items()}
    return result


def torch_rows(width: int, batch: int, device: str, seconds: float) -> float:
    """Rows a second of whole epochs of `fit`; the first epoch (recording, allocation) is not counted."""
    model = ConvexMLP(SlopeBounds(np.full(FEATURES, -1.0), np.full(FEATURES, 1.0)), 1, (width, width))
    rows = max(65_536 if device == "cuda" else 8192, batch)
    x = np.random.default_rng(0).normal(size=(rows, FEATURES)).astype(np.float32)
    plan = FitPlan(epochs=2, batch=batch, device=device, precision="tf32", compiled=False)  # type: ignore[arg-type]
    first = fit(model, x, x[:, 0], plan).rows_per_second
    epochs = 1 + max(1, min(200, round(first * seconds / rows)))
    plan = FitPlan(epochs=epochs, batch=batch, device=device, precision="tf32", compiled=False)  # type: ignore[arg-type]
    return fit(model, x, x[:, 0], plan).rows_per_second


def engine_rows(width: int, batch: int, seconds: float) -> float:
    """Rows a second of the engine's steps, one thread, the full recipe."""
    from monolip.engine.architecture import Architecture
    from monolip.engine.problem import Problem
    from monolip.engine.trainer import Trainer
    from monolip.engine.training_options import TrainingOptions

    x = np.random.default_rng(0).normal(size=(16_384, FEATURES)).astype(np.float32)
    shape = Architecture(hidden=(width, width), fan_in=None)
    problem = Problem(x, x[:, 0], np.full(FEATURES, -1.0), np.full(FEATURES, 1.0), architecture=shape)
    trainer = Trainer(problem, TrainingOptions(n_steps=10**7, batch_size=batch, cosine=False))
    trainer.advance(1)
    steps = 1
    while True:
        begun = time.process_time()
        trainer.advance(steps)
        took = time.process_time() - begun
        if took >= seconds / 2:
            return steps * batch / took
        steps = max(2 * steps, int(steps * seconds / max(took, 1e-3)))


def torch_rows_one_thread(width: int, batch: int, seconds: float) -> float:
    """The same network and loss as `torch_rows`; the difference between a long and a short fit, in processor time."""
    model = ConvexMLP(SlopeBounds(np.full(FEATURES, -1.0), np.full(FEATURES, 1.0)), 1, (width, width))
    rows = max(2048, batch)
    x = np.random.default_rng(0).normal(size=(rows, FEATURES)).astype(np.float32)

    def processor_time(epochs: int) -> float:
        begun = time.process_time()
        fit(model, x, x[:, 0], FitPlan(epochs=epochs, batch=batch, device="cpu"))
        return time.process_time() - begun

    processor_time(1)
    short = processor_time(1)
    epochs = 1 + max(1, round(seconds / short))
    return (epochs - 1) * rows / max(processor_time(epochs) - short, 1e-9)


def by_width(name: str, measure: Callable[[int, int], float]) -> list[dict[str, Any]]:
    result = []
    for width in WIDTHS:
        for batch in BATCHES:
            row = {"by": name, "width": width, "batch": batch, "rows_per_second": round(measure(width, batch))}
            print(json.dumps(row), flush=True)
            result.append(row)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=("gpu", "cpu"))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seconds", type=float, default=0.7, help="of each measurement across widths")
    options = parser.parse_args()
    torch.manual_seed(0)
    found: dict[str, Any] = {}
    if options.part == "gpu":
        found["step"] = wide_step(options.rows)
        print(json.dumps(found["step"], indent=1), flush=True)
        found["gpu"] = torch.cuda.get_device_name()
        found["widths"] = by_width("fit, GPU", lambda w, b: torch_rows(w, b, "cuda", options.seconds))
        threads = f"fit, CPU, {torch.get_num_threads()} threads"
        found["widths"] += by_width(threads, lambda w, b: torch_rows(w, b, "cpu", options.seconds / 2))
    else:
        torch.set_num_threads(1)
        found["widths"] = by_width("engine, 1 thread", lambda w, b: engine_rows(w, b, options.seconds))
        found["widths"] += by_width("fit, CPU, 1 thread", lambda w, b: torch_rows_one_thread(w, b, options.seconds))
    before = json.loads(PATH.read_text()) if PATH.exists() else {"results": {}}
    packages = ("torch", "monotonicnetworks") if options.part == "gpu" else ("torch", "numba")
    path = record("gpu_training", {}, packages)
    part = json.loads(Path(path).read_text())
    part["results"] = found
    merged = {**{key: value for key, value in before.items() if key in ("gpu", "cpu")}, options.part: part}
    path.write_text(json.dumps(merged, indent=1) + "\n")
    print(path)


if __name__ == "__main__":
    main()
