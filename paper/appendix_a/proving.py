"""What is proved of a trained network once it is frozen, and what is seen of it besides.

Freezing rounds the network to float64 numbers for which the promise holds exactly, and proves it in rational
arithmetic (a FrozenNetwork that breaks its promise cannot be built). A full certificate states an exact interval for
every pixel and class, and the direction of the goodness in every class, bit for bit; the independent checker proves
all of it again from the numbers of the network. With a hundred classes each takes minutes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from monolip import FrozenNetwork
from monolip.certify import Claim, certify
from paper.appendix_a.memorising import Memorised
from paper.appendix_a.tasks import Task

__all__ = ["certificate_facts", "falling_probability", "frozen_facts", "proved_facts"]


def proved_facts(run: Memorised, frozen: FrozenNetwork, task: Task, temperature: float) -> dict[str, Any]:
    """`frozen_facts` of the images with the smallest margins; for CIFAR-101 also `falling_probability`."""
    facts = frozen_facts(frozen, task, run.smallest_margins[:200])
    if task.goodness is not None:
        facts["probability"] = falling_probability(run.network, task, temperature)
    return facts


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


def certificate_facts(path: str | Path, *, goodness: bool = False) -> dict[str, Any]:
    """Certify the frozen network in a file, and let the independent checker prove every claim again.

    goodness: whether the last feature is one; its claims are told for class 0 and for the others.
    """
    begun = time.perf_counter()
    certificate = certify(FrozenNetwork.load(path))
    written = time.perf_counter()
    said = certificate.check().splitlines()[0]
    checked = time.perf_counter()
    claims = list(certificate)
    facts = {
        "digest": certificate.digest,
        "claims": len(claims),
        "steepest": max(max(-(claim.lower or 0.0), claim.upper or 0.0) for claim in claims),
        "bytes": len(certificate.to_json()),
        "checker": said,
        "seconds": {"written": round(written - begun, 1), "checked": round(checked - written, 1)},
    }
    if goodness:
        last = [claim for claim in claims if claim.feature == claims[-1].feature]
        facts["goodness"] = {name: _hull(some) for name, some in (("class_0", last[:1]), ("others", last[1:]))}
    return facts


def _hull(claims: Sequence[Claim]) -> dict[str, Any]:
    """The directions that are claimed, and an interval that holds all slopes."""
    return {
        "directions": sorted({claim.promise for claim in claims}),
        "slopes": [min(claim.lower or 0.0 for claim in claims), max(claim.upper or 0.0 for claim in claims)],
    }
