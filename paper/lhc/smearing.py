"""An unstable detector moves the inputs; the score moves by no more than the certified slopes allow.

Where lower_i <= df/dx_i <= upper_i,  sum_i min(lower_i d_i, upper_i d_i) <= f(x+d) - f(x) <= sum_i max(the same).
The check below is a proof about real numbers made with floats: it adds a bound of every rounding error (of the two
evaluations and of the sums) to what it compares. `exact_value` evaluates the same network in rational arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from monolip import ConvexForm, FrozenNetwork
from monolip.certify import certify

__all__ = ["certified_slopes", "exact_value", "moves", "outside_exactly", "rounding_error"]

FloatArray = NDArray[np.float64]

UNIT = 2.0**-53


def certified_slopes(frozen: FrozenNetwork) -> tuple[FloatArray, FloatArray]:
    """Lower and upper slope of each feature, as the certificate claims and its checker proves."""
    certificate = certify(frozen)
    certificate.check()  # the independent program proves it again, or raises
    claims = list(certificate)
    return np.array([c.lower for c in claims], dtype=float), np.array([c.upper for c in claims], dtype=float)


def _single(frozen: FrozenNetwork) -> ConvexForm:
    ((trunk,),) = frozen.members
    assert isinstance(trunk.form, ConvexForm)
    return trunk.form


def rounding_error(frozen: FrozenNetwork, x: FloatArray) -> FloatArray:
    """A bound of |evaluated - real| for each row of a network of one convex form without a transform.

    A sum of n products has an error of at most gamma_n sum |w||z|, gamma_n = n u / (1 - n u); errors of earlier layers
    grow by the row sums of |w|, and sorting does not make the largest one larger. 1.01 covers the rounding in here.
    """
    form = _single(frozen)
    z, error = x, np.zeros(len(x))
    for k, (weight, bias) in enumerate(zip(form.weights, form.biases, strict=True)):
        n = weight.shape[1] + 2
        size = (np.abs(z) @ np.abs(weight).T + np.abs(bias)).max(axis=1)
        error = 1.01 * (np.abs(weight).sum(axis=1).max() * error + n * UNIT / (1.0 - n * UNIT) * size)
        z = z @ weight.T + bias
        if k < len(form.group_sizes):
            z = np.sort(z.reshape(len(z), -1, form.group_sizes[k]), axis=2).reshape(len(z), -1)
    return np.asarray(error)


def exact_value(frozen: FrozenNetwork, x: FloatArray) -> Fraction:
    """f at one row, in rational arithmetic: no rounding at all."""
    form = _single(frozen)
    z = [Fraction(float(value)) for value in x]
    for k, (weight, bias) in enumerate(zip(form.weights, form.biases, strict=True)):
        rows = [[Fraction(float(w)) for w in row] for row in weight]
        parts = [[w * v for w, v in zip(row, z, strict=True)] for row in rows]
        z = [sum(part, Fraction(float(b))) for part, b in zip(parts, bias, strict=True)]
        if k < len(form.group_sizes):
            size = form.group_sizes[k]
            z = [v for start in range(0, len(z), size) for v in sorted(z[start : start + size])]
    return z[0]


def moves(
    score_before: FloatArray, score_after: FloatArray, shift: FloatArray, slopes: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(how far each score moved, the least and the most it may move), the last two rounded outwards."""
    lower, upper = slopes
    most = np.maximum(shift * lower, shift * upper)
    least = np.minimum(shift * lower, shift * upper)
    slack = 16.0 * UNIT * np.maximum(np.abs(most), np.abs(least)).sum(axis=1)
    return score_after - score_before, least.sum(axis=1) - slack, most.sum(axis=1) + slack


def outside_exactly(frozen: FrozenNetwork, x: FloatArray, y: FloatArray) -> int:
    """How many moves from x to y leave what the certified slopes allow, decided in rational arithmetic."""
    lower, upper = ([Fraction(float(v)) for v in side] for side in certified_slopes(frozen))
    count = 0
    for a, b in zip(x, y, strict=True):
        shift = [Fraction(float(after)) - Fraction(float(before)) for before, after in zip(a, b, strict=True)]
        ends = [sorted((low * d, high * d)) for low, high, d in zip(lower, upper, shift, strict=True)]
        moved = exact_value(frozen, b) - exact_value(frozen, a)
        count += not sum(least for least, _ in ends) <= moved <= sum(most for _, most in ends)
    return count
