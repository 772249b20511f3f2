r"""From trained networks to one FrozenNetwork in the user's units.

scale * f + shift  is convex form again: first-layer rows and all biases times scale, the last bias plus shift
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from monolip.convex import ConvexForm, on_simplex
from monolip.engine.trainer import NetworkArrays
from monolip.frozen import FrozenNetwork, Member, Trunk
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.slopes import SlopeBounds

__all__ = ["averaged", "freeze", "rescale"]

FloatArray = NDArray[np.float64]


def freeze(
    networks: Sequence[NetworkArrays], model: SlopeBounds, raw: SlopeBounds | None, inputs: InputTransform,
    link: OutputLink, *, scale: float, shift: float,
) -> FrozenNetwork:  # fmt: skip
    """Return the average of the networks, rounded, with its slope bounds proved.

    model: slope boxes of model columns in output units. raw: what they say in raw units.
    """
    members = [_member(network, model, scale, shift) for network in averaged(networks)]
    return FrozenNetwork(model, tuple(members), inputs=inputs, raw_promise=raw, link=link)


def averaged(networks: Sequence[NetworkArrays]) -> list[NetworkArrays]:
    """Return fewer networks with the same average: additive models are merged into the others.

    The average a of linear functions is linear, and part * f + (1 - part) * a is f with scaled weights plus the
    same function in every first-layer row, which stays inside the same slope bounds.
    """
    linear = [network for network in networks if len(network.weights) == 1]
    others = [network for network in networks if len(network.weights) > 1]
    if not linear:
        return others
    first = np.add.reduce([network.weights[0] for network in linear]) / len(linear)
    constant = np.add.reduce([network.biases[0] for network in linear]) / len(linear)
    if not others:
        return [linear[0]._replace(weights=(first,), biases=(constant,))]
    if len(constant) > 1:  # of several outputs the linear ones are constants: the others say all there is
        return others
    part = len(others) / len(networks)
    found = []
    for network in others:
        biases = [part * bias for bias in network.biases]
        biases[-1] = biases[-1] + (1 - part) * constant
        weight = part * network.weights[0] + (1 - part) * first
        found.append(network._replace(weights=(weight, *network.weights[1:]), biases=tuple(biases)))
    return found


def rescale(network: FrozenNetwork, scale: float, shift: float) -> FrozenNetwork:
    """scale * f + shift under the *same* promise: scale is first brought into the range the promise leaves it."""
    low, high = _room(network)
    scale = min(max(scale, low), high)
    members = tuple(tuple(_times(trunk, scale, shift) for trunk in member) for member in network.members)
    return replace(network, members=members)


def _times(trunk: Trunk, scale: float, shift: float) -> Trunk:
    if scale == 1.0 and shift == 0.0:
        return trunk
    form = trunk.form
    assert isinstance(form, ConvexForm), "estimators train convex form"
    biases = [b * scale for b in form.biases]
    biases[-1] = biases[-1] + shift
    weights = (form.weights[0] * scale, *form.weights[1:])
    return Trunk(ConvexForm(weights, tuple(biases), form.group_sizes), trunk.outputs)


def _room(network: FrozenNetwork) -> tuple[float, float]:
    """Factors of all slopes that keep every first-layer row inside its box; always holds 1."""
    low, high = 0.0, np.inf
    for trunk in (trunk for member in network.members for trunk in member):
        box, first = network.bounds.for_output(trunk.outputs[0]), trunk.form.weights[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            to_lower, to_upper = box.lower / first, box.upper / first
        most = np.where(first > 0, to_upper, np.where(first < 0, to_lower, np.inf))
        least = np.where(first > 0, to_lower, np.where(first < 0, to_upper, -np.inf))
        low, high = max(low, float(least.max())), min(high, float(most.min()))
    inside = 1e-12  # scaled weights are rounded once more
    return min(low * (1 + inside), 1.0), max(high * (1 - inside), 1.0)


def _member(network: NetworkArrays, model: SlopeBounds, scale: float, shift: float) -> Member:
    """Outputs with equal intervals share a trunk: each trunk is cut out of the trained network's block structure."""
    n_outputs = len(network.biases[-1])
    keys = [(model.for_output(k).lower.tobytes(), model.for_output(k).upper.tobytes()) for k in range(n_outputs)]
    trunks = list(dict.fromkeys(keys))
    return tuple(
        _trunk(network, model, [k for k in range(n_outputs) if keys[k] == key], t, len(trunks), (scale, shift))
        for t, key in enumerate(trunks)
    )


def _trunk(
    network: NetworkArrays, model: SlopeBounds, outputs: list[int], number: int, count: int, units: tuple[float, float]
) -> Trunk:
    if count == 1:  # all there is; what follows copies it
        return _scaled(network.weights, network.biases, network.group_sizes, model, outputs, units)
    weights, biases = [], []
    for layer, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        last = layer == len(network.weights) - 1
        rows = np.array(outputs) if last else _part(len(bias), number, count)
        columns = np.arange(weight.shape[1]) if layer == 0 else _part(weight.shape[1], number, count)
        weights.append(weight[np.ix_(rows, columns)])
        biases.append(bias[rows])
    return _scaled(weights, biases, network.group_sizes, model, outputs, units)


def _scaled(
    weights: Sequence[FloatArray], biases: Sequence[FloatArray], group_sizes: tuple[int, ...], model: SlopeBounds,
    outputs: list[int], units: tuple[float, float],
) -> Trunk:  # fmt: skip
    """A trunk in the user's units, (scale, shift): its first rows exactly in their box, its later ones mixing rows."""
    scale, shift = units
    box = model.for_output(outputs[0])
    first = np.minimum(np.maximum(weights[0] * scale, box.lower), box.upper)
    scaled = [bias * scale for bias in biases]
    scaled[-1] = scaled[-1] + shift
    later = [on_simplex(weight) for weight in weights[1:]]
    return Trunk(ConvexForm((first, *later), tuple(scaled), group_sizes), tuple(outputs))


def _part(width: int, number: int, count: int) -> NDArray[np.int64]:
    """Units of trunk `number`: layers of the engine hold the trunks one after the other."""
    size = width // count
    return np.arange(number * size, (number + 1) * size)
