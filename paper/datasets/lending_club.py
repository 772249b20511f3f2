"""SUBSTITUTE for LoanDefaulter: real Lending Club loans of 2007-2011, 28 features known when the loan was made.

Columns that are known only later (payments, recoveries, settlements, last credit pull) leak the outcome and are not
read. Classes are balanced by drawing as many paid loans as defaulted ones, so that accuracy is balanced accuracy.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from paper.datasets.data_set import DataSet
from paper.datasets.files import check_digest, read
from paper.datasets.loan import DIRECTIONS, GRADES, YEARS

__all__ = ["load_lending_club", "read_lending_club"]

HOW = (
    "get the data of github.com/kuhnrl30/LendingClubData (MIT), stack the years 2007 to 2011 and save them as Parquet "
    "under that name."
)
DIGEST = "db4b1ecf40ae2e5ff9cf9926387e531e5781176f2aceac9e46ba436192538b4a"
AMOUNTS = ["loan_amnt", "term", "int_rate", "installment", "revol_bal", "revol_util"]
COUNTS = ["delinq_2yrs", "inq_last_6mths", "open_acc", "pub_rec", "total_acc"]
WORDS = {
    "home_ownership": ["RENT", "MORTGAGE", "OWN"],
    "verification_status": ["Verified", "Source Verified"],
    "purpose": ["debt_consolidation", "credit_card", "other", "home_improvement", "small_business", "major_purchase"],
}
DATES = ["issue_d", "earliest_cr_line"]


def load_lending_club() -> DataSet:
    return balanced(*read("lending_club/lc_2007_2011.parquet", HOW, _checked))


def _checked(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = read_lending_club(path)
    check_digest("Lending Club", np.c_[X, y], DIGEST)
    return X, y


def read_lending_club(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """28 columns and whether the loan was charged off; rows with a missing value are dropped (4 %)."""
    read = [*DIRECTIONS, *AMOUNTS, *COUNTS, *WORDS, *DATES, "loan_status"]
    frame = pd.read_parquet(path, columns=read).astype(dict.fromkeys(DIRECTIONS, object))
    X = pd.DataFrame(index=frame.index)
    X["grade"] = frame["grade"].map(GRADES)
    X["emp_length"] = frame["emp_length"].map(YEARS)
    for name in ["pub_rec_bankruptcies", "annual_inc", "dti", *AMOUNTS, *COUNTS]:
        X[name] = pd.to_numeric(frame[name].astype(object), errors="coerce")
    issued, first = (pd.to_datetime(frame[name].astype(object)) for name in DATES)
    X["credit_years"] = (issued - first).dt.days / 365.25
    for column, values in WORDS.items():
        for value in values:
            X[f"{column}={value}"] = (frame[column].astype(str) == value).astype(float)
    y = frame["loan_status"].astype(str).str.endswith("Charged Off").to_numpy(float)
    whole = X.astype(float).notna().all(axis=1).to_numpy()
    return X[whole].astype(float).reset_index(drop=True), y[whole]


def balanced(X: pd.DataFrame, y: np.ndarray, seed: int = 0) -> DataSet:
    """Every defaulted loan and as many paid ones."""
    bad, good = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    rows = np.sort(np.r_[bad, np.random.default_rng(seed).choice(good, len(bad), replace=False)])
    facts = {"rows before balancing": len(y), "positive before balancing": float(y.mean())}
    return DataSet(
        "LoanDefaulter substitute (Lending Club 2007-2011)", X.iloc[rows].reset_index(drop=True), y[rows], DIRECTIONS,
        True, substitute="real Lending Club loans of 2007-2011, balanced", facts=facts,
    )  # fmt: skip
