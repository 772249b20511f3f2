"""Which outputs may share a trunk: those whose intervals (or radii) are the same up to a positive factor."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import SlopeError, StructureError
from ..rounding import round_down, round_up
from ..slopes import SlopeBounds

__all__ = ["check_outputs", "group_by_radius", "group_outputs", "per_output"]

FloatArray = NDArray[np.float64]

_ALIKE = Fraction(1, 10**12)  # outputs further apart get trunks of their own; those closer must also fit exactly


def check_outputs(slopes: SlopeBounds, out_features: int) -> None:
    """Intervals per output must be as many as outputs."""
    if not isinstance(slopes, SlopeBounds):
        raise SlopeError(
            f"SlopeBounded keeps intervals (SlopeBounds); got {type(slopes).__name__}; use ConvexMLP, which keeps any "
            "slope set."
        )
    if slopes.n_outputs not in (None, out_features):
        raise StructureError(
            f"intervals per output must match the outputs; got {slopes.n_outputs} for {out_features} outputs; pass "
            "SlopeBounds of shape (n_features, n_outputs), or (n_features,) for all outputs alike."
        )


def group_outputs(lower: FloatArray, upper: FloatArray) -> list[tuple[list[int], FloatArray]]:
    """Outputs grouped by proportional intervals: pairs of (outputs, factors >= 0), the first one the reference.

    Args:
        lower, upper: shape (n_features, n_outputs); radii r are the intervals [-r, r].

    factor * [lower, upper] of the reference lies inside the output's interval exactly: sharing never widens a promise.

    >>> upper = np.array([[1.0, 2.0, 1.0], [3.0, 6.0, 1.0]])
    >>> [(outputs, factors.tolist()) for outputs, factors in group_outputs(-upper, upper)]
    [([0, 1], [1.0, 2.0]), ([2], [1.0])]
    """
    columns = np.vstack([lower, upper])
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


def per_output(values: FloatArray, n_outputs: int) -> FloatArray:
    """(n_features,) or (n_features, n_outputs) as the latter."""
    return np.broadcast_to(values.reshape(len(values), -1), (len(values), n_outputs))


def group_by_radius(slopes: SlopeBounds, n_outputs: int) -> list[tuple[list[int], FloatArray]]:
    """Outputs that may share a trunk of paper form: their radii agree up to a factor."""
    radius = per_output(slopes.radius, n_outputs)
    return group_outputs(-radius, radius)


def _factor(column: FloatArray, reference: FloatArray) -> float | None:
    """A float s >= 0 with s * reference inside column exactly, if the two are all but proportional.

    Lower ends come first, then upper ends. s may not be too large for ends that point away from 0 (negative lower,
    positive upper ends), nor too small for the others.
    """
    if np.array_equal(column, reference):
        return 1.0
    used = reference != 0
    if not used.any() or (column[~used] != 0).any() or (np.sign(column) != np.sign(reference))[used].any():
        return None
    pairs = zip(column[used].tolist(), reference[used].tolist(), strict=True)
    ratios = np.array([Fraction(c) / Fraction(r) for c, r in pairs], dtype=object)
    if max(ratios) - min(ratios) > min(ratios) * _ALIKE:
        return None
    is_upper = np.arange(column.size) >= column.size // 2
    away = ((reference > 0) == is_upper)[used]
    factor = round_down(min(ratios[away])) if away.any() else round_up(max(ratios[~away]))
    fits = all(Fraction(factor) <= r for r in ratios[away]) and all(Fraction(factor) >= r for r in ratios[~away])
    return factor if fits and 0 < factor < np.inf else None
