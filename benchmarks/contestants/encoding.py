"""Inputs for models that know numbers only: one-hot categories, medians for missing values, standardised columns."""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["Encoding"]


class Encoding:
    """Statistics of the training rows; `directions` per encoded column (constrained features are numbers here)."""

    def __init__(self, X: pd.DataFrame, cst: dict[str, int]) -> None:
        numbers = X.select_dtypes("number")
        self.gaps = [c for c in numbers if numbers[c].isna().any()]
        self.median = numbers.median()
        raw = self._raw(X)
        self.mean, self.scale = raw.mean(axis=0), raw.std(axis=0)
        self.scale[self.scale == 0] = 1.0
        self.directions = np.array([cst.get(c, 0) for c in self.columns])

    def _raw(self, X: pd.DataFrame) -> np.ndarray:
        gaps = {f"{c} is missing": X[c].isna().astype(float) for c in self.gaps}
        table = pd.get_dummies(X.assign(**X[list(self.median.index)].fillna(self.median)), dtype=float)
        table = pd.concat([table, pd.DataFrame(gaps, index=X.index)], axis=1)
        self.columns = list(table)
        return table.to_numpy(dtype=float)

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        """(n, columns), clipped at 8 standard deviations so that one outlier cannot ruin a prediction."""
        return np.asarray(np.clip((self._raw(X) - self.mean) / self.scale, -8, 8))
