"""The free branch, frozen: dense layers without any constraint, for features nobody asked a slope of.

Whatever it computes enters the constrained network as ordinary inputs, so the promise for the constrained features
is untouched; the free features themselves carry no promise, and everything that reports promises says so by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .convex import check_layers
from .errors import StructureError
from .ordered import affine

__all__ = ["FreeBranch"]

FloatArray = NDArray[np.float64]

_ACTIVATIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0),
    "tanh": np.tanh,
    "silu": lambda z: np.maximum(z, -700.0) / (1.0 + np.exp(-np.clip(z, -700.0, 700.0))),  # -1e300 gives 0, not -1e-4
}


@dataclass(frozen=True, eq=False)
class FreeBranch:
    """h(u): dense layers, each followed by its activation ("identity", "relu", "tanh" or "silu").

    Args:
        weights, biases: (out, in) matrices and vectors, any finite numbers.
        activations: one name per layer.
    """

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    activations: tuple[str, ...]

    def __post_init__(self) -> None:
        weights, biases = check_layers(self.weights, self.biases)
        given: Any = self.activations
        names = (given,) if isinstance(given, str) else tuple(given)
        unknown = [name for name in names if not isinstance(name, str) or name not in _ACTIVATIONS]
        if len(names) != len(weights) or unknown:
            raise StructureError(
                f"a free branch needs one activation per layer out of {sorted(_ACTIVATIONS)}; got {list(names)} for "
                f"{len(weights)} layers; name one each."
            )
        for name, value in (("weights", weights), ("biases", biases), ("activations", names)):
            object.__setattr__(self, name, value)

    @property
    def n_features(self) -> int:
        return int(self.weights[0].shape[1])

    @property
    def n_outputs(self) -> int:
        return int(self.weights[-1].shape[0])

    def evaluate(self, u: FloatArray) -> FloatArray:
        """Shape (n, n_features) -> (n, n_outputs)."""
        with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses NaN with a message
            for weight, bias, name in zip(self.weights, self.biases, self.activations, strict=True):
                u = _ACTIVATIONS[name](affine(u, weight, bias))
        return u

    def __reduce__(self) -> tuple[Any, ...]:
        return FreeBranch, (self.weights, self.biases, self.activations)
