r"""How additive starts are found: bounded ridge regression, from the strongest penalty to the weakest.

    least squares    one Gram matrix for all strengths; robust losses likewise, of a target whose far values are cut
                     off, with a quantile for a constant
    other losses     Newton steps, each a least-squares problem, whose Gram matrix serves two strengths
    several starts   of the same rows but a few, which each leaves out, have the Gram matrices of most rows in common.
                     Newton steps of all of them are made under the first one's curvature, but for those whose own is
                     another one along a column or in many rows: their steps would lead too far, or nowhere

Each is solved by coordinate descent on the Gram matrix, which keeps every bound exactly, going on from the last. A step
that leads far and would make things worse is halved, and a lone weak penalty is come to from stronger ones: where one
class is rare, a Newton step from a constant goes far beyond.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._descent import descend_all
from monolip.engine._newton import CURVED, derivatives, of_loss, within_reach
from monolip.engine._newton_steps import newton_steps
from monolip.engine._normal_equations import NormalEquations

__all__ = ["LARGEST", "AdditiveFit"]

FloatArray = NDArray[np.float64]
Found = tuple[FloatArray, FloatArray]  # slopes (starts, d) and constants (starts,)

FIRST_STEPS = 1  # before the first strength's own
SERVES = 2  # strengths that one Newton step serves: neighbours have nearly the same curvature
STRONGEST, STRIDE = 3000.0, 10.0  # where Newton steps begin, and by how much less the next one may be penalised
TOLERANCE = 5e-4  # of a step in one slope: change of f in a usual row, where y is of size one
LARGEST = 5.0  # of a standardised target under a robust loss: the start is a least-squares fit there
ROBUST = ("absolute", "huber", "pinball")


class AdditiveFit:
    """Where the iteration stands; each Newton step solves a weighted least-squares problem.

    x: (d, n), columns of the table. learns: (starts, n), which rows each learns from; rows that the same starts learn
    from should lie together.
    """

    def __init__(
        self, x: NDArray[Any], y: FloatArray, weight: FloatArray, offset: FloatArray, lower: FloatArray,
        upper: FloatArray, loss: str, parameter: float, learns: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        self.x, self.y, self.weight, self.offset, self.learns = x, y, weight, offset, learns
        # the Gram matrix is made of scaled columns: a second copy only where x is looked at again
        self.normal = NormalEquations(x, weight, learns, in_place=loss not in CURVED and loss not in ROBUST)
        self.lower, self.upper, self.loss, self.parameter = lower, upper, loss, parameter
        self.slopes = np.tile(np.minimum(np.maximum(lower, 0.0), upper), (len(learns), 1))
        self.tolerance = TOLERANCE * np.sqrt(learns.sum(axis=1))

    def path(self, strengths: Sequence[float], penalty: FloatArray) -> Iterator[Found]:
        """Of every start, slopes and constant for each strength, going on from those of the one before."""
        if self.loss not in CURVED:
            yield from self._least_squares(np.array(strengths), penalty)
            return
        self.constants = self._first_constants()
        self.reach = np.maximum(self.x.max(axis=1), -self.x.min(axis=1)).astype(np.float64)
        first = max(STRONGEST, strengths[0])
        for _ in range(FIRST_STEPS):
            self._look_around()
            self._step(first, penalty)
        while first > STRIDE * strengths[0]:
            first /= STRIDE
            self._look_around()
            self._step(first, penalty)
        for number, strength in enumerate(strengths):
            if number % SERVES == 0:
                self._look_around()
            self._step(strength, penalty)
            yield self.slopes.copy(), self.constants.copy()

    def _look_around(self) -> None:
        """The least-squares problems of Newton steps from here."""
        f = self._linear(self.slopes, self.constants)
        slope, curve = np.empty_like(f), np.empty_like(f)
        derivatives(*of_loss(self.loss, self.parameter), f + self.offset, self.y, slope, curve)
        self.normal.put_newton(f, slope, curve)

    def _step(self, strength: float, penalty: FloatArray) -> None:
        normal, (d, n) = self.normal, self.x.shape
        newton_steps(
            *of_loss(self.loss, self.parameter), self.x, self.y, self.offset, normal.weights, normal.gram,
            normal.moment, normal.mean, normal.middle, strength, penalty, self.lower, self.upper, self.reach,
            self.tolerance, self.slopes, self.constants, np.empty(n, self.x.dtype), np.empty((2, n)), np.zeros((4, d)),
        )  # fmt: skip

    def _least_squares(self, strengths: FloatArray, penalty: FloatArray) -> Iterator[Found]:
        """The Gram matrix is made once; under a robust loss the constant is a quantile of what is left over."""
        normal, rest = self.normal, self.y - self.offset
        z = np.stack([self._cut(rest, mine) for mine in self.learns])
        normal.put(z)
        every = np.repeat(self.slopes[:, None], len(strengths), axis=1)
        if normal.scaled is self.x:
            self.x = normal.x = normal.scaled = self.x[:0].copy()  # given back: it was all of it
        descend_all(
            normal.gram, normal.moment, strengths, penalty, self.lower, self.upper, self.tolerance, every,
            np.empty(len(self.lower)),
        )  # fmt: skip
        for k in range(len(strengths)):
            slopes = every[:, k]
            yield slopes, self._constants(slopes, normal.middle - np.einsum("ij,ij->i", normal.mean, slopes), z)

    def _cut(self, rest: FloatArray, mine: NDArray[np.bool_]) -> FloatArray:
        """Under a robust loss far values are not regressed on."""
        if self.loss not in ROBUST:
            return rest
        middle = float(np.median(rest[mine]))
        return np.clip(rest, middle - LARGEST, middle + LARGEST)

    def _constants(self, slopes: FloatArray, means: FloatArray, z: FloatArray) -> FloatArray:
        """Of least squares the mean of what slopes leave over, of robust losses a quantile."""
        if self.loss not in ROBUST:
            return means
        share = self.parameter if self.loss == "pinball" else 0.5
        left = z - self._linear(slopes, np.zeros(len(slopes)))
        return np.array([np.quantile(some[mine], share) for some, mine in zip(left, self.learns, strict=True)])

    def _linear(self, slopes: FloatArray, constants: FloatArray) -> FloatArray:
        """(starts, n)."""
        return np.asarray(slopes.astype(self.x.dtype) @ self.x, np.float64) + constants[:, None]

    def _first_constants(self) -> FloatArray:
        """(starts,), about right: log-odds or logs of means. Rows that a start leaves out weigh nothing."""
        weights, offset = self.normal.weights, self.offset
        total = weights.sum(axis=1)
        mean = weights @ self.y / total
        if self.loss == "logistic":
            mean = np.minimum(np.maximum(mean, 1e-3), 1.0 - 1e-3)
            return np.asarray(np.log(mean / (1.0 - mean)) - self.learns @ offset / self.learns.sum(axis=1))
        known = weights @ np.exp(within_reach(offset)) / total
        return np.asarray(np.log(np.maximum(mean, 1e-6) / known))
