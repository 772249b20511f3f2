r"""Evaluation in one fixed order of operations, so that equal inputs give equal bits and order is kept bit for bit.

    z_k = b_k;   then, for j = 0, 1, 2, ...:   z_k = fl(z_k + fl(W_kj * x_j))

Multiplication by a constant of one sign, addition, minimum and maximum are monotone after rounding, so their
composition is, *as long as both inputs see the same order*. A BLAS may change its order with the batch size or the
row's place in it; element-wise numpy operations cannot, and the compiled kernels in engine/ repeat this order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, StructureError
from .floats import to_floats

__all__ = ["affine", "as_rows", "check_group_size", "clamp_limit", "sort_groups"]

FloatArray = NDArray[np.float64]

_SMALLEST_CLAMP = 2.0**64  # ordinary inputs must never meet the clamp
_BLOCK = 1 << 15  # entries of the running sum that stay in a core's cache


def as_rows(x: object, n_features: int) -> FloatArray:
    """Inputs as a float64 array (rows, n_features); NaN is refused, infinities are allowed (they are clamped)."""
    try:
        array = to_floats(x, allow_bool=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"inputs must be numbers; got {type(x).__name__} ({error}); convert them first.") from None
    if array.ndim == 0 or array.shape[-1] != n_features:
        raise InputError(
            f"inputs must have {n_features} features in their last axis; got shape {array.shape}; reorder or reshape."
        )
    if np.isnan(array).any():
        raise InputError("NaN has no place in an order, so no promise can hold for it; got NaN; impute missing values.")
    return array.reshape(-1, n_features)


def affine(x: FloatArray, weight: FloatArray, bias: FloatArray) -> FloatArray:
    """W x + b for every row of x, in the fixed order of this module. Shapes (n, in), (out, in), (out,) -> (n, out)."""
    out = np.empty((x.shape[0], weight.shape[0]))
    columns = np.ascontiguousarray(weight.T)
    rows = max(1, _BLOCK // max(1, weight.shape[0]))
    for start in range(0, x.shape[0], rows):
        block = np.ascontiguousarray(x[start : start + rows].T)
        total = np.broadcast_to(bias, (block.shape[1], bias.size)).copy()
        term = np.empty_like(total)
        for value, column in zip(block, columns, strict=True):
            np.multiply(value[:, None], column, out=term)
            np.add(total, term, out=total)
        out[start : start + rows] = total
    return out


def sort_groups(z: FloatArray, group_size: int) -> FloatArray:
    """GroupSort, Eq. 12: sort ascending inside consecutive groups of `group_size` along the last axis."""
    shape = z.shape
    return np.sort(z.reshape(*shape[:-1], shape[-1] // group_size, group_size), axis=-1).reshape(shape)


def check_group_size(group_size: int, width: int) -> int:
    """A group *size* (not a number of groups) that divides the width of its layer."""
    if isinstance(group_size, bool) or not isinstance(group_size, int | np.integer) or group_size < 1:
        raise StructureError(f"group_size must be a positive int; got {group_size!r}; 2 is the usual choice.")
    if width % group_size:
        raise StructureError(
            f"group_size is the number of units in a group and must divide the width; got group_size={group_size} for "
            f"width {width}; choose a divisor of {width}."
        )
    return int(group_size)


def clamp_limit(largest_row_sum: float, bias_total: float) -> float:
    """The power of two P such that no intermediate value overflows float64 while |x_i| <= P.

    Inputs beyond +-P (about 1e300 for ordinary weights) count as +-P: a clamp is monotone and 1-Lipschitz, so every
    direction and every cap survives it, and 0 * inf or inf - inf can never arise. Beyond P the function is flat.
    """
    room = float(np.finfo(np.float64).max) / 8 - bias_total
    if not room / max(largest_row_sum, 1.0) >= _SMALLEST_CLAMP:
        raise StructureError(
            f"weights and biases must be small enough to evaluate; got row sums up to {largest_row_sum:g} and biases "
            f"adding up to {bias_total:g}; rescale."
        )
    return 2.0 ** math.floor(math.log2(room / max(largest_row_sum, 1.0)))
