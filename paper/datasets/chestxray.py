"""ChestXRay (NIH ChestX-ray14): is there a finding? Two constrained features: follow-up number and age.

The paper used the 5,606 images of the public "sample"; its labels are read here, its images where they are. SUBSTITUTE:
the first 4,999 images of the whole set at 224 x 224, and their 512 ResNet18 features.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper.datasets.data_set import DataSet
from paper.datasets.files import check_digest, read

__all__ = ["TABULAR", "load_chest_labels", "load_chest_sample", "load_chest_substitute", "read_labels"]

TABULAR = ["Follow-up #", "Patient Age", "Patient Gender", "View Position"]
DIRECTIONS = {"Follow-up #": 1, "Patient Age": 1}
SAMPLE = "download the set nih-chest-xrays/sample of kaggle.com and save its sample_labels.csv under that name."
WHOLE = "take the first 4,999 rows of NIH's Data_Entry_2017.csv (nihcc.app.box.com) and save them under that name."
FEATURES = (
    "run an ImageNet-trained ResNet18 without its last layer in eval mode over the first 4,999 images, and save the "
    "array (4999, 512) as `eval_mode`."
)
SAMPLE_DIGEST = "fe9502788cd9986dfd8422cbc2170b153b0dcc7af92025c1a0e5d5daaf2a0913"
DIGEST = "bfa1659de3c577f2760e7681f0d67910b4c8dc944769ab7f99a727fd553cb431"
FEATURE_DIGESTS = {
    "eval_mode": "6194e5be07e585f48740e4fbc418cd3c58c3ddb0c88ff507e3022130d8a3a04e",
    "train_mode_bs128": "9af3cd83f6ce688c0505cd9b081cef09c748e1aed48449ffcac8cddd5b8bee8c",
}
Labels = tuple[pd.DataFrame, NDArray[np.float64], NDArray[np.int64]]
DAYS = {"Y": 1.0, "M": 12.0, "D": 365.25}


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


def years(age: str) -> float:
    """'060Y' -> 60, '018M' -> 1.5; a bare number counts as years."""
    unit = age[-1].upper()
    return float(age) if unit.isdigit() else float(age[:-1]) / DAYS[unit]


def load_chest_sample(features: NDArray[np.float64] | None = None) -> DataSet:
    """The paper's 5,606 rows; `features` of its images, (5606, k), where somebody has them."""
    X, y, patients = read("chestxray/sample_labels.csv", SAMPLE, lambda path: _checked(path, SAMPLE_DIGEST))
    return _joined("ChestXRay", X, y, patients, features, "")


def load_chest_labels() -> DataSet:
    """The four tabular features of the substitute."""
    X, y, patients = read("chestxray/nih_first4999_labels.csv", WHOLE, lambda path: _checked(path, DIGEST))
    return _joined("ChestXRay substitute, tabular", X, y, patients, None, "the first 4,999 NIH images")


def load_chest_substitute(mode: str = "eval_mode") -> DataSet:
    """Four tabular and 512 image features of the first 4,999 NIH images; groups: patients."""
    X, y, patients = read("chestxray/nih_first4999_labels.csv", WHOLE, lambda path: _checked(path, DIGEST))
    features = read("chestxray/resnet18_features_fp16.npz", FEATURES, lambda path: _features(path, mode))
    return _joined("ChestXRay substitute", X, y, patients, features, "the first 4,999 NIH images")


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
