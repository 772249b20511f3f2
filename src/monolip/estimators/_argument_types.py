"""Types of the estimators' arguments, as type checkers and editors show them.

The values are checked in `fit`, with messages that say more than a type can; a type is for mistakes that can be seen
while a program is written. A table or a column (X, y, weights) is `Any`: every data frame and array is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Categories",
    "ClassDirections",
    "ClassSlopes",
    "Directions",
    "Missing",
    "RegressionLoss",
    "Seed",
    "SlopeCaps",
    "Slopes",
]

Integer = int | np.integer[Any]

# -1, 0 or +1: for each feature in order, or by feature
Directions = Sequence[int] | NDArray[Any] | Mapping[Any, Integer]
# the same, or by feature and class
ClassDirections = Sequence[int] | NDArray[Any] | Mapping[Any, Integer | Mapping[Any, Integer]]

# (lower, upper) by feature, in raw units
Slopes = Mapping[Any, Sequence[float]]
# the same, or by feature and class
ClassSlopes = Mapping[Any, Sequence[float] | Mapping[Any, Sequence[float]]]

# one cap in standard deviations, or caps by feature in raw units
SlopeCaps = float | Mapping[Any, float]

# names or positions, a mask, or by feature the order of its categories (None: unordered)
Categories = Sequence[str | int] | NDArray[Any] | Mapping[Any, Sequence[Any] | None]

# one for all features, or by feature (a dict's values are checked in fit)
Missing = Literal["state", "lowest", "highest"] | Mapping[Any, Literal["state", "lowest", "highest"]]

RegressionLoss = Literal[
    "squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"
]  # fmt: skip

Seed = int | np.random.RandomState
