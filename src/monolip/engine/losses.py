"""Losses of the training kernels: a value and a gradient each, compiled when first asked for.

For output f (offset included), target y and row weight a:  value = sum a * loss(f, y),  gradient = a * d loss / d f.
Arrays are flat (outputs * lanes). softmax reads the class number of each lane from y.

    squared    (f - y)^2                          logistic   log(1 + e^f) - y f               log-odds f, y in [0, 1]
    absolute   |f - y|                            softmax    -log softmax(t f)[y]             temperature t
    huber      e^2 / 2 or d (|e| - d / 2)         poisson    e^f - y f                        log link, y >= 0
    pinball    max(q e, (q - 1) e), e = y - f     gamma      y e^-f + f                       log link, y > 0
                                                  tweedie    e^((2-p) f) / (2-p) - y e^((1-p) f) / (1-p), 1 < p < 2
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from monolip.engine import _loss_kernels as kernels
from monolip.errors import InputError

__all__ = ["LOSSES", "Loss", "check_target", "loss_kernels"]

LOSSES = ("squared", "absolute", "huber", "pinball", "logistic", "softmax", "poisson", "gamma", "tweedie")
# name -> (what the parameter is called, its default, the open interval it lies in)
_PARAMETERS = {
    "huber": ("delta", 1.0, 0.0, np.inf),
    "pinball": ("quantile", 0.5, 0.0, 1.0),
    "softmax": ("temperature", 1.0, 0.0, np.inf),
    "tweedie": ("power", 1.5, 1.0, 2.0),
}
_TARGETS: dict[str, tuple[Callable[[NDArray[Any]], NDArray[Any]], str]] = {
    "logistic": (lambda y: (y >= 0) & (y <= 1), "a probability or class in [0, 1]"),
    "poisson": (lambda y: y >= 0, "a count, at least 0"),
    "gamma": (lambda y: y > 0, "greater than 0"),
    "tweedie": (lambda y: y >= 0, "at least 0"),
}


class Loss(NamedTuple):
    """A loss by name, with its one parameter where it has one (delta, quantile, temperature, power)."""

    name: str = "squared"
    parameter: float | None = None

    def resolved(self) -> float:
        """The parameter as a number; refused outside its interval."""
        if self.name not in LOSSES:
            raise InputError(f"a loss is one of {', '.join(LOSSES)}; got {self.name!r}; choose one of them.")
        word, default, low, high = _PARAMETERS.get(self.name, ("parameter", 0.0, -np.inf, np.inf))
        value = default if self.parameter is None else float(self.parameter)
        if not low < value < high:
            raise InputError(f"{word} of the {self.name} loss lies between {low} and {high}; got {value}; change it.")
        return value


def check_target(loss: Loss, y: NDArray[Any], n_outputs: int) -> None:
    """Refuse targets the loss is not defined for. y is (n, targets)."""
    if loss.name == "softmax":
        if n_outputs < 2 or y.shape[1] != 1 or (y != np.floor(y)).any() or (y < 0).any() or (y >= n_outputs).any():
            raise InputError(
                "softmax learns one class number in 0 .. outputs - 1 for each row;"
                f" got {n_outputs} outputs, targets of shape {y.shape} from {y.min()} to {y.max()}; encode the classes."
            )
    elif y.shape[1] != n_outputs:
        raise InputError(f"a target has one column for each of {n_outputs} outputs; got shape {y.shape}; reshape it.")
    if loss.name not in _TARGETS:
        return
    test, rule = _TARGETS[loss.name]
    if not test(y).all():
        bad = y[~test(y)].flat[0]
        raise InputError(
            f"a target of the {loss.name} loss is {rule}; got {bad}; use another loss or clean the target."
        )


@cache
def loss_kernels(name: str, dtype: str) -> tuple[Any, Any]:
    """(value, gradient) of a loss, compiled; kernels call their `address` and never recompile for another loss."""
    array = types.Array(numba.from_dtype(np.dtype(dtype)), 1, "C")
    value = types.float64(array, array, array, types.float64)
    gradient = types.void(array, array, array, array, types.float64)
    return _pointer(value, getattr(kernels, f"{name}_value")), _pointer(gradient, getattr(kernels, f"{name}_gradient"))


def _pointer(signature: Any, function: Any) -> Any:
    fastmath = {"reassoc", "contract", "nsz", "arcp", "afn"}
    try:
        return numba.cfunc(signature, cache=True, error_model="numpy", fastmath=fastmath)(function)
    except RuntimeError:  # no directory to cache in
        return numba.cfunc(signature, error_model="numpy", fastmath=fastmath)(function)
