"""Every number of the fit procedure, in one place."""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from monolip.errors import InputError
from monolip.input_columns import plain_value

__all__ = ["FitOptions", "Stage"]


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

    # Rows from which on all validated members share their validation rows; with fewer rows each has its own.
    many_rows: int = 2500
    # Share of the rows that a member is validated on, and not trained on before the refit.
    validation_fraction: float = 0.125
    # Rows that a member is validated on, at most.
    max_validation_rows: int = 8192

    # Bins of a numeric feature, at most (pair).
    n_bins: tuple[int, int] = (64, 128)
    # Bins of all numeric features together, at most.
    total_bins: int = 768
    # Rows per bin of a numeric feature, at least.
    rows_per_bin: int = 8
    # Bins per feature that the members of each kind see, at most; None: all. The members of all kinds are averaged.
    bin_kinds: tuple[int | None, ...] = (None, 0)
    # Levels of a category with a column of their own, at most; with more levels, target means are added.
    one_hot_levels: int = 12

    # Ridge strengths that are tried for the additive model.
    ridge_strengths: tuple[float, ...] = (3000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
    # Of the strengths within half a standard error of the best, the one nearest to this is taken.
    usual_strength: float = 30.0

    # Networks that are averaged (pair).
    n_estimators: tuple[int, int] = (8, 4)
    # Members of each kind that are validated (pair); the others follow what these decide, trained on all rows.
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
    # Features from which on slope steps are smaller, by the square root of the number of features.
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
            value = getattr(self, field.name)
            several = isinstance(value, list | tuple) or (hasattr(value, "ndim") and value.ndim == 1)
            given = tuple(value) if several else (value,)
            if any(hasattr(v, "dtype") for v in given):  # numbers of numpy; tuples of plain ones stay the same object
                given = tuple(map(plain_value, given))
            if field.name in _PAIRS and len(given) == 1:
                given *= 2
            whole = field.type.startswith(("int", "tuple[int")) if isinstance(field.type, str) else False
            lowest, highest = _LIMITS.get(field.name, (0, 1e12))
            right_length = len(given) == 2 if field.name in _PAIRS else len(given) == 1 or field.name in _LISTS
            right_length = right_length and len(given) <= _LONGEST
            if not given or not right_length or not all(_is_number(v, whole, field.name) for v in given):
                raise InputError(f"{field.name} is {_kind(field.name, whole)}; got {reprlib.repr(value)}; correct it.")
            if not all(v is None or lowest <= v <= highest for v in given):
                raise InputError(f"{field.name} lies in [{lowest}, {highest}]; got {reprlib.repr(value)}; correct it.")
            object.__setattr__(self, field.name, given if field.name in (*_PAIRS, *_LISTS) else given[0])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return every field by name, as scikit-learn's searches ask for them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change fields, as scikit-learn's searches do; unknown names are refused."""
        known = [field.name for field in fields(self)]
        unknown = [name for name in params if name not in known]
        if unknown:
            raise InputError(f"the fields of FitOptions are {', '.join(known)}; got {unknown[0]!r}; correct the name.")
        for name, value in replace(self, **params).get_params().items():
            object.__setattr__(self, name, value)
        return self

    def of(self, name: str, n_rows: int) -> Any:
        """Return the number of a pair that holds for a table with so many rows."""
        return getattr(self, name)[0 if n_rows < self.many_rows else 1]

    def stages(self, n_rows: int, batch_size: int, max_iter: int | None) -> tuple[Stage, ...]:
        """Return the stages for a table with so many rows; with max_iter, as many steps as so many passes over it."""
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
        decay = self.slope_decays[min(number, len(self.slope_decays) - 1)]
        return Stage(self.first_steps * 2**number, decay)


_PAIRS = ("n_bins", "n_estimators", "n_validated", "batch_size", "n_stages", "min_stages")
_LISTS = ("bin_kinds", "ridge_strengths", "hidden_layer_sizes", "slope_decays")
_LONGEST = 64  # of any tuple
_LIMITS: dict[str, tuple[float, float]] = {
    "validation_fraction": (1e-6, 0.5),
    "max_validation_rows": (1, 2**31),
    "n_bins": (0, 256),
    "total_bins": (0, 2**20),
    "rows_per_bin": (1, 2**31),
    "bin_kinds": (0, 256),
    "one_hot_levels": (1, 4096),
    "ridge_strengths": (1e-9, 1e9),
    "usual_strength": (1e-9, 1e9),
    "n_estimators": (1, 64),
    "n_validated": (1, 64),
    "hidden_layer_sizes": (1, 4096),
    "batch_size": (1, 2**31),
    "first_steps": (1, 2**20),
    "n_stages": (0, 24),
    "slope_rate": (1e-9, 1e3),
    "wide_features": (1, 2**31),
    "unvalidated_stages": (0, 24),
}


def _kind(name: str, whole: bool) -> str:
    numbers = "whole numbers" if whole else "finite numbers"
    if name in _PAIRS:
        return f"one of the {numbers} from 0 on, or a pair of them (with few rows, with many rows)"
    if name in _LISTS:
        return f"a tuple of {numbers} from 0 on{' or None' if name == 'bin_kinds' else ''}"
    return f"a {'whole' if whole else 'finite'} number from 0 on"


def _is_number(value: Any, whole: bool, name: str) -> bool:
    if value is None:
        return name == "bin_kinds"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return False
    return bool(value >= 0)
