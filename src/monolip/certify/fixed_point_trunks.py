"""Trunks of a FrozenNetwork in integers, for one output unit 2^-unit and given rates of the inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.certify.fixed_point_rounding import apportion, rounded
from monolip.convex import ConvexForm
from monolip.errors import StructureError
from monolip.fixed_point_trunk import FixedTrunk
from monolip.frozen import Trunk
from monolip.paper_form import PaperForm, Sort
from monolip.slopes import SlopeBounds

__all__ = ["Units", "bound_of", "integer_trunk"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Units:
    """One activation unit is 2^-unit; one unit of model column j is 1 / rates[j]; rows add up to 2^shift."""

    unit: int
    shift: int
    rates: FloatArray

    def to_sums(self, values: FloatArray) -> FloatArray:
        """Values of f in the units of sums before the shift."""
        return np.ldexp(values, self.unit + self.shift)


def bound_of(form: ConvexForm | PaperForm, largest: FloatArray) -> float:
    """A bound of |activations| and of |outputs|, for |u_j| <= largest[j]."""
    biases = sum(float(np.abs(b).max()) for b in form.biases)
    if isinstance(form, ConvexForm):
        return float((np.abs(form.weights[0]) @ largest).max()) + biases
    scale = float(form.scale.max())
    inside = scale * (float((np.abs(form.weights[0]) @ (form.radius * largest)).max()) + biases)
    return inside + float((np.abs(form.center) @ largest).max())


def integer_trunk(trunk: Trunk, bounds: SlopeBounds, units: Units, weight_bits: int) -> FixedTrunk:
    """bounds: the intervals of the model columns, per output where they differ."""
    form = trunk.form
    made = _convex(trunk, form, bounds, units) if isinstance(form, ConvexForm) else _paper(trunk, form, bounds, units)
    most = max(int(np.abs(weight).max()) for weight in made.weights)
    if most >= 2 ** (weight_bits - 1):
        raise StructureError(f"weights have {weight_bits} bits; got {most}; compile with a wider format.")
    return made


def _convex(trunk: Trunk, form: ConvexForm, bounds: SlopeBounds, units: Units) -> FixedTrunk:
    boxes = [bounds.for_output(k) for k in trunk.outputs]
    first = units.to_sums(form.weights[0] / units.rates)
    lower = np.ceil(units.to_sums(np.max([box.lower for box in boxes], axis=0) / units.rates))
    upper = np.floor(units.to_sums(np.min([box.upper for box in boxes], axis=0) / units.rates))
    inside = lower <= upper  # an interval narrower than a unit may hold no integer
    weights = [np.where(inside, np.clip(np.rint(first), lower, upper), np.rint(first)).astype(np.int64)]
    for weight in form.weights[1:]:
        totals = [1 << units.shift] * len(weight)
        weights.append(apportion(np.ldexp(weight, units.shift), totals, exact=True))
    biases = [rounded(units.to_sums(bias)) + (1 << (units.shift - 1)) for bias in form.biases]
    return FixedTrunk(tuple(weights), tuple(biases), form.group_sizes, trunk.outputs)


def _paper(trunk: Trunk, form: PaperForm, bounds: SlopeBounds, units: Units) -> FixedTrunk:
    """scale moves to the first layer as far as outputs share it: sorting commutes with it, and biases follow."""
    scale, m, one = float(form.scale.max()), 1 << units.shift, len(form.weights) == 1
    share = form.scale / scale if scale > 0 else np.ones_like(form.scale)
    reach = np.ldexp(form.radius * scale / units.rates, units.unit)  # largest slope of g, in units per unit
    most = np.ceil(reach * (1 - 2.0**-40)).astype(np.int64)
    first = form.weights[0] * (share[:, None] if one else 1.0) * reach
    weights = [np.clip(rounded(np.ldexp(first, units.shift)), -most * m, most * m)]
    for k, weight in enumerate(form.weights[1:], start=1):
        last = k == len(form.weights) - 1
        parts = share[:, None] if last else np.ones((len(weight), 1))
        totals = [int(v) for v in np.floor(parts[:, 0] * m)]
        rows = apportion(np.ldexp(np.abs(weight) * parts, units.shift), totals, exact=False)
        weights.append(np.sign(weight).astype(np.int64) * rows)
    biases = [rounded(units.to_sums(scale * bias)) + m // 2 for bias in form.biases[:-1]]
    biases.append(rounded(units.to_sums(scale * share * form.biases[-1])) + m // 2)
    sizes = tuple(a.group_size for a in form.activations if isinstance(a, Sort))
    residual = rounded(np.ldexp(form.center / units.rates, units.unit))
    made = FixedTrunk(tuple(weights), tuple(biases), sizes, trunk.outputs, np.zeros_like(residual))
    for row, k in enumerate(trunk.outputs):
        box = bounds.for_output(k)
        least = -(-made.rows_of(row, units.shift)[1] >> units.shift)  # the least residual that outweighs g
        residual[row] = np.where(box.lower >= 0, np.maximum(residual[row], least), residual[row])
        residual[row] = np.where(box.upper <= 0, np.minimum(residual[row], -least), residual[row])
    return FixedTrunk(made.weights, made.biases, sizes, trunk.outputs, residual)
