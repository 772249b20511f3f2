r"""A network in units a solver in floating point can work with: everything it sees is at most about 1.

A ReLU unit times a positive number is the unit of the row times that number: with powers of two p, q

    W_l -> diag(1 / p_l) W_l diag(p_{l-1}),  b_l -> b_l / p_l        units, p_0 = 1 on the unit box
    V_l  = diag(1 / q_l) W_l diag(q_{l-1})                           slopes, q_0 = 1

is the same network: on and off are the same, and its slope is that of V times q of the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from monolip.nn.verify_exact import ExactLayer

__all__ = ["ScaledLayer", "ScaledNetwork", "Scaling"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class ScaledLayer:
    """weight, bias: of the units, on the unit box; slopes: V."""

    weight: FloatArray
    bias: FloatArray
    slopes: FloatArray
    relu: bool


@dataclass(frozen=True)
class ScaledNetwork:
    """slope_units[k]: what 1 of output k's slope in V stands for, at least its largest slope by interval bounds.

    finite: whether every number fits a float; a network for which it is False is not given to the solver.
    """

    layers: tuple[ScaledLayer, ...]
    feature: int
    slope_units: FloatArray
    finite: bool


class Scaling:
    """The network of the unit box as floats and exponents, read once; `of` scales it for the slopes of one feature.

    Examples:
        >>> from fractions import Fraction
        >>> layer = ExactLayer([[Fraction(10**30), Fraction(0)]], [Fraction(-(10**30))], False)
        >>> Scaling([layer]).of(0, 1.0).layers[0].weight.round(2), Scaling([layer]).of(0, 1.0).slope_units >= 1e30
        (array([[0.39, 0.  ]]), array([ True]))
    """

    def __init__(self, layers: Sequence[ExactLayer]) -> None:
        self.parts = [(*_rows(layer.weight), *_mantissas(layer.bias), layer.relu) for layer in layers]
        self.d = len(layers[0].weight[0])

    def of(self, feature: int, half: float) -> ScaledNetwork:
        """half: half the feature's side of the box, which turns slopes in u into slopes in x."""
        made = []
        p, q = np.zeros(self.d, np.int64), np.zeros(self.d, np.int64)
        reach, steep = np.ones(self.d), (np.arange(self.d) == feature).astype(np.float64)
        with np.errstate(all="ignore"):
            for weight, shift, bias, bits, relu in self.parts:  # weight * 2^shift, bias * 2^bits
                units = np.where(reach > 0, _ldexp(weight, (p - p.max())[None]), 0.0)
                slopes = np.where(steep > 0, _ldexp(weight, (q - q.max())[None]), 0.0)  # times 0, whatever it is
                p, q = shift + p.max(), shift + q.max()
                offset = _ldexp(bias, bits - p)
                size, tall = np.abs(units) @ reach + np.abs(offset), np.abs(slopes) @ steep
                by, to = _exponent(size), _exponent(tall)
                made.append(
                    ScaledLayer(_ldexp(units, -by[:, None]), _ldexp(offset, -by), _ldexp(slopes, -to[:, None]), relu)
                )
                reach, steep, p, q = _ldexp(size, -by), _ldexp(tall, -to), p + by, q + to
            slope_units = _ldexp(np.ones(len(q)), q) / half
        fits = all(np.isfinite(part).all() for one in made for part in (one.weight, one.bias, one.slopes))
        return ScaledNetwork(tuple(made), feature, slope_units, fits and bool(np.isfinite(slope_units).all()))


def _rows(weight: Sequence[Sequence[Fraction]]) -> tuple[FloatArray, IntArray]:
    """Rows with largest entry about 1, and the exponents taken out."""
    shift = [max((_bits(value) for value in row if value), default=0) for row in weight]
    rows = [[float(value * Fraction(2) ** -by) for value in row] for row, by in zip(weight, shift, strict=True)]
    return np.array(rows, np.float64), np.array(shift, np.int64)


def _mantissas(values: Sequence[Fraction]) -> tuple[FloatArray, IntArray]:
    bits = [_bits(value) if value else 0 for value in values]
    parts = [float(value * Fraction(2) ** -by) for value, by in zip(values, bits, strict=True)]
    return np.array(parts, np.float64), np.array(bits, np.int64)


def _bits(value: Fraction) -> int:
    return abs(value.numerator).bit_length() - value.denominator.bit_length()


def _ldexp(values: FloatArray, exponent: IntArray) -> FloatArray:
    return np.asarray(np.ldexp(values, np.clip(exponent, -2200, 2200)))


def _exponent(size: FloatArray) -> IntArray:
    """Powers of two at least as large as size; of a unit that is 0 everywhere a tiny one, which hides no other."""
    return np.where(size > 0, np.frexp(size)[1], -5000).astype(np.int64)
