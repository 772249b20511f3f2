"""The attack on a promise: a billion pairs of inputs, evaluated as deployed and compared bit by bit.

Four kinds of chains, a quarter of the pairs each: ulp steps from points of many scales and near sort ties, unit steps
between whole numbers, ulp steps from borders (zero, powers of two, the smallest number, the clamp), and ulp steps from
a pool that evolves towards the smallest rise.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.engine._layout import PackedNetwork, lanes_of, pack
from monolip.engine._search_chains import KINDS, search_chains
from monolip.engine.ulp_search import SearchResult, directions_of, residual_of
from monolip.errors import InputError

__all__ = ["AttackResult", "attack_directions"]

FloatArray = NDArray[Any]
CHAIN = 16
NUMBER_FORMATS = ("float32", "float64")


class AttackResult(NamedTuple):
    """All pairs together, and by kind of chain."""

    pairs: int
    decreases: int
    worst_drop: float
    by_kind: dict[str, SearchResult]


def attack_directions(
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
    n_threads: int = 1,
) -> AttackResult:
    """Try to make an output fall by moving one feature in its direction; at least n_pairs pairs.

    directions: (d,) of +1, -1, 0; +1 for all if not given. center, radius: for paper form, as in `search_decreases`.
    Deterministic for a seed, whatever the number of threads.

    >>> import numpy as np
    >>> w = (np.array([[1.0, 0.5], [0.0, 2.0]]), np.array([[0.25, 0.75]]))
    >>> found = attack_directions(w, (np.zeros(2), np.zeros(1)), (2,), n_pairs=100_000)
    >>> found.pairs >= 100_000, found.decreases
    (True, 0)
    """
    if number_format not in NUMBER_FORMATS:
        raise InputError(f"number_format is one of {NUMBER_FORMATS}; got {number_format!r}; choose one of them.")
    if n_pairs < 1:
        raise InputError(f"an attack needs pairs; got n_pairs={n_pairs}; pass a number above 0.")
    dtype = np.dtype(number_format)
    network = pack(weights, biases, group_sizes, dtype)
    signs = directions_of(directions, network.n_features)
    residual = residual_of(center, radius, network.n_features, dtype)
    blocks = 4 * (-(-n_pairs // (4 * CHAIN * lanes_of(dtype))))
    parts = [blocks // 8 // 4 * 4] * 7  # eight parts with seeds of their own: threads change no pair
    parts.append(blocks - sum(parts))

    def work(part: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return _run(network, signs, residual, parts[part], 8 * seed + part, limit)

    if n_threads == 1:
        found = [work(part) for part in range(8)]
    else:
        with ThreadPoolExecutor(n_threads) as threads:
            found = list(threads.map(work, range(8)))
    return _total(found, blocks * CHAIN * lanes_of(dtype))


def _run(
    network: PackedNetwork, signs: NDArray[np.int64], residual: FloatArray, blocks: int, seed: int, limit: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    dtype = network.params.dtype
    lanes = lanes_of(dtype)
    points = np.zeros((2, network.n_features * lanes), dtype)
    scratch = np.zeros((2, network.width * lanes), dtype)
    outputs = np.zeros((2, network.n_outputs * lanes), dtype)
    state = np.array([(2 * seed + 1) * 0x9E3779B97F4A7C15 % 2**64], np.uint64)
    bits = points.view(np.int64 if dtype.itemsize == 8 else np.int32)
    counts, worsts = np.zeros(len(KINDS), np.int64), np.zeros(len(KINDS))
    tiny = float(np.finfo(dtype).smallest_subnormal)
    search_chains(
        network.params, network.plan, state, signs, residual, points, bits, scratch, outputs,
        blocks, CHAIN, limit, tiny, counts, worsts,
    )  # fmt: skip
    return counts, worsts


def _total(found: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]], pairs: int) -> AttackResult:
    counts = np.sum([count for count, _ in found], axis=0)
    worsts = np.max([worst for _, worst in found], axis=0)
    by_kind = {
        kind: SearchResult(pairs // len(KINDS), int(counts[k]), float(worsts[k])) for k, kind in enumerate(KINDS)
    }
    return AttackResult(pairs, int(counts.sum()), float(worsts.max()), by_kind)
