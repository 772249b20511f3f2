"""The checkpoint of a fit: network, optimiser and place in the plan, in one safetensors file. Data, never code.

A fit that goes on from it makes the steps it would have made: on one device the result is the same bit for bit.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from ..errors import CheckpointError
from ..sealed_file import named_path, ordinary_size, parts_of, read_first, write_whole, writing_to
from .fit_group import rank_and_world
from .fit_plan import FitPlan

__all__ = ["load_state", "save_state"]

FORMAT, VERSION = "monolip.fit", 1


def save_state(
    path: str | PathLike[str], model: nn.Module, optimiser: Any, plan: FitPlan, n_rows: int, losses: list[float]
) -> None:
    """Write atomically; one loss an epoch done."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"adam.{number}.{name}": value for name, value in state.items()}
    about = {"format": FORMAT, "version": VERSION, "plan": plan.record(), "n_rows": n_rows, "losses": losses}
    plain = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    data = to_bytes(plain, metadata={"monolip": json.dumps(about, sort_keys=True)})
    target = named_path(path)
    with writing_to(target):
        write_whole(target, data)


def load_state(
    path: str | PathLike[str], model: nn.Module, optimiser: Any, plan: FitPlan, n_rows: int, device: torch.device
) -> list[float]:
    """Put network and optimiser where the checkpoint left them; the losses of the epochs done ([] without a file).

    Only rank 0 reads the file; the others get its bytes, so machines need not share a disk.
    """
    data = _bytes_for_all(named_path(path), device)
    if not data:
        return []
    about, tensors = _parse(data, path)
    ours = {"format": FORMAT, "version": VERSION, "plan": plan.record(), "n_rows": n_rows}
    different = [key for key, value in ours.items() if about.get(key) != value]
    if different:
        shown = ", ".join(f"{key}: checkpoint {about.get(key)!r}, now {ours[key]!r}" for key in different)
        raise CheckpointError(
            f"a fit goes on under the plan and on the table it began with; {path} differs ({shown}); use the same, or "
            "remove the file to begin anew."
        )
    try:
        _load_model(model, {name.removeprefix("model."): t for name, t in tensors.items() if name[:6] == "model."})
        _load_optimiser(optimiser, {name: t for name, t in tensors.items() if name[:5] == "adam."})
        return [float(loss) for loss in about["losses"]]
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(
            f"a checkpoint holds the network it is loaded into; {path} does not ({error}); build the same network, or "
            "remove the file."
        ) from error


def _load_model(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    for name, own in model.state_dict().items():
        if name in tensors and tensors[name].dtype != own.dtype:  # copied silently otherwise, rounded or worse
            raise ValueError(f"{name} is of {tensors[name].dtype}, not {own.dtype}")
    model.load_state_dict(tensors)


def _load_optimiser(optimiser: Any, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        _, number, entry = name.split(".")
        state.setdefault(int(number), {})[entry] = value
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    for k, parameter in enumerate(parameters):
        if not parameter.requires_grad:
            if k in state:
                raise KeyError(f"optimiser state of parameter {k}, which is frozen now")
            continue
        if set(state.get(k, {})) != {"step", "exp_avg", "exp_avg_sq"}:
            raise KeyError(f"no complete optimiser state of parameter {k}")
        moments = state[k]["exp_avg"], state[k]["exp_avg_sq"]
        if any((moment.shape, moment.dtype) != (parameter.shape, parameter.dtype) for moment in moments):
            raise ValueError(f"optimiser state of another shape than parameter {k}")
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})


def _parse(data: bytes, path: Any) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        about, tensors = parts_of(data, "monolip", from_bytes)
        if not isinstance(about, dict) or not isinstance(about.get("losses"), list):
            raise ValueError("no record of the fit")
    except ValueError as error:
        raise CheckpointError(
            f"a fit goes on from a checkpoint it wrote; {path} cannot be read as one ({error}); remove it, or take an "
            "older copy."
        ) from error
    return about, tensors


def _read(path: Path) -> bytes:
    size = ordinary_size(path)
    if size is None:
        raise CheckpointError(f"a checkpoint is an ordinary file; {path} is not one; remove it, or name another.")
    return read_first(path, size)


def _bytes_for_all(path: Path, device: torch.device) -> bytes:
    rank, world = rank_and_world()
    data, failed = b"", None
    try:
        data = _read(path) if rank == 0 and path.exists() else b""
    except (OSError, CheckpointError) as error:
        failed = error
    if world > 1:
        length = torch.tensor([len(data) if failed is None else -1], dtype=torch.int64, device=device)
        dist.broadcast(length, 0)
        if rank > 0 and length < 0:
            raise CheckpointError(f"rank 0 reads the checkpoint for all; it could not read {path}; see its message.")
    if failed is not None:
        raise failed
    if world == 1:
        return data
    content = torch.zeros(int(length), dtype=torch.uint8, device=device)
    if rank == 0 and data:
        content.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
    if len(content):
        dist.broadcast(content, 0)
    return bytes(content.cpu().numpy())
