"""Every number of the fit procedure, in one place."""

from __future__ import annotations

import math
import reprlib
from dataclasses import asdict, dataclass, fields, replace
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
    """The numbers of the fit procedure; the defaults were chosen on the open suite and need no tuning.

    Pass an instance as `fit_options=`, or search single fields with scikit-learn as `fit_options__n_bins`. Pairs hold
    one number for tables with fewer than `many_rows` rows and one for larger tables. Measurements of every field:
    docs/research/training.md and `benchmarks/ablation.py`.

    Example:
        >>> FitOptions().get_params()["many_rows"], FitOptions.accurate().n_estimators
        (2500, (24, 12))
    """

    # -- Rows and folds --------------------------------------------------------------------------------------------
    # Rows. Below it every validating member has its own validation rows; from it on they share the same ones.
    many_rows: int = 2500
    # Share of the rows that a member is validated on, and not trained on before the refit.
    validation_fraction: float = 0.125
    # Rows that a member is validated on at most; more rows do not change the decisions.
    max_validation_rows: int = 8192
    # -- Inputs ----------------------------------------------------------------------------------------------------
    # Bins of a numeric feature at most (pair).
    n_bins: tuple[int, int] = (64, 128)
    # Bins of all numeric features together at most.
    total_bins: int = 768
    # Rows per bin of one feature at least.
    rows_per_bin: int = 8
    # Bins that a member of each kind sees per feature, None for all of them. Different kinds are averaged.
    bin_kinds: tuple[int | None, ...] = (None, 8, 0)
    # Levels of a category that have a column of their own; rarer ones share a column of target means.
    one_hot_levels: int = 12
    # -- Additive model --------------------------------------------------------------------------------------------
    # Ridge penalties that are tried.
    ridge_strengths: tuple[float, ...] = (3000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
    # The penalty taken among those that validation rows do not tell apart.
    usual_strength: float = 30.0
    # -- Members and stages ----------------------------------------------------------------------------------------
    # Networks that are averaged (pair).
    n_estimators: tuple[int, int] = (12, 6)
    # Members of each kind that have validation rows (pair); the others follow what these decide.
    n_validated: tuple[int, int] = (4, 1)
    # Widths of the hidden layers.
    hidden_layer_sizes: tuple[int, ...] = (32, 32)
    # Rows per step (pair).
    batch_size: tuple[int, int] = (64, 128)
    # Steps of the first stage; every stage has twice as many as the one before.
    first_steps: int = 50
    # Stages at most (pair).
    n_stages: tuple[int, int] = (8, 9)
    # Slope decay of each stage, in units of a slope step; the last number holds for all further stages.
    slope_decays: tuple[float, ...] = (0.3, 0.1, 0.05, 0.02, 0.02, 0.01, 0.005, 0.003)
    # Step size of first-layer slopes, in standard deviations of the target.
    slope_rate: float = 0.16
    # Numeric and categorical features from which on slope steps shrink, by the root of the number.
    wide_features: int = 32
    # Part of the validation loss that a stage improves if another one follows.
    min_improvement: float = 0.01
    # Stages that are trained in any case (pair).
    min_stages: tuple[int, int] = (2, 4)
    # Part of the best kind's validation loss by which another kind may be worse and still be averaged.
    kind_tolerance: float = 0.05
    # Stages and least slope decay where there are no validation rows.
    unvalidated_stages: int = 6
    unvalidated_decay: float = 0.1

    @classmethod
    def fast(cls) -> Self:
        """Fewer networks of one kind: about a third of the default's time."""
        return cls(n_estimators=(4, 2), n_validated=(4, 1), bin_kinds=(None,))

    @classmethod
    def accurate(cls) -> Self:
        """Twice the networks."""
        return cls(n_estimators=(24, 12), n_validated=(8, 2))

    def __post_init__(self) -> None:
        for field in fields(self):
            given, default = getattr(self, field.name), field.default
            value = _plain(given)
            if field.name in _PAIRS and not isinstance(value, tuple):
                value = (value, value)
            _check(field.name, value, default)
            if value is not given:
                object.__setattr__(self, field.name, value)
        if not 0 < self.validation_fraction <= 0.5:
            raise InputError(
                f"validation_fraction of FitOptions lies in (0, 0.5]; got {self.validation_fraction!r}; correct it."
            )

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
_AT_LEAST_1 = ("n_estimators", "n_validated", "batch_size", "first_steps", "rows_per_bin", "hidden_layer_sizes")
_LARGEST = 2**31 - 1  # of any number
_LONGEST = 64  # of any tuple


def _plain(value: Any) -> Any:
    """Return lists and arrays as tuples, and numbers of numpy as Python's; what is plain already as it is."""
    if isinstance(value, tuple) and all(part is None or type(part) in (int, float) for part in value):
        return value
    several = isinstance(value, list | tuple) or (hasattr(value, "ndim") and value.ndim == 1)
    return tuple(plain_value(part) for part in value) if several else plain_value(value)


def _check(name: str, value: Any, default: Any) -> None:
    """Raise InputError unless the value is what the default is: a number, or a tuple of them; a pair stays one."""
    several, pair = isinstance(default, tuple), name in _PAIRS
    right = isinstance(value, tuple) == several and (not several or 0 < len(value) <= _LONGEST)
    if not right or (pair and len(value) != 2):
        kind = "a number or a pair of numbers" if pair else "a tuple of numbers" if several else "a number"
        raise InputError(f"{name} of FitOptions is {kind}; got {reprlib.repr(value)}; correct it.")
    numbers = [number for number in (default if several else (default,)) if number is not None]
    whole, least = all(isinstance(number, int) for number in numbers), 1 if name in _AT_LEAST_1 else 0
    for number in value if several else (value,):
        if number is None and name == "bin_kinds":
            continue
        if type(number) not in ((int,) if whole else (int, float)) or not least <= number <= _LARGEST:
            kind = "whole numbers" if whole else "numbers"
            raise InputError(
                f"{name} of FitOptions holds {kind} from {least} to {_LARGEST:,}; got {reprlib.repr(number)}; correct "
                "it."
            )
