r"""The smallest change that flips a decision, by mixed-integer programming: a cross-check of certified radii.

    minimise |d / scale|_p   such that   F(x + d) <= 0,   |d_i| <= box * scale_i            p = 1 or infinity

Sorting becomes one binary per pair whose order is open, a piecewise-linear input one per knot inside the box. HiGHS
works within tolerances (about 1e-6), so its optimum is no proof. A witness is: it is pushed out until it flips the
decision in exact rational arithmetic, and no proved radius can reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.milp_model import MilpModel
from monolip.certify.milp_network import encode_inputs, encode_output
from monolip.certify.robustness import decided, decisions, network_of
from monolip.certify.robustness_exact import exact_output
from monolip.certify.robustness_inputs import (
    Movable,
    Samples,
    movable_features,
    raw_rows,
    read_samples,
)
from monolip.certify.robustness_results import read_norm, read_scale
from monolip.errors import InputError
from monolip.frozen import FrozenNetwork
from monolip.rounding import round_up

__all__ = ["Flip", "smallest_flip"]

FloatArray = NDArray[np.float64]
_PUSH = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


@dataclass(frozen=True)
class Flip:
    """What the solver found for one row, on the box that was asked about.

    optimum: the smallest radius of a flip, as HiGHS claims it, within its tolerance (if time ran out, the smallest it
        had found); inf: none in the box; NaN: it gave up.
    witness: the changed raw row, whose decision differs in exact rational arithmetic; None where none was found.
    radius: its distance, rounded up; inf without a witness. box: the radius searched. message: of the solver.
    """

    optimum: float
    witness: tuple[Any, ...] | None
    radius: float
    box: float
    message: str


def smallest_flip(
    model: Any, X: Any, *, norm: float | str = np.inf, scale: Any = None, box: float = 10.0, threshold: float = 0.0,
    time_limit: float = 30.0,
) -> list[Flip]:  # fmt: skip
    """The nearest input with another decision, for every row of X; for small networks with GroupSort.

    Args:
        model, X, scale, threshold: as in `certified_radius`; norm: 1 or inf.
        box: the largest radius to look at, in units of scale.
        time_limit: seconds per row and class.

    Example: f = x; from 0.75 the decision flips at 0.
        >>> from monolip import ConvexForm, FrozenNetwork, SlopeBounds
        >>> from monolip.frozen import Trunk
        >>> line = FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(ConvexForm(([[1.0]],), ([0.0],), ()), (0,)),),))
        >>> flip = smallest_flip(line, [[0.75]], scale=1.0)[0]
        >>> round(flip.optimum, 6), 0.75 <= flip.radius < 0.751
        (0.75, True)
    """
    network = network_of(model)
    power, _ = read_norm(norm)
    if power == 2:
        raise InputError("the program is linear in L1 and Linf only; got norm 2; use norm=1 or norm=inf.")
    if not (np.isfinite(box) and box > 0):
        raise InputError(f"box is a finite radius > 0; got {box!r}; pass one.")
    features, samples = movable_features(network), read_samples(network, X)
    sizes = read_scale(scale, [feature.name for feature in features], samples.values)
    decision, contests = decisions(network, samples, threshold, 0.0)
    found = []
    for row, raw in enumerate(raw_rows(network, X)):
        tries = [
            _one(
                network,
                features,
                sizes,
                samples.take(slice(row, row + 1)),
                raw,
                signs[row],
                power,
                box,
                threshold,
                time_limit,
            )
            for signs, _ in contests
        ]
        kept = [t for t in tries if t.witness is None or _decision(network, t.witness, threshold) != decision[row]]
        best = min(kept, key=lambda flip: flip.radius)
        found.append(Flip(float(np.min([t.optimum for t in tries])), best.witness, best.radius, box, best.message))
    return found


def _one(
    network: FrozenNetwork, features: Sequence[Movable], sizes: FloatArray, sample: Samples, raw: Sequence[Any],
    signs: FloatArray, power: float, box: float, threshold: float, time_limit: float,
) -> Flip:  # fmt: skip
    program = MilpModel()
    changes, columns = encode_inputs(program, network, features, sizes, sample, box)
    outputs = encode_output(program, network, columns)
    offset = threshold * float(signs[0]) if network.n_outputs == 1 else 0.0
    margin = program.sum_of([(float(s), out) for s, out in zip(signs, outputs, strict=True)], -offset)
    program.at_least(margin, -np.inf, 0.0)
    shared = program.variable(0.0, box)
    parts = []
    for i, change in changes.items():
        size = program.variable(0.0, box) if power == 1 else shared
        for sign in (1.0, -1.0):
            program.at_least(program.sum_of([(1.0, size), (sign / sizes[i], change)]), 0.0)
        parts.append(size)
    objective = program.sum_of([(1.0, part) for part in parts]) if power == 1 else shared
    values, optimum, message = program.minimise(objective, time_limit)
    if values is None:
        return Flip(optimum, None, np.inf, box, message)
    moves = {i: change.constant + sum(c * values[v] for v, c in change.terms.items()) for i, change in changes.items()}
    witness, radius = _push_out(network, features, sizes, raw, moves, signs, power, threshold)
    return Flip(optimum, witness, radius, box, message)


def _push_out(
    network: FrozenNetwork, features: Sequence[Movable], sizes: FloatArray, raw: Sequence[Any], moves: dict[int, float],
    signs: FloatArray, power: float, threshold: float,
) -> tuple[tuple[Any, ...] | None, float]:  # fmt: skip
    """The first point on the way outwards that flips exactly, and its distance."""
    for push in _PUSH:
        row, terms = list(raw), []
        for i, move in moves.items():
            at = features[i].column
            row[at] = float(raw[at] + move * (1 + push))
            terms.append(abs(Fraction(row[at]) - Fraction(float(raw[at]))) / Fraction(float(sizes[i])))
        f = exact_output(network, row)
        margin = sum((Fraction(float(s)) * v for s, v in zip(signs, f, strict=True)), Fraction(0))
        if network.n_outputs == 1:
            margin -= Fraction(float(signs[0])) * Fraction(threshold)
        if margin < 0:
            return tuple(row), round_up(sum(terms, Fraction(0)) if power == 1 else max(terms))
    return None, np.inf


def _decision(network: FrozenNetwork, row: Sequence[Any], threshold: float) -> int:
    f = exact_output(network, row)
    return int(decided(network, np.array([f[0] > Fraction(threshold)]))[0]) if len(f) == 1 else f.index(max(f))
