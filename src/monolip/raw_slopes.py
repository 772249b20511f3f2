r"""Slopes in raw units, exactly: what a network and its input transform promise together.

    df_k/dx_i = sum_m alpha_m sum_j W1[m, j] phi_j'(x_i),  j over the model columns of raw feature i

so it lies between the smallest and the largest of  sum_j W1[m, j] phi_j'(piece)  over first-layer units m and pieces
of x_i: several model columns of one feature move together, and their slopes add.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .convex import ConvexForm
from .input_transform import InputTransform
from .rounding import round_down, round_up
from .slopes import SlopeBounds

if TYPE_CHECKING:
    from .frozen import FrozenNetwork

__all__ = [
    "extreme_slopes",
    "features_with_slopes",
    "raw_slopes",
    "rows_of_output",
    "surrounding_raw_slopes",
    "surrounding_slopes",
]

FloatArray = NDArray[np.float64]
FEW_PRODUCTS = 2**16
_TINIEST = 2.0**-1073  # what a slope below the smallest normal float may be off by


def raw_slopes(network: FrozenNetwork) -> SlopeBounds:
    """Slope interval of each raw numeric feature and output, rounded outwards by at most one ulp.

    Shape: (n_numeric,) for one output, else (n_numeric, n_outputs). Features that enter a free branch have
    none.
    """
    assert network.inputs is not None, "asked by FrozenNetwork.raw_slopes"
    inputs, features = network.inputs, features_with_slopes(network)
    names = tuple(inputs.names[i] for i in features)
    rows = [rows_of_output(network, k) for k in range(network.n_outputs)]
    lower = np.empty((len(features), network.n_outputs))
    upper = np.empty_like(lower)
    for at, i in enumerate(features):
        for k, weights in enumerate(rows):
            lower[at, k], upper[at, k] = extreme_slopes(inputs, i, weights)
    if network.n_outputs == 1:
        lower, upper = lower[:, 0], upper[:, 0]
    return SlopeBounds(lower, upper, names)


def features_with_slopes(network: FrozenNetwork) -> list[int]:
    """Raw numeric features that enter the trunks, and not a free branch, by position."""
    inputs = network.inputs
    assert inputs is not None, "asked of networks with raw columns"
    starts, d = inputs.starts.tolist(), network.n_features
    return [i for i in inputs.numeric if starts[i + 1] <= d]


def extreme_slopes(inputs: InputTransform, i: int, rows: FloatArray) -> tuple[float, float]:
    """Lowest and highest  sum_j rows[m, j] phi_j'(piece)  of raw feature i, rounded outwards.

    rows: (units, n_model).
    """
    tables = inputs.tables_of(i)
    maps, start, floats, moving = inputs.maps_of(i), int(inputs.starts[i]), tables.slopes, tables.moving
    units = rows[:, start : start + floats.shape[1]]

    def exact(stretch: int) -> list[Fraction]:
        return [phi.slope(piece) for phi, piece in zip(maps, tables.at[stretch].tolist(), strict=True)]

    return round_down(-_largest(-units, floats, moving, exact)), round_up(_largest(units, floats, moving, exact))


def surrounding_slopes(
    inputs: InputTransform, features: Sequence[int], rows: FloatArray, margin: float = 2.0**-40
) -> list[tuple[float, float]]:
    """Intervals around `extreme_slopes`, in floats alone: their ends lie further out by the margin, zeros stay zeros.

    Enough to say that a promise holds, or to make one that nobody wrote down, without rational arithmetic. features:
    raw ones, by position; an interval for each.
    """
    if not features:
        return []
    tables, starts = [inputs.tables_of(i).slopes for i in features], inputs.starts.tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        lows, highs = _surrounding(rows, tables, [starts[i] for i in features], margin)
    least, most, found = np.minimum.reduce(rows).tolist(), np.maximum.reduce(rows).tolist(), []
    for i, slopes, low, high in zip(features, tables, lows, highs, strict=True):
        if math.isfinite(low) and math.isfinite(high):
            columns = slice(starts[i], starts[i] + slopes.shape[1])
            low = max(low, 0.0) if min(least[columns]) >= 0.0 else low
            found.append((low, min(high, 0.0) if max(most[columns]) <= 0.0 else high))
        else:
            found.append(extreme_slopes(inputs, i, rows))
    return found


def _surrounding(
    rows: FloatArray, tables: Sequence[FloatArray], starts: Sequence[int], margin: float
) -> tuple[list[float], list[float]]:
    """Ends of each table's interval, zeros not yet looked at. starts: its first column in rows."""
    ends, sizes = [0, *accumulate(map(len, tables))], np.abs(rows)
    columns = [slice(start, start + slopes.shape[1]) for start, slopes in zip(starts, tables, strict=True)]
    # products of all tables at once take less time than those of each; but 0 times infinity is of no use to anybody
    if ends[-1] * rows.size <= FEW_PRODUCTS and np.isfinite(rows).all():
        every = np.zeros((ends[-1], rows.shape[1]))
        for first, end, mine, slopes in zip(ends, ends[1:], columns, tables, strict=False):
            every[first:end, mine] = slopes
        sums, errors = every @ rows.T, every @ sizes.T
    else:
        sums, errors = np.empty((2, ends[-1], len(rows)))
        for first, end, mine, slopes in zip(ends, ends[1:], columns, tables, strict=False):
            np.matmul(slopes, rows[:, mine].T, out=sums[first:end])
            np.matmul(slopes, sizes[:, mine].T, out=errors[first:end])
    errors *= margin  # rounding of the sums, far below the margin, included
    errors += float(np.maximum.reduce(_of_tiny(sizes), axis=None)) + 2.0**-1000
    lows = np.minimum.reduceat(np.minimum.reduce(sums - errors, axis=1), ends[:-1])
    highs = np.maximum.reduceat(np.maximum.reduce(sums + errors, axis=1), ends[:-1])
    return lows.tolist(), highs.tolist()


