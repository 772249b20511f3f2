"""f in exact rational arithmetic, row by row: the judge of every witness and the way through a Householder layer."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.convex import ConvexForm
from monolip.errors import InputError
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn
from monolip.paper_form import Activation, PaperForm, Rectify, Sort
from monolip.piecewise_linear import PiecewiseLinear

__all__ = ["exact_form", "exact_output"]

FloatArray = NDArray[np.float64]
Rational = Fraction | float | int


def exact_output(network: FrozenNetwork, row: Sequence[Any]) -> list[Fraction]:
    """f at one raw row (or one row of model columns, without an input transform), one rational number per output.

    >>> from monolip import ConvexForm, FrozenNetwork, SlopeBounds
    >>> from monolip.frozen import Trunk
    >>> line = FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(ConvexForm(([[0.5]],), ([0.25],), ()), (0,)),),))
    >>> exact_output(line, [Fraction(1, 3)])
    [Fraction(5, 12)]
    """
    u = _model_columns(network, row)
    if network.free_branch is not None:
        d = network.n_features
        free = network.free_branch.evaluate(np.array([[float(v) for v in u[d:]]]))[0]
        u = [*u[:d], *map(Fraction, free.tolist())]
    total = [Fraction(0)] * network.n_outputs
    assert network.member_weights is not None
    for weight, member in zip(network.member_weights.tolist(), network.members, strict=True):
        for trunk in member:
            for k, value in zip(trunk.outputs, exact_form(trunk.form, u), strict=True):
                total[k] += Fraction(weight) * value
    return total


def exact_form(form: ConvexForm | PaperForm, u: Sequence[Rational]) -> list[Fraction]:
    """The outputs of one trunk."""
    x = [Fraction(v) for v in u]
    if isinstance(form, ConvexForm):
        activations: tuple[Activation, ...] = tuple(Sort(size) for size in form.group_sizes)
        return _layers(form.weights, form.biases, activations, x)
    inside = [Fraction(r) * v for r, v in zip(form.radius.tolist(), x, strict=True)]
    g = _layers(form.weights, form.biases, form.activations, inside)
    residual = [_dot(row, x) for row in form.center.tolist()]
    return [c + Fraction(s) * v for c, s, v in zip(residual, form.scale.tolist(), g, strict=True)]


def _layers(
    weights: Sequence[FloatArray], biases: Sequence[FloatArray], activations: Sequence[Activation], z: list[Fraction]
) -> list[Fraction]:
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        z = [Fraction(b) + _dot(row, z) for row, b in zip(weight.tolist(), bias.tolist(), strict=True)]
        if k < len(activations):
            z = _activate(activations[k], z)
    return z


def _dot(row: Sequence[float], z: Sequence[Fraction]) -> Fraction:
    return sum((Fraction(w) * v for w, v in zip(row, z, strict=True) if w), Fraction(0))


def _activate(activation: Activation, z: list[Fraction]) -> list[Fraction]:
    if isinstance(activation, Rectify):
        return [max(v, Fraction(0)) for v in z]
    if isinstance(activation, Sort):
        size = activation.group_size
        return [v for start in range(0, len(z), size) for v in sorted(z[start : start + size])]
    out: list[Fraction] = []
    for direction in activation.directions.tolist():
        v = [Fraction(c) for c in direction]
        part = z[len(out) : len(out) + len(v)]
        along = sum((a * b for a, b in zip(v, part, strict=True)), Fraction(0))
        turn = Fraction(0) if along > 0 else 2 * along / sum(c * c for c in v)
        out += [b - turn * a for a, b in zip(v, part, strict=True)]
    return out


def _model_columns(network: FrozenNetwork, row: Sequence[Any]) -> list[Fraction]:
    if network.inputs is None:
        return [Fraction(v) for v in row]
    if len(row) != network.inputs.n_raw:
        raise InputError(f"a row has {network.inputs.n_raw} raw columns; got {len(row)}; pass one value each.")
    u: list[Fraction] = []
    for column, value in zip(network.inputs.columns, row, strict=True):
        free = len(u) >= network.n_features  # a free branch sees floats, as evaluated
        if isinstance(column, CategoryColumn) or free or value is None or value != value:  # NaN is missing
            values = np.array([value], dtype=object if isinstance(column, CategoryColumn) else np.float64)
            u += map(Fraction, column.evaluate(values)[0].tolist())
        else:
            u += [_exact_map(phi, Fraction(value)) for phi in column.maps]
            u += [] if column.present is None else [Fraction(column.present)]
    return u


def _exact_map(phi: PiecewiseLinear, x: Fraction) -> Fraction:
    knots = [Fraction(k) for k in phi.knots.tolist()]
    piece = sum(1 for k in knots if k <= x)
    anchor = max(piece - 1, 0)
    return Fraction(phi.values[anchor].item()) + phi.slopes[piece] * (x - knots[anchor])
