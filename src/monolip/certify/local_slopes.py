r"""Which first-layer units can matter near a sample: interval back-propagation in a ball around it.

    F = sum_k a_k unit_k,    sum_k a_k known exactly,    low_k <= a_k <= high_k everywhere in the ball

Forward: intervals of units, from which it is read which order inside a sort group is possible. All units lose a common
affine function first (sorting and averaging commute with it), and pairs are compared by their difference.
Backward: the coefficient of a unit is the one of a place it can take; where places are open, the hull of them.
The segment between two points of the ball stays inside the intervals: units are affine in the model columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.certify.robustness_enclosure import affine_enclosure
from monolip.certify.robustness_inputs import Movable, Samples
from monolip.certify.robustness_moves import Ball, Moves
from monolip.convex import ConvexForm

__all__ = ["LocalForm", "Mixture"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

TINY = 2.0**-1000


@dataclass(frozen=True)
class Mixture:
    """Coefficients of first-layer units, (n, units) each, and their exact total, (n,)."""

    low: FloatArray
    high: FloatArray
    total: FloatArray


class LocalForm:
    """A trunk in convex form, prepared once for many balls.

    Args:
        form: the trunk.
        features: what moves.
    """

    def __init__(self, form: ConvexForm, features: Sequence[Movable]) -> None:
        self.form, first, bias = form, form.weights[0], form.biases[0]
        self.rows, self.bias = first - first.mean(axis=0), bias
        self.moves = Moves.of(self.rows, features)
        self.pairs = bool(form.group_sizes) and form.group_sizes[0] == 2
        if self.pairs:
            self.pair_rows, self.pair_bias = first[1::2] - first[::2], bias[1::2] - bias[::2]
            self.pair_moves = Moves.of(self.pair_rows, features)

    def mixture(self, samples: Samples, outputs: FloatArray, ball: Ball) -> Mixture:
        """outputs: (n, n_outputs), the multiple of each output in F."""
        form, total = self.form, outputs.sum(axis=1)
        orders = self._orders(samples, ball)
        mixed = outputs @ form.weights[-1] if len(form.weights) > 1 else outputs
        size = 2.0**-50 * (np.abs(outputs) @ form.weights[-1]) if len(form.weights) > 1 else 0.0
        low, high = mixed - size, mixed + size
        for layer in range(len(form.group_sizes) - 1, -1, -1):
            low, high = _unsort(low, high, orders[layer], form.group_sizes[layer])
            if layer:
                low, high = _lower(low, form.weights[layer]), -_lower(-high, form.weights[layer])
        return Mixture(low, high, total)

    def _orders(self, samples: Samples, ball: Ball) -> list[tuple[FloatArray, FloatArray]]:
        """First and last place each unit of each hidden layer can take in its group; (n, units) each."""
        if not self.form.group_sizes:
            return []
        low, high = _interval(samples, self.rows, self.bias, self.moves, ball)
        apart = None
        if self.pairs:
            apart = _interval(samples, self.pair_rows, self.pair_bias, self.pair_moves, ball)
        found = []
        for layer, size in enumerate(self.form.group_sizes):
            found.append(_places(low, high, apart, size))
            low, high = (np.sort(z.reshape(len(z), -1, size), axis=-1).reshape(z.shape) for z in (low, high))
            if layer == len(self.form.group_sizes) - 1:
                break
            weight, bias = self.form.weights[layer + 1], self.form.biases[layer + 1]
            apart = None
            if self.form.group_sizes[layer + 1] == 2:
                apart = _image(low, high, weight[1::2] - weight[::2], bias[1::2] - bias[::2])
            low, high = _image(low, high, weight, bias)
        return found


def _interval(
    samples: Samples, rows: FloatArray, bias: FloatArray, moves: Moves, ball: Ball
) -> tuple[FloatArray, FloatArray]:
    """Every unit rows.u + bias in the ball."""
    z, error = affine_enclosure(samples.inputs, samples.error, rows, bias, slack=8)
    fall, rise = ball.extremes(moves)
    slack = 2.0**-50 * (np.abs(z) + error)
    return z - error - slack - fall * (1 + 2.0**-40), z + error + slack + rise * (1 + 2.0**-40)


def _image(low: FloatArray, high: FloatArray, weight: FloatArray, bias: FloatArray) -> tuple[FloatArray, FloatArray]:
    """W z + b for z between low and high, outwards."""
    up, down = np.maximum(weight, 0.0).T, np.minimum(weight, 0.0).T
    size = np.maximum(np.abs(low), np.abs(high)) @ np.abs(weight).T + np.abs(bias)
    slack = 2.0**-52 * (weight.shape[1] + 8) * size + TINY
    least, most = low @ up + high @ down + bias - slack, high @ up + low @ down + bias + slack
    return np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)  # 0 * inf: unknown


def _places(
    low: FloatArray, high: FloatArray, apart: tuple[FloatArray, FloatArray] | None, size: int
) -> tuple[FloatArray, FloatArray]:
    shape = (len(low), -1, size)
    a, b = low.reshape(shape), high.reshape(shape)
    below = (b[..., None, :] < a[..., :, None]).sum(axis=-1)  # how many are surely below unit j
    above = (a[..., None, :] > b[..., :, None]).sum(axis=-1)
    first, last = below, size - 1 - above
    if apart is not None:  # second minus first
        rising, falling = apart[0] > 0, apart[1] < 0
        first[..., 0], first[..., 1] = np.maximum(first[..., 0], falling), np.maximum(first[..., 1], rising)
        last[..., 0], last[..., 1] = np.minimum(last[..., 0], ~rising), np.minimum(last[..., 1], ~falling)
    return first.reshape(low.shape), last.reshape(low.shape)


def _unsort(
    low: FloatArray, high: FloatArray, places: tuple[FloatArray, FloatArray], size: int
) -> tuple[FloatArray, FloatArray]:
    """From coefficients of places to those of units."""
    shape = (len(low), -1, size)
    a, b = low.reshape(shape)[..., None, :], high.reshape(shape)[..., None, :]
    place = np.arange(size)
    first, last = places[0].reshape(shape)[..., None], places[1].reshape(shape)[..., None]
    open_ = (place >= first) & (place <= last)
    least = np.where(open_, a, np.inf).min(axis=-1)
    most = np.where(open_, b, -np.inf).max(axis=-1)
    return least.reshape(low.shape), most.reshape(high.shape)


def _lower(coefficients: FloatArray, weight: FloatArray) -> FloatArray:
    """coefficients @ weight, rounded down; weight >= 0, so non-negative coefficients stay so."""
    slack = 2.0**-52 * (weight.shape[0] + 8)
    value = coefficients @ weight - slack * (np.abs(coefficients) @ weight) - TINY
    positive = (coefficients >= 0).all(axis=1, keepdims=True)
    return np.asarray(np.where(positive, np.maximum(value, 0.0), value))