def surrounding_raw_slopes(network: FrozenNetwork, k: int) -> tuple[tuple[float, float], ...]:
    """`surrounding_slopes` of output k, one for each of the `features_with_slopes`."""
    assert network.inputs is not None, "asked of networks with raw columns"
    return tuple(surrounding_slopes(network.inputs, features_with_slopes(network), rows_of_output(network, k)))


def rows_of_output(network: FrozenNetwork, k: int) -> FloatArray:
    """Rows whose convex hull holds the gradient of output k: first-layer units, or corners of paper form's box."""
    rows = []
    for member in network.members:
        for trunk in member:
            if k in trunk.outputs:
                form = trunk.form
                rows.append(form.weights[0] if isinstance(form, ConvexForm) else np.stack(trunk.slope_range))
    return rows[0] if len(rows) == 1 else np.concatenate(rows)


def _largest(
    units: FloatArray, floats: FloatArray, moving: NDArray[np.int64], exact: Callable[[int], list[Fraction]]
) -> Fraction:
    """max over units and pieces of the exact sum; floats (to 2^-50) only choose which few are worth doing exactly."""
    with np.errstate(over="ignore", invalid="ignore"):  # a sum that leaves the range of floats is done exactly
        sums = units @ floats.T
        error = (np.abs(units) @ floats.T) * (2.0**-52 * (floats.shape[1] + 16)) + _of_tiny(np.abs(units)) + 2.0**-1000
        reach, least = sums + error, sums - error
    flat = ~((units != 0.0).astype(int) @ moving.T).astype(bool)  # sums of nothing but zeros are zero, and often tie
    best = np.where(np.isfinite(least), least, -np.inf).max()
    candidates = np.argwhere(~(reach < best) & ~flat)
    found = _exact_sums(units, exact, candidates)
    return max(found | {Fraction(0)} if flat.any() else found)


def _of_tiny(sizes: FloatArray) -> FloatArray:
    """What slopes so small that floats hold them with few digits, or none, can add to a sum; (units, 1)."""
    return np.asarray(np.add.reduce(sizes, axis=1, keepdims=True) * _TINIEST)


def _exact_sums(units: FloatArray, exact: Callable[[int], list[Fraction]], at: NDArray[np.int64]) -> set[Fraction]:
    """Distinct products only: saturated weights and zeros tie by the hundred."""
    slopes = {p: exact(p) for p in set(at[:, 1].tolist())}
    terms = {
        tuple((w, s) for w, s in zip(units[m].tolist(), slopes[p], strict=True) if w and s) for m, p in at.tolist()
    }
    return {sum((Fraction(w) * s for w, s in pairs), Fraction(0)) for pairs in terms}
