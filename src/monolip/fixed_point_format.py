"""The named format of a FixedPointNetwork: how many bits go where."""

from __future__ import annotations

import re
import reprlib
from dataclasses import asdict, dataclass
from typing import Any

from .errors import StructureError

__all__ = ["PRESETS", "FixedPointFormat"]

_NAME = re.compile(r"[A-Za-z0-9 ._-]{1,40}")


@dataclass(frozen=True)
class FixedPointFormat:
    """Bits of weights, inputs, activations and sums.

    Args:
        name: "wide", "narrow" or one's own: up to 40 of A-Z a-z 0-9 space . _ -
        shift: mixing rows add up to 2^shift.
        input_bits: of integer inputs, sign included.
        activation_bits: of activations, sign included; those beyond input_bits are guard bits.
        accumulator_bits: every sum of products stays below 2^(accumulator_bits - 1); proved for each network.
        weight_bits: of weights of all layers and of residuals, sign included.
        saturate: whether activations are clamped to activation_bits; the unit may then be finer than the proof needs.

    Examples:
        >>> PRESETS["wide"].guard
        3
    """

    name: str
    shift: int
    input_bits: int
    activation_bits: int
    accumulator_bits: int
    weight_bits: int
    saturate: bool = False

    def __post_init__(self) -> None:
        bits = (self.shift, self.input_bits, self.activation_bits, self.accumulator_bits, self.weight_bits)
        whole = all(type(v) is int for v in bits) and type(self.saturate) is bool and isinstance(self.name, str)
        if not whole or not (2 <= self.shift <= 40 and 3 <= self.input_bits <= 30):
            raise StructureError(
                f"a format has whole numbers of bits, shift 2 to 40 and input_bits 3 to 30; got {self!r}; see PRESETS."
            )
        if not _NAME.fullmatch(self.name):  # it is printed, and may come from a stranger's file
            raise StructureError(
                f"the name of a format has 1 to 40 of A-Z a-z 0-9 space . _ -; got {reprlib.repr(self.name)}; pick one."
            )
        if not (self.input_bits <= self.activation_bits <= 40 and 8 <= self.accumulator_bits <= 63):
            raise StructureError(
                "activations have at least the bits of inputs and at most 40, accumulators 8 to 63; got "
                f"{self.activation_bits} and {self.accumulator_bits}; see PRESETS."
            )
        if not 2 <= self.weight_bits <= self.accumulator_bits:
            raise StructureError(f"weights have 2 bits to those of accumulators; got {self.weight_bits}; see PRESETS.")

    @property
    def guard(self) -> int:
        """Bits that activations have beyond inputs."""
        return self.activation_bits - self.input_bits

    @property
    def limit(self) -> int | None:
        """What activations are clamped to, either sign; None without saturation."""
        return 2 ** (self.activation_bits - 1) - 1 if self.saturate else None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


PRESETS = {
    # sums below 2^53: exact in float64, hence in numpy, torch, ONNX and JavaScript as well as in 64-bit integers
    "wide": FixedPointFormat("wide", 24, 26, 29, 54, 54),
    # int16 weights and activations, int32 sums: what small processors and vector instructions multiply
    "narrow": FixedPointFormat("narrow", 14, 16, 16, 32, 16, saturate=True),
}
