"""From a live module to a FrozenNetwork: float64, rounded inwards, convex form wherever it exists.

All activations here are positively homogeneous, so every layer is divided by its bound and the biases follow; the
product of bounds cancels against the one SlopeBounded divides by. What is left has norm 1, exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..conversion import can_be_convex, paper_to_convex
from ..convex import ConvexForm, on_simplex
from ..errors import FreezeError
from ..frozen import FrozenNetwork, Trunk
from ..norms import Norm
from ..paper_form import Activation, PaperForm, Rectify, Reflect, Sort, norm_is_at_most_one
from ..slopes import SlopeBounds
from .activations import GroupSort, Householder
from .conv import LipschitzConv2d
from .convex_mlp import ConvexMLP
from .convex_trunk import ConvexTrunk
from .freezable import check_is_data, check_no_hooks
from .linear import LipschitzLinear
from .mlp import LipschitzMLP
from .normalise import normalise
from .sequential import LipschitzSequential
from .slope_bounded import SlopeBounded
from .trunks import per_output

__all__ = ["freeze_convex", "freeze_lipschitz", "freeze_slope_bounded"]

FloatArray = NDArray[np.float64]
Layers = tuple[list[FloatArray], list[FloatArray], list[Activation], list[Norm]]


def freeze_convex(model: Any) -> FrozenNetwork:
    """ConvexMLP -> convex form: slopes clipped or projected exactly, mixing rows with sum exactly 1."""
    check_is_data(model, ConvexMLP)
    check_no_hooks(model)
    model._check()
    trunks = []
    for k, trunk in enumerate(model.trunks):
        check_is_data(trunk, ConvexTrunk)
        first = trunk.first.promise.exact(_numpy(trunk.first.effective_weight))
        mixing = [on_simplex(_numpy(layer.constrain(layer.weight.detach().double()))) for layer in trunk.mixing]
        biases = [_numpy(layer.bias) for layer in (trunk.first, *trunk.mixing)]
        outputs, factors = np.array(model.outputs[k]), model._exact_factors[k]
        for rows in _alike(model.slopes, model.outputs[k], factors):
            bounds, factor = model.slopes.for_output(int(outputs[rows[0]])), factors[rows[0]]
            weights = [np.clip(factor * first, bounds.lower, bounds.upper), *mixing]
            weights[-1] = weights[-1][rows]
            parts = [factor * bias for bias in biases]
            parts[-1] = parts[-1][rows]
            form = ConvexForm(tuple(weights), tuple(parts), trunk.group_sizes)
            trunks.append(Trunk(form, tuple(int(o) for o in outputs[rows])))
    return FrozenNetwork(model.promise, (tuple(trunks),))


def freeze_slope_bounded(model: Any) -> FrozenNetwork:
    """SlopeBounded -> convex form for GroupSort networks of the (1,inf)-then-inf scheme, paper form otherwise."""
    check_is_data(model, SlopeBounded)
    check_no_hooks(model)
    slopes: SlopeBounds = model.slopes
    center, radius = per_output(slopes.center, model.out_features).T, per_output(slopes.radius, model.out_features).T
    trunks: list[Trunk] = []
    for module, outputs, factors in zip(model.trunks, model.outputs, model._exact_factors, strict=True):
        trunks += _trunks(_layers_of(module), outputs, center, radius[outputs[0]], factors, slopes)
    return FrozenNetwork(slopes, (tuple(trunks),))


def _alike(slopes: SlopeBounds, outputs: list[int], factors: FloatArray) -> list[list[int]]:
    """Positions of the outputs that have the same intervals and the same factor, bit for bit."""
    groups: dict[Any, list[int]] = {}
    for row, (output, factor) in enumerate(zip(outputs, factors.tolist(), strict=True)):
        bounds = slopes.for_output(output)
        groups.setdefault((bounds.lower.tobytes(), bounds.upper.tobytes(), factor), []).append(row)
    return list(groups.values())


def freeze_lipschitz(model: LipschitzSequential) -> FrozenNetwork:
    """A Lipschitz network without a residual: every slope in [-lipschitz_bound, lipschitz_bound]."""
    bound, d, n_outputs = model.lipschitz_bound, model.in_features, model.out_features
    slopes = SlopeBounds(np.full(d, -bound), np.full(d, bound))
    layers = _layers_of(model)
    zero = np.zeros((n_outputs, d))
    trunks = _trunks(layers, list(range(n_outputs)), zero, np.ones(d), np.full(n_outputs, bound), slopes)
    return FrozenNetwork(slopes, (tuple(trunks),))


def _trunks(
    layers: Layers, outputs: list[int], center: FloatArray, radius: FloatArray, factors: FloatArray, slopes: SlopeBounds
) -> list[Trunk]:
    """One form for each distinct residual and factor among the outputs of a module."""
    weights, biases, activations, norms = layers
    trunks = []
    for rows in _alike(slopes, outputs, factors):  # equal intervals have equal residuals
        form: PaperForm | ConvexForm = PaperForm(
            weights=(*weights[:-1], weights[-1][rows]),
            biases=(*biases[:-1], biases[-1][rows]),
            activations=tuple(activations),
            norms=tuple(norms),
            center=center[[outputs[i] for i in rows]],
            radius=radius,
            scale=factors[rows],
        )
        if isinstance(form, PaperForm) and can_be_convex(form):
            form = paper_to_convex(form, slopes.for_output(outputs[rows[0]]))
        trunks.append(Trunk(form, tuple(outputs[i] for i in rows)))
    return trunks


@torch.no_grad()
def _layers_of(module: nn.Module) -> Layers:
    """Weights of norm at most 1 exactly, biases divided by the bounds so far, activations and norms."""
    check_is_data(module, LipschitzMLP, LipschitzSequential)
    check_no_hooks(module)
    assert isinstance(module, LipschitzSequential)
    module._check()
    layers: Layers = ([], [], [], [])
    weights, biases, activations, norms = layers
    scale = module.input_scale
    before: Activation | None = None
    for position, layer in enumerate(module.layers):
        if isinstance(layer, LipschitzLinear):
            if weights:
                before = before or Sort(1)  # no activation between two layers: sorting groups of one does nothing
                activations.append(before)
            scale *= layer.bound
            weights.append(_unit_weight(layer, before))
            bias = np.zeros(layer.out_features) if layer.bias is None else _numpy(layer.bias)
            biases.append(bias / scale)
            norms.append(layer.norm)
            before = None
        else:
            before = _activation(layer, position, before, len(biases[-1]) if biases else 0)
    if before is not None:
        raise FreezeError("a network must end with a linear layer to be frozen; got an activation last; add a layer.")
    return layers


def _unit_weight(layer: LipschitzLinear, before: Activation | None) -> FloatArray:
    """The effective weight in float64 divided by its bound, and shrunk by ulps until its norm is at most 1 exactly."""
    directions = layer._after[0].directions.double() if layer._after else None
    options: dict[str, Any] = {"rule": layer.rule, "per_vector": layer.per_vector, "directions": directions}
    effective = normalise(layer.weight.double(), layer.norm, layer.bound, **options)
    weight = _numpy(effective) / layer.bound
    if layer.norm is Norm.L1_TO_LINF and directions is None:
        return np.clip(weight, -1.0, 1.0)
    for k in range(60):
        if norm_is_at_most_one(weight, layer.norm, before):
            return weight
        weight = weight * (1.0 - 2.0 ** (-52 + k // 4))
    raise FreezeError(f"the weight could not be rounded to norm 1 ({layer}); are its parameters finite?")


def _activation(layer: nn.Module, position: int, before: Activation | None, width: int) -> Activation:
    if before is not None:
        raise FreezeError(f"two activations in a row cannot be frozen; got a second at layer {position}; remove one.")
    if isinstance(layer, GroupSort):
        return Sort(layer.size_for(width))
    if isinstance(layer, Householder):
        return Reflect(_numpy(layer.directions))
    if isinstance(layer, nn.ReLU):
        return Rectify()
    if isinstance(layer, nn.Identity):
        return Sort(1)
    reason = (
        "convolutions are not stored in a FrozenNetwork"
        if isinstance(layer, LipschitzConv2d)
        else "a FrozenNetwork stores no such activation"
    )
    raise FreezeError(
        f"layer {position} ({type(layer).__name__}) cannot be frozen: {reason}; use LipschitzLinear with GroupSort, "
        "Householder or ReLU, and freeze image networks from their feature vector on."
    )


def _numpy(tensor: Tensor) -> FloatArray:
    array: FloatArray = tensor.detach().double().cpu().numpy()
    if not np.isfinite(array).all():
        raise FreezeError("parameters must be finite to be frozen; got NaN or infinity; train again, more gently.")
    return array
