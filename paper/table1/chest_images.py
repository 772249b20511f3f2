"""Images and labels of the ChestXRay substitute for the end-to-end run: standard library, numpy and Pillow only.

(The machine with the accelerator has no pandas; a test compares this reader with paper/datasets/chestxray.py.)
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

__all__ = ["Chest", "patient_split", "read_chest"]

DAYS = {"Y": 1.0, "M": 12.0, "D": 365.25}


class Chest(NamedTuple):
    """images: (n, h, w) grey bytes. tabular: (n, 4) follow-up number, age, male, PA view. y: finding or not."""

    images: NDArray[np.uint8]
    tabular: NDArray[np.float64]
    y: NDArray[np.float64]
    patients: NDArray[np.int64]


def read_chest(folder: Path, limit: int | None = None) -> Chest:
    """From nih_first4999_labels.csv and images224_jpeg80.zip in `folder`, in the order of the labels."""
    with (folder / "nih_first4999_labels.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))[:limit]
    tabular = np.array([_tabular(row) for row in rows])
    y = np.array([float(row["Finding Labels"] != "No Finding") for row in rows])
    patients = np.array([int(row["Patient ID"]) for row in rows])
    with zipfile.ZipFile(folder / "images224_jpeg80.zip") as archive:
        raw = [archive.read(Path(row["Image Index"]).stem + ".jpg") for row in rows]
    with ThreadPoolExecutor() as pool:
        images = np.stack(list(pool.map(_grey, raw)))
    return Chest(images, tabular, y, patients)


def _tabular(row: dict[str, str]) -> list[float]:
    age = row["Patient Age"]
    years = float(age) if age[-1].isdigit() else float(age[:-1]) / DAYS[age[-1].upper()]
    return [float(row["Follow-up #"]), years, float(row["Patient Gender"] == "M"), float(row["View Position"] == "PA")]


def _grey(raw: bytes) -> NDArray[np.uint8]:
    from PIL import Image

    return np.array(Image.open(io.BytesIO(raw)).convert("L"))


def patient_split(patients: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], ...]:
    """(train, validation, test) rows, about 64, 16 and 20 %; all images of a patient are on one side."""
    names = np.unique(patients)
    order = np.random.default_rng(seed).permutation(names)
    ends = [int(0.64 * len(names)), int(0.8 * len(names))]
    parts = np.split(order, ends)
    return tuple(np.flatnonzero(np.isin(patients, part)) for part in parts)
