"""ChestXRay (NIH ChestX-ray14): is there a finding? Two constrained features: follow-up number and age.

The paper used the 5,606 images of the public "sample", with features of a ResNet18: where its images are here, so are
they. SUBSTITUTE: the first 4,999 images of the whole set at 224 x 224, and their 512 ResNet18 features.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper.datasets.chest_images import FIRST, SAMPLE, Source, read_images, years
from paper.datasets.data_set import DataSet
from paper.datasets.files import check_digest, find, first_found, read

__all__ = ["TABULAR", "load_chest", "load_chest_labels", "load_chest_sample", "load_chest_substitute", "read_labels"]

TABULAR = ["Follow-up #", "Patient Age", "Patient Gender", "View Position"]
DIRECTIONS = {"Follow-up #": 1, "Patient Age": 1}
FEATURES = (
    "run an ImageNet-trained ResNet18 without its last layer in eval mode over the first 4,999 images, and save the "
    "array (4999, 512) as `eval_mode`."
)
FEATURE_DIGESTS = {
    "eval_mode": "6194e5be07e585f48740e4fbc418cd3c58c3ddb0c88ff507e3022130d8a3a04e",
    "train_mode_bs128": "9af3cd83f6ce688c0505cd9b081cef09c748e1aed48449ffcac8cddd5b8bee8c",
}
Labels = tuple[pd.DataFrame, NDArray[np.float64], NDArray[np.int64]]


def read_labels(path: Path) -> Labels:
    """(four tabular features, finding or not, patient of each image); ages in years whatever their unit."""
    frame = pd.read_csv(path, usecols=["Image Index", "Finding Labels", "Patient ID", *TABULAR])
    X = pd.DataFrame(
        {
            "Follow-up #": frame["Follow-up #"].astype(float),
            "Patient Age": [years(age) for age in frame["Patient Age"].astype(str)],
            "Patient Gender": (frame["Patient Gender"] == "M").astype(float),
            "View Position": (frame["View Position"] == "PA").astype(float),
        },
    )
    return X, (frame["Finding Labels"] != "No Finding").to_numpy(float), frame["Patient ID"].to_numpy(np.int64)


def load_chest() -> DataSet:
    """The paper's sample where its images are here, else the substitute."""
    return first_found("ChestXRay", load_chest_sample, load_chest_substitute)


def load_chest_sample() -> DataSet:
    """The paper's 5,606 rows: four tabular features and 512 of its images; groups: patients."""
    X, y, patients = _labels(SAMPLE)
    archive = find(SAMPLE.images, SAMPLE.how_images)
    labels = find(SAMPLE.labels, SAMPLE.how_labels)
    names = pd.read_csv(labels, usecols=["Image Index"])["Image Index"].astype(str).tolist()
    from paper.end_to_end.features import kept_features  # torch, and only where there are images

    features = kept_features(archive, lambda: read(SAMPLE.images, SAMPLE.how_images, _reader(names)))
    return _joined("ChestXRay", X, y, patients, features, SAMPLE.substitute)


def _reader(names: list[str]) -> object:
    return lambda path: read_images(path, names, SAMPLE.side)


def load_chest_labels() -> DataSet:
    """The four tabular features of the substitute."""
    return _joined("ChestXRay substitute, tabular", *_labels(FIRST), None, FIRST.substitute)


def load_chest_substitute(mode: str = "eval_mode") -> DataSet:
    """Four tabular and 512 image features of the first 4,999 NIH images; groups: patients."""
    X, y, patients = _labels(FIRST)
    features = read("chestxray/resnet18_features_fp16.npz", FEATURES, lambda path: _features(path, mode))
    return _joined("ChestXRay substitute", X, y, patients, features, FIRST.substitute)


def _labels(source: Source) -> Labels:
    return read(source.labels, source.how_labels, lambda path: _checked(path, source.digest))


def _checked(path: Path, known: str) -> Labels:
    X, y, patients = read_labels(path)
    check_digest("ChestXRay", np.c_[X, y, patients], known)
    return X, y, patients


def _features(path: Path, mode: str) -> NDArray[np.float64]:
    with np.load(path, allow_pickle=False) as arrays:
        features: NDArray[np.float64] = arrays[mode].astype(np.float64)
    check_digest(f"ResNet18 features, {mode}", features, FEATURE_DIGESTS[mode])
    return features


def _joined(
    name: str, X: pd.DataFrame, y: NDArray[np.float64], patients: NDArray[np.int64],
    features: NDArray[np.float64] | None, substitute: str,
) -> DataSet:  # fmt: skip
    if features is not None:
        images = pd.DataFrame(features, columns=[f"image {k}" for k in range(features.shape[1])])
        X = pd.concat([X, images], axis=1)
    facts = {"patients": len(np.unique(patients))}
    return DataSet(name, X, y, DIRECTIONS, True, groups=patients, substitute=substitute, facts=facts)
