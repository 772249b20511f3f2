r"""From promises about raw features to boxes of first-layer weights, and back to a promise in raw units.

default   free [-32, 32], monotone [0, 64] or [-64, 0], per model column, in standard deviations of the target
a cap B   half of B for u and half for its bins, divided by the steepest piece of each, rounded down
[a, b]    one linear column: the interval divided by its slope, exact because that is a power of two
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._categories import thermometer_width
from monolip.estimators._column_facts import spread
from monolip.estimators._promises import Promises
from monolip.estimators._tables import RawTable
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.input_transform import InputTransform
from monolip.raw_slopes import extreme_slopes, surrounding_slopes
from monolip.rounding import round_down, round_up
from monolip.slopes import SlopeBounds

__all__ = ["Boxes", "make_boxes"]

FloatArray = NDArray[np.float64]

FREE_CAP, MONOTONE_CAP = 32.0, 64.0
# of a direction, 2 is flat; in standard deviations of the target
_ENDS = {0: (-FREE_CAP, FREE_CAP), 1: (0.0, MONOTONE_CAP), -1: (-MONOTONE_CAP, 0.0), 2: (0.0, 0.0)}


@dataclass(frozen=True)
class Boxes:
    """lower, upper: (n_outputs, n_model) in output units; raw: the promise that follows, in raw units."""

    lower: FloatArray
    upper: FloatArray
    raw: SlopeBounds | None

    @property
    def model(self) -> SlopeBounds:
        if len(self.lower) == 1:
            return SlopeBounds(self.lower[0], self.upper[0])
        return SlopeBounds(self.lower.T, self.upper.T)


def make_boxes(
    inputs: InputTransform, promises: Promises, table: RawTable, output_scale: float, target_deviation: float
) -> Boxes:
    """output_scale: the engine's unit of the target, robust for robust losses; target_deviation: that of caps."""
    n_outputs = promises.directions.shape[1]
    ends = [[_ENDS[direction] for direction in row] for row in promises.directions.T.tolist()]
    widths = inputs.starts[1:] - inputs.starts[:-1]
    lower, upper = (output_scale * np.array(ends)).repeat(widths, axis=1).transpose(2, 0, 1).copy()
    caps = promises.caps.tolist()
    for j, column in enumerate(inputs.columns):
        where, cap, numeric = slice(inputs.starts[j], inputs.starts[j + 1]), caps[j], isinstance(column, NumericColumn)
        if promises.standard_cap is not None and math.isnan(cap):
            deviation = spread(table.columns[j].values)[1] if numeric else 1.0
            cap = min(promises.standard_cap * target_deviation / deviation, sys.float_info.max)
        state = promises.missing[j] == "state" and _has_state(column)
        bounded = isinstance(column, NumericColumn) and (j in promises.intervals or not math.isnan(cap))
        for k in range(n_outputs if state or bounded else 0):
            low, high = lower[k, where], upper[k, where]
            if isinstance(column, NumericColumn) and bounded:
                if j in promises.intervals:
                    _put_interval(column, promises.intervals[j], low, high)
                else:
                    _put_cap(column, cap, low, high)
            if state:
                low[-1], high[-1] = -FREE_CAP * output_scale, FREE_CAP * output_scale
    return Boxes(lower, upper, _raw_promise(inputs, promises, lower, upper))


def _has_state(column: NumericColumn | CategoryColumn) -> bool:
    """Whether its last model column says "missing", which has no order, while others of it may have one."""
    if isinstance(column, NumericColumn):
        return column.present is not None
    return column.ordered and column.n_model > thermometer_width(column)


def _put_interval(column: NumericColumn, interval: tuple[float, float], low: FloatArray, high: FloatArray) -> None:
    slope = column.maps[0].slopes[0]
    low[0], high[0] = round_up(Fraction(interval[0]) / slope), round_down(Fraction(interval[1]) / slope)


def _put_cap(column: NumericColumn, cap: float, low: FloatArray, high: FloatArray) -> None:
    """Steepness of u plus that of the one bin that moves stays below the cap."""
    share = Fraction(cap) / (2 if len(column.maps) > 1 else 1)
    for m, phi in enumerate(column.maps):
        steepest = max(phi.slopes)
        if steepest:
            bound = round_down(share / steepest)
            low[m], high[m] = -bound if low[m] < 0 else 0.0, bound if high[m] > 0 else 0.0


def _raw_promise(
    inputs: InputTransform, promises: Promises, lower: FloatArray, upper: FloatArray
) -> SlopeBounds | None:
    """What the boxes promise in raw units; an explicit interval is what the user wrote, to the bit.

    Where the user wrote nothing the box is generous, and a promise may be wider by one part in 2^39: floats will do.
    """
    if not inputs.numeric:
        return None
    low = np.empty((len(inputs.numeric), len(lower)))
    high = np.empty_like(low)
    capped = promises.standard_cap is not None
    every = [np.array(ends) for ends in zip(lower, upper, strict=True)]
    caps = promises.caps.tolist()
    asked = [capped or j in promises.intervals or not math.isnan(caps[j]) for j in inputs.numeric]
    for at, j in enumerate(inputs.numeric):
        for k, corners in enumerate(every if asked[at] else ()):
            exact = promises.intervals[j] if j in promises.intervals else extreme_slopes(inputs, j, corners)
            low[at, k], high[at, k] = exact
    rest = [at for at in range(len(asked)) if not asked[at]]
    for k, corners in enumerate(every if rest else ()):
        around = surrounding_slopes(inputs, [inputs.numeric[at] for at in rest], corners, 2.0**-39)
        low[rest, k], high[rest, k] = zip(*around, strict=True)
    names = tuple(inputs.names[j] for j in inputs.numeric)
    if len(lower) == 1:
        low, high = low[:, 0], high[:, 0]
    return SlopeBounds(low, high, names)
