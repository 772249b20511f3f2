"""Outputs and losses that do not come from one training: of a start, or of several members together, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.cached import cached_property
from monolip.engine._compile import compiled
from monolip.engine._pointers import call_value
from monolip.engine._start import new_lanes
from monolip.engine._state import Lanes
from monolip.engine._steps import outputs_at
from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays

__all__ = ["JudgedRows", "mean_loss", "outputs_of", "row_losses"]

FloatArray = NDArray[Any]


class JudgedRows:
    """Rows of a problem that many networks are judged on.

    Quick rather than exact: in the problem's precision, by the kernels of training.
    """

    def __init__(self, problem: Problem, rows: ArrayLike) -> None:
        self.problem, self.places = problem, problem.places(rows)
        self.weight = problem.data.weight[self.places].astype(np.float64)

    def outputs(self, network: NetworkArrays) -> FloatArray:
        """Of a network in convex form, the problem's offsets included: (rows, outputs)."""
        problem, layout = self.problem, self.problem.layout
        if len(network.weights) == 1:
            every = [problem.linear(slopes, self.places) for slopes in network.weights[0]]
            f = every[0][:, None] if len(every) == 1 else np.stack(every, axis=1)
            return self._with_offsets((f + network.biases[0]).astype(problem.dtype))
        params = layout.flat(*network[:2], problem.dtype)
        out = np.empty((len(self.places), len(layout.output_order)), problem.dtype)
        outputs_at(problem.data, self.places, layout.layers, layout.blocks, params, self._lanes, out)
        return out if out.shape[1] == 1 else out[:, np.argsort(layout.output_order)]

    @cached_property
    def _lanes(self) -> Lanes:
        return new_lanes(self.problem.layout, self.problem.data)

    def _with_offsets(self, z: FloatArray) -> FloatArray:
        data = self.problem.data
        if not len(data.offset):
            return np.asarray(z)
        return np.asarray(z + data.offset[self.places][:, np.argsort(self.problem.layout.output_order)])

    def losses(self, f: FloatArray) -> NDArray[np.float64]:
        """Of outputs f, (rows, outputs), row by row: (rows,)."""
        return row_losses(self.problem, self.places, f)


def outputs_of(network: NetworkArrays, problem: Problem, rows: ArrayLike) -> FloatArray:
    """Outputs of a network in convex form for rows of a problem, its offsets included: (rows, outputs)."""
    return JudgedRows(problem, rows).outputs(network)


def mean_loss(problem: Problem, rows: ArrayLike, f: FloatArray) -> float:
    """Weighted mean loss of outputs f, (rows, outputs), for those rows of a problem, in order of memory."""
    places = problem.places(rows)
    weight = problem.data.weight[places].astype(np.float64)
    return float(weight @ row_losses(problem, places, f)) / float(weight.sum())


def row_losses(problem: Problem, places: NDArray[np.int32], f: FloatArray) -> NDArray[np.float64]:
    """Loss of outputs f, (rows, outputs), of every row, weights not counted; places: where the problem keeps them."""
    ordered = f if f.shape[1] == 1 else f[:, problem.layout.output_order]
    found = np.empty(len(ordered))
    one = np.ones(ordered.shape[1], problem.dtype)
    given = np.ascontiguousarray(ordered, problem.dtype)
    _each(problem.kernels[0].address, given, problem.data.y[places], one, problem.parameter, found)
    return found


@compiled()
def _each(
    address: int, f: FloatArray, y: FloatArray, one: FloatArray, parameter: float, found: NDArray[np.float64]
) -> None:
    for i in range(found.size):
        found[i] = call_value(address, f[i], y[i], one, parameter)
