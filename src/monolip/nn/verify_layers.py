"""A torch network of Linear and ReLU as plain layers, evaluated in exact rational arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.modules import module as torch_module

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
    """The layers of a Sequential (nested ones too) of Linear and ReLU; Identity, Flatten and Dropout change nothing.

    What is read must be what is computed: subclasses, hooks, parametrizations and replaced forwards are refused.
    """
    layers: list[Layer] = []
    for part in _parts(module):
        if type(part) is nn.Linear:
            weight = _numbers(part, "weight")
            layers.append(Layer(weight, np.zeros(len(weight)) if part.bias is None else _numbers(part, "bias"), False))
        elif type(part) is nn.ReLU:
            if not layers:
                raise StructureError("a network begins with Linear; got ReLU first; put the ReLU after a Linear.")
            layers[-1] = Layer(layers[-1].weight, layers[-1].bias, True)
    if not layers or not all(np.isfinite(layer.weight).all() and np.isfinite(layer.bias).all() for layer in layers):
        raise StructureError("verify needs at least one Linear with finite weights; got none; check the module.")
    for before, after in pairwise(layers):
        if after.weight.shape[1] != len(before.weight):
            raise StructureError(
                f"a Linear takes what the one before gives; got {len(before.weight)} into {after.weight.shape[1]}; "
                "match their sizes."
            )
    return tuple(layers)


def _parts(module: Any) -> Iterable[nn.Module]:
    """Every part in order, each of a type whose forward is known and with nothing hung on it that changes it."""
    kind = type(module)
    if kind not in (nn.Sequential, nn.Identity, nn.Flatten, nn.Dropout, nn.Linear, nn.ReLU):
        raise StructureError(
            "verify reads Sequential networks of Linear and ReLU, exactly these classes; got "
            f"{kind.__module__}.{kind.__name__}; build a plain copy, or use audit."
        )
    hooks = any((module._forward_hooks, module._forward_pre_hooks, torch_module._global_forward_hooks))
    if hooks or torch_module._global_forward_pre_hooks or "forward" in vars(module):
        raise StructureError(
            f"verify reads weights, which say nothing of hooks; got a {kind.__name__} with a forward hook, "
            "weight_norm, pruning or another forward; remove it (for example by remove_weight_norm), or use audit."
        )
    if kind is nn.Flatten and (module.start_dim, module.end_dim) != (1, -1):
        raise StructureError(f"verify takes rows; got {module}, which mixes them; use Flatten() without arguments.")
    if kind is nn.Sequential:
        for part in module:
            yield from _parts(part)
    else:
        yield module


def _numbers(part: nn.Linear, name: str) -> FloatArray:
    value = part._parameters.get(name)
    if type(value) is not nn.Parameter or not value.is_floating_point() or value.layout != torch.strided:
        raise StructureError(
            f"verify reads plain {name} parameters; got {type(getattr(part, name)).__name__}; copy its values into a "
            "plain Linear."
        )
    return np.asarray(value.detach().double().cpu().numpy())


def exact_outputs(layers: Sequence[Layer], x: Sequence[Any]) -> list[Fraction]:
    """f(x) as rational numbers, one per output."""
    z = [Fraction(value) for value in x]
    for layer in layers:
        rows = zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
        z = [Fraction(b) + sum(Fraction(w) * v for w, v in zip(row, z, strict=True) if w) for row, b in rows]
        if layer.relu:
            z = [max(value, Fraction(0)) for value in z]
    return z
