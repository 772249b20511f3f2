"""How many bins a model may have: as many as the independent checker proves in seconds."""

from __future__ import annotations

from monolip.errors import InputError
from monolip.input_columns import NumericColumn
from monolip.input_transform import InputTransform

__all__ = ["MOST_BINS", "MOST_PIECES", "refuse_too_fine", "too_fine"]

MOST_BINS = 256  # of one feature
MOST_PIECES = 2**26  # of all features: maps^2 * knots; checker/monolip_check.py has the same number


def too_fine(inputs: InputTransform) -> bool:
    """Whether no certificate of a model with these inputs would be accepted."""
    numeric = (column for column in inputs.columns if isinstance(column, NumericColumn))
    return sum(len(c.maps) ** 2 * sum(len(phi.knots) for phi in c.maps) for c in numeric) > MOST_PIECES


def refuse_too_fine(inputs: InputTransform, n_bins: int) -> None:
    if too_fine(inputs):
        raise InputError(
            f"bins are few enough for the checker to prove a certificate in seconds; n_bins={n_bins} with "
            f"{inputs.n_raw} features is more than that; use n_bins='auto', or at most {n_bins // 2}."
        )
