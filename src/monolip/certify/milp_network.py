"""A FrozenNetwork as rows of a mixed-integer program: inputs piece by piece, layers with GroupSort, outputs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from monolip.certify.milp_model import Expression, MilpModel
from monolip.certify.robustness_inputs import Movable, Samples
from monolip.convex import ConvexForm
from monolip.errors import InputError
from monolip.frozen import FrozenNetwork
from monolip.paper_form import PaperForm, Sort

__all__ = ["encode_inputs", "encode_output"]

FloatArray = NDArray[np.float64]


def encode_inputs(
    program: MilpModel,
    network: FrozenNetwork,
    features: Sequence[Movable],
    sizes: FloatArray,
    sample: Samples,
    box: float,
) -> tuple[dict[int, Expression], list[Expression]]:
    """How far each feature moves, by its number, and the inputs of the trunks; what is held fixed is a constant."""
    columns = [Expression({}, v, v, v) for v in sample.inputs[0].tolist()]
    changes = {}
    for i, feature in enumerate(features):
        x = float(sample.values[0, i])
        if np.isnan(x) or sizes[i] == 0:
            continue
        low, high = x - box * sizes[i], x + box * sizes[i]
        inside = feature.knots[(feature.knots > low) & (feature.knots < high)]
        ends = np.concatenate([[low], inside, [high]])
        steps = _filled(program, len(ends) - 1)
        lengths = np.diff(ends)
        changes[i] = program.sum_of(list(zip(lengths.tolist(), steps, strict=True)), low - x)
        stretch = np.searchsorted(feature.knots, (ends[:-1] + ends[1:]) / 2, "right")
        for j in range(feature.slopes.shape[1]):
            rises = feature.slopes[stretch, j] * lengths
            start = _start(network, feature, j, low)
            columns[feature.first + j] = program.sum_of(list(zip(rises.tolist(), steps, strict=True)), start)
    return changes, columns


def _filled(program: MilpModel, count: int) -> list[Expression]:
    """Fractions of stretches, each begun only when the one before is full."""
    steps = [program.variable(0.0, 1.0) for _ in range(count)]
    for before, after in pairwise(steps):
        full = program.variable(0, 1, whole=True)
        program.at_least(program.sum_of([(1.0, before), (-1.0, full)]), 0.0)
        program.at_least(program.sum_of([(1.0, full), (-1.0, after)]), 0.0)
    return steps


def _start(network: FrozenNetwork, feature: Movable, j: int, low: float) -> float:
    if network.inputs is None:
        return low
    return float(network.inputs.maps_of(feature.column)[j].evaluate(low))


def encode_output(program: MilpModel, network: FrozenNetwork, columns: list[Expression]) -> list[Expression]:
    """Every output of f."""
    parts: list[list[tuple[float, Expression]]] = [[] for _ in range(network.n_outputs)]
    assert network.member_weights is not None
    for weight, member in zip(network.member_weights.tolist(), network.members, strict=True):
        for trunk in member:
            for k, out in zip(trunk.outputs, _form(program, trunk.form, columns), strict=True):
                parts[k].append((weight, out))
    return [program.sum_of(part) for part in parts]


def _form(program: MilpModel, form: ConvexForm | PaperForm, columns: list[Expression]) -> list[Expression]:
    if isinstance(form, ConvexForm):
        return _layers(program, form.weights, form.biases, form.group_sizes, columns)
    sizes = tuple(a.group_size for a in form.activations if isinstance(a, Sort))
    if len(sizes) != len(form.activations):
        raise InputError(
            f"the program knows GroupSort only; got {[type(a).__name__ for a in form.activations]}; certify without it."
        )
    scaled = [program.sum_of([(r, u)]) for r, u in zip(form.radius.tolist(), columns, strict=True)]
    g = _layers(program, form.weights, form.biases, sizes, scaled)
    residuals = [list(zip(row, columns, strict=True)) for row in form.center.tolist()]
    return [program.sum_of([*r, (s, out)]) for r, s, out in zip(residuals, form.scale.tolist(), g, strict=True)]


def _layers(
    program: MilpModel, weights: Sequence[FloatArray], biases: Sequence[FloatArray], sizes: Sequence[int],
    z: list[Expression],
) -> list[Expression]:  # fmt: skip
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        rows = zip(weight.tolist(), bias.tolist(), strict=True)
        z = [program.sum_of(list(zip(row, z, strict=True)), b) for row, b in rows]
        if layer < len(sizes):
            groups = [z[start : start + sizes[layer]] for start in range(0, len(z), sizes[layer])]
            z = [out for group in groups for out in program.sorted_group(group)]
    return z
