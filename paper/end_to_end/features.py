"""Features of images by the frozen ResNet18, in eval mode; computed once and kept in build/paper/."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from paper.end_to_end.resnet18 import SHA256, read_backbone
from paper.end_to_end.training import Branch
from paper.fingerprint import fingerprint
from paper.results_file import ROOT

__all__ = ["features", "kept_features"]

BATCH = 32


def kept_features(archive: Path, images: Callable[[], NDArray[np.uint8]]) -> NDArray[np.float64]:
    """features(images()) of an archive, or what was kept of an earlier call with the same archive, weights and code."""
    with zipfile.ZipFile(archive) as opened:
        contents = sorted((Path(part.filename).name, part.CRC) for part in opened.infolist())
    code = fingerprint(("paper.end_to_end.features",), ("torch",))
    mark = hashlib.sha256(repr((contents, SHA256, code, _device())).encode()).hexdigest()
    path = ROOT / "build" / "paper" / f"chest_features_{mark[:16]}.npy"
    if not path.is_file():
        found = features(images())
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, found)
    return np.asarray(np.load(path, allow_pickle=False))


@torch.no_grad()
def features(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """(n, h, w) grey bytes -> (n, 512); each row depends on its own image alone."""
    device = _device()
    branch = Branch(read_backbone()).to(device).eval()
    parts = [
        branch(torch.tensor(images[k : k + BATCH], device=device)[:, None].float() / 255).cpu()
        for k in range(0, len(images), BATCH)
    ]
    return np.asarray(torch.cat(parts).double())


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"
