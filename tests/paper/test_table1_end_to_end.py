"""The end-to-end script of ChestXRay, small and on the CPU: it runs, keeps its promise, and its heads are certified."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from paper.datasets.chestxray import read_labels
from paper.table1 import chest_end_to_end
from paper.table1.chest_certify import main as certify_heads
from paper.table1.chest_images import patient_split, read_chest
from paper.table1.resnet18 import ResNet18, load_resnet18
from PIL import Image

HEAD = "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,View Position\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty patients with two images each, 32 x 32."""
    path = tmp_path_factory.mktemp("chest")
    rng = np.random.default_rng(0)
    lines = []
    with zipfile.ZipFile(path / "images224_jpeg80.zip", "w") as archive:
        for k in range(40):
            finding = "Mass" if rng.random() < 0.5 else "No Finding"
            age = "018M" if k == 3 else f"{rng.integers(20, 80):03d}Y"
            lines.append(f"{k:08d}_000.png,{finding},{k % 2},{k // 2},{age},{'MF'[k % 2]},{'PA' if k % 3 else 'AP'}")
            raw = io.BytesIO()
            Image.fromarray(rng.integers(0, 256, (32, 32), dtype=np.uint8)).save(raw, "JPEG")
            archive.writestr(f"{k:08d}_000.jpg", raw.getvalue())
    (path / "nih_first4999_labels.csv").write_text(HEAD + "\n".join(lines) + "\n")
    return path


def test_the_reader_without_pandas_agrees_with_the_loader(folder: Path) -> None:
    chest = read_chest(folder)
    X, y, patients = read_labels(folder / "nih_first4999_labels.csv")
    assert np.array_equal(chest.tabular, X.to_numpy())
    assert np.array_equal(chest.y, y)
    assert np.array_equal(chest.patients, patients)
    assert chest.images.shape == (40, 32, 32)


def test_patients_are_on_one_side(folder: Path) -> None:
    patients = read_chest(folder).patients
    parts = patient_split(patients, 0)
    assert sorted(np.concatenate(parts).tolist()) == list(range(40))
    assert not set(patients[parts[0]]) & (set(patients[parts[1]]) | set(patients[parts[2]]))


def test_resnet18_has_torchvisions_shape(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    network = ResNet18()
    assert sum(p.numel() for p in network.parameters()) == 11_176_512  # torchvision's 11,689,512 without fc
    half = {name: value.half() if value.is_floating_point() else value for name, value in network.state_dict().items()}
    save_file(half, tmp_path / "b.safetensors")
    loaded = load_resnet18(tmp_path / "b.safetensors").eval()
    x = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        assert torch.allclose(loaded(x), network.eval()(x), atol=1e-2)
    half.pop("conv1.weight")
    save_file(half, tmp_path / "b.safetensors")
    with pytest.raises(ValueError, match=r"must hold a ResNet18 without fc; missing \['conv1.weight'\]"):
        load_resnet18(tmp_path / "b.safetensors")


def test_the_script_runs_and_its_heads_are_certified(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chest_end_to_end, "load_resnet18", lambda path: ResNet18((4, 4, 8, 8)))
    with pytest.raises(ValueError, match=r"known checksum; images224_jpeg80.zip has another one; copy the file again"):
        chest_end_to_end.main(["--data", str(folder), "--out", str(tmp_path)])
    monkeypatch.setattr(chest_end_to_end, "FILES", {})
    given = ["--data", str(folder), "--out", str(tmp_path), "--epochs", "1", "--seeds", "1", "--batch", "16"]
    found = chest_end_to_end.main(given)
    assert set(found["monolip"][0]) == {"honest", "paper", "epoch", "seconds"}
    content = certify_heads(tmp_path, tmp_path / "results.json")
    (head,) = content["numbers"]["certificates"]
    assert head["answer"].startswith("PROVED: real+ordered")
    assert (head["lower"], head["upper"]) == ([0.0, 0.0], [1.0, 1.0])
    assert head["parameters"] == (4 + 8) * 2 + 2 + 6 + 3
    assert json.loads((tmp_path / "results.json").read_text())["numbers"]["rows"] == 40
