r"""From raw columns to model columns: part of a FrozenNetwork, so that its promise is about the user's own units.

    raw x_i  ->  phi_i1(x_i), phi_i2(x_i), ...        df/dx_i = sum_j df/du_j * phi_ij'(x_i)

Every numeric map is non-decreasing and piecewise linear, every category a row of a table: nothing else. That is what
lets slopes in raw units be computed exactly, and an independent checker repeat it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cached import cached_property
from .errors import InputError, StructureError
from .frames import ColumnNames
from .input_columns import CategoryColumn, NumericColumn
from .map_tables import MapTables
from .monotonic_cst import check_names
from .piecewise_linear import PiecewiseLinear

__all__ = ["InputTransform"]

FloatArray = NDArray[np.float64]
Column = NumericColumn | CategoryColumn


@dataclass(frozen=True, eq=False)
class InputTransform:
    """Raw columns, in order, to a matrix of model columns.

    Args:
        columns: NumericColumn and CategoryColumn, with distinct names.

    Shape: evaluate takes one array of shape (n,) per raw column, in order or by name, and gives (n, n_model).

    Examples:
        >>> from monolip.piecewise_linear import PiecewiseLinear
        >>> inputs = InputTransform(
        ...     (
        ...         NumericColumn("size", (PiecewiseLinear([0.0, 100.0], [0.0, 1.0]),)),
        ...         CategoryColumn("city", ("A", "B"), [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]),
        ...     )
        ... )
        >>> inputs.evaluate({"size": [50.0, 200.0], "city": ["B", "C"]})
        array([[0.5, 0. , 1. ],
               [1. , 0. , 0. ]])
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        columns = tuple(self.columns) if isinstance(self.columns, Iterable) else ()
        if not columns or not all(isinstance(column, NumericColumn | CategoryColumn) for column in columns):
            raise StructureError(
                "an input transform is made of NumericColumn and CategoryColumn; got others or none; pass a tuple."
            )
        check_names([column.name for column in columns], len(columns))
        object.__setattr__(self, "columns", columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def n_raw(self) -> int:
        return len(self.columns)

    @property
    def n_model(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Model columns of raw column i are starts[i] .. starts[i + 1] - 1; shape (n_raw + 1,)."""
        return np.array([0, *accumulate(column.n_model for column in self.columns)], dtype=np.int64)

    @property
    def raw_of(self) -> NDArray[np.int64]:
        """Raw column of each model column, shape (n_model,)."""
        return np.repeat(np.arange(self.n_raw), np.diff(self.starts))

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """Positions of the numeric raw columns: those that have slopes."""
        return tuple(i for i, column in enumerate(self.columns) if isinstance(column, NumericColumn))

    def maps_of(self, i: int) -> tuple[PiecewiseLinear, ...]:
        """The maps of numeric raw column i; its first model columns, in order."""
        column = self.columns[i]
        return column.maps if isinstance(column, NumericColumn) else ()

    def pieces_of(self, i: int) -> tuple[FloatArray, NDArray[np.int64]]:
        """All knots of raw feature i, (n,), and the piece of each map that serves each stretch between, (n + 1, m)."""
        tables = self.tables_of(i)
        return tables.knots, tables.at

    def tables_of(self, i: int) -> MapTables:
        """Pieces and slopes of all maps of numeric raw column i; training, prediction and slopes all ask."""
        return self._tables[self.numeric.index(i)]

    @cached_property
    def _tables(self) -> list[MapTables]:
        return MapTables.of([self.maps_of(i) for i in self.numeric])

    def slopes_by_piece(self, i: int) -> tuple[list[tuple[Fraction, ...]], FloatArray]:
        """Slopes of all maps of raw feature i on each stretch, exact and as floats; equal stretches once."""
        if i not in self._slopes:
            maps = self.maps_of(i)
            rows = [[phi.slopes[p] for phi, p in zip(maps, at, strict=True)] for at in self.pieces_of(i)[1].tolist()]
            distinct = list(dict.fromkeys(map(tuple, rows)))
            self._slopes[i] = distinct, np.array([[float(s) for s in stretch] for stretch in distinct])
        return self._slopes[i]

    @cached_property
    def _slopes(self) -> dict[int, tuple[list[tuple[Fraction, ...]], FloatArray]]:
        return {}  # rational arithmetic is slow, and a fit asks several times

    def evaluate(self, columns: Any) -> FloatArray:
        """Model columns, shape (n, n_model), in float64 and bit for bit monotone in every numeric column.

        columns: a data frame, a mapping by name, or a sequence of raw columns in order.
        """
        given = self.in_order(columns)
        blocks = [column.evaluate(values) for column, values in zip(self.columns, given, strict=True)]
        lengths = {len(block) for block in blocks}
        if len(lengths) > 1:
            raise InputError(f"raw columns must have one length; got {sorted(lengths)}; pass columns of one table.")
        return np.hstack(blocks)

    def in_order(self, columns: Any) -> list[Any]:
        """Raw columns in the order of this transform, taken by name from a data frame or a mapping."""
        keys = keys_of(columns)
        if keys is not None:
            absent = [name for name in self.names if name not in keys]
            if absent:
                raise InputError(f"every raw column must be given; {absent[:5]} missing; add them.")
            found = [columns[keys[name]] for name in self.names]
            return [column.to_pylist() if hasattr(column, "to_pylist") else column for column in found]  # Arrow
        if getattr(columns, "ndim", 1) == 2 or not hasattr(columns, "__len__") or isinstance(columns, str):
            raise InputError(
                "raw columns come as a data frame, a dict by name or a sequence of columns; got "
                f"{type(columns).__name__}; for a matrix pass list(X.T)."
            )
        if len(columns) != self.n_raw:
            raise InputError(
                f"there must be {self.n_raw} raw columns; got {len(columns)}; the order is {self.names[:5]} ..."
            )
        return list(columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return InputTransform, (self.columns,)


def keys_of(table: Any) -> dict[Any, Any] | None:
    """What the columns of a mapping or a data frame are called, and the key of each; None for anything else."""
    if isinstance(table, Mapping):
        return {name: name for name in table}
    labels = names_of(table)
    return None if labels is None else dict(zip(ColumnNames.of(labels).names, labels, strict=True))


def names_of(table: Any) -> list[Any] | None:
    """Column names of a data frame (pandas, polars, Arrow) without importing any of them; None for anything else."""
    names = getattr(table, "column_names", None)  # Arrow, whose .columns are the columns themselves
    if names is None:
        names = getattr(table, "columns", None)
    return list(names) if names is not None and hasattr(table, "__getitem__") else None
