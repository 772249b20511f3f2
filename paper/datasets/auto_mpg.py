"""AutoMPG: UCI, 392 of 398 cars (six without horsepower), seven features; and the splits of the paper's script."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper.datasets.data_set import DataSet
from paper.datasets.files import check_digest, read

__all__ = ["load_auto_mpg", "published_splits", "read_auto_mpg"]

URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/auto-mpg/auto-mpg.data"
DIGEST = "bb7608134fc947876bef23dc5dcde48a06df95f594d4ce35f55ef981417e50fa"
COLUMNS = ["mpg", "cylinders", "displacement", "horsepower", "weight", "acceleration", "model year", "origin"]


def load_auto_mpg() -> DataSet:
    """392 rows, 7 columns, mpg decreasing in displacement, horsepower and weight."""
    how = f"download {URL} to that name (the table, or a CSV file with a header)."
    frame = read("auto_mpg/auto-mpg.csv", how, _checked, URL)
    falling = dict.fromkeys(["displacement", "horsepower", "weight"], -1)
    return DataSet("AutoMPG", frame[COLUMNS[1:]], frame["mpg"].to_numpy(), falling, False)


def _checked(path: Path) -> pd.DataFrame:
    frame = read_auto_mpg(path)
    check_digest("AutoMPG", frame, DIGEST)
    return frame


def read_auto_mpg(path: Path) -> pd.DataFrame:
    """mpg and the seven features; UCI's own format (blanks between columns, no header) or a CSV file."""
    with path.open(encoding="utf-8") as lines:
        has_header = lines.readline().startswith("mpg")
    if has_header:
        frame = pd.read_csv(path, usecols=COLUMNS)[COLUMNS]
    else:
        frame = pd.read_csv(path, sep=r"\s+", header=None, names=[*COLUMNS, "name"], quotechar='"')[COLUMNS]
    frame = frame[frame["horsepower"].astype(str) != "?"]
    return frame.astype(float).reset_index(drop=True)


def published_splits(n: int, seeds: int = 3) -> list[NDArray[np.int64]]:
    """Test rows of each seed in the paper's script: torch permutations, each of the rows as the last one left them."""
    import torch

    order, tests = np.arange(n), []
    for seed in range(seeds):
        torch.manual_seed(seed)
        order = order[torch.randperm(n).numpy()]
        tests.append(order[int(0.8 * n) :].copy())
    return tests
