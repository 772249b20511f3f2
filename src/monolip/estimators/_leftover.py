"""What a function leaves over in every row, and how much of a second one that learned it is worth adding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from monolip.estimators._targets import read_offsets, read_weights

__all__ = ["Leftover", "best_share", "is_hopeless"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]
SHARES = (0.25, 0.5, 0.75, 1.0)
FLATTEST = 0.02  # curvature of the log-loss by which a residual is divided, at least: sure rows would count for all
FEWEST = 4  # rows of a class in every part


@dataclass(frozen=True)
class Leftover:
    """y: numbers, or 1 for rows of the second class; weight: of the rows; shift: added to every function of them."""

    y: FloatArray
    weight: FloatArray
    shift: FloatArray
    is_class: bool

    @classmethod
    def of(cls, y: Any, classes: NDArray[Any] | None, sample_weight: Any, offset: Any) -> Leftover:
        values = column_or_1d(y)
        values = np.asarray(values if classes is None else values == classes[1], dtype=np.float64)
        weight, shift = read_weights(sample_weight, len(values)), read_offsets(offset, len(values))
        ones, nothing = np.ones(len(values)), np.zeros(len(values))
        found = ones if weight is None else weight, nothing if shift is None else shift
        return cls(values, *found, classes is not None)

    def after(self, f: FloatArray, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """What f leaves over in some rows, and their weights: of log-odds one Newton step each."""
        y, f = self.y[rows], f[rows] + self.shift[rows]
        if not self.is_class:
            return y - f, self.weight[rows]
        p = 0.5 + 0.5 * np.tanh(0.5 * f)
        curvature = np.maximum(p * (1.0 - p), FLATTEST)
        return (y - p) / curvature, self.weight[rows] * curvature

    def losses(self, f: FloatArray) -> FloatArray:
        """Of each row, weighted."""
        f = f + self.shift
        each = np.logaddexp(0.0, (1.0 - 2.0 * self.y) * f) if self.is_class else np.square(self.y - f)
        return np.asarray(self.weight * each)

    def gains(self, f: FloatArray, g: FloatArray, share: float) -> FloatArray:
        """What each row gains by that share of g."""
        return self.losses(f) - self.losses(f + share * g)

    def parts(self, count: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
        """(rows kept, rows held out), once for every part; none where there are too few rows to judge by."""
        fewest = min(np.count_nonzero(self.y), np.count_nonzero(self.y == 0)) if self.is_class else len(self.y)
        if fewest < FEWEST * count:
            return iter(())
        from sklearn.model_selection import KFold, StratifiedKFold  # slow to import

        kind = StratifiedKFold if self.is_class else KFold
        return iter(kind(count, shuffle=True, random_state=seed).split(self.y, self.y))


def best_share(left: Leftover, f: FloatArray, g: FloatArray) -> tuple[float, float]:
    """(share, part of the loss gained): the share of g with the least loss, if that is no chance; else nothing."""
    found = {share: left.gains(f, g, share) for share in SHARES}
    share = max(found, key=lambda s: float(found[s].sum()))
    if not float(found[share].sum()) > _standard_error(found[share]):  # or it is no number
        return 0.0, 0.0
    return share, float(found[share].sum() / left.losses(f).sum())


def is_hopeless(left: Leftover, f: FloatArray, g: FloatArray, rows: Rows) -> bool:
    """Whether these rows alone say that even the least share of g does harm."""
    gain = left.gains(f, g, SHARES[0])[rows]
    return float(gain.sum()) < -2.0 * _standard_error(gain)  # one part of few rows may be unlucky


def _standard_error(gain: FloatArray) -> float:
    """Of the sum."""
    return float(np.std(gain) * np.sqrt(len(gain)))
