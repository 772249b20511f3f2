"""Directed rounding: the floating-point number next to an exact rational, on the side a promise needs.

"Provably" is a statement about the numbers that are stored. Every float is a rational number, so a claim about
stored floats can be decided exactly; these helpers turn exact results back into floats without crossing a bound.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction

__all__ = [
    "digits_down",
    "digits_up",
    "exact_sum_is",
    "exact_sum_is_at_most",
    "interval_text",
    "round_down",
    "round_up",
    "score_text",
    "share_text",
]


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


def digits_down(value: float, digits: int) -> float:
    """The largest number of so many decimal digits (15 at most) that is not above `value`: a bound stays one in print.

    A decimal stands for the float it is read as, so 0.1 is printed as 0.1.

    >>> digits_down(1.23456, 4), digits_down(-1.23456, 4), digits_down(0.5, 4), digits_down(0.1, 4)
    (1.234, -1.235, 0.5, 0.1)
    """
    if not value or not math.isfinite(value):
        return value + 0.0  # -0.0 reads as 0
    exact = Decimal(repr(float(value)))  # the shortest decimal that is read as this float
    if len(exact.as_tuple().digits) <= digits:
        return float(value)
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=ROUND_FLOOR))


def digits_up(value: float, digits: int) -> float:
    """The smallest number of so many decimal digits that is not below `value`.

    >>> digits_up(1.23456, 4), digits_up(-1.23456, 4), digits_up(2.0, 4)
    (1.235, -1.234, 2.0)
    """
    return 0.0 - digits_down(-value, digits)


def interval_text(lower: float, upper: float, digits: int = 4) -> str:
    """A proved interval in print: rounded outward. A table and the figure beside it leave `digits` alone, and agree.

    >>> interval_text(0.0, 1.78241), interval_text(1.23456, 1.23456), interval_text(-0.5, 2.0, 3)
    ('[0, 1.783]', '[1.234, 1.235]', '[-0.5, 2]')
    """
    return f"[{digits_down(lower, digits):.{digits}g}, {digits_up(upper, digits):.{digits}g}]"


def score_text(value: float, digits: int = 4) -> str:
    """A score of which 1 is the best: in more digits, nine at most, where so few would read as perfect.

    >>> score_text(0.98765), score_text(0.99996), score_text(1.0), score_text(1 - 1e-15)
    ('0.9877', '0.99996', '1', '0.999999999')
    """
    text = f"{value + 0.0:.{digits}g}"
    if text != "1" or value >= 1.0:
        return text
    shown = _nines(value)
    return f"{digits_down(value, shown):.{shown}g}"


def share_text(share: float, decimals: int = 1) -> str:
    """A share in percent: of some but not all, neither 0 nor 100.

    >>> share_text(0.987), share_text(0.99984), share_text(0.0004), share_text(0.0), share_text(1.0)
    ('98.7%', '99.98%', '0.04%', '0.0%', '100.0%')
    """
    text = f"{share + 0.0:.{decimals}%}"
    if not 0.0 < share < 1.0 or text not in (f"{0:.{decimals}%}", f"{1:.{decimals}%}"):
        return text
    if share < 0.5:
        return f"{100 * share:.1g}%"
    shown = _nines(share)
    return f"{digits_down(100 * share, shown):.{shown}g}%"


def _nines(value: float) -> int:
    """Digits that tell a number below 1 from it."""
    return min(9, math.ceil(-math.log10(1.0 - value)))


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
