"""A network with a gradient penalty (Gupta et al. 2019): monotone where it was asked to be, on training rows, mostly.

loss + weight * mean over rows and constrained features of max(0, -sign_i df/dx_i)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from paper.datasets.data_set import DataSet
from paper.table1.peers import Fitted
from paper.table1.small_network import Inputs

__all__ = ["epoch_scores", "fit_penalty"]

WIDTH, RATE, BATCH, PENALTY, MOST_STEPS = 32, 3e-3, 256, 10.0, 1500
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class _Run(NamedTuple):
    """A network, what enters it, and how its output becomes a target again."""

    net: nn.Module
    inputs: Inputs
    shift: float
    scale: float

    def rows(self, X: FloatArray, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.tensor(self.inputs(np.asarray(X, dtype=float)), dtype=dtype)

    def score(self, x: torch.Tensor) -> FloatArray:
        """In the units of the target, or log-odds."""
        with torch.no_grad():
            return np.asarray(self.shift + self.scale * self.net(x)[:, 0].double().numpy())


def epoch_scores(data: DataSet, rows: IntArray, asked: IntArray, seed: int, log: bool = False) -> list[FloatArray]:
    """Scores of the asked rows after each epoch of training on `rows`; about MOST_STEPS steps in all."""
    runs = _train(data, rows, max(1, MOST_STEPS // -(-len(rows) // BATCH)), seed, log)
    x, found = None, []
    for run in runs:
        x = run.rows(data.X.to_numpy()[asked]) if x is None else x
        found.append(run.score(x))
    return found


def fit_penalty(data: DataSet, rows: IntArray, epochs: int, seed: int, log: bool = False) -> Fitted:
    """Adam on the rows for so many epochs; evaluated in double precision."""
    *_, run = _train(data, rows, epochs, seed, log)
    net = run.net.double()
    return Fitted(lambda X: run.score(run.rows(X, torch.float64)), sum(p.numel() for p in net.parameters()))


def _train(data: DataSet, rows: IntArray, epochs: int, seed: int, log: bool) -> Iterator[_Run]:
    """The same network after each epoch."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    y = data.y[rows]
    shift, scale = (0.0, 1.0) if data.classes else (float(y.mean()), float(y.std()))
    net = nn.Sequential(
        nn.Linear(data.X.shape[1], WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)
    )
    run = _Run(net, Inputs.of(data.X.to_numpy()[rows], log), shift, scale)
    loss = nn.BCEWithLogitsLoss() if data.classes else nn.MSELoss()
    signs = torch.tensor(data.signs, dtype=torch.float32)
    x, t = run.rows(data.X.to_numpy()[rows]), torch.tensor((y - shift) / scale, dtype=torch.float32)[:, None]
    optimiser = torch.optim.Adam(net.parameters(), lr=RATE)
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(BATCH):
            _step(net, loss, optimiser, x[part].requires_grad_(True), t[part], signs)
        yield run


def _step(net: nn.Module, loss: nn.Module, optimiser: torch.optim.Optimizer, x: torch.Tensor, t: torch.Tensor,
          signs: torch.Tensor) -> None:  # fmt: skip
    optimiser.zero_grad()
    f = net(x)
    (slope,) = torch.autograd.grad(f.sum(), x, create_graph=True)
    wrong = torch.relu(-signs * slope)[:, signs != 0].mean() if bool((signs != 0).any()) else slope.sum() * 0
    (loss(f, t) + PENALTY * wrong).backward()
    optimiser.step()
