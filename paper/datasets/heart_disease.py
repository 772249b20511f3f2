"""HeartDisease: UCI Cleveland, as Sivaraman et al. 2020 split it; the first, unnamed column is a row number."""

from __future__ import annotations

import numpy as np
import pandas as pd

from paper.datasets.data_set import DataSet
from paper.datasets.files import check_digest, read

__all__ = ["load_heart_disease", "read_heart_disease"]

SOURCE = "https://raw.githubusercontent.com/AishwaryaSivaraman/COMET/a747565f275fa01d2117f449ef7ccb1ff7e3d61c/examples"
DIGEST = "7048ce0aae74af0614bc874e731148fe9369a63e4ffd6d6829d1a9234d440ffa"
COLUMNS = [
    "age",
    "sex",
    "cp",
    "trestbps",
    "chol",
    "fbs",
    "restecg",
    "thalach",
    "exang",
    "oldpeak",
    "slope",
    "ca",
    "thal",
]


def load_heart_disease() -> DataSet:
    """303 rows, 13 columns, increasing in trestbps and chol, 83 positive; test: the published 61 rows."""
    frames = []
    for part in ("train", "test"):
        url = f"{SOURCE}/Heart/{part}_data.csv"
        frames.append(read(f"heart_disease/heart_{part}.csv", f"download {url} to that name.", read_heart_disease, url))
    both = pd.concat(frames, ignore_index=True)
    check_digest("HeartDisease", both, DIGEST)
    test = np.arange(len(frames[0]), len(both))
    return DataSet(
        "HeartDisease", both[COLUMNS], both["target"].to_numpy(float), {"trestbps": 1, "chol": 1}, True, test
    )


def read_heart_disease(path: object, *, with_row_number: bool = False) -> pd.DataFrame:
    """The 13 features and the target; with the row number as a feature only to show what the original did."""
    frame = pd.read_csv(path, index_col=None if with_row_number else 0)
    missing = [name for name in [*COLUMNS, "target"] if name not in frame]
    if missing:
        raise ValueError(f"the table must hold 13 features and the target; {missing[:3]} are not there; get it again.")
    return frame.rename(columns={"Unnamed: 0": "row number"}).astype(float)
