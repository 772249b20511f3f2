"""The attack on a fixed-point network: pairs of integer inputs, evaluated as deployed, compared integer by integer."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monolip.engine._search_integers import Arrays, evaluate_rows, search_integers
from monolip.engine.adversarial_search import AttackResult
from monolip.engine.ulp_search import SearchResult
from monolip.errors import InputError, SlopeError
from monolip.fixed_point import PackedIntegers

__all__ = ["attack_integers", "evaluate_carried"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
CHAIN = 32
LANES = 32  # of float64, which carries the integers
KINDS = ("anywhere", "small", "corner", "evolving")


def attack_integers(
    network: PackedIntegers,
    limits: Sequence[int],
    directions: ArrayLike,
    *,
    n_pairs: int,
    seed: int = 0,
    n_threads: int = 1,
) -> AttackResult:
    """Try to make an output of a fixed-point network move against a direction; at least n_pairs pairs.

    Args:
        network: FixedPointNetwork.packed(), of a format whose carriers include float64.
        limits: FixedPointNetwork.limits: |X_j| is at most that.
        directions: +1, -1, 0 for each integer column, shape (d,) for every output alike or (d, n_outputs).

    Deterministic for a seed, whatever the number of threads. worst_drop is in output units.
    """
    most, n_outputs = np.array(limits, np.int64), int(network.numbers[2])
    signs = np.asarray(directions, np.int64)
    signs = np.tile(signs[:, None], (1, n_outputs)) if signs.ndim == 1 else signs
    if signs.shape != (len(most), n_outputs) or not np.isin(signs, (-1, 0, 1)).all() or not signs.any():
        raise SlopeError(
            f"directions are +1, -1 or 0 for each of {len(most)} columns, at least one not 0; got shape {signs.shape}; "
            "name a direction to attack."
        )
    if n_pairs < 1:
        raise InputError(f"an attack needs pairs; got n_pairs={n_pairs}; pass a number above 0.")
    blocks = 4 * (-(-n_pairs // (4 * CHAIN * LANES)))
    parts = [blocks // 8 // 4 * 4] * 7
    parts.append(blocks - sum(parts))

    arrays = carried(network)

    def work(part: int) -> tuple[IntArray, FloatArray]:
        return _run(arrays, most, signs, parts[part], 8 * seed + part)

    if n_threads == 1:
        found = [work(part) for part in range(8)]
    else:
        with ThreadPoolExecutor(n_threads) as threads:
            found = list(threads.map(work, range(8)))
    counts, worsts = np.sum([c for c, _ in found], axis=0), np.max([w for _, w in found], axis=0)
    pairs = blocks * CHAIN * LANES
    by_kind = {
        kind: SearchResult(pairs // len(KINDS), int(counts[k]), float(worsts[k])) for k, kind in enumerate(KINDS)
    }
    return AttackResult(pairs, int(counts.sum()), float(worsts.max()), by_kind)


def evaluate_carried(network: PackedIntegers, limits: Sequence[int], x: IntArray) -> IntArray:
    """FixedPointNetwork.evaluate by the kernel the search uses: the same integers. Shape (n, d) -> (n, n_outputs)."""
    most = np.array(limits, np.int64)
    rows = np.clip(x, -most, most).astype(np.float64)
    width = max(int(network.plan[:, :2].max()), len(most))
    out = np.zeros((len(rows), int(network.numbers[2])))
    scratch, block = np.zeros((2, width * LANES)), np.zeros(len(most) * LANES)
    evaluate_rows(carried(network), rows, block, scratch, np.zeros(out.shape[1] * LANES), out)
    return out.astype(np.int64)


def carried(network: PackedIntegers) -> Arrays:
    """The arrays of a fixed-point network with its numbers as float64: exact below 2^53."""
    params, shares = network.params.astype(np.float64), network.shares.astype(np.float64)
    return params, network.plan, network.spans, network.outputs, shares, network.numbers


def _run(network: Arrays, limits: IntArray, signs: IntArray, blocks: int, seed: int) -> tuple[IntArray, FloatArray]:
    width = max(int(network[1][:, :2].max()), len(limits))
    x, scratch = np.zeros(len(limits) * LANES), np.zeros((2, width * LANES))
    values = np.zeros((2, signs.shape[1] * LANES))
    state = np.array([(2 * seed + 1) * 0x9E3779B97F4A7C15 % 2**64], np.uint64)
    counts, worsts = np.zeros(len(KINDS), np.int64), np.zeros(len(KINDS))
    search_integers(network, limits, signs, state, x, scratch, values, blocks, CHAIN, counts, worsts)
    return counts, worsts
