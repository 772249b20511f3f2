"""Random networks for the engine's tests: plain arrays, pushed to the edge of what their form allows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

Network = tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...], tuple[int, ...]]


def convex_network(rng, sizes, group_sizes, lower=0.0, upper=2.0, dtype=np.float64) -> Network:
    """First-layer rows on the faces of [lower, upper], mixing rows sparse: saturated, where rounding shows."""
    weights, biases = [], []
    for k, (fan, out) in enumerate(pairwise(sizes)):
        if k == 0:
            weight = np.clip(rng.normal(0.5 * (lower + upper), upper - lower, (out, fan)), lower, upper)
        else:
            weight = rng.random((out, fan)) ** 4 + 1e-9
            weight /= weight.sum(1, keepdims=True)
        weights.append(weight.astype(dtype))
        biases.append(rng.normal(size=out).astype(dtype))
    return tuple(weights), tuple(biases), tuple(group_sizes)


def scalar_evaluate(network: Network, x: np.ndarray, limit: float) -> np.ndarray:
    """The stated order of operations, one scalar at a time."""
    weights, biases, group_sizes = network
    out = []
    for row in np.clip(x, -limit, limit).astype(weights[0].dtype):
        for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            units = []
            for unit, start in zip(weight, bias, strict=True):
                z = start
                for w, value in zip(unit, row, strict=True):
                    z = z + w * value
                units.append(z)
            row = np.array(units)
            if k < len(group_sizes):
                row = np.sort(row.reshape(-1, group_sizes[k]), axis=1).ravel()
        out.append(row)
    return np.array(out)
