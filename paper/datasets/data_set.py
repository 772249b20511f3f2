"""A data set as every experiment sees it: a table with names, a target, directions by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper.datasets.files import digest

__all__ = ["DataSet"]


@dataclass(frozen=True)
class DataSet:
    """X: (n, d), numbers only. y: (n,), numbers or classes 0 and 1. cst: {feature: -1 or +1}, asserted by name.

    test: row numbers of the published test set, where there is one (training rows are the others, in order).
    groups: rows of one group (a patient, a day) must not be torn apart; None where there are none.
    substitute: what stands in for the paper's data; empty where it is the paper's.
    """

    name: str
    X: pd.DataFrame
    y: NDArray[np.float64]
    cst: dict[str, int]
    classes: bool
    test: NDArray[np.int64] | None = None
    groups: NDArray[np.int64] | None = None
    substitute: str = ""
    facts: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        absent = [name for name in self.cst if name not in self.X]
        if absent or not all(sign in (-1, 1) for sign in self.cst.values()):
            raise ValueError(f"constrained columns of {self.name} must be there by name; no {absent}; check the file.")
        numbers = self.X.to_numpy(dtype=np.float64)
        if len(numbers) != len(self.y) or not np.isfinite(numbers).all() or not np.isfinite(self.y).all():
            raise ValueError(
                f"{self.name} must be a table of finite numbers with a target for each row; check the file."
            )
        if self.classes and not set(np.unique(self.y)) <= {0.0, 1.0}:
            raise ValueError(f"classes of {self.name} must be 0 and 1; got {np.unique(self.y)[:5]}; check the file.")

    @property
    def signs(self) -> NDArray[np.int64]:
        """-1, 0, +1 for each column."""
        return np.array([self.cst.get(name, 0) for name in self.X], dtype=np.int64)

    @property
    def train(self) -> NDArray[np.int64]:
        """Rows that are not in the published test set, in order."""
        if self.test is None:
            raise ValueError(f"{self.name} has no published split; split it yourself.")
        return np.setdiff1d(np.arange(len(self.y)), self.test)

    @cached_property
    def digest(self) -> str:
        """Of everything a model can see of it; names of columns included."""
        parts = [self.X, self.y, self.signs, *(part for part in (self.test, self.groups) if part is not None)]
        return " ".join([*(digest(part)[:12] for part in parts), *map(str, self.X)])

    def describe(self) -> dict[str, float]:
        """Rows, columns, constrained columns and the balance of the label (or mean and deviation of the target)."""
        label = {"positive": float(self.y.mean())} if self.classes else {"mean": self.y.mean(), "sd": self.y.std()}
        return {
            "rows": len(self.y),
            "columns": self.X.shape[1],
            "constrained": len(self.cst),
            **{key: float(value) for key, value in label.items()},
            **self.facts,
        }
