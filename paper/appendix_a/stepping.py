"""Many optimiser steps without a word from Python: on a GPU they are recorded once as a CUDA graph and replayed.

A step of these networks is some eighty kernels of a few microseconds; launched one by one they wait for Python, which
made the plain prototype ten times slower than this.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from paper.appendix_a.forms import constrained_layers
from paper.appendix_a.recipes import Recipe

__all__ = ["Stepper"]


class Stepper:
    """Adam on a trunk; `run(rows)` makes one step for each line of row numbers, `rate(share)` sets the rate."""

    def __init__(self, trunk: nn.Module, recipe: Recipe, loss: Callable[[Tensor], Tensor]) -> None:
        self.trunk, self.loss = trunk, loss
        hidden = [layer.weight for layer in constrained_layers(trunk)[1:]]
        device = hidden[0].device
        fast = [parameter for parameter in trunk.parameters() if all(parameter is not w for w in hidden)]
        self._rates = [recipe.rate, recipe.rate * recipe.hidden]
        groups: list[dict[str, Any]] = [
            {"params": parameters, "lr": torch.tensor(rate, device=device)}
            for parameters, rate in zip([fast, hidden], self._rates, strict=True)
        ]
        on_gpu = device.type == "cuda"
        self.optimiser = torch.optim.Adam(groups, betas=recipe.betas, fused=True if on_gpu else None, capturable=on_gpu)
        self._on_gpu = on_gpu
        self._graph: Any = None
        self._rows: Tensor | None = None

    def rate(self, share: float) -> None:
        """Steps of this share of the recipe's rates from now on."""
        for group, rate in zip(self.optimiser.param_groups, self._rates, strict=True):
            group["lr"].fill_(rate * share)

    def step(self, rows: Tensor) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        self.loss(rows).backward()
        self.optimiser.step()

    def run(self, rows: Tensor) -> None:
        """(steps, batch) row numbers; every call with the same shape."""
        if not self._on_gpu:
            for line in rows:
                self.step(line)
            return
        if self._graph is None:
            self._record(rows)
        assert self._rows is not None
        self._rows.copy_(rows)
        self._graph.replay()

    def close(self) -> None:
        """Gives the graph back now: one that is collected later, while another is recorded, would break that one."""
        self._graph = None

    def _record(self, rows: Tensor) -> None:
        gc.collect()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # three steps outside the graph, as torch asks for
            for line in rows[:3]:
                self.step(line)
        torch.cuda.current_stream().wait_stream(side)
        self._rows = rows.clone()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            for line in self._rows:
                self.step(line)
