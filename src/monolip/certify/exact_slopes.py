r"""Slope intervals of a frozen network in exact rational arithmetic, tighter than the column minimum and maximum.

    convex form   df/du = sum_k share_k W1[k]      shares >= 0 with sum 1, and each in an interval [low_k, high_k] that
                                                   is found backwards: through a mixing row by a product, through a
                                                   sort group by the least and the largest of the group
    paper form    df/du_i = center_i +- scale radius_i c_i N     c_i the norm of column i, N the product of later norms
    raw units     df/dx = sum_j phi_j'(x) df/du_j  on every stretch between two knots

The least value of sum_k share_k v_k under these constraints is found greedily: the smallest v_k get all they may.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from monolip.convex import ConvexForm
from monolip.errors import CertificateError
from monolip.frozen import FrozenNetwork
from monolip.norms import Norm
from monolip.paper_form import PaperForm, Reflect, exact_norm
from monolip.rounding import round_up

__all__ = ["ExactSlopes", "Interval", "layer_norms"]

Interval = tuple[Fraction, Fraction]
Integers = NDArray[Any]  # of Python's own integers, which do not overflow


class _Gradients(Protocol):
    def range(self, rates: Mapping[int, Fraction]) -> Interval:
        """Bounds of the sum of rate * slope over all gradients; rates >= 0, by model column."""


@dataclass(frozen=True)
class ExactSlopes:
    """Slopes of every output of a network, as rational numbers.

    Examples:
        >>> from monolip import ConvexForm, FrozenNetwork, SlopeBounds
        >>> from monolip.frozen import Trunk
        >>> form = ConvexForm(([[0.0], [1.0]], [[0.5, 0.5]]), ([0.0, 0.0], [0.0]), (2,))
        >>> slopes = ExactSlopes.of(FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(form, (0,)),),)))
        >>> slopes.of_column(0)  # the mean of both units, whichever is larger; columns alone would say [0, 1]
        [(Fraction(1, 2), Fraction(1, 2))]
    """

    outputs: tuple[tuple[tuple[Fraction, _Gradients], ...], ...]  # member weight and gradients, per output
    network: FrozenNetwork

    @classmethod
    def of(cls, network: FrozenNetwork) -> ExactSlopes:
        assert network.member_weights is not None, "set by FrozenNetwork"
        found: list[list[tuple[Fraction, _Gradients]]] = [[] for _ in range(network.n_outputs)]
        for weight, member in zip(network.member_weights.tolist(), network.members, strict=True):
            for trunk in member:
                form = trunk.form
                rows: Sequence[_Gradients] = (
                    _Convex.rows_of(form)
                    if isinstance(form, ConvexForm)
                    else [_Paper.of(form, row) for row in range(form.n_outputs)]
                )
                for k, own in zip(trunk.outputs, rows, strict=True):
                    found[k].append((Fraction(weight), own))
        return cls(tuple(map(tuple, found)), network)

    def of_column(self, j: int) -> list[Interval]:
        """df_k/du_j of model column j, one interval per output k."""
        return self._hull([{j: Fraction(1)}])

    def of_raw(self, i: int) -> list[Interval]:
        """df_k/dx_i of raw numeric feature i, one interval per output k."""
        inputs = self.network.inputs
        assert inputs is not None, "raw features belong to an input transform"
        start = int(inputs.starts[i])
        return self._hull([dict(enumerate(rates, start)) for rates in inputs.slopes_by_piece(i)[0]])

    def _hull(self, stretches: Sequence[Mapping[int, Fraction]]) -> list[Interval]:
        low: list[list[Fraction]] = [[] for _ in self.outputs]
        high: list[list[Fraction]] = [[] for _ in self.outputs]
        for rates in stretches:  # the outer loop, so that outputs of one trunk share what they sort
            for k, members in enumerate(self.outputs):
                ends = [(weight, own.range(rates)) for weight, own in members]
                low[k].append(sum((weight * a for weight, (a, _) in ends), Fraction(0)))
                high[k].append(sum((weight * b for weight, (_, b) in ends), Fraction(0)))
        return [(min(a), max(b)) for a, b in zip(low, high, strict=True)]


class _Units:
    """The first layer of a trunk, times 2^shift: one copy for all outputs, and one sort for each set of rates."""

    def __init__(self, weight: NDArray[np.float64]) -> None:
        self.whole, self.shift = _integers(weight)
        self._last: tuple[Mapping[int, Fraction], tuple[list[int], list[int], int]] | None = None

    def values(self, rates: Mapping[int, Fraction]) -> tuple[list[int], list[int], int]:
        """Each unit's sum of rate * weight, times `below` 2^shift; the units in increasing order; below."""
        if self._last is None or self._last[0] != rates:
            self._last = dict(rates), self._sorted({j: rate for j, rate in rates.items() if rate})
        return self._last[1]

    def _sorted(self, moving: Mapping[int, Fraction]) -> tuple[list[int], list[int], int]:
        below = math.lcm(*(rate.denominator for rate in moving.values()))
        factors = np.array([int(rate * below) for rate in moving.values()], dtype=object)
        values = (self.whole[:, list(moving)] * factors).sum(axis=1).tolist() if moving else [0] * len(self.whole)
        return values, sorted(range(len(values)), key=values.__getitem__), below


