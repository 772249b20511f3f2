"""Evaluation with one stated order of operations: same bits for a row in any batch, at any place, on any thread.

    x       clamped to [-limit, limit]                          nothing overflows
    z_k     = b_k, then z_k = fl(z_k + fl(W[k, j] * x_j)), j ascending; no fused multiply-add
    groups  of consecutive units sorted ascending; next layer

Every step is monotone after rounding. So where first-layer weights of a feature are >= 0 and later weights are
>= 0, the evaluated function never decreases in that feature, bit for bit (convex form; DESIGN.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine._compile import compiled
from monolip.engine._forward import forward, gather
from monolip.engine._layout import PackedNetwork, lanes_of, pack, rows_of
from monolip.errors import InputError, PrecisionError

__all__ = ["average_ordered", "evaluate_ordered", "evaluate_packed"]

FloatArray = NDArray[Any]
# A chunk is the unit of work of a thread: large enough to hide the hand-over, small enough to share out
CHUNK_ROWS = 8192


def evaluate_ordered(
    weights: Sequence[FloatArray],
    biases: Sequence[FloatArray],
    group_sizes: Sequence[int],
    x: FloatArray,
    limit: float,
    n_threads: int = 1,
) -> FloatArray:
    """Outputs of a network in convex form, in the precision of its weights (float32 or float64).

    Shapes: weights (out, in), biases (out,), x (n, d) -> (n, k). +-inf is clamped to +-limit; NaN is an InputError.

    >>> import numpy as np
    >>> w = (np.array([[1.0], [0.0]]), np.array([[0.0, 1.0]]))  # max(x, 0)
    >>> evaluate_ordered(w, (np.zeros(2), np.zeros(1)), (2,), np.array([[-1.0], [3.0]]), 100.0).tolist()
    [[0.0], [3.0]]
    """
    dtype = np.result_type(*weights)
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise PrecisionError(
            f"ordered evaluation works in float32 or float64; got weights of {dtype}; convert them with astype."
        )
    return evaluate_packed(pack(weights, biases, group_sizes, dtype), x, limit, n_threads)


def evaluate_packed(network: PackedNetwork, x: FloatArray, limit: float, n_threads: int = 1) -> FloatArray:
    """`evaluate_ordered` for a network packed once: for many small batches."""
    dtype = network.params.dtype
    return run_in_chunks(_evaluate, network, rows_of(x, network.n_features, dtype), limit, n_threads)


def run_in_chunks(
    kernel: Callable[..., bool], network: PackedNetwork, rows: FloatArray, limit: float, n_threads: int
) -> FloatArray:
    """Fill (n, k) outputs chunk by chunk; rows do not see each other, so chunks and threads change no bit."""
    out = np.empty((len(rows), network.n_outputs), network.params.dtype)
    starts = range(0, len(rows), CHUNK_ROWS)

    def work(start: int) -> bool:
        scratch = np.empty((2, network.width * lanes_of(out.dtype)), out.dtype)
        stop = start + CHUNK_ROWS
        return kernel(network.params, network.plan, rows[start:stop], limit, scratch, out[start:stop])

    if n_threads == 1 or len(starts) == 1:
        good = [work(start) for start in starts]
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            good = list(pool.map(work, starts))
    if not all(good):
        raise InputError("a network is evaluated at numbers; got NaN in x; fill missing values before evaluating.")
    return out


def average_ordered(members: Sequence[FloatArray], shares: Sequence[float]) -> FloatArray:
    """acc = 0, then acc = fl(acc + fl(share_m * member_m)), m ascending: monotone in every member for shares >= 0."""
    acc = np.zeros_like(members[0])
    for member, share in zip(members, shares, strict=True):
        acc = acc + member.dtype.type(share) * member  # two rounded array operations: numpy does not fuse them
    return acc


@compiled()
def _evaluate(
    params: FloatArray, plan: NDArray[np.int64], rows: FloatArray, limit: float, scratch: FloatArray, out: FloatArray
) -> bool:
    n, k = out.shape
    lanes = 256 // params.itemsize
    good = True
    for start in range(0, n, lanes):
        good &= gather(rows, start, limit, scratch[0], lanes)
        z = forward(params, plan, scratch[0], scratch[1], lanes)
        for lane in range(min(lanes, n - start)):
            for output in range(k):
                out[start + lane, output] = z[output * lanes + lane]
    return good
