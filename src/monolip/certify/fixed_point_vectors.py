r"""Known vectors of a self-test: zero, both corners, random integers, and ties that backends are tempted to break.

A shift rounds half up: floor((s + m/2) / m). One that rounds half to even differs only where s + m/2 = k m with k odd,
one sum in 2^shift, so random vectors do not find it. Such rows are solved for, w_j X_j = -rest (mod m).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_trunk import FixedTrunk
from monolip.ordered import sort_groups

__all__ = ["half_to_even", "with_vectors"]

IntArray = NDArray[np.int64]

_VECTORS = 61  # random ones, beside zero and the two corners
_TIES, _TRIED = 8, 1024  # rows kept, and rows solved for one unit
_UNITS = 32  # units tried


def with_vectors(network: FixedPointNetwork) -> FixedPointNetwork:
    """The network with known inputs inside its ranges, and the outputs of the reference."""
    rng = np.random.default_rng(int(network.source[:16], 16))
    free = network.free.limits if network.free else ()
    pairs = network.inputs.ranges + [(-v, v) for v in free]
    low, high = np.array(pairs, dtype=np.int64).T
    x = np.vstack([np.zeros_like(low)[None], low, high, rng.integers(low, high + 1, (_VECTORS, len(low)))])
    x = np.vstack([np.clip(x, low, high), _ties(network, low, high, rng)])
    return replace(network, vectors=(x, network.evaluate(x)))


def _ties(network: FixedPointNetwork, low: IntArray, high: IntArray, rng: np.random.Generator) -> IntArray:
    """Rows at which rounding half to even gives other outputs; none where no unit can be brought to a tie."""
    found = np.zeros((0, len(low)), dtype=np.int64)
    trunks = [trunk for member in network.members for trunk in member]
    units = [(trunk, row) for trunk in trunks for row in range(len(trunk.biases[0]))]
    for at in rng.permutation(len(units))[:_UNITS].tolist():
        x = _solved(units[at], network.format.shift, (low, high), rng)
        if len(x):
            x = x[(network.evaluate(x) != half_to_even(network, x)).any(axis=1)]
            found = np.vstack([found, x[: _TIES // 2]])
        if len(found) >= _TIES:
            break
    return found[:_TIES]


def _solved(
    unit: tuple[FixedTrunk, int], shift: int, ranges: tuple[IntArray, IntArray], rng: np.random.Generator
) -> IntArray:
    """Rows inside the ranges whose first-layer sum of one unit is an odd multiple of 2^shift (in short ranges any)."""
    (trunk, row), (low, high) = unit, ranges
    weight, bias = trunk.weights[0][row], int(trunk.biases[0][row])
    x = rng.integers(low, high + 1, (_TRIED, len(low)))
    zeros = [(int(w) & -int(w)).bit_length() - 1 if w else 64 for w in weight.tolist()]
    j = int(np.argmin(zeros))
    e, odd = zeros[j], int(high[j] - low[j]) >= (2 << shift) >> zeros[j]
    m = 2 << shift if odd else 1 << shift
    if e >= shift or high[j] - low[j] < m >> e:
        return x[:0]
    rest = (x @ weight - x[:, j] * weight[j] + bias - (odd << shift)) & (m - 1)
    able = (rest & ((1 << e) - 1)) == 0
    part = m >> e
    inverse = pow(int(weight[j]) >> e, -1, part) if part > 1 else 0
    base = (part - (rest >> e)) % part
    steps = np.array([v * inverse % part for v in base.tolist()], dtype=np.int64)  # Python: no product wraps around
    x[:, j] = low[j] + (steps - low[j]) % part
    return np.asarray(x[able])


def half_to_even(network: FixedPointNetwork, x: IntArray) -> IntArray:
    """What a backend would give that rounds sums to nearest, ties to even, as rint does. Shape as evaluate."""
    shift, limit = network.format.shift, network.format.limit

    def down(a: IntArray) -> IntArray:
        k = a >> shift
        return np.asarray(k - (((a & ((1 << shift) - 1)) == 0) & (k & 1)))

    total = np.full((len(x), network.n_outputs), 1 << (shift - 1), dtype=np.int64)
    for share, member in zip(network.member_weights.tolist(), network.members, strict=True):
        for trunk in member:
            z: Any = x
            for k, (weight, bias) in enumerate(zip(trunk.weights, trunk.biases, strict=True)):
                z = down(z @ weight.T + bias)
                if k < len(trunk.group_sizes):
                    z = sort_groups(z if limit is None else np.clip(z, -limit, limit), trunk.group_sizes[k])
            z = z if trunk.residual is None else z + x @ trunk.residual.T
            total[:, list(trunk.outputs)] += share * z
    return down(total)
