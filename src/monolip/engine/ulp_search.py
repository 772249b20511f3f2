"""A search for broken directions: pairs of inputs one step apart, evaluated as deployed, compared bit by bit.

Convex form promises that no pair decreases; the search tries to find one. Paper form (signed rows and a residual)
keeps its promise over the reals only, and the search counts how often rounding breaks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.engine._layout import PackedNetwork, lanes_of, pack
from monolip.engine._search import search_bfloat16, search_native
from monolip.engine.bfloat16 import pack_bfloat16, to_bfloat16
from monolip.errors import InputError, SlopeError

__all__ = ["SearchResult", "search_decreases"]

FloatArray = NDArray[Any]
NUMBER_FORMATS = ("float32", "float64", "bfloat16")


class SearchResult(NamedTuple):
    """pairs tried, how many moved against their direction, and by how much at worst (0.0 if none)."""

    pairs: int
    decreases: int
    worst_drop: float


def search_decreases(
    weights: Sequence[FloatArray],
    biases: Sequence[FloatArray],
    group_sizes: Sequence[int],
    *,
    n_pairs: int,
    seed: int = 0,
    number_format: str = "float32",
    directions: ArrayLike | None = None,
    center: ArrayLike | None = None,
    radius: ArrayLike | None = None,
    limit: float = 1e6,
) -> SearchResult:
    """Count pairs x, x' (x' above x in one feature, mostly by one ulp) whose output moves against the direction.

    directions: (d,) of +1, -1, 0; the features stepped are those with a direction; all +1 if not given.
    center, radius: (d,) each, for paper form f(x) = sum_i center_i x_i + g(radius * x), g the network given.
    Points have scales 1e-4 to 1e4, one lane in four near a sort tie. Deterministic for a seed.
    """
    if number_format not in NUMBER_FORMATS:
        raise InputError(f"number_format is one of {NUMBER_FORMATS}; got {number_format!r}; choose one of them.")
    half = number_format == "bfloat16"
    dtype = np.dtype(np.float64 if number_format == "float64" else np.float32)
    network = pack_bfloat16(weights, biases, group_sizes) if half else pack(weights, biases, group_sizes, dtype)
    signs = directions_of(directions, network.n_features)
    residual = residual_of(center, radius, network.n_features, dtype)
    if half:
        residual = to_bfloat16(residual)
    return _run(network, signs, residual, half, n_pairs, seed, limit)


def _run(
    network: PackedNetwork,
    signs: NDArray[np.int64],
    residual: FloatArray,
    half: bool,
    n_pairs: int,
    seed: int,
    limit: float,
) -> SearchResult:
    dtype = network.params.dtype
    lanes = lanes_of(dtype)
    blocks = -(-n_pairs // lanes)
    points = np.zeros((2, network.n_features * lanes), dtype)
    scratch = np.zeros((2, network.width * lanes), dtype)
    outputs = np.zeros((2, network.n_outputs * lanes), dtype)
    state = np.array([(2 * seed + 1) * 0x9E3779B97F4A7C15 % 2**64], np.uint64)
    kernel = search_bfloat16 if half else search_native
    bits = points.view(np.int64 if dtype.itemsize == 8 else np.int32)
    decreases, worst = kernel(
        network.params, network.plan, state, signs, residual, points, bits, scratch, outputs, blocks, limit
    )
    return SearchResult(blocks * lanes, int(decreases), float(worst))


def directions_of(directions: ArrayLike | None, n_features: int) -> NDArray[np.int64]:
    signs = np.ones(n_features, np.int64) if directions is None else np.asarray(directions, np.int64)
    if signs.shape != (n_features,) or not np.isin(signs, (-1, 0, 1)).all() or not signs.any():
        raise SlopeError(
            f"directions are +1, -1 or 0 for each of {n_features} features, at least one not 0;"
            f" got {signs.tolist()}; name a direction to search."
        )
    return signs


def residual_of(center: ArrayLike | None, radius: ArrayLike | None, n_features: int, dtype: Any) -> FloatArray:
    """(2, d): center and radius of paper form, or (0, d): convex form has neither."""
    if center is None and radius is None:
        return np.zeros((0, n_features), dtype)
    rows = [np.zeros(n_features) if center is None else center, np.ones(n_features) if radius is None else radius]
    return np.stack([np.broadcast_to(np.asarray(row, dtype), n_features) for row in rows])
