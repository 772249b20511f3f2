"""The numbers of the fit procedure, in one place."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np

from monolip.errors import InputError
from monolip.input_columns import plain_value

__all__ = ["MOST_BINS", "FitOptions", "Stage"]

MOST_BINS = 256  # per feature


@dataclass(frozen=True)
class Stage:
    """A stretch of training: how many steps, and under which decay of the slopes."""

    steps: int
    decay: float


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The numbers of the fit procedure. The defaults need no tuning.

    Pass an instance as `fit_options=`; scikit-learn's searches can set single fields (`fit_options__n_bins`). A pair
    holds one number for tables with fewer than `many_rows` rows and one for larger tables; a single number in its place
    counts for both. Arguments of an estimator override the fields of the same name. `benchmarks/ablation.py` measures
    what each field is worth.

    Example:
        >>> FitOptions(n_bins=16).n_bins, FitOptions.fast().bin_kinds
        ((16, 16), (None,))
    """

    # Tables with at least so many rows are large: the second number of a pair holds, and validated members share one
    # fold. With fewer rows each validated member of a kind has a fold of its own.
    many_rows: int = 2500
    # Share of the rows in a fold: a member is validated on its fold, and not trained on it before the refit.
    validation_fraction: float = 0.125
    # Rows that a member is validated on, at most.
    max_validation_rows: int = 8192

    # Bins of a numeric feature, at most (pair).
    n_bins: tuple[int, int] = (64, 128)
    # Bins of all numeric features together, at most.
    total_bins: int = 768
    # Rows per bin of a numeric feature, at least. Where this leaves 16 bins or fewer, 8 are used all the same.
    rows_per_bin: int = 8
    # One kind of members for each entry: the bins per feature that they see, at most (None: all, 0: the map alone).
    bin_kinds: tuple[int | None, ...] = (None, 0)
    # Levels of a category with a column of their own, at most; with more levels, target means are added.
    one_hot_levels: int = 12

    # Ridge strengths that are tried for the additive model.
    ridge_strengths: tuple[float, ...] = (3000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
    # Of the strengths within half a standard error of the best, the one nearest to this (on a log scale) is taken.
    usual_strength: float = 30.0

    # Networks that are averaged (pair).
    n_estimators: tuple[int, int] = (8, 4)
    # Members of each kind that are validated (pair). Others are trained on all rows, up to the stage that these choose.
    n_validated: tuple[int, int] = (4, 1)
    # Widths of the hidden layers.
    hidden_layer_sizes: tuple[int, ...] = (32, 32)
    # Rows per training step (pair).
    batch_size: tuple[int, int] = (64, 128)
    # Steps of the first stage; each stage has twice as many as the one before.
    first_steps: int = 50
    # Stages, at most (pair).
    n_stages: tuple[int, int] = (8, 9)
    # Slope decay of each stage, relative to the size of a slope step; the last number holds for all further stages.
    slope_decays: tuple[float, ...] = (0.3, 0.1, 0.05, 0.02, 0.02, 0.01, 0.005, 0.003)
    # Size of a step of a first-layer slope, in standard deviations of the target.
    slope_rate: float = 0.16
    # With more features d than this, a slope step is slope_rate * sqrt(wide_features / d).
    wide_features: int = 32
    # Training ends after a stage that improves the validation loss by less than this part of it ...
    min_improvement: float = 0.01
    # ... but not before so many stages (pair).
    min_stages: tuple[int, int] = (2, 4)
    # A kind whose validation loss is above the best kind's by more than this part of it is left out.
    kind_tolerance: float = 0.05
    # Without validation rows: so many stages, and at least this slope decay.
    unvalidated_stages: int = 6
    unvalidated_decay: float = 0.1

    @classmethod
    def fast(cls) -> Self:
        """Return options for fewer networks of one kind."""
        return cls(bin_kinds=(None,), n_estimators=(4, 2))

    @classmethod
    def accurate(cls) -> Self:
        """Return options for more networks of three kinds."""
        return cls(bin_kinds=(None, 8, 0), n_estimators=(24, 12), n_validated=(8, 2))

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            value = _read(field.name, given, field.default)
            if value is not given:
                object.__setattr__(self, field.name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return every field by name, as scikit-learn's searches ask for them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change fields in place, for scikit-learn's searches; unknown names are refused."""
        unknown = sorted(set(params) - {field.name for field in fields(self)})
        if unknown:
            raise InputError(
                f"FitOptions has the fields {', '.join(field.name for field in fields(self))}; got {unknown[0]!r}; "
                "correct the name."
            )
        for name, value in vars(replace(self, **params)).items():
            object.__setattr__(self, name, value)
        return self

    def written(self) -> dict[str, Any]:
        """Return the fields as plain lists and numbers, for a file."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def of(self, name: str, n_rows: int) -> Any:
        """Return the number of a pair that holds for a table of so many rows."""
        return getattr(self, name)[0 if n_rows < self.many_rows else 1]

    def stages(self, n_rows: int, batch_size: int, max_iter: int | None) -> tuple[Stage, ...]:
        """Return the stages of a table of so many rows; with max_iter, as many steps as so many passes over it."""
        if max_iter is None:
            return tuple(self._stage(number) for number in range(int(self.of("n_stages", n_rows))))
        found: list[Stage] = []
        left = max(1, math.ceil(max_iter * n_rows / batch_size))
        while left > 0:
            number = len(found)
            steps = min(self._stage(number).steps, left)
            left -= steps
            if left < steps:  # a short rest belongs to this stage
                steps, left = steps + left, 0
            found.append(Stage(steps, self._stage(number).decay))
        return tuple(found)

    def _stage(self, number: int) -> Stage:
        return Stage(self.first_steps * 2**number, self.slope_decays[min(number, len(self.slope_decays) - 1)])


_PAIRS = ("n_bins", "n_stages", "n_estimators", "n_validated", "batch_size", "min_stages")
_WHOLE = (
    "many_rows", "max_validation_rows", "n_bins", "total_bins", "rows_per_bin", "bin_kinds", "one_hot_levels",
    "n_estimators", "n_validated", "hidden_layer_sizes", "batch_size", "first_steps", "n_stages", "wide_features",
    "min_stages", "unvalidated_stages",
)  # fmt: skip
_AT_LEAST_1 = (
    "max_validation_rows", "rows_per_bin", "n_estimators", "n_validated", "hidden_layer_sizes", "batch_size",
    "first_steps", "wide_features",
)  # fmt: skip
_ABOVE_0 = ("ridge_strengths", "usual_strength", "validation_fraction")
_MOST = {
    "validation_fraction": 0.5, "n_bins": MOST_BINS, "bin_kinds": MOST_BINS, "n_estimators": 64, "n_validated": 64,
    "n_stages": 24, "unvalidated_stages": 24,
}  # fmt: skip
_LARGEST = 2**31 - 1  # of any other number
_LONGEST = 64  # of any tuple


def _read(name: str, given: Any, default: Any) -> Any:
    """Return the value of a field, checked: the very object where it needs no conversion, as clones ask for it."""
    if not isinstance(default, tuple):
        return _number(name, given)
    several = np.iterable(given) and not isinstance(given, str | bytes | Mapping)
    if not several:
        return (_number(name, given),) * (2 if name in _PAIRS else 1)
    values = tuple(given)
    few = not values and name != "hidden_layer_sizes"
    if few or len(values) > _LONGEST or (name in _PAIRS and len(values) != 2):
        rule = "one number or a pair of them" if name in _PAIRS else f"1 to {_LONGEST} numbers"
        raise InputError(f"{name} of FitOptions holds {rule}; got {reprlib.repr(given)}; correct it.")
    found = tuple(_number(name, value) for value in values)
    unchanged = isinstance(given, tuple) and all(map(operator.is_, found, given))
    return given if unchanged else found


def _number(name: str, given: Any) -> Any:
    value, whole = plain_value(given), name in _WHOLE
    if value is None and name == "bin_kinds":
        return None
    low, most = int(name in _AT_LEAST_1), _MOST.get(name, _LARGEST)
    is_number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if is_number and low <= value <= most and (value > 0 or name not in _ABOVE_0):
        return given if type(given) is type(value) else value
    kind = "whole numbers" if whole else "numbers"
    start = "above 0 and at most" if name in _ABOVE_0 else f"from {low} to"
    raise InputError(
        f"{name} of FitOptions holds {kind} {start} {most:,}{', or None' if name == 'bin_kinds' else ''}; got "
        f"{reprlib.repr(value)}; correct it."
    )
