"""Networks as small as the paper's, trained by monolip's engine; every epoch can be looked at.

f(x) = convex form of widths `hidden` on standardised inputs; slopes in [0, s], [-s, 0] or [-s, s]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip import FrozenNetwork, SlopeBounds
from monolip.engine import Architecture, NetworkArrays, Problem, TrainingOptions, TrainingResult, train
from monolip.engine import freeze as freeze_network

__all__ = ["Inputs", "Small", "epochs_of", "freeze", "n_parameters", "outputs", "train_small"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Small:
    """A small network and its training. max_slope: per standard deviation of the input (of its logarithm with `log`).

    options: of engine.TrainingOptions. log: inputs are sign(x) log(1 + |x|) first, for counts with long tails.
    paper_form: signed rows and a residual, as published, instead of convex form.
    """

    hidden: tuple[int, ...]
    max_slope: float
    epochs: int
    batch: int = 256
    log: bool = False
    paper_form: bool = False
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Inputs:
    """Monotone maps of the inputs, from training rows: (logarithm,) mean 0, deviation 1, clipped at 6."""

    mean: FloatArray
    scale: FloatArray
    log: bool

    @classmethod
    def of(cls, X: FloatArray, log: bool) -> Inputs:
        X = _log(X) if log else X
        scale = X.std(axis=0)
        return cls(X.mean(axis=0), np.where(scale > 0, scale, 1.0), log)

    def __call__(self, X: FloatArray) -> FloatArray:
        return np.clip(((_log(X) if self.log else X) - self.mean) / self.scale, -6.0, 6.0)


def _log(X: FloatArray) -> FloatArray:
    return np.sign(X) * np.log1p(np.abs(X))


def n_parameters(n_features: int, hidden: tuple[int, ...]) -> int:
    """Weights and biases, as the paper counts them.

    >>> n_parameters(13, (2, 2)), n_parameters(276, (8,)), n_parameters(28, (16, 16)), n_parameters(516, (2, 2))
    (37, 2225, 753, 1043)
    """
    widths = (n_features, *hidden, 1)
    return sum(a * b + b for a, b in itertools.pairwise(widths))


def train_small(
    small: Small, Z: FloatArray, y: FloatArray, signs: NDArray[np.int64], rows: NDArray[np.int64], classes: bool,
    seed: int,
) -> TrainingResult:  # fmt: skip
    """Train on some rows of the mapped inputs Z; one snapshot an epoch, none of them judged."""
    lower = np.where(signs > 0, 0.0, -small.max_slope)
    upper = np.where(signs < 0, 0.0, small.max_slope)
    architecture = Architecture(hidden=small.hidden, fan_in=None, paper_form=small.paper_form)
    problem = Problem(Z, y, lower, upper, loss="logistic" if classes else "squared", architecture=architecture)
    steps = small.epochs * -(-len(rows) // small.batch)
    options = TrainingOptions(
        n_steps=steps, batch_size=small.batch, n_snapshots=small.epochs, seed=seed, **small.options
    )
    return train(problem, options, index=rows)


def epochs_of(result: TrainingResult, Z: FloatArray) -> Iterator[FloatArray]:
    """f of rows Z after every epoch."""
    for snapshot in result.snapshots:
        yield outputs(snapshot.network, Z)


def outputs(network: NetworkArrays, Z: FloatArray) -> FloatArray:
    """f, shape (n,), by plain matrix products: for looking, not for promises (`freeze` is for those)."""
    z = Z
    for layer, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        z = z @ weight.T + bias
        if layer < len(network.group_sizes):
            size = network.group_sizes[layer]
            z = np.sort(z.reshape(len(z), -1, size), axis=2).reshape(len(z), -1)
    residual = 0.0 if network.center is None else Z @ network.center[0]
    return np.asarray(z[:, 0] + residual)


def freeze(network: NetworkArrays, small: Small, names: list[str], signs: NDArray[np.int64]) -> FrozenNetwork:
    """The network as monolip ships it: its promise is proved in exact arithmetic, or it cannot be constructed."""
    promise = SlopeBounds.from_monotonic_cst(signs, small.max_slope, feature_names=names)
    return freeze_network(network, promise)
