"""ChestXRay end to end: ResNet18 and a monotone head of 1043 parameters, trained together; needs an accelerator.

    python paper/table1/chest_end_to_end.py --data FOLDER --out FOLDER      about three minutes on one NVIDIA H200

f(x, image) = head([x, backbone(image)])    slopes promised for follow-up number and age; nothing promised for pixels

Both protocols come from the same runs: epoch chosen on validation patients at threshold one half (`honest`), or the
best epoch and threshold on test (`paper`). BatchNorm keeps its statistics: a prediction never depends on other rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from monolip import SlopeBounds
from monolip.nn import ConvexMLP, WithFreeBranch
from paper.missing_data import check_file
from paper.table1.chest_images import Chest, patient_split, read_chest
from paper.table1.resnet18 import ResNet18, load_resnet18
from paper.table1.scores import accuracy, best_accuracy

BACKBONE = "resnet18_imagenet_backbone.safetensors"
FILES = {  # sha256 of what the committed results were made from
    "images224_jpeg80.zip": "239e70904fa706f102e495c20f01483917a1bce54001fc35b7453f40ef7c8167",
    BACKBONE: "0ef69ecff2568e0056dcea8e0f43033d1d2c11445c6f4831e8650a0603df2232",
}
NAMES = ["Follow-up #", "Patient Age", "Patient Gender", "View Position"]
SIGNS = [1, 1, 0, 0]
CAP = 1.0  # log-odds per standard deviation of a feature, as in the paper (lambda = 1)
P = np.linspace(1e-9, 1 - 1e-9, 50)
THRESHOLDS = np.log(P) - np.log1p(-P)


class Branch(nn.Module):
    """Grey images (n, 1, h, w) in 0 .. 1 -> features with the mean and deviation they had before training."""

    def __init__(self, backbone: ResNet18) -> None:
        super().__init__()
        self.backbone = backbone
        self.register_buffer("mean", torch.zeros(backbone.n_features))
        self.register_buffer("scale", torch.ones(backbone.n_features))

    def forward(self, images: Tensor) -> Tensor:
        colour = (images - torch.tensor([0.485, 0.456, 0.406], device=images.device).view(1, 3, 1, 1)) / torch.tensor(
            [0.229, 0.224, 0.225], device=images.device
        ).view(1, 3, 1, 1)
        device = images.device.type
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):  # the head stays in full precision
            features = self.backbone(colour)
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
    if kind != "monolip":
        return FreeHead(branch)
    k = backbone.n_features
    slopes = SlopeBounds.from_monotonic_cst(
        [*SIGNS, *[0] * k], CAP, feature_names=NAMES + [f"image {i}" for i in range(k)]
    )
    return WithFreeBranch(ConvexMLP(slopes, hidden=(2, 2), initial_slope=0.02), branch, k)


def batches(rows: Tensor, size: int, generator: torch.Generator | None) -> list[Tensor]:
    order = torch.randperm(len(rows), generator=generator) if generator is not None else torch.arange(len(rows))
    return list(rows[order].split(size))


def moved(images: Tensor, generator: torch.Generator) -> Tensor:
    """Augmentation: shifts of up to 12 pixels, the same for a batch, and mirrored half of the time."""
    dx, dy, mirror = (int(v) for v in torch.randint(-12, 13, (3,), generator=generator))
    images = torch.roll(images, (dy, dx), (2, 3))
    return images.flip(3) if mirror > 0 else images


@torch.no_grad()
def scores(model: nn.Module, x: Tensor, images: Tensor, rows: Tensor, size: int) -> np.ndarray:
    parts = [model(x[part], images[part].float() / 255) for part in batches(rows, size, None)]
    return np.asarray(torch.cat(parts)[:, 0].double().cpu())


def run(kind: str, chest: Chest, backbone: ResNet18, seed: int, epochs: int, size: int, device: str) -> dict[str, Any]:
    """One seed: accuracies under both protocols, seconds; and the trained model under "model"."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    train, valid, test = (torch.tensor(part) for part in patient_split(chest.patients, seed))
    mean, scale = chest.tabular[train].mean(axis=0), chest.tabular[train].std(axis=0)
    x = torch.tensor((chest.tabular - mean) / scale, dtype=torch.float32, device=device)
    images, y = (
        torch.tensor(chest.images, device=device)[:, None],
        torch.tensor(chest.y, dtype=torch.float32, device=device),
    )
    model = build(kind, backbone).to(device).eval()  # eval: BatchNorm keeps its statistics, gradients flow all the same
    branch = model.branch
    assert isinstance(branch, Branch)
    with torch.no_grad():
        features = torch.cat([branch(images[part].float() / 255) for part in batches(train, size, None)])
        branch.mean.copy_(features.mean(0))  # type: ignore[operator]
        branch.scale.copy_(features.std(0) + 1e-6)  # type: ignore[operator]
    optimiser = torch.optim.AdamW(
        [
            {"params": branch.parameters(), "lr": 5e-5},
            {"params": [p for n, p in model.named_parameters() if not n.startswith("branch.")], "lr": 3e-3},
        ],
        weight_decay=1e-2,
    )
    steps = epochs * len(batches(train, size, None))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, [5e-5, 3e-3], total_steps=steps)
    begun, seen = time.perf_counter(), []
    for _ in range(epochs):
        for part in batches(train, size, generator):
            optimiser.zero_grad()
            f = model(x[part], moved(images[part].float() / 255, generator))[:, 0]
            nn.functional.binary_cross_entropy_with_logits(f, y[part]).backward()
            optimiser.step()
            schedule.step()
        seen.append([scores(model, x, images, part, size) for part in (valid, test)])
    chosen = int(np.argmax([accuracy(f, chest.y[valid]) for f, _ in seen]))
    return {
        "honest": 100 * accuracy(seen[chosen][1], chest.y[test]),
        "paper": 100 * max(best_accuracy(f, chest.y[test], THRESHOLDS) for _, f in seen),
        "epoch": chosen + 1,
        "seconds": round(time.perf_counter() - begun, 1),
        "model": model,
    }


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with labels, images and the backbone")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    asked = parser.parse_args(arguments)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for name, sha256 in FILES.items():
        check_file(asked.data / name, sha256, "copy the file again.")
    chest = read_chest(asked.data)
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "torch": torch.__version__,
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    for kind in ("monolip", "unconstrained head"):
        rows = []
        for seed in range(asked.seeds):
            backbone = load_resnet18(asked.data / BACKBONE)
            row = run(kind, chest, backbone, seed, asked.epochs, asked.batch, device)
            model = row.pop("model")
            if kind == "monolip":
                model.cpu().freeze(from_features=True).save(asked.out / f"chest_head_{seed}.safetensors")
            rows.append(row)
            print(kind, seed, row, flush=True)
        found[kind] = rows
    found |= {"epochs": asked.epochs, "batch": asked.batch, "rows": len(chest.y)}
    (asked.out / "chest_end_to_end.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    main()
