"""Figures 3 and 4: two-track vertices, four classifiers, two and four features, several seeds, at 660 kHz."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from paper.results_file import recording

from .claims import check_claims
from .detector import Detector
from .measure import densities, map_of, measure, smearing_of
from .models import LAMBDA, MODELS, fit
from .sample import FEATURES, Sample, background, signal

__all__ = ["Size", "main", "run"]

FloatArray = NDArray[np.float64]

UNSTABLE = Detector(noise=1.2, shift=(0.02, 0.0, 0.0), scale=1.005)
PACKAGES = ("monolip", "numpy", "torch", "lightgbm", "scikit-learn", "contourpy")


@dataclass(frozen=True)
class Size:
    """train: candidates of each class; rate: background candidates that set the cut; test: signal, smeared: of each."""

    seeds: int
    train: int
    rate: int
    test: int
    smeared: int
    steps: int
    exact: int
    features: tuple[int, ...] = (2, 4)


FULL = Size(seeds=5, train=40_000, rate=80_000, test=40_000, smeared=20_000, steps=2500, exact=200)
FAST = Size(seeds=2, train=12_000, rate=24_000, test=20_000, smeared=2_000, steps=1500, exact=20)


@dataclass(frozen=True)
class Samples:
    """Independent samples of one seed."""

    train: tuple[Sample, Sample]
    rate: Sample
    natural: Sample
    flat: Sample
    smeared: tuple[Sample, Sample]


def draw(seed: int, size: Size) -> Samples:
    return Samples(
        train=(background([seed, 1], size.train), signal([seed, 1], size.train)),
        rate=background([seed, 2], size.rate),
        natural=signal([seed, 2], size.test),
        flat=signal([seed, 3], size.test, flat=20.0),
        smeared=(
            background([seed, 4], size.smeared, unstable=UNSTABLE),
            signal([seed, 4], size.smeared, unstable=UNSTABLE),
        ),
    )


def one_seed(seed: int, size: Size) -> dict[str, Any]:
    """Everything measured with one seed: {features: {model: numbers}}, and the lifetimes of natural signal."""
    samples = draw(seed, size)
    found: dict[str, Any] = {}
    for n_features in size.features:
        rows = np.concatenate([sample.table(n_features) for sample in samples.train])
        label = np.repeat([0.0, 1.0], size.train)
        models = [fit(name, rows, label, seed, size.steps) for name in MODELS]
        found[str(n_features)] = {
            model.name: {
                **measure(model, n_features, samples.rate, samples.natural, samples.flat),
                **smearing_of(model, n_features, samples.smeared, size.exact, keep=seed == 0),
                **(map_of(model, samples.rate, samples.natural, keep=seed == 0) if n_features == 2 else {}),
            }
            for model in models
        }
        for model in models:
            row = found[str(n_features)][model.name]
            print(
                f"  seed {seed} {n_features} features {model.name:13s} AUC {row['auc']:.4f} efficiency "
                f"{row['efficiency']:.3f} late/early {row['late_over_early']:.2f} ({model.seconds:.1f} s)",
                flush=True,
            )
    counts, edges = np.histogram(samples.natural.lifetime, bins=np.linspace(0.0, 20.0, 41))
    lifetimes = {"edges": edges.tolist(), "counts": counts.tolist()}
    return {"found": found, "lifetimes": lifetimes, "densities": densities(samples.rate, samples.natural)}


def run(size: Size) -> dict[str, Any]:
    """The numbers of the results file; `claims` raises where a claim of the paper does not hold."""
    torch.set_num_threads(1)
    seeds = [one_seed(seed, size) for seed in range(size.seeds)]
    numbers: dict[str, Any] = {
        "size": {key: value for key, value in vars(size).items() if key != "features"},
        "lambda": LAMBDA,
        "unstable": {"noise": UNSTABLE.noise, "shift_mm": list(UNSTABLE.shift), "scale": UNSTABLE.scale},
        "features": {str(n): list(FEATURES[n]) for n in size.features},
        "lifetimes": seeds[0]["lifetimes"],
        "densities": seeds[0]["densities"],
        "seeds": [one["found"] for one in seeds],
    }
    numbers["claims"] = check_claims(numbers)
    return numbers


def main(fast: bool) -> None:
    with recording("lhc", fast=fast, packages=PACKAGES) as numbers:
        numbers.update(run(FAST if fast else FULL))
