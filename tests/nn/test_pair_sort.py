"""sort_pairs is Tensor.sort of pairs, bit for bit: values, gradients, second derivatives, and gradients mapped over."""

from __future__ import annotations

import io

import pytest
import torch
from torch import Tensor

from monolip.nn import GroupSort
from monolip.nn.pair_sort import can_sort_pairs, sort_pairs

KINDS = (torch.float32, torch.float64)
ROWS = 300  # of 64 units: enough to be worth it


def pairs(kind: torch.dtype, seed: int = 0) -> Tensor:
    """Also ties, zeros of both signs, infinities, the largest and the smallest numbers."""
    x = torch.randn(ROWS, 32, 2, dtype=kind, generator=torch.Generator().manual_seed(seed))
    large, small = torch.finfo(kind).max, 1e-320 if kind is torch.float64 else 1e-42
    corners = torch.tensor([0.0, -0.0, 1.0, -1.0, large, -large, small, -small, torch.inf, -torch.inf], dtype=kind)
    x[: len(corners) ** 2, 0] = torch.cartesian_prod(corners, corners)
    return x


def bits(x: Tensor) -> Tensor:
    return x.detach().contiguous().view(torch.int32 if x.dtype is torch.float32 else torch.int64)


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_gradients_are_those_of_a_stable_sort(kind: torch.dtype) -> None:
    own, others = pairs(kind).requires_grad_(), pairs(kind).requires_grad_()
    upstream = torch.randn(own.shape, dtype=kind)
    mine, theirs = sort_pairs(own), others.sort(stable=True, dim=-1).values
    assert torch.equal(bits(mine), bits(theirs))
    mine.backward(upstream)
    theirs.backward(upstream)
    assert own.grad is not None
    assert others.grad is not None
    assert torch.equal(bits(own.grad), bits(others.grad))


def test_the_layer_takes_it_where_a_gradient_is_to_come() -> None:
    x = torch.randn(ROWS, 64)
    assert not can_sort_pairs(x)
    assert not can_sort_pairs(x[:8].requires_grad_())
    assert not can_sort_pairs(x.half().requires_grad_())
    x.requires_grad_()
    assert can_sort_pairs(x)
    assert type(GroupSort(2)(x).grad_fn.next_functions[0][0]).__name__ == "_ExchangeBackward"
    assert torch.equal(GroupSort(2)(x), GroupSort(2)(x.detach()))


def test_inputs_in_any_layout() -> None:
    x = torch.randn(64, ROWS, requires_grad=True)
    for view in (x.t(), x.t()[:, 16:48], x.t()[::2]):
        out = GroupSort(2)(view)
        assert torch.equal(out, view.detach().unflatten(-1, (-1, 2)).sort(-1).values.flatten(-2))
        out.backward(torch.ones(()).expand_as(out))
    assert x.grad is not None
    assert (x.grad[16:48, ::2] == 3.0).all()


def test_second_derivatives() -> None:
    x = torch.randn(40, 64, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(GroupSort(2)(x).pow(3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert torch.allclose(second, 6 * x)


def test_a_gradient_that_is_mapped_over_and_functions_of_torch_func() -> None:
    x = torch.randn(ROWS, 64, requires_grad=True)
    out = GroupSort(2)(x)
    upstream = torch.randn(3, ROWS, 64)
    (mapped,) = torch.autograd.grad(out, x, upstream, retain_graph=True, is_grads_batched=True)
    for given, got in zip(upstream, mapped, strict=True):
        assert torch.equal(torch.autograd.grad(out, x, given, retain_graph=True)[0], got)
    slopes = torch.func.grad(lambda z: (GroupSort(2)(z) * upstream[0]).sum())(x)
    assert torch.equal(slopes, torch.autograd.grad(out, x, upstream[0])[0])


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_what_is_traced_knows_nothing_of_it() -> None:
    model, x = torch.nn.Sequential(torch.nn.Linear(4, 64), GroupSort(2)), torch.randn(ROWS, 4)
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(model, x, check_trace=False), file)
    file.seek(0)
    assert torch.equal(torch.jit.load(file)(2 * x), model(2 * x))


def test_a_changed_input_alters_nothing() -> None:
    """The mask is kept, not the input: changed in place afterwards, it alters no gradient."""
    x = torch.randn(ROWS, 64, requires_grad=True)
    inner = x * 1.0
    out = GroupSort(2)(inner)
    before = torch.autograd.grad(out.sum(), x, retain_graph=True)[0]
    inner.data.neg_()
    assert torch.equal(torch.autograd.grad(out.sum(), x)[0], before)
