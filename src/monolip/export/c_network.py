"""What a header evaluates, float or fixed point, in one shape: layers of numbers of one C type, in one order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.convex import ConvexForm
from monolip.fixed_point import FixedPointNetwork
from monolip.frozen import FrozenNetwork

__all__ = ["CLayer", "CNetwork", "CTrunk", "fixed_point_layers", "float_layers", "float_limit"]

Array = NDArray[Any]

_UNROLLED = 4096  # weights up to which a header is straight-line code; beyond, loops over tables


@dataclass(frozen=True)
class CLayer:
    """weight (out, in), bias (out,), group_size of the sort that follows (1: none)."""

    weight: Array
    bias: Array
    group_size: int


@dataclass(frozen=True)
class CTrunk:
    """Layers, the outputs they give, their member's share, integer residual of paper form, clamp of inputs."""

    layers: tuple[CLayer, ...]
    outputs: tuple[int, ...]
    share: float
    residual: Array | None = None
    limit: float | None = None


@dataclass(frozen=True)
class CNetwork:
    """All trunks in the order they are added up.

    number: C type of every sum. stored: C type of weights in tables. shift, saturate: of fixed point, else None.
    """

    number: str
    stored: str
    trunks: tuple[CTrunk, ...]
    n_model: int
    n_outputs: int
    fused: bool = False
    shift: int | None = None
    saturate: int | None = None

    @property
    def is_single(self) -> bool:
        """One member, whose share is everything: its outputs are the network's."""
        return sum(len(trunk.outputs) for trunk in self.trunks) == self.n_outputs

    @property
    def is_unrolled(self) -> bool:
        return sum(layer.weight.size for trunk in self.trunks for layer in trunk.layers) <= _UNROLLED

    @property
    def input_limit(self) -> float | None:
        """What model columns are clamped to before any trunk reads them."""
        if self.number == "float":  # a double beyond it could not become a float
            return max(trunk.limit or 0.0 for trunk in self.trunks)
        return self.common_limit

    @property
    def common_limit(self) -> float | None:
        """The clamp of all inputs, where every trunk has the same."""
        limits = {trunk.limit for trunk in self.trunks}
        return limits.pop() if len(limits) == 1 else None


def float_limit(form: ConvexForm) -> float:
    """float32's counterpart of ConvexForm.clamp_limit: a power of two such that no sum can overflow."""
    row_sums = float(np.abs(form.weights[0]).sum(axis=1).max())
    room = float(np.finfo(np.float32).max) / 16 - sum(float(np.abs(b).max()) for b in form.biases)
    if not room / max(row_sums, 1.0) >= 2.0**20:
        raise ValueError(f"row sums up to {row_sums:g} leave float32 no room")
    return float(2.0 ** np.floor(np.log2(room / max(row_sums, 1.0))))


def float_layers(network: FrozenNetwork, number: str, fused: bool) -> CNetwork:
    """Layers of a network in convex form, in float64 or (its numbers must be float32's) in float32."""
    trunks = []
    assert network.member_weights is not None
    for share, member in zip(network.member_weights.tolist(), network.members, strict=True):
        for trunk in member:
            form = trunk.form
            assert isinstance(form, ConvexForm), "checked before"
            limit = form.clamp_limit if number == "double" else float_limit(form)
            layers = _layers(form.weights, form.biases, form.group_sizes)
            trunks.append(CTrunk(layers, trunk.outputs, share, limit=limit))
    return CNetwork(number, number, tuple(trunks), network.bounds.n_features, network.n_outputs, fused)


def fixed_point_layers(network: FixedPointNetwork) -> CNetwork:
    """Integer layers, in int32 where every sum fits and in int64 otherwise; weights in int16 where they fit."""
    trunks = [
        CTrunk(_layers(t.weights, t.biases, t.group_sizes), t.outputs, share, t.residual)
        for share, member in zip(network.member_weights.tolist(), network.members, strict=True)
        for t in member
    ]
    number = "int32_t" if "int32" in network.carriers else "int64_t"
    largest = max(int(np.abs(layer.weight).max()) for trunk in trunks for layer in trunk.layers)
    stored = next(k for k, bits in (("int16_t", 15), ("int32_t", 31), ("int64_t", 63)) if largest < 2**bits)
    n_model, shift = len(network.limits), network.format.shift
    saturate = network.format.limit if network.saturates else None  # a clamp that nothing can meet is left out
    return CNetwork(number, stored, tuple(trunks), n_model, network.n_outputs, False, shift, saturate)


def _layers(weights: Any, biases: Any, group_sizes: Any) -> tuple[CLayer, ...]:
    return tuple(CLayer(w, b, g) for w, b, g in zip(weights, biases, (*group_sizes, 1), strict=True))
