"""All processes of a fit begin it, with the same plan and table, or all of them say who could not."""

from __future__ import annotations

import json
from typing import Any

import torch
import torch.distributed as dist

from ..errors import InputError
from .fit_group import rank_and_world

__all__ = ["begin_together"]

_BYTES, _WORDS = 4096, 600  # of a message, and of the error in it


def begin_together(facts: dict[str, Any], error: Exception | None = None) -> None:
    """Returns where every process came without an error and with the same facts; else each of them raises.

    The process that has an error returns and raises it itself; the others name it. Words travel as JSON.

    Example:
        >>> begin_together({"epochs": 3})  # alone there is nobody to ask
    """
    rank, world = rank_and_world()
    if world == 1:
        return
    wrong = None if error is None else f"{type(error).__name__}: {error}"[:_WORDS]
    said = _all_say(json.dumps({"wrong": wrong, "facts": facts}).encode(), world)
    if error is not None:
        return
    for other, words in enumerate(said):
        if words["wrong"] is not None:
            raise InputError(
                f"all processes of a fit begin together; rank {other} could not ({words['wrong'].rstrip('.')}); repair "
                "that, and start all of them again."
            )
    mine = said[rank]["facts"]
    for other, words in enumerate(said):
        different = [name for name, value in mine.items() if words["facts"].get(name) != value]
        if different:
            name = different[0]
            raise InputError(
                f"all processes of a fit are given the same plan, table and network; {name} is {mine[name]!r} on rank "
                f"{rank} and {words['facts'].get(name)!r} on rank {other}; give all of them the same."
            )


def _all_say(text: bytes, world: int) -> list[dict[str, Any]]:
    device = torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")
    text = text if len(text) <= _BYTES else json.dumps({"wrong": "an error too long to tell", "facts": {}}).encode()
    mine = torch.tensor(list(text.ljust(_BYTES)), dtype=torch.uint8, device=device)
    others = [torch.empty_like(mine) for _ in range(world)]
    dist.all_gather(others, mine)
    return [json.loads(bytes(other.cpu().tolist())) for other in others]
