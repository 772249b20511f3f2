"""From the caller's arrays to what the kernels read: checked, padded, in the layout's order of outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.engine._bin_columns import fill_bins, refuse_bins, widen_ends
from monolip.engine._training_layout import PAD, TrainingLayout
from monolip.errors import InputError, SlopeError

__all__ = ["finite_target", "offsets", "packed_rows", "row_weights", "slope_boxes", "trunks_of"]

FloatArray = NDArray[Any]
CHUNK_ROWS = 4096


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


class Rows(NamedTuple):
    """Features as the kernels read them, see _state.Data, and the mean of every column of the caller's."""

    x: FloatArray
    codes: NDArray[np.int32]
    bin_ends: FloatArray
    means: NDArray[np.float64]


def packed_rows(x: FloatArray, order: NDArray[np.int64] | None, layout: TrainingLayout, dtype: np.dtype[Any]) -> Rows:
    """The one copy that training makes of the features: rows in `order`, bins packed, zeros up to whole registers."""
    n_plain, features = len(layout.plain), len(layout.first_bins) - 1
    padded = np.zeros((len(x), -(-(n_plain + features) // PAD) * PAD), dtype)
    codes, total = np.zeros((len(x), features), np.int32), np.zeros(x.shape[1])
    ends = np.repeat(np.array([[np.inf], [-np.inf]], dtype), len(layout.binned), axis=1)
    if features:
        for piece, _ in _pieces(x, None, dtype):
            widen_ends(piece, layout.binned, ends)
    for piece, rows in _pieces(x, order, dtype):
        if not np.isfinite(piece).all():
            with np.errstate(over="ignore"):
                _check_finite(np.asarray(x, dtype), "features")
        total += piece.sum(0, dtype=np.float64)
        padded[rows, :n_plain] = piece if features == 0 else piece[:, layout.plain]
        if features:
            bad = fill_bins(piece, layout.binned, layout.first_bins, ends, codes[rows], padded[rows], n_plain)
            if bad >= 0:
                refuse_bins(piece[bad, layout.binned])
    return Rows(padded, codes, ends, total / len(x))


def _pieces(x: FloatArray, order: NDArray[np.int64] | None, dtype: np.dtype[Any]) -> Iterator[tuple[FloatArray, slice]]:
    """Some rows at a time, so that reordering and checking need no second copy; and where they go."""
    for start in range(0, len(x), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        with np.errstate(over="ignore"):  # a float64 too large for float32 is reported as infinite
            yield np.ascontiguousarray(x[rows] if order is None else x[order[rows]], dtype), rows


def finite_target(y: ArrayLike, n: int) -> FloatArray:
    """Targets as (n, columns)."""
    target = np.asarray(y, np.float64)
    if len(target) != n:
        raise InputError(f"every row has a target; got {len(target)} targets for {n} rows; match them.")
    target = target.reshape(n, -1)
    _check_finite(target, "target")
    return target


def offsets(given: ArrayLike | None, n: int, order: NDArray[np.int64], dtype: np.dtype[Any]) -> FloatArray:
    """What is added to outputs before the loss, (n, outputs) in the layout's order; (0, outputs) if nothing is."""
    if given is None:
        return np.zeros((0, len(order)), dtype)
    offset = np.asarray(given, np.float64)
    if offset.shape not in ((n,), (n, len(order))):
        raise InputError(f"offset has shape ({n},) or ({n}, {len(order)}); got {offset.shape}; reshape it.")
    _check_finite(offset.reshape(n, -1), "offset")
    return np.ascontiguousarray(np.broadcast_to(offset.reshape(n, -1), (n, len(order)))[:, order], dtype)


def row_weights(given: ArrayLike | None, n: int, dtype: np.dtype[Any]) -> FloatArray:
    """Row weights of mean 1."""
    if given is None:
        return np.ones(n, dtype)
    weight = np.asarray(given, np.float64)
    if weight.shape != (n,):
        raise InputError(f"sample_weight has one number a row; got shape {weight.shape} for {n} rows; match them.")
    _check_finite(weight[:, None], "sample_weight")
    if (weight < 0).any():
        raise InputError(
            "sample weights are at least 0: a negative weight rewards errors, and the loss has no minimum;"
            f" got {weight.min()}; drop those rows, or merge them with rows of positive weight they should cancel."
        )
    if not weight.any():
        raise InputError("some row must count; got sample weights that are all 0; give a positive one.")
    return np.asarray(weight / weight.mean(), dtype)


def _check_finite(values: FloatArray, what: str) -> None:
    good = np.isfinite(values)
    if not good.all():
        row, column = np.argwhere(~good)[0]
        raise InputError(
            f"{what}: training needs finite numbers, below 3e38 in single precision;"
            f" got {values[row, column]} in row {row}, column {column}; clean or rescale them."
        )
