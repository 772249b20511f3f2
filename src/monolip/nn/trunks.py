"""Which outputs may share a trunk: those whose intervals (or radii) are the same up to a positive factor."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import StructureError
from ..rounding import round_down
from ..slopes import SlopeBounds

__all__ = ["check_outputs", "group_outputs"]

FloatArray = NDArray[np.float64]


def check_outputs(slopes: SlopeBounds, out_features: int) -> None:
    """Intervals per output must be as many as outputs."""
    if slopes.n_outputs not in (None, out_features):
        raise StructureError(
            f"intervals per output must match the outputs; got {slopes.n_outputs} for {out_features} outputs; pass "
            "SlopeBounds of shape (n_features, n_outputs), or (n_features,) for all outputs alike."
        )


def group_outputs(columns: FloatArray) -> list[tuple[list[int], FloatArray]]:
    """Outputs grouped by proportional columns: pairs of (outputs, factors >= 0), columns[:, k] = factor * reference.

    Args:
        columns: one column of slopes per output, shape (m, n_outputs); the first of a group is its reference.

    Factors are rounded so that factor * |reference| never exceeds |column| exactly: sharing never widens a promise.

    >>> [(outputs, list(factors)) for outputs, factors in group_outputs(np.array([[1.0, 2.0, 1.0], [3.0, 6.0, 1.0]]))]
    [([0, 1], [np.float64(1.0), np.float64(2.0)]), ([2], [np.float64(1.0)])]
    """
    groups: list[tuple[list[int], list[float]]] = []
    for k in range(columns.shape[1]):
        for outputs, factors in groups:
            factor = _factor(columns[:, k], columns[:, outputs[0]])
            if factor is not None:
                outputs.append(k)
                factors.append(factor)
                break
        else:
            groups.append(([k], [1.0]))
    return [(outputs, np.array(factors)) for outputs, factors in groups]


def _factor(column: FloatArray, reference: FloatArray) -> float | None:
    """The largest s >= 0 with s * |reference| <= |column| exactly, if that is all but equal and signs agree."""
    if np.array_equal(column, reference):
        return 1.0
    used = reference != 0
    if not used.any() or (column[~used] != 0).any() or (np.sign(column) != np.sign(reference))[used].any():
        return None
    pairs = zip(column[used].tolist(), reference[used].tolist(), strict=True)
    ratios = [Fraction(c) / Fraction(r) for c, r in pairs]
    smallest = min(ratios)
    return round_down(smallest) if max(ratios) - smallest <= smallest * Fraction(1, 10**12) else None