@dataclass(frozen=True)
class _Convex:
    """low: the least share of each unit; room: up to its largest; spare: 1 - sum of low; all times 2^scale."""

    units: _Units
    low: list[int]
    room: list[int]
    spare: int
    scale: int

    @classmethod
    def rows_of(cls, form: ConvexForm) -> list[_Convex]:
        """One for each output of a trunk; found together, since they share every layer."""
        units, scale = _Units(form.weights[0]), 0
        low = high = np.eye(form.n_outputs, dtype=np.int64).astype(object)
        for weight, size in zip(form.weights[:0:-1], form.group_sizes[::-1], strict=True):
            whole, e = _integers(weight)
            low, high, scale = low @ whole, high @ whole, scale + e
            low = low.reshape(form.n_outputs, -1, size).min(axis=2).repeat(size, axis=1)
            high = high.reshape(form.n_outputs, -1, size).max(axis=2).repeat(size, axis=1)
        return [
            cls(units, least, room, (1 << scale) - sum(least), scale)
            for least, room in zip(low.tolist(), (high - low).tolist(), strict=True)
        ]

    def range(self, rates: Mapping[int, Fraction]) -> Interval:
        values, order, below = self.units.values(rates)
        base = sum(map(mul, self.low, values))
        unit = below << (self.units.shift + self.scale)
        return Fraction(base + self._fill(values, order), unit), Fraction(base + self._fill(values, order[::-1]), unit)

    def _fill(self, values: list[int], order: list[int]) -> int:
        """What is left goes to the first units of the order, each up to its room."""
        total, left = 0, self.spare
        for k in order:
            if (room := self.room[k]) >= left:
                return total + left * values[k]
            total += room * values[k]
            left -= room
        return total


@dataclass(frozen=True)
class _Paper:
    """center and reach of every model column: df/du_j lies in center_j +- reach_j."""

    center: list[Fraction]
    reach: list[Fraction]

    @classmethod
    def of(cls, form: PaperForm, row: int) -> _Paper:
        later = math.prod(map(Fraction, layer_norms(form)[1:]))
        scale = Fraction(float(form.scale[row]))
        columns = [exact_norm(column[:, None], form.norms[0]) for column in form.weights[0].T]
        reach = [scale * Fraction(r) * c * later for r, c in zip(form.radius.tolist(), columns, strict=True)]
        return cls([Fraction(c) for c in form.center[row].tolist()], reach)

    def range(self, rates: Mapping[int, Fraction]) -> Interval:
        middle = sum((rate * self.center[j] for j, rate in rates.items()), Fraction(0))
        reach = sum((rate * self.reach[j] for j, rate in rates.items()), Fraction(0))
        return middle - reach, middle + reach


def layer_norms(form: ConvexForm | PaperForm) -> list[float]:
    """The operator norm of every layer, rounded up; convex form counts as L1_TO_LINF, then LINF_TO_LINF."""
    if isinstance(form, ConvexForm):
        return [float(np.abs(form.weights[0]).max()), *[1.0] * (len(form.weights) - 1)]
    reflects = any(isinstance(a, Reflect) for a in form.activations)
    if reflects or Norm.L2_TO_LINF in form.norms:
        raise CertificateError(
            "a certificate covers GroupSort and ReLU with norms of L1 and Linf; got a network with "
            f"{'Householder reflections' if reflects else 'L2 norms'}; its promise was proved when it was frozen, but "
            "the checker does not repeat that proof; train it with GroupSort for a certificate."
        )
    return [round_up(exact_norm(w, norm)) for w, norm in zip(form.weights, form.norms, strict=True)]


def _integers(values: NDArray[np.float64]) -> tuple[Integers, int]:
    """(n, e) with values = n / 2^e exactly."""
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64).astype(object)
    power = np.where(values == 0, 0, exponent - 53).astype(np.int64)
    e = max(0, -int(power.min(initial=0)))
    return whole << (power + e).astype(object), e
