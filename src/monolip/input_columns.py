"""One raw column and the model columns it becomes: numbers by monotone piecewise-linear maps, categories by tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cached import cached_property
from .errors import InputError, StructureError
from .intervals import plain_interval
from .piecewise_linear import PiecewiseLinear

__all__ = [
    "CategoryColumn",
    "Label",
    "NumericColumn",
    "codes_of",
    "is_missing",
    "numbers_of",
    "plain_label",
    "plain_value",
]

FloatArray = NDArray[np.float64]
Label = str | int | float | bool


@dataclass(frozen=True, eq=False)
class NumericColumn:
    """A raw number x -> (phi_1(x), ..., phi_m(x)), each phi non-decreasing, and perhaps a column that says "missing".

    Args:
        name: of the raw column.
        maps: one PiecewiseLinear per model column; they move together, so slopes add.
        missing: the value of every model column where x is missing (NaN); None refuses missing values.
        present: value of one more model column where x is *not* missing (its value where x is missing comes last in
            `missing`); None for no such column.
        seen: the training data in short, for drawing: its one or two values, or its (lowest, median, highest).

    Example: u = x, and an indicator that is 1 where x is missing.
        >>> age = NumericColumn("age", (PiecewiseLinear([0.0], [0.0], 1.0, 1.0),), missing=(40.0, 1.0), present=0.0)
        >>> age.evaluate([30.0, float("nan")])
        array([[30.,  0.],
               [40.,  1.]])
    """

    name: str
    maps: tuple[PiecewiseLinear, ...]
    missing: tuple[float, ...] | None = None
    present: float | None = None
    seen: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        several = type(self.maps) is tuple or isinstance(self.maps, Iterable)
        maps = tuple(self.maps) if several else ()
        known = {*map(type, maps)} == {PiecewiseLinear} or all(isinstance(m, PiecewiseLinear) for m in maps)
        if not isinstance(self.name, str) or not maps or not known:
            raise StructureError(
                f"a numeric column has a name and at least one PiecewiseLinear map; got {self.name!r}, {self.maps!r}; "
                "pass a tuple of maps."
            )
        count = len(maps) + (self.present is not None)
        missing = None if self.missing is None else tuple(map(float, self.missing))
        present = None if self.present is None else float(self.present)
        if missing is not None and (len(missing) != count or not all(map(math.isfinite, missing))):
            raise StructureError(
                f"missing gives each of the {count} model columns of {self.name!r} a finite value; got {missing}; "
                "add the indicator's value last."
            )
        if present is not None and (missing is None or not math.isfinite(present)):
            raise StructureError(
                f"an indicator column needs a finite value for present and for missing; got present={present} and "
                f"missing={missing} in {self.name!r}; give both."
            )
        seen = None if self.seen is None else tuple(map(float, self.seen))
        if seen is not None and (
            len(seen) not in (1, 2, 3) or list(seen) != sorted(seen) or not all(map(math.isfinite, seen))
        ):
            raise StructureError(
                f"seen is one to three finite numbers in order; got {seen} in {self.name!r}; pass (low, median, high)."
            )
        vars(self).update(maps=maps, missing=missing, present=present, seen=seen)

    @property
    def n_model(self) -> int:
        return len(self.maps) + (self.present is not None)

    def evaluate(self, values: Any) -> FloatArray:
        """Shape (n,) -> (n, n_model); NaN is missing."""
        x = numbers_of(values, self.name)
        absent = np.isnan(x)
        if absent.any() and self.missing is None:
            raise InputError(
                f"column {self.name!r} was fitted without a rule for missing values; got NaN in row "
                f"{int(np.argmax(absent))}; fill it."
            )
        out = np.empty((len(x), self.n_model))
        known = np.where(absent, 0.0, x)
        for j, phi in enumerate(self.maps):
            out[:, j] = phi.evaluate(known)
        if self.present is not None:
            out[:, -1] = self.present
        if self.missing is not None:
            out[absent] = self.missing
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        return NumericColumn, (self.name, self.maps, self.missing, self.present, self.seen)


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A raw category -> its row of a table.

    Args:
        name: of the raw column.
        categories: the distinct labels (strings, numbers, booleans).
        table: one row for each category, then one for unseen labels and one for missing; shape (n + 2, n_model).
        ordered: whether categories are listed from low to high; their rows then never fall, in any column.

    Examples:
        >>> sex = CategoryColumn("sex", ("f", "m"), [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.5, 0.5]])
        >>> sex.evaluate(["m", None, "x"])
        array([[0. , 1. ],
               [0.5, 0.5],
               [0. , 0. ]])
    """

    name: str
    categories: tuple[Label, ...]
    table: FloatArray
    ordered: bool = False

    def __post_init__(self) -> None:
        labels = tuple(plain_label(label) for label in self.categories)
        table = np.array(self.table, dtype=np.float64)
        if not isinstance(self.name, str) or len(set(labels)) != len(labels) or None in labels:
            raise StructureError(
                f"a category column has a name and distinct labels; got {self.name!r} and {labels[:8]}; drop repeats."
            )
        if table.ndim != 2 or len(table) != len(labels) + 2 or not table.shape[1] or not np.isfinite(table).all():
            raise StructureError(
                f"the table of {self.name!r} has a finite row for each of {len(labels)} categories, for unseen and for "
                f"missing; got shape {table.shape}; add rows."
            )
        if self.ordered and (np.diff(table[: len(labels)], axis=0) < 0).any():
            raise StructureError(
                f"the table of an ordered category never falls from one category to the next; got {self.name!r} with "
                "a column that falls; list the categories from low to high, or pass ordered=False."
            )
        table.setflags(write=False)
        for field, value in (("categories", labels), ("table", table), ("ordered", bool(self.ordered))):
            object.__setattr__(self, field, value)

    @property
    def n_model(self) -> int:
        return int(self.table.shape[1])

    @cached_property
    def _code_of(self) -> dict[Label, int]:
        return {label: code for code, label in enumerate(self.categories)}

    def codes(self, values: Any) -> NDArray[np.int64]:
        """Row of the table for each label: unseen labels and missing ones have rows of their own. Shape (n,)."""
        return codes_of(values, self._code_of)

    def evaluate(self, values: Any) -> FloatArray:
        """Shape (n,) -> (n, n_model)."""
        return np.asarray(self.table[self.codes(values)])

    def __reduce__(self) -> tuple[Any, ...]:
        return CategoryColumn, (self.name, self.categories, np.array(self.table), self.ordered)


