r"""From the network's output f to what is predicted, by functions that are monotone bit for bit.

    identity  f        log  e^f        logit  P = 1 / (1 + e^-f)        softmax  P_k = 1 / sum_j e^(f_j - f_k)

A library's exp need not be monotone from one float to the next. Here e^x = E_i * h(x - x_i) with a table E on a grid
of 1/64 and a polynomial h with non-negative coefficients: multiplication, addition and the clamp between two table
entries are monotone after rounding, so the composition is. Accurate to a few ulps. log x of a probability is made in
the same way, of an exact power of two and a series with positive coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import StructureError
from .input_columns import Label, plain_label

__all__ = ["OutputLink", "ordered_exp", "ordered_log", "ordered_sigmoid"]

FloatArray = NDArray[np.float64]
LINKS = ("identity", "log", "logit", "softmax")
_LN2 = math.log(2.0)
_LIMIT, _GRID = 708.0, 64.0  # e^708 is the last power a float holds with room to spare


@cache
def _table() -> FloatArray:
    steps = np.arange(-_LIMIT * _GRID, _LIMIT * _GRID + 2) / _GRID
    return np.maximum.accumulate([math.exp(x) for x in steps])


def ordered_exp(x: ArrayLike) -> FloatArray:
    """e^x, non-decreasing bit for bit; beyond +-708 it counts as e^(+-708), so it is positive and finite.

    >>> ordered_exp([0.0, 1.0]), bool(ordered_exp(-1e9) > 0)
    (array([1.        , 2.71828183]), True)
    """
    near = np.clip(np.asarray(x, dtype=np.float64), -_LIMIT, _LIMIT)
    cell = np.floor(near * _GRID)  # exact: a power of two
    t = near - cell / _GRID
    h = 1.0 + t * (1.0 + t * (1 / 2 + t * (1 / 6 + t * (1 / 24 + t * (1 / 120 + t / 720)))))
    at = cell.astype(np.int64) + int(_LIMIT * _GRID)
    table = _table()
    return np.asarray(np.clip(table[at] * h, table[at], table[at + 1]))


def ordered_sigmoid(f: ArrayLike) -> FloatArray:
    """1 / (1 + e^-f), non-decreasing bit for bit."""
    return np.asarray(1.0 / (1.0 + ordered_exp(-np.asarray(f, dtype=np.float64))))


def ordered_log(x: ArrayLike) -> FloatArray:
    """log x of numbers >= 0, non-decreasing bit for bit; -inf of 0 and exactly 0 of 1.

    x = m 2^e with 1/2 <= m < 1, and  log m = -2 (t + t^3/3 + t^5/5 + ...)  with t = (1 - m) / (1 + m): where m rises,
    every number in between moves one way, after rounding as well. The lowest m of a power of two has that power's own
    logarithm, below which the others are not let.

    >>> ordered_log([0.0, 0.5, 1.0])
    array([       -inf, -0.69314718,  0.        ])
    """
    m, power = np.frexp(np.asarray(x, dtype=np.float64))
    t = (1.0 - m) / (1.0 + m)
    square = t * t
    series = np.zeros_like(t)
    for k in range(35, 0, -2):  # t is at most 1/3, so the first term left out is below 1e-17 of the sum
        series = 1.0 / k + square * series
    least = (power - 1) * _LN2
    found = np.where(m == 0.5, least, np.maximum(power * _LN2 - 2.0 * t * series, least))
    return np.where(m == 0.0, -np.inf, found)


@dataclass(frozen=True)
class OutputLink:
    """What the outputs of a network mean.

    Args:
        name: "identity", "log" (positive predictions), "logit" (two classes) or "softmax" (one output per class).
        labels: the class labels, in the order of probabilities; None for regression.

    Examples:
        >>> OutputLink("logit", ("no", "yes")).apply([[0.0], [2.0]])
        array([[0.5       , 0.5       ],
               [0.11920292, 0.88079708]])
    """

    name: str = "identity"
    labels: tuple[Label, ...] | None = None

    def __post_init__(self) -> None:
        if self.name not in LINKS:
            raise StructureError(f"a link is one of {', '.join(LINKS)}; got {self.name!r}; choose one of them.")
        if (self.labels is not None) != (self.name in ("logit", "softmax")):
            raise StructureError(f"class labels go with logit and softmax; got {self.labels!r} for {self.name!r}.")
        if self.labels is not None:
            labels = tuple(plain_label(label) for label in self.labels)
            if len(set(labels)) != len(labels) or len(labels) < 2 or (self.name == "logit" and len(labels) != 2):
                raise StructureError(f"{self.name} needs distinct labels, two or more; got {labels[:8]}; correct them.")
            object.__setattr__(self, "labels", labels)

    @property
    def n_outputs(self) -> int:
        """Outputs a network with this link must have."""
        return len(self.labels or ()) if self.name == "softmax" else 1

    @property
    def unit(self) -> str:
        """The scale of f, for tables: what one unit of slope is, and of which class."""
        if self.name == "logit":
            return f"log-odds of {(self.labels or ())[1]!r}"
        return {"identity": "target units", "log": "log units", "softmax": "logits"}[self.name]

    def apply(self, f: ArrayLike) -> FloatArray:
        """(n, n_outputs) -> predictions (n,), or class probabilities (n, n_classes)."""
        z = np.asarray(f, dtype=np.float64)
        if self.name == "identity":
            return z[:, 0]
        if self.name == "log":
            return ordered_exp(z[:, 0])
        if self.name == "logit":
            return np.stack([ordered_sigmoid(-z[:, 0]), ordered_sigmoid(z[:, 0])], axis=1)
        return _softmax([z[:, k] for k in range(z.shape[1])])

    def __reduce__(self) -> tuple[Any, ...]:
        return OutputLink, (self.name, self.labels)


def _softmax(f: Sequence[FloatArray]) -> FloatArray:
    """P_k by differences to f_k: each falls where f_k rises and f_j falls, and so does their sum in a fixed order."""
    columns = []
    for own in f:
        total = np.zeros_like(own)
        for other in f:
            total = total + ordered_exp(other - own)
        columns.append(1.0 / total)
    return np.stack(columns, axis=1)
