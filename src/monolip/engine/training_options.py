"""How a network is trained: the constants of the recipe, in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError

__all__ = ["TrainingOptions"]

REMEMBERED = 4096  # steps: longer schedules are made anew


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Rates are for features, and a target or log-odds, of scale about one; all but n_steps can stay as they are.

    slope_rate, slope_decay: step of first-layer slopes, and their pull to slope 0 in units of that step (regulariser).
    mixing_rate, output_rate: exponentiated steps of mixing rows; bias_rate: Adam steps of biases.
    averaging: decay of the average of iterates, which is the result (0: the last iterate).
    centred: gradients at fixed mean output. initial_slope: how steep the first layer starts.
    n_snapshots: how often the hold-out loss is measured; patience: stop after so many without a new best (None: never).
    time_limit: seconds; the one option under which the same seed may give another network.
    """

    n_steps: int = 2400
    batch_size: int = 64
    slope_rate: float = 0.16
    slope_decay: float = 0.02
    mixing_rate: float = 0.1
    output_rate: float = 0.03
    bias_rate: float = 0.08
    beta1: float = 0.9
    beta2: float = 0.99
    epsilon: float = 1e-8
    averaging: float = 0.99
    centred: bool = True
    cosine: bool = True
    initial_slope: float = 2.0
    n_snapshots: int = 8
    patience: int | None = None
    time_limit: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low in (("n_steps", 1), ("batch_size", 1), ("n_snapshots", 1), ("seed", 0), ("slope_decay", 0)):
            if getattr(self, name) < low:
                raise InputError(f"{name} is at least {low}; got {getattr(self, name)}; raise it.")
        for name in ("beta1", "beta2", "averaging"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} lies in [0, 1); got {getattr(self, name)}; it is a decay per step.")
        for name, value in vars(self).items():
            if isinstance(value, float) and not 0 <= value < math.inf:
                raise InputError(f"{name} is a finite number, at least 0; got {value}; change it.")

    def constants(self, paper_form: bool, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The array the kernels read, in their order. Signed rows take Adam steps, of the size the notes found best."""
        mixing = 0.05 * self.mixing_rate if paper_form else self.mixing_rate
        output = 0.05 * self.output_rate if paper_form else self.output_rate
        rates = [self.slope_rate, mixing, output, self.bias_rate]
        rest = [self.beta1, self.beta2, self.epsilon, self.averaging, self.slope_decay]
        return np.array([*rates, *rest], dtype)

    def schedule(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Factor of every rate at each step: half a cosine from 1 to 0, or 1."""
        if self.n_steps > REMEMBERED:
            return _schedule.__wrapped__(self.n_steps, self.cosine, dtype)
        return _schedule(self.n_steps, self.cosine, dtype)


@lru_cache(maxsize=16)
def _schedule(n_steps: int, cosine: bool, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Trainings share it: kernels only read it."""
    done = np.arange(n_steps) / n_steps
    return np.asarray(0.5 * (1 + np.cos(np.pi * done)) if cosine else np.ones(n_steps), dtype)
