"""A table whose columns are made some rows at a time: what is packed at once need never be held as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowSource"]


class RowSource:
    """Rows of a table (n, d) that a `Problem` asks for in pieces; the base class gives those of an array.

    A problem packs the bins of a feature into two numbers, so that its own copy is a fraction of the table's size:
    a source that computes its columns spares ever having the table.

    Examples:
        >>> RowSource(np.arange(6.0).reshape(3, 2)).rows(np.array([2, 0])).tolist()
        [[4.0, 5.0], [0.0, 1.0]]
    """

    def __init__(self, table: NDArray[Any]) -> None:
        self.table = table

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.table.shape

    def rows(self, which: NDArray[np.int32] | slice) -> NDArray[Any]:
        """Some of the rows, by number: (rows, d). Asked again, they are the same to the bit."""
        return np.asarray(self.table[which])

    def ends(self, columns: NDArray[np.int64]) -> NDArray[Any] | None:
        """The least and the largest value of each of these columns, (2, columns); None to look through all rows."""
        return None
