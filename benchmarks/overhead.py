"""What a promise costs: latency of one prediction, and time of a training step, against the same plain layers.

    python benchmarks/overhead.py            writes results/overhead.json; one thread, about two minutes

Every repetition times all networks in a new random order, in processor time, so that neither neighbours on the machine
nor the order favour one; the figure reported is the median over repetitions of the ratio to the plain stack, with its
quartiles. The reference package stands beside: pip install --no-deps monotonicnetworks==1.5.1. Its latency depends on
the C library: it allocates a megabyte per layer and call, 3x of plain where malloc keeps such blocks, 17-19x where it
returns them to the system (MALLOC_MMAP_THRESHOLD_=131072); ours allocates none and does not change.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from monolip import SlopeBounds
from monolip.nn import ConvexMLP, GroupSort, LipschitzMLP, SlopeBounded
from record import record
from reference import reference_network

LATENCY_SHAPES = ((64, 512, 512, 1), (16, 128, 128, 1), (8, 32, 32, 1))
STEP_WIDTHS, BATCH, FEATURES = (16, 128, 1024), 256, 16


class MinMax(nn.Module):
    """The plain stack's sort of pairs: a minimum and a maximum."""

    def forward(self, x: Tensor) -> Tensor:
        first, second = x.view(*x.shape[:-1], -1, 2).unbind(-1)
        return torch.stack((torch.minimum(first, second), torch.maximum(first, second)), -1).view(x.shape)


def plain(widths: Sequence[int], sort: Callable[[], nn.Module]) -> nn.Module:
    layers: list[nn.Module] = []
    for k, (before, after) in enumerate(pairwise(widths)):
        layers += [sort(), nn.Linear(before, after)] if k else [nn.Linear(before, after)]
    return nn.Sequential(*layers)


class WithResidual(nn.Module):
    """The plain stack plus what SlopeBounded adds to it: scaled inputs and a linear residual."""

    def __init__(self, stack: nn.Module, d: int) -> None:
        super().__init__()
        self.stack, self.residual = stack, nn.Linear(d, 1, bias=False)
        self.radius = nn.Parameter(torch.full((d,), 0.5), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.residual(x) + self.stack(self.radius * x)
        return result


def networks(widths: Sequence[int], sort: Callable[[], nn.Module]) -> dict[str, nn.Module]:
    d, hidden = widths[0], tuple(widths[1:-1])
    slopes = SlopeBounds.from_monotonic_cst([1] * d, 1.0)
    return {
        "plain": plain(widths, sort),
        "plain + residual": WithResidual(plain(widths, sort), d),
        "LipschitzMLP": LipschitzMLP(d, 1, hidden),
        "SlopeBounded": SlopeBounded(LipschitzMLP(d, 1, hidden), slopes),
        "ConvexMLP": ConvexMLP(slopes, 1, hidden),
        "reference": reference_network(tuple(widths)),
    }


def interleaved(calls: dict[str, Callable[[], Any]], repetitions: int, inner: int) -> dict[str, dict[str, Any]]:
    """Median microseconds of each call, and median and quartiles of its ratio to "plain" within a repetition."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    shuffle = random.Random(0)
    for _ in range(repetitions):
        for name in shuffle.sample(list(calls), len(calls)):
            calls[name]()  # warm caches after the others have used them
            start = time.process_time()
            for _ in range(inner):
                calls[name]()
            times[name].append((time.process_time() - start) / inner * 1e6)
    result = {}
    for name, values in times.items():
        ratios = [a / b for a, b in zip(values, times["plain"], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        cell = {"microseconds": round(statistics.median(values), 1), "ratio": round(middle, 3)}
        result[name] = {**cell, "quartiles": [round(low, 3), round(high, 3)]}
    return result


def latency(widths: Sequence[int]) -> dict[str, Any]:
    x = torch.randn(1, widths[0])
    models = {name: model.eval() for name, model in networks(widths, MinMax).items()}
    with torch.no_grad():
        calls = {name: (lambda model=model: model(x)) for name, model in models.items()}
        return {"shape": "-".join(map(str, widths)), "batch": 1, **interleaved(calls, 300, 10)}


def training_step(width: int) -> dict[str, Any]:
    x, y = torch.randn(BATCH, FEATURES), torch.randn(BATCH, 1)
    calls: dict[str, Callable[[], Any]] = {}
    for name, model in networks((FEATURES, width, width, 1), lambda: GroupSort(2)).items():
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)

        def step(model: nn.Module = model, optimizer: torch.optim.Optimizer = optimizer) -> None:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

        calls[name] = step
    many = width < 1000
    return {"width": width, "batch": BATCH, **interleaved(calls, 100 if many else 40, 5 if many else 1)}


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None).parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    results = {
        "latency": [latency(widths) for widths in LATENCY_SHAPES],
        "training_step": [training_step(width) for width in STEP_WIDTHS],
    }
    for kind, rows in results.items():
        for row in rows:
            ratios = {name: cell["ratio"] for name, cell in row.items() if isinstance(cell, dict)}
            print(kind, row.get("shape") or row.get("width"), row["plain"]["microseconds"], "us", ratios)
    print(
        record("overhead", results, ("torch", "monotonicnetworks"), threads=1, features=FEATURES, load=os.getloadavg())
    )


if __name__ == "__main__":
    main()
