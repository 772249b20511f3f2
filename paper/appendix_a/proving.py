"""What is proved of a trained network once it is frozen, and what is seen of it besides.

Freezing rounds the network to float64 numbers for which the promise holds exactly, and proves it in rational
arithmetic (a FrozenNetwork that breaks its promise cannot be built). A full certificate states an exact interval for
every pixel and class; with ten classes it takes minutes, with a hundred the better part of an hour.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from monolip import FrozenNetwork
from monolip.certify import certify
from paper.appendix_a.tasks import Task

__all__ = ["certificate_facts", "falling_probability", "frozen_facts"]


def frozen_facts(frozen: FrozenNetwork, task: Task, closest: list[tuple[int, float]]) -> dict[str, Any]:
    """The proved promise, and the answers of the frozen network itself for the images with the smallest margins."""
    rows = np.array([image for image, _ in closest])
    answers = frozen.evaluate(task.inputs(rows)).argmax(axis=1)
    low, high = frozen.slope_range
    facts: dict[str, Any] = {
        "digest": frozen.digest,
        "convex": frozen.is_convex,
        "steepest": float(max(-low.min(), high.max())),  # a bound; a certificate may state less
        "closest_images": len(rows),
        "closest_right": int((answers == task.labels[rows]).sum()),
    }
    if task.goodness is not None:
        bounds = frozen.slopes
        facts["goodness_class_0"] = [float(bounds.lower[-1, 0]), float(bounds.upper[-1, 0])]
        facts["goodness_others"] = [float(bounds.lower[-1, 1:].min()), float(bounds.upper[-1, 1:].max())]
        facts["falling_steps"] = _falling_steps(frozen, task, rows[:8])
    return facts


def _falling_steps(frozen: FrozenNetwork, task: Task, rows: NDArray[np.integer], steps: int = 32) -> int:
    """Steps up in goodness at which some f_0 - f_j of the evaluated network falls, even by one bit."""
    falls = 0
    for x in task.inputs(rows):
        line = np.repeat(x[None], steps, axis=0)
        line[:, -1] = np.linspace(0.0, 1.0, steps)
        f = frozen.evaluate(line)
        falls += int((np.diff(f[:, 0]) < 0).sum() + (np.diff(f[:, 1:], axis=0) > 0).any(axis=1).sum())
    return falls


@torch.no_grad()
def falling_probability(network: nn.Module, task: Task, temperature: float, rows: int = 1000) -> dict[str, Any]:
    """For how many of the first images P(class 0) falls by more than rounding as the goodness goes from 0 to 1."""
    device = next(network.parameters()).device
    levels = torch.linspace(0.0, 1.0, 51, dtype=torch.float64, device=device)
    falling, largest = 0, 0.0
    for x in torch.as_tensor(task.inputs(slice(rows))).to(device):
        line = x.repeat(len(levels), 1)
        line[:, -1] = levels
        chance = torch.softmax(temperature * network(line), 1)[:, 0]
        fall = float((torch.cummax(chance, 0).values - chance).max())
        falling, largest = falling + (fall > 1e-9), max(largest, fall)
    return {"images": min(rows, len(task.labels)), "falling": falling, "largest_fall": largest}


def certificate_facts(path: str | Path) -> dict[str, Any]:
    """Certify the frozen network in a file, and let the independent checker prove every claim again."""
    certificate = certify(FrozenNetwork.load(path))
    claims = list(certificate)
    return {
        "digest": certificate.digest,
        "claims": len(claims),
        "steepest": max(max(-(claim.lower or 0.0), claim.upper or 0.0) for claim in claims),
        "bytes": len(certificate.to_json()),
        "checker": certificate.check().splitlines()[0],
    }
