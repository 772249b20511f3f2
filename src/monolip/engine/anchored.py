r"""Training around a start: the network learns what an additive function leaves, and both are one network again.

    f(x) = w0 . x + c0 + g(x)        g in convex form with slopes in [lower - w0, upper - w0]

Sorting and averaging commute with adding the same function to every unit, so f is convex form with w0 added to every
first-layer row; decay of g towards slope 0 is decay of f towards the additive function.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.cached import cached_property
from monolip.engine._start import best_constant
from monolip.engine.additive import Additive
from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays

__all__ = ["Anchored"]


class Anchored:
    """A problem seen from a start. `problem` is what g is trained on; `network` turns g into f.

    start: None to train from zero: `problem` is then the one given. rows: those the start was learned from.
    """

    def __init__(self, problem: Problem, start: Additive | None, rows: ArrayLike | None = None) -> None:
        self.whole, self.start, self.rows = problem, start, rows

    @cached_property
    def problem(self) -> Problem:
        """Made when training begins: a fit may end with the additive model."""
        return self.whole if self.start is None else _around(self.whole, self.start)

    def network(self, g: NetworkArrays) -> NetworkArrays:
        """f = start + g, with first-layer rows exactly inside the intervals of the whole problem."""
        if self.start is None:
            return g
        lower, upper = self.whole.lower[0], self.whole.upper[0]
        first = np.minimum(np.maximum(g.weights[0] + self.start.slopes, lower), upper)
        biases = (*g.biases[:-1], g.biases[-1] + self.start.constant)
        return g._replace(weights=(first, *g.weights[1:]), biases=biases)

    def linear(self) -> NetworkArrays:
        """The start alone, or without one the best constant: a network of one layer."""
        lower, upper = self.whole.lower, self.whole.upper
        if self.start is None:
            constant = _constant(self.whole, self.rows)
            return NetworkArrays((np.clip(np.zeros_like(lower), lower, upper),), (constant,), (), None, None)
        first = np.minimum(np.maximum(self.start.slopes, lower[0]), upper[0])
        return NetworkArrays((first[None, :],), (np.array([self.start.constant]),), (), None, None)


def _constant(problem: Problem, rows: ArrayLike | None) -> NDArray[np.float64]:
    """The best constant of every output for these rows, in the user's order of outputs."""
    places, data, order = problem.places(rows), problem.data, problem.layout.output_order
    y, weight = data.y[places].astype(np.float64), data.weight[places].astype(np.float64)
    constant = best_constant(problem.loss, y, weight, len(order))
    return np.asarray(constant[np.argsort(order)], np.float64)


def _around(problem: Problem, start: Additive) -> Problem:
    """The same rows, with the start's values as offset and the slope boxes as seen from it."""
    around, data = copy(problem), problem.data
    linear = problem.linear(start.slopes)
    linear += start.constant
    known = linear[:, None].astype(problem.dtype)
    around.data = data._replace(offset=known + data.offset if len(data.offset) else known)
    around.lower, around.upper = problem.lower - start.slopes, problem.upper - start.slopes
    return around
