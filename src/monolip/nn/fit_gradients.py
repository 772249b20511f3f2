"""GradientSum: the gradients of all processes on CPUs, added up in one message a step.

DistributedDataParallel does so with hooks and buckets, for networks whose messages overlap with their computation.
Those here have some ten thousand numbers: one message takes less than a millisecond, and the hooks cost more. What it
takes is waking up who waits for it: adding up on the way round a ring wakes everybody several times, so a few processes
tell all the others everything at once, and each adds up by itself, in the order of ranks.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .fit_group import rank_and_world

__all__ = ["GradientSum"]

FEW = 4  # processes that tell all the others everything; more of them share the sending, and the adding up


class GradientSum:
    """One vector that holds the gradients of a network: `backward` adds to it, `share` makes it the processes' mean.

    All processes begin with the parameters and buffers of rank 0.

    Example:
        >>> network = nn.Linear(2, 1)
        >>> gradients = GradientSum(network)
        >>> gradients.clear()
        >>> for _ in range(2):  # two portions
        ...     network(torch.ones(1, 2)).backward()
        >>> gradients.share()  # alone: as it was
        >>> network.weight.grad, network.bias.grad
        (tensor([[2., 2.]]), tensor([2.]))
    """

    def __init__(self, network: nn.Module) -> None:
        self.world = rank_and_world()[1]
        own = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self.vectors: list[Tensor] = []
        self._views: list[tuple[nn.Parameter, Tensor]] = []
        for kind in {parameter.dtype: None for parameter in own}:  # a dict: in the same order on every process
            alike = [parameter for parameter in own if parameter.dtype == kind]
            vector = torch.zeros(sum(parameter.numel() for parameter in alike), dtype=kind)
            parts = vector.split([parameter.numel() for parameter in alike])
            self._views += [(parameter, part.view_as(parameter)) for parameter, part in zip(alike, parts, strict=True)]
            self.vectors.append(vector)
        rows = self.world if 1 < self.world <= FEW else 0
        self._heard = [torch.empty(rows, len(vector), dtype=vector.dtype) for vector in self.vectors]
        if self.world > 1:
            _begin_as_rank_0(network)

    def clear(self) -> None:
        """Before the first portion of a step."""
        for vector in self.vectors:
            vector.zero_()
        for parameter, view in self._views:
            parameter.grad = view  # again and again: `zero_grad` of somebody else takes it away

    def share(self) -> None:
        """After its last: every process then has the mean."""
        if self.world == 1:
            return
        for vector, heard in zip(self.vectors, self._heard, strict=True):
            vector /= self.world
            if len(heard):
                dist.all_gather(list(heard), vector)
                torch.sum(heard, 0, out=vector)
            else:
                dist.all_reduce(vector)


@torch.no_grad()
def _begin_as_rank_0(network: nn.Module) -> None:
    for value in (*network.parameters(), *network.buffers()):
        if value.numel():
            told = value.clone(memory_format=torch.contiguous_format)
            dist.broadcast(told, 0)
            value.copy_(told)
