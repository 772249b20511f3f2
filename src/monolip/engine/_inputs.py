"""From the caller's arrays to what the kernels read: checked, padded, in the layout's order of outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.errors import InputError, SlopeError

__all__ = ["check_finite", "finite_target", "offsets", "row_weights", "slope_boxes", "trunks_of"]

FloatArray = NDArray[Any]


def slope_boxes(lower: ArrayLike, upper: ArrayLike, n_features: int) -> tuple[FloatArray, FloatArray]:
    """Slope intervals as two (outputs, d) arrays; one row given is one output."""
    low, high = (np.atleast_2d(np.asarray(bound, np.float64)) for bound in (lower, upper))
    if low.shape != high.shape or low.shape[1] != n_features:
        raise SlopeError(
            f"slope intervals have shape (outputs, {n_features});"
            f" got lower {low.shape}, upper {high.shape}; reshape them."
        )
    if not (low <= high).all():
        output, feature = np.argwhere(~(low <= high))[0]
        raise SlopeError(
            f"a slope interval has lower <= upper; got [{low[output, feature]}, {high[output, feature]}]"
            f" for feature {feature}, output {output}; swap or replace them."
        )
    return low, high


def trunks_of(lower: FloatArray, upper: FloatArray) -> list[int]:
    """Outputs with the same intervals share a trunk, numbered in order of appearance."""
    seen: dict[bytes, int] = {}
    return [seen.setdefault(low.tobytes() + high.tobytes(), len(seen)) for low, high in zip(lower, upper, strict=True)]


def finite_target(y: ArrayLike, n: int) -> FloatArray:
    """Targets as (n, columns)."""
    target = np.asarray(y, np.float64)
    if len(target) != n:
        raise InputError(f"every row has a target; got {len(target)} targets for {n} rows; match them.")
    target = target.reshape(n, -1)
    check_finite(target, "target")
    return target


def offsets(given: ArrayLike | None, n: int, order: NDArray[np.int64], dtype: np.dtype[Any]) -> FloatArray:
    """What is added to outputs before the loss, (n, outputs) in the layout's order; (0, outputs) if nothing is."""
    if given is None:
        return np.zeros((0, len(order)), dtype)
    offset = np.asarray(given, np.float64)
    if offset.shape not in ((n,), (n, len(order))):
        raise InputError(f"offset has shape ({n},) or ({n}, {len(order)}); got {offset.shape}; reshape it.")
    check_finite(offset.reshape(n, -1), "offset")
    return np.ascontiguousarray(np.broadcast_to(offset.reshape(n, -1), (n, len(order)))[:, order], dtype)


def row_weights(given: ArrayLike | None, n: int, dtype: np.dtype[Any]) -> FloatArray:
    """Row weights of mean 1."""
    if given is None:
        return np.ones(n, dtype)
    weight = np.asarray(given, np.float64)
    if weight.shape != (n,):
        raise InputError(f"sample_weight has one number a row; got shape {weight.shape} for {n} rows; match them.")
    check_finite(weight[:, None], "sample_weight")
    if (weight < 0).any():
        raise InputError(
            "sample weights are at least 0: a negative weight rewards errors, and the loss has no minimum;"
            f" got {weight.min()}; drop those rows, or merge them with rows of positive weight they should cancel."
        )
    if not weight.any():
        raise InputError("some row must count; got sample weights that are all 0; give a positive one.")
    return np.asarray(weight / weight.mean(), dtype)


def check_finite(values: FloatArray, what: str, first_row: int = 0) -> None:
    """Refuse a table (n, columns) with a number that is not finite, by its row and column."""
    good = np.isfinite(values)
    if not good.all():
        row, column = np.argwhere(~good)[0]
        raise InputError(
            f"{what}: training needs finite numbers, below 3e38 in single precision;"
            f" got {values[row, column]} in row {first_row + row}, column {column}; clean or rescale them."
        )
