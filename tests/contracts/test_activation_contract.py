"""Every activation keeps its stated gain in L1, L2 and Linf, attains it, and costs a network nothing of its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from monolip import SlopeBounds
from monolip.nn import GroupSort, Householder, LipschitzLinear, LipschitzMLP, LipschitzSequential, SlopeBounded
from monolip.norms import Norm

from ..nn.attack import jacobian

P = (1.0, 2.0, math.inf)


def random_householder(group_size, seed=0, width=12):
    torch.manual_seed(seed)
    return Householder(width, group_size, directions=torch.randn(width // group_size, group_size).double())


def stretch(activation, p, pairs=20_000):
    """The largest |a(x) - a(y)|_p / |x - y|_p over random and over neighbouring pairs."""
    x = torch.randn(pairs, 12, dtype=torch.float64)
    largest = 0.0
    for y in (
        torch.randn_like(x),
        x + 1e-6 * torch.randn_like(x),
        x + 1e-6 * torch.eye(12, dtype=x.dtype)[torch.randint(12, (pairs,))],
        x + 1e-6 * torch.randn_like(x).sign(),
    ):
        near = (x - y).norm(p, dim=1)
        largest = max(largest, float(((activation(x) - activation(y)).norm(p, dim=1) / near).max().detach()))
    return largest


ACTIVATIONS = {
    **{f"GroupSort({size})": lambda size=size: GroupSort(size) for size in (1, 2, 3, 4, 6, 12, None)},
    **{f"Householder({size})": lambda size=size: random_householder(size) for size in (2, 3, 4, 6, 12)},
    "Householder at its start": lambda: Householder(12, 3).double(),
}


@pytest.mark.parametrize("p", P)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_no_pair_of_points_is_stretched_beyond_the_stated_gain(name, p):
    activation = ACTIVATIONS[name]()
    assert stretch(activation, p) <= activation.gain(p) * (1 + 1e-6)


@pytest.mark.parametrize("p", P)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_stated_gain_is_attained(name, p):
    activation = ACTIVATIONS[name]()
    x = torch.randn(200, 12, dtype=torch.float64)
    operator = torch.func.vmap(torch.func.jacrev(activation))(x).detach()
    if p == 2:
        attained = torch.linalg.matrix_norm(operator, 2).max()
    else:
        attained = operator.abs().sum(-2 if p == 1 else -1).max()
    assert float(attained) == pytest.approx(activation.gain(p), rel=1e-9)


@pytest.mark.parametrize("group_size", [2, 3, 4, 12])
def test_the_gain_of_householder_is_at_most_the_root_of_its_group_size(group_size):
    gains = [random_householder(group_size, seed).gain(math.inf) for seed in range(50)]
    assert 1.0 <= min(gains) <= max(gains) <= math.sqrt(group_size) + 1e-12
    assert max(gains) > 1.1


def test_householder_gains_reach_the_root_of_two_in_pairs():
    angle = math.pi / 8
    turned = Householder(2, directions=[[math.cos(angle), math.sin(angle)]], dtype=torch.float64)
    assert turned.gain(1) == pytest.approx(math.sqrt(2), rel=1e-12)


def test_the_activations_are_the_papers():
    x = torch.randn(1000, 12, dtype=torch.float64)
    for size in (1, 2, 3, 4, 12):
        expected = np.sort(x.numpy().reshape(1000, -1, size), axis=-1).reshape(1000, 12)
        assert np.array_equal(GroupSort(size)(x).numpy(), expected)
    activation = random_householder(3)
    v = activation.directions.detach()
    for row, image in zip(x[:50], activation(x[:50]).detach(), strict=True):
        for k in range(4):
            z, u = row[3 * k : 3 * k + 3], v[k]
            expected = z if z @ u > 0 else z - 2 * u * (u @ z) / (u @ u)
            assert torch.allclose(image[3 * k : 3 * k + 3], expected, atol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_both_ways_to_sort_pairs_are_the_same_function_with_the_same_slopes(n):
    x = torch.randn(n, 12, dtype=torch.float64)
    assert torch.equal(
        GroupSort(2)(x), GroupSort(2)(x.clone().requires_grad_()).detach()
    )  # large without, with gradient
    slopes = torch.func.vmap(torch.func.jacrev(GroupSort(2)))(x[:5])
    ordered = x[:5].unflatten(-1, (6, 2)).argsort(-1) + 2 * torch.arange(6)[:, None]
    assert torch.equal(slopes.argmax(-1), ordered.flatten(-2)) or n == 0


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e20, 1e30])
def test_the_length_of_a_householder_direction_does_not_matter_even_where_its_square_leaves_float32(scale):
    directions = torch.randn(6, 2)
    x, layer = torch.randn(10, 12), LipschitzLinear(12, 3, Norm.LINF_TO_LINF)
    plain, scaled = Householder(12, directions=directions), Householder(12, directions=directions * scale)
    assert torch.allclose(plain(x), scaled(x), atol=1e-5)
    layer.follow(scaled)
    other = LipschitzLinear(12, 3, Norm.LINF_TO_LINF)
    other.load_state_dict(layer.state_dict())
    other.follow(plain)
    assert torch.allclose(layer.effective_weight, other.effective_weight, atol=1e-6)


@pytest.mark.parametrize("group_size", [2, 3, 4, None])
@pytest.mark.parametrize("depth", [2, 3, 6])
def test_a_network_with_householder_at_random_directions_keeps_its_bound(group_size, depth):
    slopes = SlopeBounds.from_paper(1.0, [1, 0, -1])
    for seed in range(10):
        torch.manual_seed(seed)
        f = SlopeBounded.mlp(
            slopes, hidden=(12,) * (depth - 1), activation="householder", group_size=group_size, dtype=torch.float64
        )
        with torch.no_grad():
            for parameter in f.parameters():
                parameter.normal_()
            for layer in f.trunks[0].constrained_layers():
                layer.weight.mul_(1e3)
        assert slopes.contains(jacobian(f, 3 * torch.randn(200, 3, dtype=torch.float64)), atol=1e-9)


def test_without_the_compensation_the_bound_would_break_so_the_test_above_can_fail(monkeypatch):
    monkeypatch.setattr(LipschitzLinear, "follow", lambda layer, activation: None)
    torch.manual_seed(0)
    f = LipschitzMLP(3, 1, (12, 12, 12), activation="householder", group_size=4, dtype=torch.float64)
    with torch.no_grad():
        for parameter in f.parameters():
            parameter.normal_(0.0, 1e3 if parameter.shape[-1] != 4 else 1.0)
        for layer in f.constrained_layers():
            layer._after = ()
            layer.weight.copy_(layer.weight.sign() * (layer.weight.abs() > 1e3))
    x = torch.randn(2000, 3, dtype=torch.float64)
    steepest = 0.0
    for weight in torch.randn(50, 3, 12, 12, dtype=torch.float64):
        for layer, matrix in zip(list(f.constrained_layers())[1:], (*weight[:2], weight[2, :1]), strict=True):
            layer.weight.data.copy_(matrix * (matrix.abs() >= matrix.abs().amax(1, keepdim=True)))
        steepest = max(steepest, float(jacobian(f, x).abs().max()))
    assert steepest > 1.05


@pytest.mark.parametrize("activation", ["groupsort", "householder"])
def test_absolute_value_is_exact_at_bound_one(activation):
    first, last = LipschitzLinear(1, 2, Norm.L1_TO_LINF), LipschitzLinear(2, 1, Norm.LINF_TO_LINF)
    middle = GroupSort(2) if activation == "groupsort" else Householder(2)
    g = LipschitzSequential(first, middle, last).double()
    with torch.no_grad():
        first.weight.copy_(torch.tensor([[1e3], [-1e3]]))
        last.weight.copy_(torch.tensor([[0.0, 1e3]]))
    x = torch.linspace(-5, 5, 1001, dtype=torch.float64)[:, None]
    assert torch.allclose(g(x), x.abs(), atol=1e-12)
    assert g.lipschitz_bound == 1.0


def test_absolute_value_is_out_of_reach_for_relu_at_bound_one():
    torch.manual_seed(0)
    g = LipschitzMLP(1, 1, (16, 16), activation="relu")
    x = torch.linspace(-2, 2, 201)[:, None]
    optimizer = torch.optim.Adam(g.parameters(), 1e-2)
    for _ in range(200):
        optimizer.zero_grad()
        (g(x) - x.abs()).square().mean().backward()
        optimizer.step()
    assert float((g(x) - x.abs()).abs().max().detach()) > 0.05
