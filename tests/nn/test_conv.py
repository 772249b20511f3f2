"""LipschitzConv2d keeps its Linf bound against random and adversarial images, in every geometry."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn

from monolip import Norm
from monolip.errors import FreezeError, StructureError
from monolip.nn import GroupSort, LipschitzConv2d, LipschitzLinear, LipschitzSequential

GEOMETRIES = [
    {"kernel_size": 3},
    {"kernel_size": 3, "padding": 1},
    {"kernel_size": (1, 5), "stride": (2, 1)},
    {"kernel_size": 3, "padding": "same", "dilation": 2},
    {"kernel_size": 3, "padding": 2, "padding_mode": "reflect"},
    {"kernel_size": 3, "padding": (1, 2), "padding_mode": "replicate"},
    {"kernel_size": 3, "padding": 1, "padding_mode": "circular", "stride": 2},
    {"kernel_size": 3, "groups": 2},
    {"kernel_size": 1, "groups": 4, "bound": 0.25},
]


def saturated(geometry, dtype=torch.float64):
    torch.manual_seed(0)
    layer = LipschitzConv2d(4, 8, **{"bound": 3.0, **geometry}, dtype=dtype)
    with torch.no_grad():
        layer.weight.normal_(0.0, 1e3)
    return layer


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_the_linf_bound_holds_for_random_and_adversarial_images(geometry):
    layer = saturated(geometry)
    x = torch.randn(2, 4, 7, 7, dtype=torch.float64)
    x = torch.cat([x, x.sign()])
    worst = 0.0
    for _ in range(20):  # climb: move each pixel to the side that raises the largest difference
        y = torch.randn_like(x)
        shift = (y - x).sign().requires_grad_()
        change = layer(x + shift) - layer(x)
        (towards,) = torch.autograd.grad(change.abs().amax((1, 2, 3)).sum(), shift)
        adversarial = torch.where(towards == 0, 1.0, towards.sign())
        found = (layer(x + adversarial) - layer(x)).abs().amax((1, 2, 3))
        worst = max(worst, float(found.max().detach()))
    assert worst <= layer.bound * (1 + 1e-9)
    assert worst >= layer.bound * 0.999, "the attack reaches the bound, so the test could fail"


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_the_geometry_is_that_of_torch(geometry):
    layer = saturated(geometry)
    options = {key: value for key, value in geometry.items() if key != "bound"}
    plain = nn.Conv2d(4, 8, **options, dtype=torch.float64)
    with torch.no_grad():
        plain.weight.copy_(layer.effective_weight)
        plain.bias.copy_(layer.bias)
    x = torch.randn(2, 4, 9, 9, dtype=torch.float64)
    assert torch.allclose(layer(x), plain(x), atol=1e-12)


def network():
    torch.manual_seed(1)
    return LipschitzSequential(
        LipschitzConv2d(1, 4, 3, bound=2.0),
        GroupSort(2),
        LipschitzConv2d(4, 4, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        LipschitzLinear(4 * 9, 8, Norm.LINF_TO_LINF, bound=0.5),
        GroupSort(2),
        LipschitzLinear(8, 1, Norm.LINF_TO_LINF, bound=3.0),
    )


def test_inside_a_network_bounds_multiply_and_hold():
    g = network().double()
    assert g.lipschitz_bound == 3.0
    with torch.no_grad():
        for layer in g.constrained_layers():
            layer.weight.normal_(0.0, 1e3)
            layer.bias.normal_()
    x = torch.randn(64, 1, 8, 8, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(g(x).sum(), x)
    assert slope.abs().sum((1, 2, 3)).max() <= 3.0 * (1 + 1e-9)  # the dual of Linf is L1


def test_convolutions_cannot_follow_an_l1_bound_unpaid_and_are_not_frozen():
    with pytest.raises(FreezeError, match="convolutions are not stored in a FrozenNetwork"):
        network().freeze()
    with pytest.raises(StructureError, match="gradient must be"):
        LipschitzConv2d(1, 1, 3, gradient="none")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.compile warns about torch
def test_convolutions_copy_pickle_save_and_compile():
    g, x = network(), torch.randn(2, 1, 8, 8)
    expected = g(x)
    for twin in (copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert torch.equal(twin(x), expected)
    other = network()
    other.layers[0].weight.data.zero_()
    other.load_state_dict(g.state_dict())
    assert torch.equal(other(x), expected)
    assert list(g.layers[0].state_dict()) == ["weight", "bias", "_extra_state"]
    assert torch.allclose(torch.compile(g, fullgraph=True, backend="aot_eager")(x), expected, atol=1e-6)
