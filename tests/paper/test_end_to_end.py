"""ChestXRay end to end, small and on the CPU: its heads are certified, and what is missing is said."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from paper.datasets import chest_images, chestxray
from paper.datasets.chest_images import FIRST, SAMPLE, Source, patient_split, read_chest, read_images, read_rows
from paper.datasets.files import digest
from paper.end_to_end import OURS, THEIRS, experiment, features
from paper.end_to_end.resnet18 import ResNet18, load_resnet18
from paper.end_to_end.tables import tables
from paper.missing_data import DamagedDataError, MissingDataError
from paper.results_file import read_results
from paper.run import run
from PIL import Image

HEAD = "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,View Position\n"


def written(folder: Path, source: Source, side: int, ending: str, place: str = "") -> Source:
    """The source with twenty patients, two images each, of `side` pixels in those files."""
    rng = np.random.default_rng(len(source.labels))
    lines = []
    (folder / "chestxray").mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / source.images, "w") as archive:
        for k in range(40):
            finding = "Mass" if rng.random() < 0.5 else "No Finding"
            age = "018M" if k == 3 else f"{rng.integers(20, 80):03d}Y"
            lines.append(f"{k:08d}_000.png,{finding},{k % 2},{k // 2},{age},{'MF'[k % 2]},{'PA' if k % 3 else 'AP'}")
            raw = io.BytesIO()
            Image.fromarray(rng.integers(0, 256, (side, side), dtype=np.uint8)).save(raw, ending)
            archive.writestr(f"{place}{k:08d}_000.{ending.lower()}", raw.getvalue())
    (folder / source.labels).write_text(HEAD + "\n".join(lines) + "\n")
    _, tabular, y, patients = read_rows(folder / source.labels)
    return source._replace(digest=digest(np.c_[tabular, y, patients]), sha256=None, side=source.side and 32)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that has what a test puts into the folder, a tiny backbone, and no GPU."""
    monkeypatch.setenv("MONOLIP_DATA", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    monkeypatch.setattr("paper.results_file.ROOT", tmp_path)
    monkeypatch.setattr(features, "ROOT", tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for module in (experiment, features):
        monkeypatch.setattr(module, "read_backbone", lambda: ResNet18((4, 4, 8, 8)))
    return tmp_path


@pytest.fixture
def put(here: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def into(name: str, *given: Any) -> None:
        source = written(here, getattr(chest_images, name), *given)
        for module in (chest_images, chestxray):
            monkeypatch.setattr(module, name, source)
        sources = (chest_images.SAMPLE, chest_images.FIRST)
        monkeypatch.setattr(read_chest, "__defaults__", (None, sources))

    return into


def test_the_reader_without_pandas_agrees_with_the_loader(here: Path, put: Callable[..., None]) -> None:
    put("FIRST", 32, "JPEG")
    chest = read_chest()
    X, y, patients = chestxray.read_labels(here / FIRST.labels)
    assert np.array_equal(chest.tabular, X.to_numpy())
    assert np.array_equal(chest.y, y)
    assert np.array_equal(chest.patients, patients)
    assert chest.images.shape == (40, 32, 32)
    assert chest.substitute == FIRST.substitute
    assert len(read_chest(7).y) == len(read_chest(7).images) == 7


def test_the_papers_images_are_used_where_they_are(here: Path, put: Callable[..., None]) -> None:
    put("FIRST", 32, "JPEG")
    put("SAMPLE", 64, "PNG", "sample/images/")
    chest = read_chest()
    assert chest.substitute == ""
    assert chest.images.shape == (40, 32, 32)  # brought to the side the backbone takes
    data = chestxray.load_chest()
    assert (data.name, data.substitute, data.X.shape) == ("ChestXRay", "", (40, 12))
    (kept,) = (here / "build" / "paper").glob("chest_features_*.npy")
    kept.write_bytes(kept.read_bytes()[:-8] + np.float64(7.0).tobytes())
    assert chestxray.load_chest().X.to_numpy()[-1, -1] == 7.0  # not computed again
    (here / SAMPLE.images).unlink()
    assert read_chest().substitute == FIRST.substitute


def test_a_sample_without_all_of_its_images_is_damaged_not_replaced(here: Path, put: Callable[..., None]) -> None:
    put("FIRST", 32, "JPEG")
    put("SAMPLE", 64, "PNG")
    with zipfile.ZipFile(here / SAMPLE.images, "w") as archive:
        archive.writestr("notes.txt", "no images")
    for load in (read_chest, chestxray.load_chest):
        with pytest.raises(DamagedDataError, match=r"must hold an image for each label; 40 of 40 are not there"):
            load()


def test_images_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        for value in (3, 1, 2):
            raw = io.BytesIO()
            Image.fromarray(np.full((4, 4), value, dtype=np.uint8)).convert("RGBA").save(raw, "PNG")
            archive.writestr(f"a/{value}.png", raw.getvalue())
    assert read_images(tmp_path / "z.zip", ["1.png", "2.png", "3.png"])[:, 0, 0].tolist() == [1, 2, 3]


def test_patients_are_on_one_side() -> None:
    patients = np.arange(40) // 2
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


def test_features_do_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    images = np.random.default_rng(0).integers(0, 256, (5, 32, 32), dtype=np.uint8)
    network = ResNet18((4, 4, 8, 8))
    monkeypatch.setattr(features, "read_backbone", lambda: network)
    assert np.allclose(features.features(images)[:2], features.features(images[:2]), atol=1e-5)


def test_the_fast_run_is_a_task_of_the_runner_and_its_head_is_certified(
    here: Path, put: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    put("FIRST", 128, "JPEG")
    assert run("end_to_end", fast=True, figures_only=False) == "done", capsys.readouterr().out
    numbers = read_results("end_to_end", fast=True)["numbers"]
    assert (numbers["device"], numbers["rows"], numbers["substitute"]) == ("CPU", 40, FIRST.substitute)
    (ours,), (theirs,) = numbers[OURS], numbers[THEIRS]
    assert ours["honest"] <= ours["paper"]
    assert ours["honest"] == ours["test"][ours["epoch"] - 1]
    assert ours["epoch"] - 1 == int(np.argmax(ours["validation"]))
    head = ours["certificate"]
    assert head["answer"].startswith("PROVED: real+ordered")
    assert (head["lower"], head["upper"]) == ([0.0, 0.0], [1.0, 1.0])
    assert head["parameters"] == (4 + 8) * 2 + 2 + 6 + 3
    assert "certificate" not in theirs
    table = tables(numbers)["table_end_to_end"]
    assert "end to end (substitute) | 1043 |" in table
    assert "1 of 1 heads certified" in table
    assert "70.0 ± 1.4" not in table  # a substitute is not set beside the paper's number
    assert "70.0 ± 1.4" in tables({**numbers, "substitute": ""})["table_end_to_end"]


def test_without_a_gpu_the_full_run_is_skipped_with_what_to_do(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("end_to_end", fast=False, figures_only=False) == "skipped"
    said = capsys.readouterr().out
    assert "trained on a CUDA GPU; torch finds none on this machine; run `python paper/run.py end_to_end` where" in said
    with pytest.raises(MissingDataError, match=r"nih_first4999_labels\.csv is needed"):
        experiment.main(fast=True)


def test_committed_heads_are_certified_and_no_larger_than_the_papers() -> None:
    numbers = read_results("end_to_end")["numbers"]
    assert len(numbers[OURS]) == len(numbers[THEIRS]) == numbers["seeds"]
    for row in numbers[OURS]:
        assert row["certificate"]["answer"].startswith("PROVED")
        assert row["certificate"]["parameters"] <= 1043
