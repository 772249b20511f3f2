"""The edges of what a module takes: extreme numbers, numpy integers, shared memory, wrong kinds of arguments."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from monolip import Norm, Rule, SlopeBounds, SlopeSet
from monolip.errors import MonolipError, PromiseError, SlopeError, StructureError
from monolip.nn import (
    ConvexMLP,
    GroupSort,
    LipschitzConv2d,
    LipschitzLinear,
    LipschitzMLP,
    MixingLinear,
    SlopeBounded,
    SlopeLinear,
    WithFreeBranch,
)

from .attack import two_sided


@torch.no_grad()
def test_memory_that_becomes_shared_after_the_cache_was_filled():
    for model in (LipschitzMLP(4), ConvexMLP(two_sided(4))):
        x = torch.randn(3, 4)
        before = model.eval()(x)
        model.share_memory()
        for _ in range(2):
            assert torch.equal(model(x), before)
        next(model.parameters()).data[0, 0] -= 0.25
        seen = model(x)
        assert torch.equal(seen, model.train()(x))


@pytest.mark.parametrize("size", [1e30, 1e38, 3e38])
def test_mixing_rows_of_enormous_logits_are_still_mixing_rows(size):
    layer = MixingLinear(4, 4)
    with torch.no_grad():
        layer.weight.copy_(size * torch.tensor([[1.0, -1, 0, 0], [1, 1, 1, 1], [-1, -1, -1, -1], [0.5, -1, 0.5, 0]]))
    rows = layer.effective_weight
    assert torch.allclose(rows.sum(1), torch.ones(4))
    assert (rows >= 0).all()


@pytest.mark.parametrize("bound", [1e-40, 1e-50, 1e39, 3e38])
def test_a_bound_without_digits_in_the_layers_type_is_refused_in_float32_and_kept_in_float64(bound):
    for build in (
        lambda **o: LipschitzLinear(3, 3, Norm.LINF_TO_LINF, bound=bound, **o),
        lambda **o: LipschitzConv2d(1, 1, 3, bound=bound, **o),
        lambda **o: LipschitzMLP(3, bound=bound, **o),
    ):
        with pytest.raises(SlopeError, match=r"all its digits in torch\.float32"):
            build()
        assert all(torch.isfinite(p).all() for p in build(dtype=torch.float64).parameters())


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("bound", [2e-38, 8e37])
def test_bounds_at_the_ends_of_the_range_give_finite_weights(bound, norm, rule):
    layer = LipschitzLinear(3, 3, norm, bound=bound, rule=rule)
    assert torch.isfinite(layer.effective_weight).all()


BOX = SlopeBounds.from_monotonic_cst([1, 1], 1.0)


class _Method(nn.Module):
    domain, out_features = 1.0, 1

    def lipschitz_bound(self):
        return 1.0


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda: SlopeBounded(LipschitzMLP(2), "x"), SlopeError),
        (lambda: SlopeBounded.mlp("x"), SlopeError),
        (lambda: SlopeBounded.mlp(SlopeSet(BOX)), SlopeError),
        (lambda: SlopeBounded(5, BOX), PromiseError),
        (lambda: SlopeBounded("x", BOX), PromiseError),
        (lambda: SlopeBounded(_Method(), BOX), PromiseError),
        (lambda: SlopeLinear(BOX, 4), SlopeError),
        (lambda: SlopeLinear(SlopeSet(BOX), 0), StructureError),
        (lambda: ConvexMLP(BOX, hidden=None), StructureError),
        (lambda: ConvexMLP(BOX, hidden="32"), StructureError),
        (lambda: ConvexMLP(BOX, hidden=(8, np.bool_(True))), StructureError),
        (lambda: ConvexMLP(BOX, None), StructureError),
        (lambda: LipschitzMLP(2, hidden=None), StructureError),
        (lambda: LipschitzMLP("2"), StructureError),
        (lambda: WithFreeBranch(ConvexMLP(BOX), nn.Linear(1, 1), "1"), StructureError),
        (lambda: WithFreeBranch(ConvexMLP(BOX), nn.Linear(1, 1), True), StructureError),
        (lambda: ConvexMLP(BOX, initial_slope=float("nan")), SlopeError),
        (lambda: ConvexMLP(BOX, initial_slope=-1.0), SlopeError),
        (lambda: ConvexMLP(BOX, initial_slope="1"), SlopeError),
    ],
)
def test_wrong_kinds_of_arguments_are_refused_with_three_parts(build, error):
    with pytest.raises(error) as caught:
        build()
    assert isinstance(caught.value, MonolipError)
    assert str(caught.value).count(";") >= 2


def test_numpy_integers_are_integers():
    x = torch.randn(3, 2)
    assert GroupSort(np.int64(2)).group_size == 2
    assert type(GroupSort(np.int64(2)).group_size) is int
    for hidden in (np.array([4, 4]), [np.int32(4)], np.int64(4)):
        assert ConvexMLP(BOX, np.int64(2), hidden=hidden, group_size=np.int64(2))(x).shape == (3, 2)
        model = LipschitzMLP(np.int64(2), hidden=hidden, activation="householder", group_size=np.int64(2))
        model.load_state_dict(model.state_dict())


def test_slopes_near_the_largest_float_start_finite():
    layer = SlopeLinear(SlopeSet(SlopeBounds([-3e38, -1e39], [3e38, 1e39])), 1000)
    assert torch.isfinite(layer.weight).all()
    assert float(layer.weight.detach().double().std()) > 1e38
