"""Optimiser steps: on a CPU in portions of rows; on a GPU recorded once as a CUDA graph, then replayed without Python.

A step of these networks is some eighty short kernels. Launched one by one they wait for Python, most of the time.
"""

from __future__ import annotations

import gc
import math
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from .convex_layers import SlopeLinear
from .fit_device import pays_to_compile
from .fit_gradients import GradientSum
from .fit_group import rank_and_world
from .fit_lanes import Lanes
from .fit_loss import MeanLoss
from .fit_memory import keep_freed_memory, rows_of_a_portion
from .fit_plan import FitPlan
from .rates import parameter_groups

__all__ = ["Stepper"]

# torch 2.13 gave the option another name and warns of the old one
_NEW = "forward_sync_buffers" in signature(DistributedDataParallel.__init__).parameters
_SYNC = "forward_sync_buffers" if _NEW else "broadcast_buffers"


class Stepper:
    """Adam on a network. `run(order)` makes one step for each line of row numbers and adds up their losses.

    Args:
        x, y: this process's rows, on the device of the model.
        lanes: batches of the fit; they say how many steps the schedule has.
    """

    def __init__(self, model: nn.Module, plan: FitPlan, lanes: Lanes, x: Tensor, y: Tensor) -> None:
        self.plan, self.x, self.y, self.whole = plan, x, y, lanes.takes_all
        self.total = plan.epochs * lanes.steps
        self.on_gpu = x.is_cuda
        world = rank_and_world()[1]
        groups = parameter_groups(model, plan.rate)
        self.rates = [group["lr"] for group in groups]
        if self.on_gpu:
            for group in groups:
                group["lr"] = torch.tensor(group["lr"], device=x.device)
        self.optimiser = torch.optim.Adam(groups, betas=(0.9, 0.99), fused=True, capturable=self.on_gpu)
        loss: Any = MeanLoss(model, plan)
        self.gradients: GradientSum | None = None
        if world > 1 and self.on_gpu:
            options: dict[str, Any] = {_SYNC: False, "gradient_as_bucket_view": True}  # buffers are constants
            loss = DistributedDataParallel(loss, **options)
        elif world > 1:
            self.gradients = GradientSum(loss)
        if not self.on_gpu:
            keep_freed_memory()
        self.portion = len(x) if self.on_gpu else rows_of_a_portion(model)
        batch = lanes.piece * plan.lanes // world
        self.loss = torch.compile(loss) if pays_to_compile(plan, model, batch, self.total, x.device) else loss
        self.done = torch.zeros((), dtype=torch.float64, device=x.device)  # steps, counted where the graph can see it
        self.sum = torch.zeros((), dtype=torch.float64, device=x.device)
        self.records = self.on_gpu and world == 1 and _can_be_recorded(model)
        self._graph: Any = None
        self._order = self._line = torch.zeros(0)
        self._warm = 0

    def run(self, order: Tensor) -> float:
        """Steps for each line of `order`, shape (steps, rows a step); returns the sum of their losses."""
        before = torch.get_float32_matmul_precision()
        if self.on_gpu and self.plan.precision != "float32":
            torch.set_float32_matmul_precision("high")
        try:
            self.sum.zero_()
            if self.records:
                self._replay(order)
            else:
                for rows in order:
                    self._step(rows)
            return float(self.sum)
        finally:
            torch.set_float32_matmul_precision(before)

    def close(self) -> None:
        """Give the recording back now: collected later, while another is recorded, it would break that one."""
        self._graph = None

    def _step(self, rows: Tensor) -> None:
        self._set_rates()
        if self.gradients is None:
            self.optimiser.zero_grad(set_to_none=True)
        else:
            self.gradients.clear()
        x, y = (self.x, self.y) if self.whole else (self.x.index_select(0, rows), self.y.index_select(0, rows))
        count = -(-len(x) // self.portion)
        for some, targets in zip(x.tensor_split(count), y.tensor_split(count), strict=True):
            loss = self.loss(some, targets)
            if count > 1:
                loss = loss * (len(some) / len(x))  # losses are means of their rows
            loss.backward()
            self.sum += loss.detach()
        if self.gradients is not None:
            self.gradients.share()
        self.optimiser.step()
        self.done += 1.0

    def _set_rates(self) -> None:
        """Half a cosine over all steps; on a GPU in tensors, so that a recorded step computes its own rate."""
        if not self.plan.cosine:
            return
        if not self.on_gpu:
            share = 0.5 * (1.0 + math.cos(math.pi * float(self.done) / self.total))
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            if self.on_gpu:
                group["lr"].copy_(rate * 0.5 * (1.0 + torch.cos(self.done * (math.pi / self.total))))
            else:
                group["lr"] = rate * share

    def _replay(self, order: Tensor) -> None:
        start = 0
        while self._graph is None and start < len(order):
            if self._warm < 3:  # torch asks for some steps outside the recording
                self._on_the_side(order[start])
                self._warm, start = self._warm + 1, start + 1
            else:
                self._order, self._line = order.clone(), torch.zeros(1, dtype=torch.int64, device=order.device)
                self._record()
        if self._graph is not None:
            self._order.copy_(order)
            self._line.fill_(start)
            for _ in range(start, len(order)):
                self._graph.replay()

    def _on_the_side(self, rows: Tensor) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._step(rows)
        torch.cuda.current_stream().wait_stream(side)

    def _record(self) -> None:
        gc.collect()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._step(self._order[self._line][0])
            self._line += 1


def _can_be_recorded(model: nn.Module) -> bool:
    """Layers that look at numbers in Python (projections after a step, onto general slope sets) cannot be recorded."""
    return not any(
        getattr(layer, "enforce", None) == "step" or (isinstance(layer, SlopeLinear) and not layer._is_box)
        for layer in model.modules()
    )
