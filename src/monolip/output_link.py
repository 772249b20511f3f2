r"""From the network's output f to what is predicted, by functions that are monotone bit for bit.

    identity  f        log  e^f        logit  P = 1 / (1 + e^-f)        softmax  P_k = 1 / sum_j e^(f_j - f_k)

A library's exp need not be monotone from one float to the next. Here e^x = E_i * h(x - x_i) with a table E on a grid
of 1/64 and a polynomial h with non-negative coefficients: multiplication, addition and the clamp between two table
entries are monotone after rounding, so the composition is. Accurate to a few ulps. log x of a probability is made in
the same way, of an exact power of two and a series with positive coefficients.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import StructureError
from .input_columns import Label, plain_label

__all__ = ["LONGEST_NAME", "OutputLink", "ordered_exp", "ordered_log", "ordered_sigmoid", "probability_of"]

FloatArray = NDArray[np.float64]
LONGEST_NAME = 256  # characters of the target's name
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


def probability_of(label: Label, target: str | None = None) -> str:
    """The probability of a class in words; a boolean target is an event of its own name, an unknown one is called y.

    >>> probability_of("bad", "loan"), probability_of(True, "default"), probability_of(1)
    ('P(loan = bad)', 'P(default)', 'P(y = 1)')
    """
    if label is True and target is not None:
        return f"P({_printable(target)})"
    return f"P({_printable(target or 'y')} = {_printable(label)})"


def _printable(name: Label) -> str:
    """A name or a label on one line; what cannot be printed is escaped as in JSON."""
    text = str(name)
    return text if text.isprintable() else json.dumps(text)


@dataclass(frozen=True)
class OutputLink:
    """What the outputs of a network mean.

    Args:
        name: "identity", "log" (positive predictions), "logit" (two classes) or "softmax" (one output per class).
        labels: the class labels, in the order of probabilities; None for regression.
        positive: logit only: the position in `labels` of the class whose log-odds f is, 0 or 1; None for the second.
        target: the name of what is predicted, 1 to 256 characters; None where it is unknown.

    Examples:
        >>> OutputLink("logit", ("no", "yes")).apply([[0.0], [2.0]])
        array([[0.5       , 0.5       ],
               [0.11920292, 0.88079708]])
        >>> OutputLink("logit", ("bad", "good"), positive=0, target="loan").unit
        'log-odds of P(loan = bad)'
    """

    name: str = "identity"
    labels: tuple[Label, ...] | None = None
    positive: int | None = None
    target: str | None = None

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
        if self.name == "logit" and self.positive is None:
            object.__setattr__(self, "positive", 1)
        allowed = (0, 1) if self.name == "logit" else (None,)
        if isinstance(self.positive, bool) or self.positive not in allowed:
            raise StructureError(
                "f of a logit link is the log-odds of one of two classes, at position 0 or 1; other links have none; "
                f"got {self.positive!r} for {self.name}; correct it."
            )
        if self.target is not None and not (isinstance(self.target, str) and 0 < len(self.target) <= LONGEST_NAME):
            raise StructureError(
                f"the name of a target is text of 1 to {LONGEST_NAME} characters; got {self.target!r:.60}; rename it, "
                "or leave it out."
            )

    @property
    def n_outputs(self) -> int:
        """Outputs a network with this link must have."""
        return len(self.labels or ()) if self.name == "softmax" else 1

    @property
    def unit(self) -> str:
        """The scale of f, for tables: what one unit of slope is, and of which class."""
        if self.name == "logit":
            return f"log-odds of {self.probability()}"
        return {"identity": "target units", "log": "log units", "softmax": "logits"}[self.name]

    @property
    def sign(self) -> float:
        """What turns f into the log-odds of the second of two classes: -1 where f is about the first, else 1."""
        return -1.0 if self.positive == 0 else 1.0

    def probability(self, k: int | None = None) -> str:
        """The probability of class k in words; of two classes by default that of the one f is about."""
        at = self.positive if k is None else k
        assert self.labels is not None, "asked of classes"
        assert at is not None, "of more classes one has to be named"
        return probability_of(self.labels[at], self.target)

    def decide(self, f: ArrayLike) -> NDArray[np.int64]:
        """(n, n_outputs) -> positions of the decided classes, (n,): of two the one f is about where f > 0."""
        z = np.asarray(f, dtype=np.float64)
        if self.name == "logit":
            return np.asarray((z[:, 0] > 0) == bool(self.positive)).astype(np.int64)
        return np.asarray(z.argmax(axis=1)).astype(np.int64)

    def apply(self, f: ArrayLike) -> FloatArray:
        """(n, n_outputs) -> predictions (n,), or class probabilities (n, n_classes)."""
        z = np.asarray(f, dtype=np.float64)
        if self.name == "identity":
            return z[:, 0]
        if self.name == "log":
            return ordered_exp(z[:, 0])
        if self.name == "logit":
            both = [ordered_sigmoid(-z[:, 0]), ordered_sigmoid(z[:, 0])]
            return np.stack(both if self.positive else both[::-1], axis=1)
        return _softmax([z[:, k] for k in range(z.shape[1])])

    def __reduce__(self) -> tuple[Any, ...]:
        return OutputLink, (self.name, self.labels, self.positive, self.target)


def _softmax(f: Sequence[FloatArray]) -> FloatArray:
    """P_k by differences to f_k: each falls where f_k rises and f_j falls, and so does their sum in a fixed order."""
    columns = []
    for own in f:
        total = np.zeros_like(own)
        for other in f:
            total = total + ordered_exp(other - own)
        columns.append(1.0 / total)
    return np.stack(columns, axis=1)
