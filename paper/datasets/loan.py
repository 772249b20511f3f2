"""LoanDefaulter: the authors' private file `preprocessed.csv` (488,909 loans, 28 features), read by name.

The file is not public. The loader is tested on generated files of the same schema: a row number, the 28 features with
grade as a letter and emp_length as text, and the outcome (1: defaulted) in the last column.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper.datasets.data_set import DataSet
from paper.datasets.files import read

__all__ = ["DIRECTIONS", "GRADES", "YEARS", "load_loan", "published_test", "read_loan"]

HOW = "ask the authors of Liu et al. 2020 for the file preprocessed.csv and save it under that name."
DIRECTIONS = {"pub_rec_bankruptcies": 1, "dti": 1, "grade": -1, "emp_length": -1, "annual_inc": -1}
GRADES = dict(zip("ABCDEFG", range(7, 0, -1), strict=True))
YEARS = {"< 1 year": 1, "1 year": 2, **{f"{k} years": k + 1 for k in range(2, 10)}, "10+ years": 11}
N_FEATURES = 28


def load_loan() -> DataSet:
    return read("loan_defaulter/preprocessed.csv", HOW, read_loan)


def read_loan(path: Path) -> DataSet:
    """Rows without pub_rec_bankruptcies or emp_length are dropped first; then the split is 80 to 20."""
    frame = pd.read_csv(path, index_col=0)
    missing = [name for name in DIRECTIONS if name not in frame]
    if missing or frame.shape[1] != N_FEATURES + 1:
        raise ValueError(
            f"{path.name} must hold a row number, 28 features and the outcome; got {frame.shape[1]} columns, without "
            f"{missing}; check that it is the authors' file."
        )
    frame = frame.assign(
        grade=_numbers(frame["grade"], GRADES, "grade"), emp_length=_numbers(frame["emp_length"], YEARS, "emp_length")
    )
    frame = frame.dropna(subset=["pub_rec_bankruptcies", "emp_length"]).reset_index(drop=True)
    X, y = frame.iloc[:, :N_FEATURES].astype(float), frame.iloc[:, N_FEATURES].to_numpy(float)
    return DataSet("LoanDefaulter", X, y, DIRECTIONS, True, published_test(len(y)))


def published_test(n: int) -> NDArray[np.int64]:
    """The last fifth of the shuffle of the published loader (its own order; see what_was_wrong for its sizes)."""
    order = np.arange(n)
    np.random.RandomState(78712).shuffle(order)
    return order[int(n * 0.8) :]


def _numbers(column: pd.Series, meaning: dict[str, int], name: str) -> pd.Series:
    """Words as numbers; what is missing stays so, what is unknown is refused."""
    found = column.map(meaning)
    strange = column[found.isna() & column.notna()]
    if len(strange):
        raise ValueError(f"{name} must be one of {list(meaning)}; got {strange.iloc[0]!r}; check the file.")
    return found.astype(float)
