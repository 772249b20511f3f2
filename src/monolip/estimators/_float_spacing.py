"""Numeric columns that have hardly any distinct values left because floats far from zero lie far apart.

A standard normal number plus 1e16 is one of about five floats. Nothing can be learned of what was rounded away before
the table was read, and the fit looks like any other. `fit` warns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from monolip.estimators._raw_column import RawColumn
from monolip.estimators._warn import warn_caller

__all__ = ["warn_of_coarse_columns"]

_FEW = 32  # floats between the lowest and the highest value


def warn_of_coarse_columns(numeric: Iterable[RawColumn]) -> None:
    """Warn of columns in which fewer than 32 floats lie between the lowest and the highest value.

    Of columns of one value only those are named where floats are more than 1 apart.
    """
    shown = list(_coarse(numeric))
    if shown:
        more = f"; and of {len(shown) - 5} more" if len(shown) > 5 else ""
        warn_caller(
            "numbers far from zero are rounded to floats that lie far apart; got hardly any distinct values of "
            f"{'; '.join(shown[:5])}{more}; subtract a number near its mean before the column becomes floats, or drop "
            "the column."
        )


def _coarse(numeric: Iterable[RawColumn]) -> Iterator[str]:
    """What is wrong with each of these columns."""
    for column in numeric:
        values = column.values
        low, high = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
        largest = max(-low, high)
        if not np.isfinite(largest) or largest == 0.0:
            continue
        spacing = float(np.spacing(largest)) * 2.0 ** (53 - column.digits)
        # one value may be all there ever was; where floats are more than 1 apart that is less likely than rounding
        if high - low >= _FEW * spacing or (low == high and spacing <= 1.0):
            continue
        kind = {53: "float64", 24: "float32"}.get(column.digits, "float16")
        count = len(np.unique(values[~np.isnan(values)]))
        values_near = f"{count} value{'' if count == 1 else 's'} near {high:.3g}"
        yield f"column {column.name!r}: {values_near}, where {kind} has steps of {spacing:.3g}"