def codes_of(values: Any, code_of: Mapping[Label, int]) -> NDArray[np.int64]:
    """Of each label what code_of says; the next two numbers where it is unseen, and where it is missing. Shape (n,)."""
    unseen, missing = len(code_of), len(code_of) + 1
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":  # few distinct numbers, many rows
        distinct, inverse = np.unique(values, return_inverse=True)
        return codes_of(distinct.astype(object), code_of)[inverse]
    labels = values.tolist() if isinstance(values, np.ndarray) else list(values)
    found = [missing if is_missing(label) else code_of.get(plain_interval(label), unseen) for label in labels]
    return np.array(found, dtype=np.int64)


def is_missing(label: Any) -> bool:
    """None, NaN, NaT and pandas.NA, without importing pandas."""
    if type(label) is str:
        return False
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float) and math.isnan(label)


def plain_value(value: Any) -> Any:
    """numpy's scalars as Python's own, so that np.str_('a') is never seen in a message or a file."""
    return value.item() if isinstance(value, np.generic) else value


def plain_label(label: Any) -> Any:
    """A label as a plain Python value that JSON can hold; others are refused."""
    value = plain_value(label)
    if not isinstance(value, str | int | float | bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise StructureError(f"a category is a string, a number or a boolean; got {label!r}; convert it to a string.")
    return value


def numbers_of(values: Sequence[Any] | NDArray[Any], name: str) -> FloatArray:
    """A raw column as float64, shape (n,); None counts as NaN; strings are refused with the column's name."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "USOM" and any(isinstance(v, str) for v in array.ravel().tolist()):
            raise ValueError("it holds strings")
        x = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"column {name!r} holds numbers; {error}; convert it, or declare it a category.") from None
    if x.ndim != 1:
        raise InputError(f"column {name!r} is one-dimensional; got shape {x.shape}; pass one column at a time.")
    return x
