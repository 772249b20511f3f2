"""COMPAS: two-year recidivism, ProPublica's file and filter; the published split of Liu et al. 2020.

Only the columns below are read: the public file also holds names and birth dates, which nobody needs here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper.datasets.data_set import DataSet
from paper.datasets.files import check_digest, read

__all__ = ["load_compas", "read_compas"]

URL = "https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv"
DIGEST = "378ed79144bb7122f76fd04864437433a7ad31d1eaa93da56e64d488dc5f8857"
COUNTS = ["priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count"]  # increasing
RACES = ["African-American", "Hispanic", "Asian", "Caucasian", "Native American", "Other"]
SEXES = ["Male", "Female"]
FILTER = ["days_b_screening_arrest", "is_recid", "c_charge_degree", "score_text"]
SPLIT_SEED = 78712


def load_compas() -> DataSet:
    """6172 rows, 13 columns (race and sex one-hot), 45.5 % positive; test: the published 1235 rows."""
    X, y = read("compas/compas_scores_two_years.csv", f"download {URL} to that name.", _checked, URL)
    return DataSet("COMPAS", X, y, dict.fromkeys(COUNTS, 1), True, published_test(len(y)))


def _checked(path: Path) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    X, y = read_compas(path)
    check_digest("COMPAS", np.c_[X, y], DIGEST)
    return X, y


def read_compas(path: Path) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """ProPublica's filter; counts, age and one-hot race and sex as numbers."""
    frame = pd.read_csv(path, usecols=[*COUNTS, "age", "race", "sex", "two_year_recid", *FILTER], keep_default_na=False)
    days = pd.to_numeric(frame["days_b_screening_arrest"], errors="coerce")
    good = days.between(-30, 30) & (frame["is_recid"] != -1)
    good &= (frame["c_charge_degree"] <= "O") & (frame["score_text"] != "N/A")
    frame = frame[good].reset_index(drop=True)
    unknown = set(frame["race"]) - set(RACES) | set(frame["sex"]) - set(SEXES)
    if unknown:
        raise ValueError(f"race and sex must be those of ProPublica's file; got {sorted(unknown)}; check the file.")
    X = frame[[*COUNTS, "age"]].astype(float)
    for column, values in (("race", RACES), ("sex", SEXES)):
        for value in values:
            X[f"{column}={value}"] = (frame[column] == value).astype(float)
    return X, frame["two_year_recid"].to_numpy(dtype=float)


def published_test(n: int) -> NDArray[np.int64]:
    """The last fifth of one fixed shuffle (Liu et al. 2020 and everyone since)."""
    order = np.arange(n)
    np.random.RandomState(SPLIT_SEED).shuffle(order)
    return order[int(n * 0.8) :]
