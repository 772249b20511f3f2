r"""Certified radii of a FixedPointNetwork: for the integers that run, in every carrier.

    F(x + d) >= F(x) - sum_i (cost_i |d_i| + margin_i)        one feature after the other, by its certificate's claims

so that  radius = (F(x) - sum_i margin_i) / cost  in the norm, where margin_i is what the steps of the input grid and
the output unit can take.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.fixed_point_claims import fixed_point_claims
from monolip.certify.robustness_results import CertifiedRadii, read_norm, read_scale
from monolip.errors import InputError
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_inputs import raw_columns
from monolip.input_columns import numbers_of
from monolip.input_transform import names_of

__all__ = ["fixed_point_radius"]

FloatArray = NDArray[np.float64]


def fixed_point_radius(
    network: FixedPointNetwork, X: Any, *, norm: float | str = np.inf, scale: Any = None
) -> CertifiedRadii:
    """Proved radii of the deployed integer decisions, |d / scale|_p <= radius, for every row of X.

    Args:
        network: compiled by `compile_fixed_point`.
        X: a data frame, a mapping by name, a matrix, or a list of rows.
        norm, scale: as in `certified_radius`.

    Example: the margin of the grid is subtracted.
        >>> from monolip import ConvexForm, FrozenNetwork, SlopeBounds
        >>> from monolip.certify.fixed_point import compile_fixed_point
        >>> from monolip.frozen import Trunk
        >>> line = FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(ConvexForm(([[1.0]],), ([0.0],), ()), (0,)),),))
        >>> fixed = compile_fixed_point(line, input_ranges=[(-4.0, 4.0)])
        >>> radius = fixed_point_radius(fixed, np.array([[0.75]]), scale=1.0).radius[0]
        >>> bool(0.749 < radius < 0.75)
        True
    """
    power, words = read_norm(norm)
    columns = raw_columns(_table(X), network.feature_names)
    claims = [claim for claim in fixed_point_claims(network)["raw"] if claim["real"] is not None]
    names = [claim["name"] for claim in claims]
    where = [network.feature_names.index(name) for name in names]
    values = [numbers_of(columns[at], name) for at, name in zip(where, names, strict=True)]
    f = network.evaluate_raw(columns)
    points = np.stack(values, axis=1) if values else np.zeros((len(f), 0))
    if np.isinf(points).any():
        raise InputError("a radius is measured from a finite point; got infinity; replace infinite values.")
    sizes = read_scale(scale, names, points)
    moves = ~np.isnan(points) & (sizes > 0)
    decision, radius = network.decide(f), np.full(len(f), np.inf)
    for row in range(len(f)):
        for signs, gap in _contests(f[row], network.link.threshold):
            radius[row] = min(radius[row], _radius(claims, signs, gap, network, sizes, moves[row], power))
    fixed = tuple(name for name, size in zip(names, sizes, strict=True) if size == 0)
    held = tuple(name for name in network.feature_names if name not in names) + fixed
    moved = tuple(name for name, size in zip(names, sizes, strict=True) if size > 0)
    return CertifiedRadii(radius, decision, moved, sizes[sizes > 0], held, words, "fixed-point")


def _table(X: Any) -> Any:
    """A list of rows as a matrix, as `certified_radius` reads it; what has names stays."""
    if isinstance(X, Mapping | np.ndarray) or names_of(X) is not None:
        return X
    table = np.array(X, dtype=object)
    if table.ndim != 2:
        raise InputError(f"X is a table of raw columns; got shape {table.shape}; pass rows of one length.")
    return table


def _contests(f: NDArray[np.int64], zero: int) -> list[tuple[dict[int, int], int]]:
    """Multiples of the outputs, and how far the decision leads, in output units; zero: the largest f not above 0."""
    if len(f) == 1:
        sign = 1 if f[0] > zero else -1
        return [({0: sign}, sign * (int(f[0]) - zero))]
    best = int(f.argmax())
    return [({best: 1, k: -1}, int(f[best]) - int(f[k])) for k in range(len(f)) if k != best]


def _radius(
    claims: list[dict[str, Any]], signs: dict[int, int], gap: int, network: FixedPointNetwork, sizes: FloatArray,
    moves: NDArray[np.bool_], power: float,
) -> float:  # fmt: skip
    room, costs = Fraction(gap) * Fraction(2) ** -network.link.unit, []
    for claim, size, moved in zip(claims, sizes.tolist(), moves.tolist(), strict=True):
        if not moved or all(claim["promise"][k] == "flat" for k in signs):
            continue
        low, high = Fraction(0), Fraction(0)
        for k, sign in signs.items():  # a bound of the right sign also holds beyond the declared range
            lower, upper = (Fraction(float.fromhex(v)) for v in claim["real"][k])
            lower, upper = min(lower, Fraction(0)), max(upper, Fraction(0))
            low, high = (low + lower, high + upper) if sign > 0 else (low - upper, high - lower)
            room -= Fraction(float.fromhex(claim["margin"][k]))
        costs.append(float(max(-low, high)) * size)
    if room <= 0:
        return 0.0
    total = max(costs, default=0.0) if power == 1 else sum(costs) if power == np.inf else math.hypot(*costs)
    return float(room) * (1 - 2.0**-36) / total if total > 0 else np.inf  # far more than rounding took
