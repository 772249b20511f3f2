"""A forest whose trees are added up in one order: the same row gives the same bits with any number of threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Forest", "grow"]

FloatArray = NDArray[np.float64]
MOST_ROWS = 65_536  # that a tree grows on


@dataclass(frozen=True)
class Forest:
    """unit: what the trees were taught in; scikit-learn's take differences of 1e-8 for none."""

    forest: Any
    unit: float

    def predict(self, x: NDArray[np.float32]) -> FloatArray:
        """Shape (n, features) -> (n,)."""
        total = np.zeros(len(x))
        for tree in self.forest.estimators_:  # its own sum is in the order in which threads come to their end
            total += tree.predict(x, check_input=False)
        return total * (self.unit / len(self.forest.estimators_))


def grow(
    x: NDArray[np.float32], y: FloatArray, weight: FloatArray, n_trees: int, min_samples_leaf: int, n_jobs: Any,
    seed: int,
) -> Forest:  # fmt: skip
    """y: what is left over, in any unit."""
    from sklearn.ensemble import ExtraTreesRegressor  # slow to import

    many, largest = len(x) > MOST_ROWS, float(np.abs(y).max(initial=0.0)) or 1.0
    unit = largest * float(np.sqrt(np.mean(np.square(y / largest)))) or 1.0
    forest = ExtraTreesRegressor(
        n_trees, min_samples_leaf=min_samples_leaf, bootstrap=many, max_samples=MOST_ROWS if many else None,
        n_jobs=n_jobs, random_state=seed,
    )  # fmt: skip
    return Forest(forest.fit(x, y / unit, weight / weight.max()), unit)
