"""Some rows of a raw table without a copy of them: columns are gathered one at a time, when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.cached import cached_property
from monolip.estimators._tables import RawColumn, RawTable

__all__ = ["pick_rows"]


def pick_rows(table: RawTable, rows: NDArray[np.int64]) -> RawTable:
    """The table of these rows; the same values as `table.take(rows)`, which are copied each time they are read."""
    small = rows.astype(np.int32) if table.n_rows < 2**31 else rows
    return RawTable(tuple(_Picked(column, small) for column in table.columns), table.named, len(rows))


class _Picked(RawColumn):
    """A column's values at some rows."""

    def __init__(self, whole: RawColumn, rows: NDArray[Any]) -> None:
        own = {"name": whole.name, "categories": whole.categories, "ordered": whole.ordered}
        self.__dict__.update(own, whole=whole, rows=rows)

    whole: RawColumn
    rows: NDArray[Any]

    @property
    def values(self) -> NDArray[Any]:
        return self.whole.at(self.rows)

    @property
    def exact(self) -> NDArray[Any] | None:
        return None if self.whole.exact is None else np.asarray(self.whole.exact[self.rows])

    @property
    def is_numeric(self) -> bool:
        return self.whole.is_numeric

    def at(self, rows: NDArray[Any] | slice) -> NDArray[Any]:
        return self.whole.at(self.rows[rows])

    @cached_property
    def factors(self) -> tuple[NDArray[Any], NDArray[np.intp]]:
        if "factors" not in self.whole.__dict__:  # of few rows among many: theirs alone
            return super().factors
        distinct, number = self.whole.factors
        return distinct, number[self.rows]
