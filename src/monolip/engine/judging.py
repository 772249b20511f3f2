"""The loss of outputs that did not come from one training: of a start, or of several members together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.engine._compile import compiled
from monolip.engine._pointers import call_value
from monolip.engine.losses import loss_kernels
from monolip.engine.problem import Problem
from monolip.engine.trainer import NetworkArrays

__all__ = ["mean_loss", "outputs_of"]

FloatArray = NDArray[Any]


def outputs_of(network: NetworkArrays, problem: Problem, rows: ArrayLike) -> FloatArray:
    """Outputs of a network in convex form for rows of a problem, its offsets included: (rows, outputs).

    Quick rather than exact: in the problem's precision, by whatever order of operations BLAS likes.
    """
    places, data = problem.places(rows), problem.data
    z, last = problem.rows_at(places), len(network.weights) - 1
    for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        z = z @ weight.T.astype(z.dtype) + bias.astype(z.dtype)
        if k < last:
            z = _sorted(z, network.group_sizes[k])
    known = data.offset[places][:, np.argsort(problem.layout.output_order)] if len(data.offset) else z.dtype.type(0)
    return np.asarray(z + known)


def _sorted(z: FloatArray, size: int) -> FloatArray:
    """Columns sorted in groups of so many; (rows, width)."""
    if size != 2:
        return np.sort(z.reshape(len(z), -1, size), axis=2).reshape(len(z), -1)
    pairs, done = z.reshape(len(z), -1, 2), np.empty_like(z).reshape(len(z), -1, 2)
    np.minimum(pairs[:, :, 0], pairs[:, :, 1], out=done[:, :, 0])
    np.maximum(pairs[:, :, 0], pairs[:, :, 1], out=done[:, :, 1])
    return done.reshape(z.shape)


def mean_loss(problem: Problem, rows: ArrayLike, f: FloatArray) -> float:
    """Weighted mean loss of outputs f, (rows, outputs), for those rows of a problem, in order of memory."""
    places, data = problem.places(rows), problem.data
    flat = np.ascontiguousarray(f[:, problem.layout.output_order].T, problem.dtype).ravel()
    y, weight = np.ascontiguousarray(data.y[places].T).ravel(), data.weight[places]
    value = loss_kernels(problem.loss.name, problem.dtype.name)[0]
    total = _value(value.address, flat, y, np.tile(weight, f.shape[1]), problem.parameter)
    return float(total) / float(weight.sum(dtype=np.float64))


@compiled()
def _value(address: int, f: FloatArray, y: FloatArray, weight: FloatArray, parameter: float) -> Any:
    return call_value(address, f, y, weight, parameter)
