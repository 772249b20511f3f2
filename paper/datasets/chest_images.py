"""Images and labels of ChestXRay: the paper's sample where its images are here, else the SUBSTITUTE.

Standard library, numpy and Pillow only: a machine with a GPU may lack pandas. A test compares this reader of labels
with that of chestxray.py.
"""

from __future__ import annotations

import csv
import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from paper.datasets.files import check_digest, read
from paper.missing_data import MissingDataError, check_file

__all__ = ["Chest", "Source", "patient_split", "read_chest", "read_images", "read_rows", "years"]

DAYS = {"Y": 1.0, "M": 12.0, "D": 365.25}


class Source(NamedTuple):
    """Two files and how to get them; what is known of their contents; substitute: empty where they are the paper's.

    side: images are brought to so many pixels; None: they have the right size already.
    """

    labels: str
    how_labels: str
    digest: str
    images: str
    how_images: str
    sha256: str | None
    side: int | None
    substitute: str


SAMPLE = Source(
    "chestxray/sample_labels.csv",
    "download the set nih-chest-xrays/sample of kaggle.com and save its sample_labels.csv under that name.",
    "fe9502788cd9986dfd8422cbc2170b153b0dcc7af92025c1a0e5d5daaf2a0913",
    "chestxray/sample.zip",
    "download the set nih-chest-xrays/sample of kaggle.com as one zip file and save it under that name.",
    None,
    224,
    "",
)
FIRST = Source(
    "chestxray/nih_first4999_labels.csv",
    "take the first 4,999 rows of NIH's Data_Entry_2017.csv (nihcc.app.box.com) and save them under that name.",
    "bfa1659de3c577f2760e7681f0d67910b4c8dc944769ab7f99a727fd553cb431",
    "chestxray/images224_jpeg80.zip",
    "put the first 4,999 NIH images, 224 x 224, grey, as JPEG files into a zip file of that name.",
    "239e70904fa706f102e495c20f01483917a1bce54001fc35b7453f40ef7c8167",
    None,
    "the first 4,999 NIH images",
)


class Chest(NamedTuple):
    """images: (n, h, w) grey bytes. tabular: (n, 4) follow-up number, age, male, PA view. y: finding or not."""

    images: NDArray[np.uint8]
    tabular: NDArray[np.float64]
    y: NDArray[np.float64]
    patients: NDArray[np.int64]
    substitute: str


def read_chest(limit: int | None = None, sources: tuple[Source, ...] = (SAMPLE, FIRST)) -> Chest:
    """Of the first source whose files are both here; `limit`: its first rows. None is: how to get the last one."""
    for source in sources[:-1]:
        try:
            return _read(source, limit)
        except MissingDataError:
            continue
    return _read(sources[-1], limit)


def _read(source: Source, limit: int | None) -> Chest:
    def labels(path: Path) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        found = read_rows(path)
        check_digest("ChestXRay", np.c_[found[1], found[2], found[3]], source.digest)
        return found

    names, tabular, y, patients = read(source.labels, source.how_labels, labels)
    images = read(source.images, source.how_images, lambda path: _checked_images(path, source, names[:limit]))
    return Chest(images, tabular[:limit], y[:limit], patients[:limit], source.substitute)


def _checked_images(path: Path, source: Source, names: list[str]) -> NDArray[np.uint8]:
    if source.sha256 is not None:
        check_file(path, source.sha256, "copy the file again.")
    return read_images(path, names, source.side)


def read_rows(path: Path) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """(image names, four tabular features, finding or not, patients), in the order of the file."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    tabular = np.array([_tabular(row) for row in rows])
    y = np.array([float(row["Finding Labels"] != "No Finding") for row in rows])
    return [row["Image Index"] for row in rows], tabular, y, np.array([int(row["Patient ID"]) for row in rows])


def _tabular(row: dict[str, str]) -> list[float]:
    male, frontal = row["Patient Gender"] == "M", row["View Position"] == "PA"
    return [float(row["Follow-up #"]), years(row["Patient Age"]), float(male), float(frontal)]


def years(age: str) -> float:
    """'060Y' -> 60, '018M' -> 1.5; a bare number counts as years."""
    unit = age[-1].upper()
    return float(age) if unit.isdigit() else float(age[:-1]) / DAYS[unit]


def read_images(path: Path, names: list[str], side: int | None = None) -> NDArray[np.uint8]:
    """Grey images (n, h, w) of a zip file, in the order of the names; their folder and ending do not matter."""
    with zipfile.ZipFile(path) as archive:
        places = {Path(place).stem: place for place in archive.namelist() if not place.endswith("/")}
        missing = [name for name in names if Path(name).stem not in places]
        if missing:
            raise ValueError(
                f"{path.name} must hold an image for each label; {len(missing)} of {len(names)} are not there, first "
                f"{missing[0]}; get the whole set."
            )
        raw = (archive.read(places[Path(name).stem]) for name in names)
        with ThreadPoolExecutor() as pool:
            return np.stack(list(pool.map(lambda data: _grey(data, side), raw)))


def _grey(raw: bytes, side: int | None) -> NDArray[np.uint8]:
    from PIL import Image

    image = Image.open(io.BytesIO(raw)).convert("L")
    return np.array(image if side is None else image.resize((side, side), Image.Resampling.BILINEAR))


def patient_split(patients: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], ...]:
    """(train, validation, test) rows, about 64, 16 and 20 %; all images of a patient are on one side."""
    names = np.unique(patients)
    order = np.random.default_rng(seed).permutation(names)
    ends = [int(0.64 * len(names)), int(0.8 * len(names))]
    parts = np.split(order, ends)
    return tuple(np.flatnonzero(np.isin(patients, part)) for part in parts)
