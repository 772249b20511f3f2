"""Directed rounding: the floating-point number next to an exact rational, on the side a promise needs.

"Provably" is a statement about the numbers that are stored. Every float is a rational number, so a claim about
stored floats can be decided exactly; these helpers turn exact results back into floats without crossing a bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

__all__ = ["exact_sum_is_at_most", "round_down", "round_up"]


def round_down(value: Fraction) -> float:
    """The largest float that is not above `value`.

    >>> Fraction(round_down(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    nearest = float(value)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > value else nearest


def round_up(value: Fraction) -> float:
    """The smallest float that is not below `value`.

    >>> Fraction(round_up(Fraction(1, 3))) >= Fraction(1, 3)
    True
    """
    return -round_down(-value)


def exact_sum_is_at_most(terms: Iterable[float], bound: float) -> bool:
    """Whether the real sum of `terms` is at most `bound`, decided exactly.

    `math.fsum` rounds the exact sum once, and rounding keeps the sign, so the comparison is a proof.

    >>> exact_sum_is_at_most([0.1] * 10, 1.0)  # the float 0.1 is above one tenth
    False
    """
    return math.fsum([*terms, -bound]) <= 0.0
