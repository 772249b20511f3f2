"""Directed rounding: the floating-point number next to an exact rational, on the side a promise needs.

"Provably" is a statement about the numbers that are stored. Every float is a rational number, so a claim about
stored floats can be decided exactly; these helpers turn exact results back into floats without crossing a bound.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from fractions import Fraction

__all__ = ["exact_sum_is", "exact_sum_is_at_most", "round_down", "round_up"]


def round_down(value: Fraction) -> float:
    """The largest float that is not above `value`: the largest finite one, or -inf, where `value` is out of range.

    >>> Fraction(round_down(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    try:
        nearest = float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -math.inf
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > value else nearest


def round_up(value: Fraction) -> float:
    """The smallest float that is not below `value`.

    >>> Fraction(round_up(Fraction(1, 3))) >= Fraction(1, 3)
    True
    """
    return 0.0 - round_down(-value)  # not `-round_down`: zero stays +0.0


def exact_sum_is_at_most(terms: Iterable[float], bound: float) -> bool:
    """Whether the real sum of `terms` is at most `bound`, decided exactly.

    `math.fsum` rounds the exact sum once, and rounding keeps the sign, so the comparison is a proof. It gives up where
    a partial sum leaves the range of floats; rational numbers do not.

    >>> exact_sum_is_at_most([0.1] * 10, 1.0)  # the float 0.1 is above one tenth
    False
    """
    signed = [*terms, -bound]
    try:
        return math.fsum(signed) <= 0.0
    except OverflowError:
        return sum(map(Fraction, signed)) <= 0


def exact_sum_is(terms: Iterable[float], total: float) -> bool:
    """Whether the real sum of finite `terms` is `total`, decided exactly.

    >>> exact_sum_is([0.1, 0.2, 0.7], 1.0), exact_sum_is([0.25, 0.75], 1.0)
    (False, True)
    """
    signed = [*terms, -total]
    try:
        return math.fsum(signed) == 0.0
    except OverflowError:
        return sum(map(Fraction, signed)) == 0
