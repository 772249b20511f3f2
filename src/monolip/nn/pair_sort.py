"""sort_pairs: GroupSort-2 in training on a CPU, as an exchange of bits.

A sort of pairs is an exchange of some of them, and so is its gradient, of the same ones: nothing but one mask has to be
kept, and a second derivative is an exchange again. `Tensor.sort` keeps a 64-bit number for every value, and takes three
times as long (4096 rows of 128 units: 4.3 ms against 1.5, both passes).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from .snapshot import is_transforming

__all__ = ["can_sort_pairs", "sort_pairs"]

_BITS = {torch.float32: torch.int32, torch.float64: torch.int64}
_FEWEST = 2048  # values; below, calling Python costs more than the sort


def can_sort_pairs(x: Tensor) -> bool:
    """Whether `sort_pairs` knows this input and is the faster way: large, on a CPU, with a gradient to come.

    Not where torch maps over a function or traces it: bits of floats are unknown there.
    """
    if x.numel() <= _FEWEST or not x.requires_grad or not x.is_cpu or x.dtype not in _BITS:
        return False
    return not is_transforming() and torch._C._get_tracing_state() is None


def sort_pairs(pairs: Tensor) -> Tensor:
    """Each pair ascending; equal ones stay as they are, and so do their gradients, and so do pairs with a NaN.

    Shape: (..., 2) -> (..., 2).

    Example:
        >>> sort_pairs(torch.tensor([[3.0, 1.0], [2.0, 5.0]]))
        tensor([[1., 3.],
                [2., 5.]])
    """
    first, second = pairs.detach().unbind(-1)
    ones_where = (first > second).to(_BITS[pairs.dtype]).neg_()  # -1 has every bit set
    return _exchange(pairs, ones_where)


class _Exchange(Function):
    @staticmethod
    def forward(pairs: Tensor, ones_where: Tensor) -> Tensor:
        bits = pairs.resolve_neg().contiguous().view(ones_where.dtype)
        first, second = bits.unbind(-1)
        different = (first ^ second).bitwise_and_(ones_where)
        out = torch.empty_like(bits)
        torch.bitwise_xor(first, different, out=out[..., 0])
        torch.bitwise_xor(second, different, out=out[..., 1])
        return out.view(pairs.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return _exchange(grads[0], *ctx.saved_tensors), None


def _exchange(pairs: Tensor, ones_where: Tensor) -> Tensor:
    # a gradient that somebody maps over (`is_grads_batched` by the older means): neither bits nor `out` exist there
    if is_transforming() or torch._C._functorch.is_legacy_batchedtensor(pairs):
        return torch.where(ones_where.bool()[..., None], pairs.flip(-1), pairs)
    result: Tensor = _Exchange.apply(pairs, ones_where)
    return result
