"""The processes that share a fit: those of torchrun, Slurm, TorchDistributor or Ray Train, or this one alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from ..errors import InputError

__all__ = ["add_up", "everywhere_the_same", "process_group", "rank_0_says", "rank_and_world"]


@contextmanager
def process_group(backend: str | None = None, seconds: float = 600.0) -> Iterator[tuple[int, int]]:
    """Join the group the launcher describes, for the time of a `with`; yields (rank, number of processes).

    torchrun (and what is built on it: Slurm with torchrun, Spark's TorchDistributor) sets RANK and WORLD_SIZE. Where a
    group has been joined already (Ray Train does so), that one is used and left alone; without a launcher the process
    is alone.

    Args:
        backend: "gloo" or "nccl"; None: nccl where every process of a machine has a GPU of its own.
        seconds: how long to wait for the others before giving up.

    Example:
        >>> with process_group() as (rank, world):
        ...     print(rank, world)
        0 1
    """
    if not dist.is_available() or dist.is_initialized() or "WORLD_SIZE" not in os.environ:
        yield rank_and_world()
        return
    gpus, local = torch.cuda.device_count(), int(os.environ.get("LOCAL_RANK", "0"))
    if gpus > local:
        torch.cuda.set_device(local)
    if backend is None:
        backend = "nccl" if gpus >= int(os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"])) else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=seconds))
    try:
        yield rank_and_world()
        dist.barrier()  # nobody leaves while another still needs the group
    finally:
        dist.destroy_process_group()


def rank_and_world() -> tuple[int, int]:
    """This process's number and how many there are; (0, 1) outside a group."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def add_up(value: Tensor) -> Tensor:
    """The sum of a tensor over all processes, in place."""
    if rank_and_world()[1] > 1:
        dist.all_reduce(value)
    return value


def rank_0_says(answer: bool) -> bool:
    """Rank 0's answer on every process: what all of them do together is decided by one clock."""
    if rank_and_world()[1] == 1:
        return answer
    device = torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")
    told = torch.tensor([answer], dtype=torch.uint8, device=device)
    dist.broadcast(told, 0)
    return bool(told)


def everywhere_the_same(digest: str, device: torch.device) -> None:
    """Refuse to go on where processes have come to different networks: one of them read other data, or is broken."""
    rank, world = rank_and_world()
    if world == 1:
        return
    mine = torch.tensor(list(bytes.fromhex(digest)), dtype=torch.uint8, device=device)
    others = [torch.empty_like(mine) for _ in range(world)]
    dist.all_gather(others, mine)
    different = [k for k, other in enumerate(others) if not torch.equal(other, others[0])]
    if different:
        raise InputError(
            "all processes of a fit hold the same network at its end; those of rank "
            f"{', '.join(map(str, different))} differ from rank 0 (this is rank {rank}); use the same monolip, torch "
            "and plan on every machine."
        )
