"""Many small networks trained at once, their parameters stacked: one for each table, split and learning rate.

Each has its own data, slopes, start and rate; nothing is shared but the time of a step. Tables with fewer features get
columns of zeros, which no output depends on. Rates fall to zero along a cosine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional

from monolip.nn import ConvexMLP, LipschitzLinear, parameter_groups
from paper.section_3_2.suite import Splits
from paper.section_3_2.variants import Variant

__all__ = ["Rows", "Stack", "Trained", "new_stack", "train_stack"]


@dataclass(frozen=True)
class Trained:
    """Losses at the end, (tables, seeds, rates): RMSE of a standardised target, or log-loss; time of a step of all."""

    train: NDArray[np.float64]
    validation: NDArray[np.float64]
    test: NDArray[np.float64]
    seconds_a_step: float


@dataclass(frozen=True)
class Rows:
    """x (networks, rows, features), y (networks, rows), padded with zeros; how many rows count."""

    x: Tensor
    y: Tensor
    count: Tensor

    @classmethod
    def of(cls, parts: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]], rates: int) -> Rows:
        """From one (seeds, rows, features) pair a table; each split is repeated once a rate."""
        most, width = max(y.shape[1] for _, y in parts), max(x.shape[2] for x, _ in parts)
        xs = [np.pad(x, ((0, 0), (0, most - x.shape[1]), (0, width - x.shape[2]))) for x, _ in parts]
        ys = [np.pad(y, ((0, 0), (0, most - y.shape[1]))) for _, y in parts]
        counts = np.concatenate([np.full(len(y), y.shape[1]) for _, y in parts])
        joined = [np.repeat(array, rates, axis=0) for array in (np.concatenate(xs), np.concatenate(ys), counts)]
        return cls(*map(torch.as_tensor, joined))

    def draw(self, batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """A batch of each network's own rows, with replacement."""
        rows = (torch.rand(len(self.x), batch, generator=generator) * self.count[:, None]).long()
        own = torch.arange(len(self.x))[:, None]
        return self.x[own, rows], self.y[own, rows]


def train_stack(
    variant: Variant, tables: Sequence[Splits], *, rates: Sequence[float], steps: int, hidden: Sequence[int], batch: int
) -> Trained:
    """Train a variant on every split of every table with every rate, and measure."""
    train, validation, test = (
        Rows.of([getattr(table, part) for table in tables], len(rates)) for part in ("train", "validation", "test")
    )
    stack, draw = new_stack(variant, tables, rates=rates, hidden=hidden), torch.Generator().manual_seed(0)
    begun = time.process_time()
    for step in range(steps):
        stack.step(*train.draw(batch, draw), 0.5 + 0.5 * math.cos(math.pi * step / steps))
    seconds = (time.process_time() - begun) / steps
    shape = (len(tables), len(tables[0].train[0]), len(rates))
    return Trained(*(stack.measure(part).reshape(shape) for part in (train, validation, test)), seconds)


def new_stack(variant: Variant, tables: Sequence[Splits], *, rates: Sequence[float], hidden: Sequence[int]) -> Stack:
    """Untrained networks for every table, split and rate; those of one split start alike."""
    seeds, width = len(tables[0].train[0]), max(table.train[0].shape[2] for table in tables)
    modules, binary = [], []
    for table in tables:
        directions = [*table.directions, *[0] * (width - len(table.directions))]
        for seed in range(seeds):
            for _ in rates:
                torch.manual_seed(seed)
                modules.append(variant.build(directions, tuple(hidden)))
                binary.append(table.task == "binary")
    return Stack(modules, torch.tensor(binary), list(rates) * (len(tables) * seeds), variant.after_step)


class Stack:
    """Adam on stacked parameters, with a rate for each network."""

    def __init__(self, modules: list[nn.Module], binary: Tensor, rates: list[float], after_step: bool) -> None:
        self.module, self.binary = modules[0], binary
        params, self.buffers = stack_module_state(modules)
        self.params = {name: value.detach().requires_grad_() for name, value in params.items()}
        self.rates, self.count = torch.tensor(rates), 0
        self.shares = _shares(self.module)
        self.moments = {name: (torch.zeros_like(p), torch.zeros_like(p)) for name, p in self.params.items()}
        self.projected: dict[str, LipschitzLinear] = {}
        if after_step:
            layers = {n: m for n, m in self.module.named_modules() if isinstance(m, LipschitzLinear)}
            self.projected = {f"{name}.weight": layer for name, layer in layers.items()}
        self._outputs = vmap(lambda p, b, x: functional_call(self.module, (p, b), (x,))[:, 0])

    def losses(self, x: Tensor, y: Tensor) -> Tensor:
        """(networks, rows): squared errors, or log-losses."""
        f: Tensor = self._outputs(self.params, self.buffers, x)
        logistic = functional.binary_cross_entropy_with_logits(f, y.clamp(0.0, 1.0), reduction="none")
        return torch.where(self.binary[:, None], logistic, (f - y).square())

    def step(self, x: Tensor, y: Tensor, share: float) -> None:
        names = list(self.params)
        gradients = torch.autograd.grad(self.losses(x, y).mean(1).sum(), [self.params[name] for name in names])
        self.count += 1
        rates = self.rates * share / (1 - 0.9**self.count)
        with torch.no_grad():
            for name, gradient in zip(names, gradients, strict=True):
                first, second = self.moments[name]
                first.lerp_(gradient, 0.1)
                second.mul_(0.99).addcmul_(gradient, gradient, value=0.01)
                scale = (second / (1 - 0.99**self.count)).sqrt_().add_(1e-8)
                rate = (rates * self.shares.get(name, 1.0)).view(-1, *[1] * (gradient.dim() - 1))
                self.params[name].sub_(rate * first / scale)
            for name, layer in self.projected.items():
                self.params[name].copy_(vmap(layer.constrain)(self.params[name]))

    @torch.no_grad()
    def measure(self, rows: Rows) -> NDArray[np.float64]:
        counts = torch.arange(rows.y.shape[1]) < rows.count[:, None]
        losses = (self.losses(rows.x, rows.y) * counts).sum(1) / rows.count
        return torch.where(self.binary, losses, losses.sqrt()).double().numpy()


def _shares(module: nn.Module) -> dict[str, float]:
    """Share of the rate by parameter name: hidden rows of paper form take smaller steps (see `parameter_groups`)."""
    if isinstance(module, ConvexMLP):
        return {}
    rates = {id(p): group["lr"] for group in parameter_groups(module, 1.0) for p in group["params"]}
    return {name: rates[id(p)] for name, p in module.named_parameters()}
