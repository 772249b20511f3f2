r"""The smallest slope of a ReLU network over a box, as one mixed-integer linear program (the idea of Liu et al. 2020).

    z_l = d_l a_l,  a_l = W_l z_{l-1} + b_l       d_l in {0, 1}: which units are on, tied to x by bounds on a_l
    h_l = d_l g_l,  g_l = W_l h_{l-1}, h_0 = e_i    the slope in x_i under the pattern d, tied by bounds on g_l

Both products of a bit and a bounded number are linear constraints. The network comes scaled, so that the solver's
tolerances (1e-6, and 1e-9 for coefficients) are relative to what units and slopes can reach on the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.nn.verify_scaling import ScaledLayer, ScaledNetwork

__all__ = ["Minimum", "smallest_slope"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Minimum:
    """bound: no pattern has a smaller slope (-inf: unknown). slope, pattern: the best one found, if any."""

    bound: float
    slope: float | None
    pattern: tuple[NDArray[np.bool_], ...] | None
    finished: bool


@dataclass
class _Program:
    """Variables with bounds, rows of sparse constraints low <= row <= high."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    rows: list[tuple[list[int], list[float]]] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def variable(self, low: float, high: float, whole: bool = False) -> int:
        self.lower.append(float(low))
        self.upper.append(float(high))
        self.whole.append(int(whole))
        return len(self.lower) - 1

    def constrain(self, terms: Sequence[tuple[int, float]], low: float, high: float) -> None:
        kept = [(at, value) for at, value in terms if value]
        self.rows.append(([at for at, _ in kept], [value for _, value in kept]))
        self.low.append(low)
        self.high.append(high)


def smallest_slope(
    network: ScaledNetwork, output: int, sign: int, seconds: float,
    excluded: Sequence[tuple[NDArray[np.bool_], ...]] = (),
) -> Minimum:  # fmt: skip
    """Minimise sign * df_output/dx_feature over the patterns of points of the unit box; excluded patterns are cut.

    In units of slope_units[output].
    """
    program = _Program()
    d = network.layers[0].weight.shape[1]
    z_bounds = np.array([[-1.0], [1.0]]) * np.ones(d)
    z = [program.variable(-1.0, 1.0) for _ in range(d)]
    slope_bounds = np.zeros((2, d))
    slope_bounds[:, network.feature] = 1.0
    h = [program.variable(value, value) for value in slope_bounds[0]]
    bits = []
    for layer in network.layers:
        z, h, z_bounds, slope_bounds, own = _add_layer(program, layer, z, h, z_bounds, slope_bounds)
        bits.append(own)
    for pattern in excluded:
        _exclude(program, bits, pattern)
    return _solve(program, h[output], sign, bits, seconds)


def _add_layer(
    program: _Program, layer: ScaledLayer, z: list[int], h: list[int], z_bounds: FloatArray, h_bounds: FloatArray
) -> tuple[list[int], list[int], FloatArray, FloatArray, list[int]]:
    a_bounds = _interval(layer.weight, z_bounds) + layer.bias
    a_bounds += np.array([[-1.0], [1.0]]) * 1e-9 * (1.0 + np.abs(a_bounds))  # outwards: bounds were rounded
    g_bounds = _interval(layer.slopes, h_bounds)
    new_z, new_h, bits = [], [], []
    for k, bias in enumerate(layer.bias.tolist()):
        low, high = a_bounds[:, k]
        a, g = list(zip(z, layer.weight[k].tolist(), strict=True)), list(zip(h, layer.slopes[k].tolist(), strict=True))
        on, off = not layer.relu or low >= 0, layer.relu and high <= 0
        d = program.variable(on, not off, whole=True)
        bits.append(d)
        floor, roof = min(g_bounds[0, k], 0.0), max(g_bounds[1, k], 0.0)
        unit = program.variable(low if on else 0.0, 0.0 if off else high)
        slope = program.variable(floor, roof)
        minus = [(at, -value) for at, value in a]
        falls = [(at, -value) for at, value in g]
        if on:
            program.constrain([(unit, 1.0), *minus], bias, bias)
            program.constrain([(slope, 1.0), *falls], 0.0, 0.0)
        elif off:
            program.constrain([(slope, 1.0)], 0.0, 0.0)
            program.constrain(a, -np.inf, -bias)
        else:
            program.constrain([(unit, 1.0), *minus], bias, np.inf)
            program.constrain([(unit, 1.0), *minus, (d, -low)], -np.inf, bias - low)
            program.constrain([(unit, 1.0), (d, -high)], -np.inf, 0.0)
            program.constrain([(slope, 1.0), (d, -roof)], -np.inf, 0.0)
            program.constrain([(slope, 1.0), (d, -floor)], 0.0, np.inf)
            program.constrain([(slope, 1.0), *falls, (d, -floor)], -np.inf, -floor)
            program.constrain([(slope, 1.0), *falls, (d, -roof)], -roof, np.inf)
        new_z.append(unit)
        new_h.append(slope)
    after = np.maximum(a_bounds, 0.0) if layer.relu else a_bounds
    slopes = np.stack([np.minimum(g_bounds[0], 0.0), np.maximum(g_bounds[1], 0.0)]) if layer.relu else g_bounds
    return new_z, new_h, after, slopes, bits


def _interval(weight: FloatArray, bounds: FloatArray) -> FloatArray:
    plus, minus = np.maximum(weight, 0.0), np.minimum(weight, 0.0)
    return np.stack([plus @ bounds[0] + minus @ bounds[1], plus @ bounds[1] + minus @ bounds[0]])


def _exclude(program: _Program, bits: list[list[int]], pattern: tuple[NDArray[np.bool_], ...]) -> None:
    """At least one unit is another way round than in this pattern."""
    terms, on_count = [], 0
    for own, states in zip(bits, pattern, strict=True):
        for d, on in zip(own, states.tolist(), strict=True):
            terms.append((d, -1.0 if on else 1.0))
            on_count += on
    program.constrain(terms, 1.0 - on_count, np.inf)


def _solve(program: _Program, target: int, sign: int, bits: list[list[int]], seconds: float) -> Minimum:
    optimize: Any = import_module("scipy.optimize")
    sparse: Any = import_module("scipy.sparse")
    cost = np.zeros(len(program.lower))
    cost[target] = sign
    columns = np.concatenate([at for at, _ in program.rows]) if program.rows else np.zeros(0, np.int64)
    values = np.concatenate([value for _, value in program.rows]) if program.rows else np.zeros(0)
    starts = np.cumsum([0, *(len(at) for at, _ in program.rows)])
    matrix = sparse.csr_matrix((values, columns.astype(np.int64), starts), shape=(len(program.rows), len(cost)))
    found = optimize.milp(
        cost,
        integrality=np.array(program.whole),
        bounds=optimize.Bounds(program.lower, program.upper),
        constraints=optimize.LinearConstraint(matrix, program.low, program.high),
        options={"time_limit": max(0.01, seconds), "mip_rel_gap": 1e-9},
    )
    if found.status == 2:  # every box has points, and patterns without an inside leave others: the solver is wrong
        return Minimum(-np.inf, None, None, False)
    bound = -np.inf if getattr(found, "mip_dual_bound", None) is None else float(found.mip_dual_bound)
    if found.x is None:
        return Minimum(bound, None, None, False)
    pattern = tuple(np.array([found.x[d] > 0.5 for d in own], np.bool_) for own in bits)
    return Minimum(bound, float(found.fun), pattern, found.status == 0)
