"""The two networks that the toy example and the LHC example compare, and one training loop for both.

The monotone one is the paper's: f = g + lambda sum x_i with g Lipschitz (Eq. 4), on raw inputs. The other has the same
widths and GroupSort activations and no constraint, so that nothing but the constraint is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from monolip import SlopeBounds
from monolip.nn import GroupSort, LipschitzMLP, SlopeBounded, init, parameter_groups

__all__ = ["lmn", "train", "unconstrained"]

FloatArray = NDArray[np.float64]


def lmn(slopes: SlopeBounds, rows: FloatArray, hidden: Sequence[int], seed: int, level: float = 0.0) -> SlopeBounded:
    """The paper's network with slopes as promised; its kinks start at rows of the data, its output near `level`."""
    torch.manual_seed(seed)
    g = LipschitzMLP(slopes.n_features, hidden=hidden)
    f = SlopeBounded(g, slopes)
    first, last = [layer for layer in g.constrained_layers()][:: len(hidden)]
    chosen = np.random.default_rng(seed).choice(len(rows), min(len(rows), 512), replace=False)
    inputs = torch.tensor(rows[chosen], dtype=torch.float32)
    init.hinge_(first, inputs * torch.tensor(slopes.radius, dtype=torch.float32), 2)
    with torch.no_grad():
        last.bias += level - f(inputs).mean()  # the residual alone would start far from the target
    return f


def unconstrained(rows: FloatArray, hidden: Sequence[int], seed: int) -> nn.Module:
    """The same widths, GroupSort, no constraint; inputs are standardised inside, which an LMN's slopes do not need."""
    torch.manual_seed(seed)
    widths = [rows.shape[1], *hidden]
    layers: list[nn.Module] = [_Standardise(rows)]
    for k in range(len(hidden)):
        layers += [nn.Linear(widths[k], widths[k + 1]), GroupSort(2)]
    return nn.Sequential(*layers, nn.Linear(widths[-1], 1))


class _Standardise(nn.Module):
    def __init__(self, rows: FloatArray) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(rows.mean(axis=0), dtype=torch.float32))
        self.register_buffer("scale", torch.tensor(rows.std(axis=0), dtype=torch.float32))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.scale


def train(
    f: nn.Module,
    rows: FloatArray,
    target: FloatArray,
    loss: Callable[[Tensor, Tensor], Tensor],
    *,
    epochs: int,
    batch_size: int,
    rates: tuple[float, float],
    seed: int,
) -> nn.Module:
    """Adam, with the rate falling exponentially from rates[0] to rates[1]; batches shuffled by `seed`."""
    x = torch.tensor(rows, dtype=torch.float32)
    y = torch.tensor(target[:, None], dtype=torch.float32)
    optimiser = torch.optim.Adam(parameter_groups(f, lr=rates[0]))
    steps = epochs * -(-len(x) // batch_size)
    decay = torch.optim.lr_scheduler.ExponentialLR(optimiser, (rates[1] / rates[0]) ** (1.0 / steps))
    shuffle = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        order = torch.randperm(len(x), generator=shuffle) if batch_size < len(x) else torch.arange(len(x))
        for batch in order.split(batch_size):
            optimiser.zero_grad()
            loss(f(x[batch]), y[batch]).backward()
            optimiser.step()
            decay.step()
    return f.eval()
