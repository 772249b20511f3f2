"""A saturated weight may always come back, and the exact gradient is there for those who want it."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from monolip import Norm, Rule, SlopeBounds, SlopeSet
from monolip.nn import (
    ConvexMLP,
    Householder,
    LipschitzConv2d,
    LipschitzLinear,
    LipschitzMLP,
    LipschitzSequential,
    SlopeBounded,
    SlopeLinear,
)
from monolip.nn.normalise import normalise

from .attack import two_sided


@pytest.mark.parametrize("inwards", [+1, -1])
@pytest.mark.parametrize("rule", Rule)
def test_a_saturated_first_layer_has_no_zero_gradient_towards_the_inside(rule, inwards):
    weight = (inwards * torch.full((3, 2), 50.0)).requires_grad_()
    normalise(weight, Norm.L1_TO_LINF, rule=rule).sum().mul(inwards).backward()  # descent lowers |w|
    assert (weight.grad * inwards > 0).all()


@pytest.mark.parametrize("rule", [Rule.CAP, Rule.CAP_THEN_SCALE, Rule.PROJECT])
@pytest.mark.parametrize("norm", Norm)
def test_outwards_a_saturated_weight_gets_no_push(norm, rule):
    weight = torch.full((3, 3), 50.0, dtype=torch.float64).requires_grad_()
    (-normalise(weight, norm, rule=rule).sum()).backward()  # descent would lengthen every vector
    assert weight.grad.abs().max() < 1e-9


def build(kind):
    torch.manual_seed(0)
    if kind == "convex":
        return ConvexMLP(SlopeBounds([-1.0, -1.0], [1.0, 1.0]), hidden=(8,))
    if kind == "convex set":
        return ConvexMLP(SlopeSet(SlopeBounds([-1.0, -1.0], [1.0, 1.0])).at_least(0, 1), hidden=(8,))
    return LipschitzMLP(2, hidden=(8,), rule=Rule[kind])


@pytest.mark.parametrize("kind", ["convex", "convex set", "CAP", "CAP_THEN_SCALE", "ALWAYS", "PROJECT"])
def test_weights_pushed_far_out_come_back_when_the_target_wants_them(kind):
    model = build(kind)
    first = next(m for m in model.modules() if isinstance(m, LipschitzLinear | SlopeLinear))
    start = 30.0 * torch.ones_like(first.weight)
    first.weight.data.copy_(start)
    x = torch.randn(256, 2)
    optimizer = torch.optim.Adam(model.parameters(), 0.3)
    seen = torch.zeros_like(start)
    for _ in range(400):
        optimizer.zero_grad()
        loss = (model(x) + 0.8 * x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        seen = torch.maximum(seen, first.weight.grad.abs())
        optimizer.step()
    assert (seen > 0).all(), "a parameter with a permanently zero gradient"
    assert float(loss.detach()) < 0.05


def test_the_exact_gradient_stays_stuck_which_is_why_it_is_not_the_default():
    weight = torch.full((2, 2), 50.0, requires_grad=True)
    normalise(weight, Norm.L1_TO_LINF, straight_through=False).sum().backward()
    assert torch.equal(weight.grad, torch.zeros(2, 2))


def plain_expression(weight, norm, bound, rule, per_vector):
    """Eq. 9-11 spelt out once more, for autograd."""
    size = {
        Norm.L1_TO_L1: lambda: weight.abs().sum(0, keepdim=True),
        Norm.L1_TO_LINF: weight.abs,
        Norm.LINF_TO_LINF: lambda: weight.abs().sum(1, keepdim=True),
        Norm.L2_TO_LINF: lambda: weight.pow(2).sum(1, keepdim=True).pow(0.5),
    }[norm]()
    size = size if per_vector else size.max()
    if rule is Rule.CAP:
        return weight / torch.maximum(torch.ones_like(size), size / bound)
    if rule is Rule.CAP_THEN_SCALE:
        return bound * weight / torch.maximum(torch.ones_like(size), size)
    return bound * weight / size


@pytest.mark.parametrize("per_vector", [True, False])
@pytest.mark.parametrize(("norm", "rule"), [*product(Norm, [Rule.CAP, Rule.CAP_THEN_SCALE, Rule.ALWAYS])])
def test_the_exact_gradient_is_that_of_the_plain_expression(norm, rule, per_vector):
    torch.manual_seed(1)
    weight = torch.randn(4, 5, dtype=torch.float64)
    weight[0] *= 0.01
    weight.requires_grad_()
    direction = torch.randn(4, 5, dtype=torch.float64)
    exact = normalise(weight, norm, 0.7, rule=rule, per_vector=per_vector, straight_through=False)
    (ours,) = torch.autograd.grad((exact * direction).sum(), weight)
    (plain,) = torch.autograd.grad((plain_expression(weight, norm, 0.7, rule, per_vector) * direction).sum(), weight)
    assert torch.allclose(ours, plain, atol=1e-12)


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("norm", Norm)
def test_the_exact_gradient_passes_gradcheck(norm, rule):
    torch.manual_seed(2)
    weight = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda w: normalise(w, norm, 0.7, rule=rule, straight_through=False), weight)


@pytest.mark.parametrize("norm", [Norm.L1_TO_L1, Norm.L1_TO_LINF, Norm.LINF_TO_LINF])
def test_the_exact_gradient_counts_the_householder_directions(norm):
    torch.manual_seed(3)
    weight, v = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((3, 6), (2, 3)))
    assert torch.autograd.gradcheck(
        lambda w, d: normalise(w, norm, 0.7, straight_through=False, directions=d), (weight, v)
    )
    x = torch.randn(5, 6, dtype=torch.float64, requires_grad=True)
    activation = Householder(6, 3, directions=v)
    assert torch.autograd.gradcheck(
        lambda d, z: torch.func.functional_call(activation, {"directions": d}, (z,)), (v, x)
    )


def test_networks_with_exact_gradients_pass_gradcheck():
    torch.manual_seed(4)
    slopes = SlopeSet(SlopeBounds([-1.0, -1.0], [1.0, 1.0])).at_least(0, 1).in_l2_ball(1.0)
    x = torch.randn(3, 2, dtype=torch.float64)
    for model in (
        SlopeBounded.mlp(two_sided(2), hidden=(4,), gradient="exact", dtype=torch.float64),
        ConvexMLP(two_sided(2), hidden=(4,), gradient="exact", dtype=torch.float64),
        ConvexMLP(slopes, hidden=(4,), gradient="exact", dtype=torch.float64),
    ):
        names, values = zip(
            *((n, p.detach() + 0.3 * torch.randn_like(p)) for n, p in model.named_parameters()), strict=True
        )

        def call(*given, model=model, names=names):
            return torch.func.functional_call(model, dict(zip(names, given, strict=True)), (x,))

        assert torch.autograd.gradcheck(call, tuple(v.requires_grad_() for v in values), atol=1e-4)


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("straight_through", [True, False])
def test_zero_vectors_have_finite_gradients(norm, rule, straight_through):
    weight = torch.zeros(3, 3, requires_grad=True)
    normalise(weight, norm, rule=rule, straight_through=straight_through).sum().backward()
    assert torch.isfinite(weight.grad).all()


def test_inside_the_constraint_both_gradients_are_the_identity():
    for rule, norm, straight_through in product([Rule.CAP, Rule.PROJECT], Norm, [True, False]):
        weight = (0.01 * torch.randn(4, 4)).requires_grad_()
        direction = torch.randn(4, 4)
        (normalise(weight, norm, rule=rule, straight_through=straight_through) * direction).sum().backward()
        assert torch.allclose(weight.grad, direction, atol=1e-6), (rule, norm, straight_through)


def test_a_convolution_pushed_far_out_comes_back():
    torch.manual_seed(5)
    layer = LipschitzConv2d(1, 1, 3)
    layer.weight.data.fill_(30.0)
    g = LipschitzSequential(layer)
    optimizer = torch.optim.Adam(g.parameters(), 0.3)
    x = torch.randn(8, 1, 8, 8)
    for _ in range(200):
        optimizer.zero_grad()
        loss = (g(x) + 0.5 * x[:, :, 1:-1, 1:-1]).square().mean()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.01
