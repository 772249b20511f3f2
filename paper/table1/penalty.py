"""A network with a gradient penalty (Gupta et al. 2019): monotone where it was asked to be, on training rows, mostly.

loss + weight * mean over rows and constrained features of max(0, -sign_i df/dx_i)
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from paper.datasets.data_set import DataSet
from paper.table1.peers import Score
from paper.table1.small_network import Inputs

__all__ = ["fit_penalty"]

WIDTH, RATE, BATCH, PENALTY, MOST_STEPS = 32, 3e-3, 256, 10.0, 1500


def fit_penalty(data: DataSet, rows: NDArray[np.int64], held: NDArray[np.int64], seed: int, log: bool = False) -> Score:
    """Adam on the training rows; the epoch with the least loss on the rows held out."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    raw, y = data.X.to_numpy(), data.y
    inputs = Inputs.of(raw[rows], log)
    shift, scale = (0.0, 1.0) if data.classes else (float(y[rows].mean()), float(y[rows].std()))
    X, Z = (torch.tensor(inputs(raw[part]), dtype=torch.float32) for part in (rows, held))
    t, u = (torch.tensor((y[part] - shift) / scale, dtype=torch.float32)[:, None] for part in (rows, held))
    net = nn.Sequential(
        nn.Linear(X.shape[1], WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)
    )
    loss = nn.BCEWithLogitsLoss() if data.classes else nn.MSELoss()
    signs = torch.tensor(data.signs, dtype=torch.float32)
    best, state = np.inf, {key: value.clone() for key, value in net.state_dict().items()}
    optimiser = torch.optim.Adam(net.parameters(), lr=RATE)
    for _ in range(max(1, MOST_STEPS // -(-len(X) // BATCH))):
        for part in torch.randperm(len(X)).split(BATCH):
            _step(net, loss, optimiser, X[part].requires_grad_(True), t[part], signs)
        with torch.no_grad():
            now = float(loss(net(Z), u))
        if now < best:
            best, state = now, {key: value.clone() for key, value in net.state_dict().items()}
    net.load_state_dict(state)
    net.double()

    def score(rows_asked: NDArray[np.float64]) -> NDArray[np.float64]:
        with torch.no_grad():
            f = net(torch.tensor(inputs(np.asarray(rows_asked, dtype=float)), dtype=torch.float64))[:, 0].numpy()
        return np.asarray(shift + scale * f)

    return score


def _step(net: nn.Module, loss: nn.Module, optimiser: torch.optim.Optimizer, x: torch.Tensor, t: torch.Tensor,
          signs: torch.Tensor) -> None:  # fmt: skip
    optimiser.zero_grad()
    f = net(x)
    (slope,) = torch.autograd.grad(f.sum(), x, create_graph=True)
    wrong = torch.relu(-signs * slope)[:, signs != 0].mean() if bool((signs != 0).any()) else slope.sum() * 0
    (loss(f, t) + PENALTY * wrong).backward()
    optimiser.step()
