r"""Are probabilities right? Measured on data the model has not seen, and mended without breaking the promise.

    recalibrated f = a f + b,  a > 0 (two classes);  a f (more): the log-loss on new rows chooses a and b

a f + b is convex form again, so the result is one FrozenNetwork as before, under the same promise: directions stay bit
for bit, and a is kept small enough for every slope interval to hold.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.estimators._text import text_table
from monolip.output_link import OutputLink
from monolip.rounding import score_text

__all__ = ["Calibration", "best_scaling", "measure_calibration"]

FloatArray = NDArray[np.float64]


class Calibration(NamedTuple):
    """How far probabilities are from frequencies.

    error: the expected calibration error, mean |predicted - observed| over bins, by their rows. bins: (mean predicted,
    observed, rows) each. brier: mean squared distance of P(second class), or of all probabilities, from what happened.
    """

    error: float
    log_loss: float
    bins: tuple[tuple[float, float, int], ...]
    brier: float

    def __repr__(self) -> str:
        lines = [["mean predicted", "observed", "rows"]]
        lines += [[score_text(predicted), score_text(observed), str(rows)] for predicted, observed, rows in self.bins]
        head = f"calibration error {self.error:.4g}, log-loss {self.log_loss:.4g}, Brier score {self.brier:.4g}"
        return f"{head}\n{text_table(lines)}"


def measure_calibration(
    probabilities: Any, codes: NDArray[np.int64], n_bins: int = 10, weight: FloatArray | None = None
) -> Calibration:
    """Two classes: of P(second class). More: of the most probable class. Bins hold equally many rows.

    weight: how much each row counts in every mean, (n,), at least 0 and positive in sum; None for equally much.

    Examples:
        >>> p = np.array([[0.8, 0.2], [0.8, 0.2], [0.4, 0.6], [0.4, 0.6]])
        >>> round(measure_calibration(p, np.array([0, 0, 0, 1]), n_bins=2).error, 3)
        0.15
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or len(p) != len(codes) or not len(p):
        raise InputError(f"probabilities have one row per label; got {p.shape} for {len(codes)} labels; match them.")
    counts = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=np.float64)
    own = np.clip(p[np.arange(len(p)), codes], 1e-15, 1.0)
    if p.shape[1] == 2:
        predicted, happened = p[:, 1], codes == 1
        distance = (predicted - happened) ** 2
    else:
        predicted, happened = p.max(axis=1), codes == p.argmax(axis=1)
        distance = (p**2).sum(axis=1) - 2 * own + 1
    order, whole = np.argsort(predicted, kind="stable"), float(counts.sum())
    weights, guesses, truths = counts[order], (predicted * counts)[order], (happened * counts)[order]
    ends = [(k * (len(order) // n_bins) + min(k, len(order) % n_bins)) for k in range(n_bins + 1)]
    error, bins = 0.0, []
    for part in (slice(first, end) for first, end in pairwise(ends) if first < end):
        total = float(np.add.reduce(weights[part]))
        if total > 0.0:
            guess, truth = float(np.add.reduce(guesses[part])) / total, float(np.add.reduce(truths[part])) / total
            error += abs(guess - truth) * (total / whole)
            bins.append((guess, truth, part.stop - part.start))
    loss, brier = (float(np.add.reduce(v * counts)) / whole for v in (-np.log(own), distance))
    return Calibration(error, loss, tuple(bins), brier)


def of_named_class(
    link: OutputLink, probabilities: FloatArray, codes: NDArray[np.int64]
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return both as `measure_calibration` takes them; of two classes the one that constraints name comes last."""
    return (probabilities[:, ::-1], 1 - codes) if link.positive == 0 else (probabilities, codes)


def best_scaling(f: FloatArray, codes: NDArray[np.int64], weight: FloatArray | None) -> tuple[float, float]:
    """(a, b) that minimise the log-loss of a f + b; b is 0 for more than two classes."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    share = np.ones(len(f)) if weight is None else weight
    share = share / share.sum()

    def loss(parameters: Any) -> float:
        z = np.exp(parameters[0]) * f
        if f.shape[1] == 1:
            z = z[:, 0] + parameters[1]
            return float(share @ (np.logaddexp(0.0, z) - codes * z))
        z = z - z.max(axis=1, keepdims=True)
        return float(share @ (np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(z)), codes]))

    two = f.shape[1] == 1
    found = minimize(loss, np.zeros(2 if two else 1), method="L-BFGS-B", bounds=[(-4.0, 4.0)] + [(-20.0, 20.0)] * two)
    return float(np.exp(found.x[0])), float(found.x[1]) if two else 0.0
