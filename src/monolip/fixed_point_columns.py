"""One raw column and the integers it becomes: numbers by monotone maps, categories by tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cached import cached_property
from .errors import InputError, StructureError
from .fixed_point_map import WIDEST, FixedMap
from .fixed_point_trunk import locked_ints
from .input_columns import CategoryColumn, Label, numbers_of

__all__ = ["FixedCategory", "FixedNumeric"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FixedNumeric:
    """A raw number -> one integer per map, and perhaps one that says "missing".

    Args:
        name: of the raw column.
        maps: FixedMap per model column; between their first and last knot lies the declared range.
        missing: integers where the number is missing (NaN), the indicator's last; None refuses NaN.
        present: the indicator's integer where it is not missing; None for no indicator.

    Examples:
        >>> FixedNumeric("age", (FixedMap([0.0, 100.0], [0, 50]),), (20, 1), 0).evaluate([10.0, float("nan")])
        array([[ 5,  0],
               [20,  1]])
    """

    name: str
    maps: tuple[FixedMap, ...]
    missing: tuple[int, ...] | None = None
    present: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.maps or not all(isinstance(m, FixedMap) for m in self.maps):
            raise StructureError(f"a numeric column has a name and maps; got {self.name!r}; pass FixedMap objects.")
        extra = self.present is not None
        whole = [*(self.missing or ()), *([self.present] if extra else [])]
        if any(type(v) is not int or abs(v) > WIDEST for v in whole) or (extra and self.missing is None):
            raise StructureError(f"missing and present are integers, present only with missing; got {whole}; check it.")
        if self.missing is not None and len(self.missing) != self.n_model:
            raise StructureError(
                f"missing has one integer per model column, {self.n_model}; got {self.missing}; match them."
            )

    @property
    def low(self) -> float:
        """Lower end of the declared range: numbers below count as it."""
        return float(min(phi.knots[0] for phi in self.maps))

    @property
    def high(self) -> float:
        """Upper end of the declared range."""
        return float(max(phi.knots[-1] for phi in self.maps))

    @property
    def n_model(self) -> int:
        return len(self.maps) + (self.present is not None)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Smallest and largest integer of each model column: maps are monotone, so their ends decide."""
        found = [(int(phi.nodes[0]), int(phi.nodes[-1])) for phi in self.maps]
        if self.present is not None:
            found.append((self.present, self.present))
        gone = self.missing or tuple(low for low, _ in found)
        return [(min(low, m), max(high, m)) for (low, high), m in zip(found, gone, strict=True)]

    def evaluate(self, values: Any) -> IntArray:
        """Shape (n,) -> (n, n_model)."""
        x = numbers_of(values, self.name)
        absent = np.isnan(x)
        if absent.any() and self.missing is None:
            raise InputError(
                f"column {self.name!r} has no rule for missing values; got NaN in row {int(np.argmax(absent))}; fill "
                "it."
            )
        known = np.where(absent, 0.0, x)
        out = np.empty((len(x), self.n_model), dtype=np.int64)
        for j, phi in enumerate(self.maps):
            out[:, j] = phi.evaluate(known)
        if self.present is not None:
            out[:, -1] = self.present
        if self.missing is not None:
            out[absent] = self.missing
        return out


@dataclass(frozen=True, eq=False)
class FixedCategory:
    """A raw category -> its row of an integer table: one row per category, then unseen, then missing."""

    name: str
    categories: tuple[Label, ...]
    table: IntArray
    ordered: bool = False

    def __post_init__(self) -> None:
        table = locked_ints(self.table)
        if table.size and np.abs(table).max() > WIDEST:
            raise StructureError(f"tables hold integers within +-{WIDEST}; got larger ones; compile again.")
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "categories", self._plain.categories)

    @cached_property
    def _plain(self) -> CategoryColumn:
        """Labels and their rules are those of the float table."""
        return CategoryColumn(self.name, self.categories, self.table.astype(np.float64), self.ordered)

    @property
    def n_model(self) -> int:
        return int(self.table.shape[1])

    @property
    def ranges(self) -> list[tuple[int, int]]:
        return [(int(column.min()), int(column.max())) for column in self.table.T]

    def codes(self, values: Any) -> IntArray:
        """Row of the table for each label, shape (n,)."""
        return self._plain.codes(values)

    def evaluate(self, values: Any) -> IntArray:
        """Shape (n,) -> (n, n_model)."""
        return np.asarray(self.table[self.codes(values)])
