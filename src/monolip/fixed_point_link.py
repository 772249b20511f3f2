r"""From integer outputs to predictions: identity by a power of two, exponentials by one small monotone table.

    y    = floor(d * factor / 2^shift)           d * log2(e), in units of 2^-24
    e^d ~= T(y mod 1) * 2^floor(y)               T: integers from 2^26 to 2^27 at 128 places, interpolated in integers
    P_k  = 2^26 / sum_j E(f_j - f_k)             E = floor of the above, an integer; one correctly rounded division

T never falls and ends at twice its beginning, so E never falls; sums of integers are exact, and a correctly rounded
quotient falls where its divisor rises. Two classes are the case that the f of one is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import StructureError
from .output_link import OutputLink

__all__ = ["EXPONENTIALS", "FRACTION", "PLACES", "UNIT", "FixedLink"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

UNIT = 2**26  # stands for e^0 = 1
FRACTION, PLACES = 24, 7  # bits of the fraction of y; bits of it that choose a place of the table
_REST = FRACTION - PLACES
_SUM = 52  # bits of sum_j E
_FAR = 990


# round(2^(26 + i / 128)), i = 0 .. 128: part of the definition, so that nobody needs an exp of their own.
EXPONENTIALS = np.array([round(UNIT * 2.0 ** (i / 2**PLACES)) for i in range(2**PLACES + 1)], dtype=np.int64)
EXPONENTIALS.setflags(write=False)


@dataclass(frozen=True, eq=False)
class FixedLink:
    """An OutputLink on integers.

    Args:
        link: what the outputs mean; None for the outputs themselves.
        unit: one output unit is 2^-unit.
        factor, shift: log2(e) as factor / 2^(shift + 24 - unit); 0 and 0 for identity.
        offset: identity only: a constant added to f 2^-unit in one correctly rounded float64 addition, which keeps
            every order; a large mean of the target so takes no bits from the integers.

    Examples:
        >>> logit = FixedLink(OutputLink("logit", ("no", "yes")), 16, 12102203, 15)
        >>> logit.apply(np.array([[0], [2 << 16]])).round(6)
        array([[0.5     , 0.5     ],
               [0.119203, 0.880797]])
    """

    link: OutputLink | None
    unit: int
    factor: int
    shift: int
    offset: float = 0.0

    def __post_init__(self) -> None:
        numbers = (self.unit, self.factor, self.shift)
        good = isinstance(self.link, OutputLink | None) and all(type(v) is int for v in numbers)
        exponential = good and self.name not in ("none", "identity")
        if not good or (self.factor > 0) != exponential or not 0 <= self.shift < 64 or abs(self.unit) > 900:
            raise StructureError(
                "a fixed-point link has whole numbers: a unit, and for exponentials a positive factor and a shift; got "
                f"{numbers}; compile again."
            )
        if type(self.offset) is not float or not math.isfinite(self.offset):
            raise StructureError(f"an offset is a finite float; got {self.offset!r}; compile again.")
        if self.offset and self.name != "identity":
            raise StructureError(f"only the identity link has an offset; got {self.offset} of {self.name}; drop it.")
        object.__setattr__(self, "offset", self.offset + 0.0)  # -0.0 would be a second name of one network

    @property
    def name(self) -> str:
        return "none" if self.link is None else self.link.name

    @property
    def positive(self) -> int:
        """Of two classes the position of the one f is about; 1 where there is no choice."""
        return 0 if self.link is not None and self.link.positive == 0 else 1

    @property
    def ceiling(self) -> int:
        """The largest exponential; as many of them as there are classes add up to less than 2^53."""
        return int(2 ** (_SUM - math.ceil(math.log2(max(2, len((self.link and self.link.labels) or ()))))))

    @property
    def threshold(self) -> int:
        """The largest f with f 2^-unit + offset <= 0: scores beyond it are positive."""
        return math.floor(-Fraction(self.offset) * Fraction(2) ** self.unit)

    def reach(self, most: int) -> int:
        """Bound of every product in `exponential` while outputs stay within +-most."""
        return 2 * most * self.factor

    def exponential(self, d: IntArray) -> tuple[IntArray, IntArray]:
        """e^d as (mantissa of 2^26 .. 2^27, exponent): mantissa * 2^exponent never falls with d."""
        y = np.clip((d * self.factor) >> self.shift, -_FAR << FRACTION, _FAR << FRACTION)  # 2^+-990 is far enough
        place, rest = (y >> _REST) & (2**PLACES - 1), y & (2**_REST - 1)
        low = EXPONENTIALS[place]
        return low + (((EXPONENTIALS[place + 1] - low) * rest) >> _REST), y >> FRACTION

    def scores(self, f: IntArray) -> FloatArray:
        """f 2^-unit, exact, plus the offset, rounded once; keeps the shape."""
        values = np.ldexp(f.astype(np.float64), -self.unit)
        return values + self.offset if self.offset else values

    def apply(self, f: IntArray) -> FloatArray:
        """(n, n_outputs) integers -> predictions (n,), class probabilities (n, n_classes), or without link values."""
        if self.name in ("none", "identity"):
            return self.scores(f) if self.link is None else self.scores(f)[:, 0]
        if self.name == "log":
            mantissa, exponent = self.exponential(f[:, 0])
            return np.ldexp(mantissa.astype(np.float64), exponent - 26)
        if self.name == "logit":
            zero = np.zeros_like(f[:, 0])
            f = np.stack([zero, f[:, 0]] if self.positive else [f[:, 0], zero], axis=1)
        return np.stack([UNIT / self._sum(f, k).astype(np.float64) for k in range(f.shape[1])], axis=1)

    def _sum(self, f: IntArray, k: int) -> IntArray:
        total = np.zeros(len(f), dtype=np.int64)
        for j in range(f.shape[1]):
            mantissa, exponent = self.exponential(f[:, j] - f[:, k])
            left = np.clip(exponent, 0, 63 - 28)  # 2^27 << 35 is the widest that fits; the ceiling is far below
            right = np.clip(-exponent, 0, 63)
            total += np.minimum((mantissa >> right) << left, self.ceiling)
        return total

    def __reduce__(self) -> tuple[Any, ...]:
        return FixedLink, (self.link, self.unit, self.factor, self.shift, self.offset)
