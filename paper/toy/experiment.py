"""Figure 2: monotone and unconstrained networks on two realisations of noisy one-dimensional data, ten seeds each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from paper.results_file import recording

from .claims import check_claims
from .data import edge_trend, realisation, realisation_with_trend, truth
from .models import LAMBDA, MODELS, Curve, fit
from .noise import noise_report

__all__ = ["Size", "main", "run"]

FloatArray = NDArray[np.float64]

ROWS = 30
SHOWN = np.linspace(-2.0, 2.0, 401)
OUTLIER = (-0.45, 3.0)  # one point far above everything, where the truth is -0.76
PACKAGES = ("monolip", "numpy", "torch", "scikit-learn", "scipy")


@dataclass(frozen=True)
class Size:
    seeds: int
    steps: int


FULL = Size(seeds=10, steps=2000)
FAST = Size(seeds=3, steps=2000)


def describe(curve: Curve, x: FloatArray, y: FloatArray) -> dict[str, Any]:
    """One fit: its curve, errors against the data and against the truth, and how it goes on beyond the data."""
    inside = np.linspace(x[0], x[-1], 2001)
    slopes = np.diff(curve.score(inside)) / np.diff(inside)
    left, right = np.linspace(x[0] - 2.0, x[0], 2001), np.linspace(x[-1], x[-1] + 2.0, 2001)
    outside = [np.diff(curve.score(side)) for side in (left, right)]
    found: dict[str, Any] = {
        "curve": np.round(curve.score(SHOWN), 4).tolist(),
        "error_on_data": float(np.sqrt(np.mean((curve.score(x) - y) ** 2))),
        "error_to_truth": float(np.sqrt(np.mean((curve.score(inside) - truth(inside)) ** 2))),
        "largest_slope": float(np.abs(slopes).max()),
        "roughness": float(np.abs(np.diff(slopes)).sum()),
        "largest_fall_outside": float(max(0.0, *(-steps.min() for steps in outside)) / (left[1] - left[0])),
        "falls_outside": bool(min(steps.min() for steps in outside) < 0.0),
        "falls_inside": bool(slopes.min() < 0.0),
    }
    if curve.frozen is not None:
        found |= {"certified": list(curve.certified()), "falling_ulp_steps": curve.falling_ulp_steps(SHOWN)}
    return found


def one_realisation(seed: int, size: Size) -> dict[str, Any]:
    """All models and seeds on one data set."""
    x, y = realisation(seed, ROWS)
    found: dict[str, Any] = {"x": x.tolist(), "y": y.tolist(), "trend": edge_trend(x, y), "data_seed": seed}
    for name in MODELS:
        found[name] = [describe(fit(name, x, y, s, size.steps), x, y) for s in range(size.seeds)]
        mean = np.mean([one["error_to_truth"] for one in found[name]])
        print(f"  data {seed} {name:13s} error to truth {mean:.3f}", flush=True)
    return found


def with_outlier(seed: int, size: Size) -> dict[str, Any]:
    """The same with one point more; errors are still against the data without it."""
    x, y = realisation(seed, ROWS)
    k = int(np.searchsorted(x, OUTLIER[0]))
    x_out, y_out = np.insert(x, k, OUTLIER[0]), np.insert(y, k, OUTLIER[1])
    found: dict[str, Any] = {"at": list(OUTLIER), "data_seed": seed}
    for name in MODELS:
        found[name] = [describe(fit(name, x_out, y_out, s, size.steps), x, y) for s in range(size.seeds)]
        mean = np.mean([one["error_to_truth"] for one in found[name]])
        print(f"  data {seed} {name:13s} error to truth {mean:.3f} with one outlier", flush=True)
    return found


def run(size: Size) -> dict[str, Any]:
    """The numbers of the results file; raises where a claim of the paper does not hold."""
    torch.set_num_threads(1)
    seeds = [realisation_with_trend(sign, ROWS) for sign in (+1, -1)]
    numbers: dict[str, Any] = {
        "rows": ROWS,
        "seeds": size.seeds,
        "steps": size.steps,
        "lambda": LAMBDA,
        "shown": np.round(SHOWN, 4).tolist(),
        "noise": noise_report(),
        "realisations": [one_realisation(seed, size) for seed in seeds],
        "outlier": with_outlier(seeds[0], size),
    }
    numbers["claims"] = check_claims(numbers)
    return numbers


def main(fast: bool) -> None:
    with recording("toy", fast=fast, packages=PACKAGES) as numbers:
        numbers.update(run(FAST if fast else FULL))
