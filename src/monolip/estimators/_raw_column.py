"""One raw column as it came: numbers as float64, everything else as labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.cached import cached_property
from monolip.input_columns import CategoryColumn

__all__ = ["EXACT", "RawColumn", "array_of", "beyond_floats", "digits_of"]

EXACT = 2**53  # larger integers are not all floats


@dataclass(frozen=True)
class RawColumn:
    """values: float64 with NaN for missing, or objects (labels).

    categories: not None where the table's own type says "category", listed where it also gives an order.
    exact: the same values as Python's integers, where floats would merge some of them.
    digits: significant bits of the numbers as they came: 53, of float32 24.
    intervals: whether the labels are texts of intervals.
    """

    name: str
    values: NDArray[Any]
    categories: tuple[Any, ...] | None = None
    ordered: bool = False
    exact: NDArray[Any] | None = None
    digits: int = 53
    intervals: bool = False

    @property
    def labels(self) -> NDArray[Any]:
        """The values as a category sees them."""
        return self.values if self.exact is None else self.exact

    @property
    def is_numeric(self) -> bool:
        return self.values.dtype.kind == "f"

    def at(self, rows: NDArray[Any] | slice) -> NDArray[Any]:
        """The values of some rows."""
        return np.asarray(self.values[rows])

    @cached_property
    def factors(self) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """(distinct labels, number of each row's label among them): a label is looked at once, not once a row."""
        labels = self.labels
        if labels.dtype.kind == "f":
            found = np.unique(labels, return_inverse=True)
            return found[0].astype(object), found[1]
        numbers: dict[Any, int] = {}
        codes = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
        return array_of(list(numbers)), np.array(codes, dtype=np.intp)

    def codes_in(self, column: CategoryColumn) -> NDArray[np.int64]:
        """Row of the category's table for each row."""
        distinct, number = self.factors
        return column.codes(distinct)[number]


def array_of(items: Sequence[Any]) -> NDArray[Any]:
    """Shape (n,) whatever the items are."""
    return np.fromiter(items, dtype=object, count=len(items))


def digits_of(dtype: np.dtype[Any]) -> int:
    """Significant bits of the numbers of a type of numpy, as `RawColumn` counts them."""
    return {"e": 11, "f": 24}.get(dtype.char, 53)


def beyond_floats(values: NDArray[Any]) -> bool:
    """Whether some of these whole numbers, NaN aside, may be no floats."""
    return bool(((values >= EXACT) | (values <= -EXACT)).any())
