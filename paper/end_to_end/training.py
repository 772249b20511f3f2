"""ResNet18 and a head, trained together on some rows and scored on others after every epoch.

f(x, image) = head([x, backbone(image)])    slopes promised for follow-up number and age; nothing promised for pixels

BatchNorm keeps its statistics: a prediction never depends on other rows.
"""

from __future__ import annotations

import copy
import time
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from monolip import FrozenNetwork, SlopeBounds
from monolip.nn import ConvexMLP, WithFreeBranch
from paper.datasets.chest_images import Chest
from paper.end_to_end import OURS
from paper.end_to_end.resnet18 import ResNet18

__all__ = ["Branch", "Trained", "build", "train"]

NAMES = ["Follow-up #", "Patient Age", "Patient Gender", "View Position"]
SIGNS = [1, 1, 0, 0]
CAP = 1.0  # log-odds per standard deviation of a feature, as in the paper (lambda = 1)
MEANS, DEVIATIONS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet's colours
RATES = (5e-5, 3e-3)  # of the backbone, of the head


class Branch(nn.Module):
    """Grey images (n, 1, h, w) in 0 .. 1 -> features with the mean and deviation they had before training."""

    def __init__(self, backbone: ResNet18) -> None:
        super().__init__()
        self.backbone = backbone
        self.register_buffer("mean", torch.zeros(backbone.n_features))
        self.register_buffer("scale", torch.ones(backbone.n_features))

    def forward(self, images: Tensor) -> Tensor:
        mean, deviation = (torch.tensor(v, device=images.device).view(1, 3, 1, 1) for v in (MEANS, DEVIATIONS))
        device = images.device.type
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):  # the head stays in full precision
            features = self.backbone((images - mean) / deviation)
        return (features.float() - self.mean) / self.scale  # type: ignore[operator]


class FreeHead(nn.Module):
    """The peer: the same branch and an unconstrained head. No promise."""

    def __init__(self, branch: Branch) -> None:
        super().__init__()
        self.branch = branch
        width = 4 + branch.backbone.n_features
        self.head = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x: Tensor, images: Tensor) -> Tensor:
        f: Tensor = self.head(torch.cat([x, self.branch(images)], -1))
        return f


def build(kind: str, backbone: ResNet18) -> nn.Module:
    branch = Branch(backbone)
    if kind != OURS:
        return FreeHead(branch)
    k = backbone.n_features
    slopes = SlopeBounds.from_monotonic_cst(
        [*SIGNS, *[0] * k], CAP, feature_names=NAMES + [f"image {i}" for i in range(k)]
    )
    return WithFreeBranch(ConvexMLP(slopes, hidden=(2, 2), initial_slope=0.02), branch, k)


class Trained(NamedTuple):
    """scores: f of the asked rows after each epoch. head: frozen after epoch `keep`; None of the unconstrained one."""

    scores: list[NDArray[np.float64]]
    head: FrozenNetwork | None
    seconds: float


def train(
    kind: str, chest: Chest, backbone: ResNet18, rows: NDArray[np.int64], asked: NDArray[np.int64], seed: int,
    epochs: int, size: int, device: str, keep: int | None = None,
) -> Trained:  # fmt: skip
    """AdamW on `rows`, both rates rising and falling once over all epochs; inputs are scaled by `rows`."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    fitted, scored = torch.tensor(rows), torch.tensor(asked)
    mean, scale = chest.tabular[rows].mean(axis=0), chest.tabular[rows].std(axis=0)
    x = torch.tensor((chest.tabular - mean) / scale, dtype=torch.float32, device=device)
    images = torch.tensor(chest.images, device=device)[:, None]
    y = torch.tensor(chest.y, dtype=torch.float32, device=device)
    model = build(kind, backbone).to(device).eval()  # eval: BatchNorm keeps its statistics, gradients flow all the same
    _standardise(model, images, fitted, size)
    optimiser = torch.optim.AdamW(
        [
            {"params": model.branch.parameters(), "lr": RATES[0]},  # type: ignore[union-attr]
            {"params": [p for n, p in model.named_parameters() if not n.startswith("branch.")], "lr": RATES[1]},
        ],
        weight_decay=1e-2,
    )
    steps = epochs * len(_batches(fitted, size, None))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, list(RATES), total_steps=steps)
    begun, seen, head = time.perf_counter(), [], None
    for epoch in range(epochs):
        for part in _batches(fitted, size, generator):
            optimiser.zero_grad()
            f = model(x[part], _moved(images[part].float() / 255, generator))[:, 0]
            nn.functional.binary_cross_entropy_with_logits(f, y[part]).backward()
            optimiser.step()
            schedule.step()
        seen.append(_scores(model, x, images, scored, size))
        if epoch == keep and kind == OURS:
            head = copy.deepcopy(model).cpu().freeze(from_features=True)  # type: ignore[operator]
    return Trained(seen, head, time.perf_counter() - begun)


@torch.no_grad()
def _standardise(model: nn.Module, images: Tensor, rows: Tensor, size: int) -> None:
    branch = model.branch
    assert isinstance(branch, Branch)
    features = torch.cat([branch(images[part].float() / 255) for part in _batches(rows, size, None)])
    branch.mean.copy_(features.mean(0))  # type: ignore[operator]
    branch.scale.copy_(features.std(0) + 1e-6)  # type: ignore[operator]


def _batches(rows: Tensor, size: int, generator: torch.Generator | None) -> list[Tensor]:
    order = torch.randperm(len(rows), generator=generator) if generator is not None else torch.arange(len(rows))
    return list(rows[order].split(size))


def _moved(images: Tensor, generator: torch.Generator) -> Tensor:
    """Augmentation: shifts of up to 12 pixels, the same for a batch, and mirrored half of the time."""
    dx, dy, mirror = (int(v) for v in torch.randint(-12, 13, (3,), generator=generator))
    images = torch.roll(images, (dy, dx), (2, 3))
    return images.flip(3) if mirror > 0 else images


@torch.no_grad()
def _scores(model: nn.Module, x: Tensor, images: Tensor, rows: Tensor, size: int) -> NDArray[np.float64]:
    parts = [model(x[part], images[part].float() / 255) for part in _batches(rows, size, None)]
    return np.asarray(torch.cat(parts)[:, 0].double().cpu())
