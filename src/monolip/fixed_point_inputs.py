"""All raw columns to integers, and the free branch, whose outputs enter the integer trunks like any other input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, StructureError
from .fixed_point_columns import FixedCategory, FixedNumeric
from .fixed_point_map import WIDEST
from .floats import locked, to_floats
from .free_branch import FreeBranch
from .input_transform import InputTransform, keys_of
from .monotonic_cst import check_names

__all__ = ["FixedFree", "FixedInputs", "raw_columns"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Column = FixedNumeric | FixedCategory


@dataclass(frozen=True, eq=False)
class FixedInputs:
    """Raw columns, in order, to integers: what InputTransform is to floats. Shape: columns (n,) -> (n, n_model)."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if not self.columns or not all(isinstance(column, FixedNumeric | FixedCategory) for column in self.columns):
            raise StructureError(
                "fixed-point inputs are FixedNumeric and FixedCategory columns; got others; pass them."
            )
        check_names(self.names, len(self.columns))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def starts(self) -> list[int]:
        """Model columns of raw column i are starts[i] .. starts[i + 1] - 1."""
        return [sum(column.n_model for column in self.columns[:i]) for i in range(len(self.columns) + 1)]

    @property
    def limits(self) -> list[int]:
        """|X_j| never exceeds limits[j] >= 1: follows from the declared ranges."""
        return [max(-low, high, 1) for low, high in self.ranges]

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Smallest and largest integer of each model column, or further out."""
        return [pair for column in self.columns for pair in column.ranges]

    def evaluate(self, columns: list[Any]) -> IntArray:
        """Integers of raw columns in order."""
        blocks = [column.evaluate(values) for column, values in zip(self.columns, columns, strict=True)]
        if len({len(block) for block in blocks}) > 1:
            raise InputError("raw columns must have one length; got several; pass columns of one table.")
        return np.hstack(blocks)


@dataclass(frozen=True, eq=False)
class FixedFree:
    """Columns without a promise: float maps, dense layers, then X_j = clamp(rint(h_j * rate_j), -limit_j, limit_j).

    Library functions (tanh, silu) need not give the same bits on two machines; everything after the rounding does.

    Args:
        inputs: raw columns to the branch's inputs, in floats.
        branch: the dense layers.
        rates, limits: one each per output of the branch.
    """

    inputs: InputTransform
    branch: FreeBranch
    rates: FloatArray
    limits: tuple[int, ...]

    def __post_init__(self) -> None:
        rates = locked(to_floats(self.rates))
        whole = all(type(v) is int and 1 <= v <= WIDEST for v in self.limits)
        if not isinstance(self.inputs, InputTransform) or not isinstance(self.branch, FreeBranch):
            raise StructureError("a free part has an InputTransform and a FreeBranch; got others; compile again.")
        count = self.branch.n_outputs
        if rates.shape != (count,) or len(self.limits) != count or not whole or not (rates > 0).all():
            raise StructureError(f"a free branch has {count} positive rates and limits; got others; compile again.")
        if not np.isfinite(rates).all() or self.inputs.n_model != self.branch.n_features:
            raise StructureError("rates are finite, and the transform feeds the branch; got others; compile again.")
        object.__setattr__(self, "rates", rates)

    def evaluate(self, columns: list[Any]) -> IntArray:
        """Raw columns (n,) each -> (n, n_outputs)."""
        h = self.branch.evaluate(self.inputs.evaluate(columns))
        if np.isnan(h).any():
            raise InputError("the free branch overflowed to NaN; its inputs are too large; scale them.")
        with np.errstate(over="ignore"):
            scaled = np.rint(h * self.rates)
        most = np.array(self.limits, dtype=np.float64)
        return np.asarray(np.clip(scaled, -most, most).astype(np.int64))


def raw_columns(columns: Any, names: tuple[str, ...]) -> list[Any]:
    """Raw columns in order, from a data frame, a mapping by name, a matrix or a sequence of columns."""
    keys = keys_of(columns)
    if keys is not None:
        absent = [name for name in names if name not in keys]
        if absent:
            raise InputError(f"every raw column must be given; {absent[:5]} missing; add them.")
        found = [columns[keys[name]] for name in names]
        return [column.to_pylist() if hasattr(column, "to_pylist") else column for column in found]  # Arrow
    if isinstance(columns, np.ndarray) and columns.ndim == 2:
        columns = columns.T
    if isinstance(columns, str) or not hasattr(columns, "__len__") or len(columns) != len(names):
        raise InputError(f"there must be {len(names)} raw columns, {names[:5]} ...; got others; pass a table of them.")
    return list(columns)
