"""Promises that the rows speak against: the usual reason is a sign, or a class, the wrong way round.

A feature whose true effect runs against its promise ends flat, because flat is the nearest a promise allows. Flat alone
says little: a column of noise ends flat too. What tells them apart is what the model leaves unexplained:

    r = y - E[y | x]      a = rank(x) - mean      z = sum(a r) / sqrt(sum(a^2 r^2))

z is about N(0, 1) where x says nothing, and far out on the side that was forbidden where the promise is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["against_the_data"]

FEWEST = 20  # rows
CLEAR = 4.0  # of z: a column of noise gets there once in thirty thousand
LITTLE = 0.01  # of the spread of scores: what a feature may move at most, over its own spread, to count as flat
FloatArray = NDArray[np.float64]
_SIGNS = {"increasing": 1, "decreasing": -1}


def against_the_data(model: Any, X: Any, y: Any, weight: Any = None) -> Iterator[str]:
    """A sentence for each promised numeric feature of a fitted model that ended flat although y moves the other way.

    X: an Arrow table of the rows it was fitted on. y: (n,) targets. Of several classes each promise is about its own.
    """
    promised = [row for row in model.slopes_ if row.promise in _SIGNS and row.lower is not None]
    if not promised:
        return
    residuals = _residuals(model, X, np.asarray(y))
    spread = float(np.std(model._evaluate(X), axis=0).max())
    weights = np.ones(len(residuals)) if weight is None else np.asarray(weight, dtype=np.float64)
    for row in promised:
        x = X.column(row.feature).to_numpy(zero_copy_only=False).astype(np.float64)
        known = np.isfinite(x) & (weights > 0)
        if known.sum() < FEWEST or not _is_flat(max(abs(row.lower), abs(row.upper)), x[known], spread):
            continue
        labels = [] if model.frozen_.n_outputs == 1 else [str(label) for label in model.classes_]
        r = residuals[known, labels.index(row.output) if labels else 0]
        z = _score(x[known], r, weights[known])
        if z * _SIGNS[row.promise] < -CLEAR:
            of = f" in P({row.output})" if row.output else ""
            way = "rises" if z > 0 else "falls"
            yield (
                f"{row.feature!r} was promised to be {row.promise}{of} and ended flat, while what the other features "
                f"leave unexplained {way} with it; is the sign, or the class, the wrong way round?"
            )


def _is_flat(steepest: float, x: FloatArray, spread: float) -> bool:
    """Whether a column of more than one value hardly moves the score."""
    low, high = np.quantile(x, (0.1, 0.9), method="nearest")
    if x.min() == x.max():
        return False
    return steepest == 0 or bool(steepest * (high / 2 - low / 2) <= LITTLE * spread)  # halves: no overflow


def _residuals(model: Any, X: Any, y: NDArray[Any]) -> FloatArray:
    """(n, outputs): y minus what the model expects; of classes, membership minus probability."""
    if not hasattr(model, "classes_"):
        return np.asarray(y - model.predict(X), dtype=np.float64)[:, None]
    member = (y[:, None] == np.asarray(model.classes_)[None, :]) - model.predict_proba(X)
    return np.asarray(member[:, 1:] if member.shape[1] == 2 else member, dtype=np.float64)


def _score(x: FloatArray, r: FloatArray, weight: FloatArray) -> float:
    """z: the weighted correlation of ranks with residuals, in its standard deviations."""
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2)[place]
    a, b = (values - np.average(values, weights=weight) for values in (ranks, r))
    noise = float(np.sqrt(np.sum((weight * a * b) ** 2)))
    return float(np.sum(weight * a * b)) / noise if noise > 0 else 0.0
