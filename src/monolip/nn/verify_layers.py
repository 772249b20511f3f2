"""A torch network of Linear and ReLU as plain layers, evaluated in exact rational arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from monolip.errors import StructureError

__all__ = ["Layer", "exact_outputs", "layers_of"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Layer:
    """z = W x + b, then max(z, 0) where relu. Every number is the module's own: float32 and float64 are exact."""

    weight: FloatArray
    bias: FloatArray
    relu: bool


def layers_of(module: nn.Module) -> tuple[Layer, ...]:
    """The layers of a Sequential (nested ones too) of Linear and ReLU; Identity, Flatten and Dropout change nothing."""
    layers: list[Layer] = []
    for part in _parts(module):
        if isinstance(part, nn.Linear) and type(part) is nn.Linear:
            weight = part.weight.detach().double().cpu().numpy()
            bias = np.zeros(len(weight)) if part.bias is None else part.bias.detach().double().cpu().numpy()
            layers.append(Layer(weight, bias, False))
        elif type(part) is nn.ReLU:
            if not layers:
                raise StructureError("a network begins with Linear; got ReLU first; put the ReLU after a Linear.")
            layers[-1] = Layer(layers[-1].weight, layers[-1].bias, True)
        elif not isinstance(part, nn.Identity | nn.Flatten | nn.Dropout):
            raise StructureError(
                f"verify reads Sequential networks of Linear and ReLU; got {type(part).__name__}; use audit for others."
            )
    if not layers or not all(np.isfinite(layer.weight).all() and np.isfinite(layer.bias).all() for layer in layers):
        raise StructureError("verify needs at least one Linear with finite weights; got none; check the module.")
    return tuple(layers)


def _parts(module: Any) -> Iterable[nn.Module]:
    if isinstance(module, nn.Sequential):
        for part in module:
            yield from _parts(part)
    else:
        yield module


def exact_outputs(layers: Sequence[Layer], x: Sequence[Any]) -> list[Fraction]:
    """f(x) as rational numbers, one per output."""
    z = [Fraction(value) for value in x]
    for layer in layers:
        rows = zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
        z = [Fraction(b) + sum(Fraction(w) * v for w, v in zip(row, z, strict=True) if w) for row, b in rows]
        if layer.relu:
            z = [max(value, Fraction(0)) for value in z]
    return z
