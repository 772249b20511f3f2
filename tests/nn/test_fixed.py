"""What was checked when a module was built cannot be changed behind its back."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from monolip import Norm, Rule, SlopeBounds, SlopeSet
from monolip.errors import PromiseError, StructureError
from monolip.nn import (
    ConvexMLP,
    GroupSort,
    Householder,
    LipschitzConv2d,
    LipschitzLinear,
    LipschitzMLP,
    LipschitzSequential,
    MixingLinear,
    SlopeBounded,
    SlopeLinear,
    WithFreeBranch,
)

from .attack import jacobian, two_sided

OTHER = SlopeBounds.from_monotonic_cst([1, 1], 50.0)


def linear(i=4, o=4, **options):
    return LipschitzLinear(i, o, Norm.LINF_TO_LINF, **options)


@pytest.mark.parametrize(
    ("build", "name", "value"),
    [
        (linear, "bound", 0.1),
        (linear, "norm", Norm.L1_TO_LINF),
        (linear, "rule", Rule.PROJECT),
        (linear, "per_vector", False),
        (linear, "gradient", "exact"),
        (linear, "enforce", "step"),
        (lambda: LipschitzConv2d(1, 1, 3), "bound", 5.0),
        (lambda: LipschitzConv2d(1, 1, 3), "norm", Norm.L1_TO_L1),
        (lambda: GroupSort(2), "group_size", 4),
        (lambda: Householder(4), "group_size", 4),
        (lambda: LipschitzMLP(2), "bound", 9.0),
        (lambda: LipschitzMLP(2), "budget", "layers"),
        (lambda: SlopeLinear(SlopeSet(two_sided(2)), 4), "promise", SlopeSet(OTHER)),
        (lambda: MixingLinear(4, 4), "SHARPNESS", 1.0),
        (lambda: ConvexMLP(two_sided(2)), "promise", OTHER),
        (lambda: ConvexMLP(two_sided(2)), "slopes", OTHER),
        (lambda: ConvexMLP(two_sided(2)).trunks[0], "promise", SlopeSet(OTHER)),
        (lambda: SlopeBounded.mlp(two_sided(2)), "slopes", OTHER),
        (lambda: WithFreeBranch(ConvexMLP(two_sided(2)), nn.Linear(1, 1), 1), "slopes", OTHER),
    ],
)
def test_options_the_promise_rests_on_are_read_only(build, name, value):
    module = build()
    before = getattr(module, name)
    for target in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        with pytest.raises(AttributeError, match=f"{name} of {type(module).__name__} is fixed .*; build a new"):
            setattr(target, name, value)
        with pytest.raises(AttributeError, match="got a deletion"):
            delattr(target, name)
    assert getattr(module, name) is before or getattr(module, name) == before


def test_an_activation_of_torch_that_is_made_steeper_later_is_refused():
    g = LipschitzSequential(linear(), nn.LeakyReLU(0.1), linear())
    g(torch.randn(2, 4))
    g.layers[1].negative_slope = 50
    with pytest.raises(PromiseError, match="LeakyReLU does not"):
        g(torch.randn(2, 4))
    with pytest.raises(PromiseError, match="LeakyReLU does not"):
        _ = g.lipschitz_bound
    g.layers[1].negative_slope = -0.5
    assert g(torch.randn(2, 4)).shape == (2, 4)


class _Twice(nn.Module):
    def forward(self, weight):
        return 2 * weight


CHANGES = {
    "another layer": lambda layers: layers.__setitem__(2, nn.Linear(8, 8)),
    "appended": lambda layers: layers.append(nn.Linear(1, 1)),
    "inserted": lambda layers: layers.insert(2, nn.Softplus()),
    "no first layer": lambda layers: layers.__delitem__(0),
    "no layers": lambda layers: layers.__delitem__(slice(None)),
    "a subclass": lambda layers: layers.__setitem__(2, type("Mine", (MixingLinear,), {})(8, 8)),
    "a parametrization": lambda layers: parametrize.register_parametrization(layers[2], "weight", _Twice()),
    "a first layer of another promise": lambda layers: layers.__setitem__(0, SlopeLinear(SlopeSet(OTHER), 8)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_convex_trunk_is_convex_form_or_refuses(change):
    f, x = ConvexMLP(two_sided(2), hidden=(8, 8)), torch.randn(5, 2)
    f(x)
    CHANGES[change](f.trunks[0].layers)
    with pytest.raises(StructureError, match=r"convex form is|the first layer must keep"):
        f(x)
    with pytest.raises(ValueError, match=r"convex form is|the first layer must keep|is computed from others"):
        f.freeze()


@pytest.mark.parametrize("other", [lambda: nn.Linear(2, 1), lambda: ConvexMLP(OTHER).trunks[0]])
def test_a_trunk_that_keeps_something_else_is_refused(other):
    f = ConvexMLP(two_sided(2), hidden=(8,))
    f.trunks[0] = other()
    for use in (lambda: f(torch.randn(5, 2)), f.freeze):
        with pytest.raises(StructureError, match="must keep its part of the promise"):
            use()
    f.trunks.append(nn.Identity())
    with pytest.raises(StructureError, match=r"(ConvexTrunk|Linear), Identity"):
        f(torch.randn(5, 2))
    del f.trunks[1], f.trunks[0]
    with pytest.raises(StructureError, match=r"got other ones \(none\)"):
        f(torch.randn(5, 2))
    f.trunks.append(nn.Identity())
    f.trunks[0] = copy.deepcopy(ConvexMLP(two_sided(2), hidden=(8,)).trunks[0])
    assert f(torch.randn(5, 2)).shape == (5, 1)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_lone_copy_of_a_layer_after_householder_can_be_used_in_a_new_network(copied):
    torch.manual_seed(0)
    g = LipschitzMLP(3, 1, (8,), activation="householder", group_size=4, dtype=torch.float64)
    layer = copied(g.layers[2])
    first = LipschitzLinear(3, 8, Norm.L1_TO_LINF, dtype=torch.float64)
    h = LipschitzSequential(first, Householder(8, 4, dtype=torch.float64), layer)
    assert layer._after == (h.layers[1],)
    shared = LipschitzSequential(copied(first), Householder(8, 4, dtype=torch.float64), layer)
    x = torch.randn(300, 3, dtype=torch.float64)
    with torch.no_grad():
        for network in (h, shared):
            network.layers[1].directions.normal_()
            network.layers[0].weight.mul_(1e3)
        layer.weight.normal_(0, 1e3)
    for network in (h, shared, h.eval(), shared.eval(), h):  # each pays for its own reflection, in turn
        assert jacobian(network, x).abs().max() <= 1 + 1e-9
