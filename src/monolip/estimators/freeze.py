r"""From trained networks to one FrozenNetwork in the user's units.

scale * f + shift  is convex form again: first-layer rows and all biases times scale, the last bias plus shift
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monolip.engine.trainer import NetworkArrays
from monolip.estimators._freezing import freeze as freeze_networks
from monolip.frozen import FrozenNetwork
from monolip.input_transform import InputTransform
from monolip.output_link import OutputLink
from monolip.slopes import SlopeBounds

__all__ = ["averaged", "freeze"]


def freeze(
    networks: Sequence[NetworkArrays], model: SlopeBounds, raw: SlopeBounds | None, inputs: InputTransform,
    link: OutputLink, *, scale: float, shift: float,
) -> FrozenNetwork:  # fmt: skip
    """Return the average of the networks, rounded, with its slope bounds proved."""
    return freeze_networks(averaged(networks), model, raw, inputs, link, scale=scale, shift=shift)


def averaged(networks: Sequence[NetworkArrays]) -> list[NetworkArrays]:
    """Return networks with the same average, where additive models are merged into the others.

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
