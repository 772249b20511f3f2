"""A few values far from all others (a 999999 for "unknown") in a column that is calibrated linearly.

Such a column enters as it is, whatever its values: one row at a million spreads would outweigh all the others in every
step, and nothing else would be learned. While training, values count as at most so many spreads away; what is promised
and predicted stays linear, to the bit. The user is told, because a linear response to a code is hardly what was meant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._column_facts import spread
from monolip.estimators._tables import RawTable
from monolip.estimators._warn import warn_caller
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform

__all__ = ["training_reach"]

FloatArray = NDArray[np.float64]
_REACH = 8.0  # spreads of the middle half


def training_reach(inputs: InputTransform, table: RawTable) -> FloatArray | None:
    """How far each model column counts in training, (n_model,); None where all of them count as they are."""
    reach = np.full(inputs.n_model, np.inf)
    for j, column in enumerate(inputs.columns):
        if not isinstance(column, NumericColumn) or not column.maps[0].right_slope:
            continue
        values = table.columns[j].values
        # the scale is the deviation, give or take a factor of two, unless few values make up nearly all of it
        if spread(values)[1] * column.maps[0].right_slope > 2.0:
            reach[inputs.starts[j]] = _REACH
            farthest = values[np.nanargmax(np.abs(values - column.maps[0].knots[0]))]
            warn_caller(
                "a feature given in slopes= is linear over all its values, and training reaches "
                f"{_REACH:g} spreads of its middle half; got {farthest:g} in column {column.name!r}, where f goes on "
                "linearly; turn a code such as 999999 into NaN (a missing value)."
            )
    return reach if np.isfinite(reach).any() else None
