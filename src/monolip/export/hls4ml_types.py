r"""ap_fixed<W,I,Q,O>: the number type of high-level synthesis, and which of its rounding modes keep a proof.

    value = word / 2^(W - I),    -2^(W-1) <= word < 2^(W-1)

Every mode of rounding Q is monotone, so directions survive all of them. Slopes survive only a rounding that commutes
with whole steps, q(v + 1) = q(v) + 1: AP_TRN (down) and AP_RND (half up) do; rounding half to even (AP_RND_CONV) and
modes that look at the sign do not, and between layers their excess would add up. Of the overflow modes O, AP_WRAP turns
a sum that is too large into its opposite and is allowed where none can be; AP_SAT_SYM clamps to +-(2^(W-1) - 1).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from monolip.errors import InputError, PrecisionError

__all__ = ["ApFixed"]

_PATTERN = re.compile(r"ap_fixed<(\d{1,3}),(-?\d{1,3})(?:,(AP_\w+))?(?:,(AP_\w+))?(?:,0)?>")
_ROUNDINGS = ("AP_TRN", "AP_RND")
_NO_ROUNDINGS = ("AP_RND_CONV", "AP_TRN_ZERO", "AP_RND_ZERO", "AP_RND_INF", "AP_RND_MIN_INF")
_OVERFLOWS = ("AP_WRAP", "AP_SAT_SYM", "AP_SAT")
WIDEST = 30  # bits of inputs and activations that are compiled and proved


class ApFixed(NamedTuple):
    """A type with `width` bits, of which `integer` stand before the binary point, sign included.

    >>> ApFixed.parse("ap_fixed<16,6>").fraction
    10
    >>> str(ApFixed.parse("ap_fixed<18, 8, AP_RND, AP_SAT_SYM>"))
    'ap_fixed<18,8,AP_RND,AP_SAT_SYM>'
    """

    width: int
    integer: int
    rounding: str = "AP_TRN"
    overflow: str = "AP_WRAP"

    @property
    def fraction(self) -> int:
        """Bits after the binary point: one unit is 2^-fraction."""
        return self.width - self.integer

    def __str__(self) -> str:
        return f"ap_fixed<{self.width},{self.integer},{self.rounding},{self.overflow}>"

    @staticmethod
    def holding(word: int, fraction: int, rounding: str = "AP_TRN", overflow: str = "AP_WRAP") -> ApFixed:
        """The narrowest type for words up to +-word with `fraction` bits after the point."""
        width = max(2, word.bit_length() + 1)
        return ApFixed(width, width - fraction, rounding, overflow)

    @staticmethod
    def parse(text: str) -> ApFixed:
        """The type named by `text`; modes that cannot be certified are refused with the reason."""
        found = _PATTERN.fullmatch(re.sub(r"\s", "", text)) if isinstance(text, str) else None
        if found is None:
            raise InputError(
                f"precision is ap_fixed<W,I>, or ap_fixed<W,I,Q,O> with modes; got {text!r}; pass 'ap_fixed<16,6>'."
            )
        rounding, overflow = found[3] or "AP_TRN", found[4] or "AP_WRAP"
        made = ApFixed(int(found[1]), int(found[2]), rounding, overflow)
        if rounding not in (*_ROUNDINGS, *_NO_ROUNDINGS) or overflow not in _OVERFLOWS:
            raise InputError(
                f"modes are {', '.join(_ROUNDINGS)} and {', '.join(_OVERFLOWS)}; got {rounding}, {overflow}; pick one."
            )
        if rounding in _NO_ROUNDINGS:
            raise PrecisionError(
                "slopes survive a rounding between layers only if it commutes with whole steps, and half to even or "
                f"towards zero does not; got {rounding}; use AP_TRN or AP_RND."
            )
        if not 4 <= made.width <= WIDEST or not 0 <= made.fraction < 31:
            raise InputError(f"types of 4 to {WIDEST} bits with a fraction are compiled; got {made}; choose another.")
        return made
