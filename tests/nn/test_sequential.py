"""The wrong composition cannot be built, and cannot be slipped in later."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from monolip import Norm, Rule
from monolip.errors import NormChainError, PromiseError, SlopeError, StructureError
from monolip.nn import (
    ConvexMLP,
    GroupSort,
    Householder,
    LipschitzConv2d,
    LipschitzLinear,
    LipschitzMLP,
    LipschitzSequential,
    SlopeBounded,
)

from .attack import jacobian, two_sided


def linear(i=4, o=4, norm=Norm.LINF_TO_LINF, **options):
    return LipschitzLinear(i, o, norm, **options)


@pytest.mark.parametrize(
    ("norms", "fix"),
    [
        ((Norm.L1_TO_LINF, Norm.L1_TO_L1), "make layer 1 LINF_TO_LINF"),
        ((Norm.L1_TO_LINF, Norm.L1_TO_LINF), "make layer 1 LINF_TO_LINF"),
        ((Norm.LINF_TO_LINF, Norm.L1_TO_L1), "needs an L1 bound"),
        ((Norm.LINF_TO_LINF, Norm.L2_TO_LINF), "needs an L2 bound"),
        ((Norm.L1_TO_L1, Norm.L1_TO_LINF, Norm.L1_TO_L1), "layer 2"),
    ],
)
def test_norms_that_do_not_chain_cannot_be_built(norms, fix):
    with pytest.raises(NormChainError, match=fix):
        LipschitzSequential(*[linear(norm=norm) for norm in norms])
    with pytest.raises(NormChainError, match=fix):
        LipschitzMLP(4, 4, (4,) * (len(norms) - 1), norms=norms)


class _Doubling(nn.Identity):
    def forward(self, x):
        return 2 * x


class _Steep(LipschitzLinear):
    def constrain(self, weight):
        return weight


@pytest.mark.parametrize(
    "stranger",
    [
        nn.Linear(4, 4),
        nn.BatchNorm1d(4),
        nn.LayerNorm(4),
        nn.GELU(),
        nn.LeakyReLU(1.5),
        nn.Sequential(nn.Linear(4, 4)),
        _Doubling(),
        _Steep(4, 4, Norm.LINF_TO_LINF),
        ConvexMLP(two_sided(4), 4),
    ],
    ids=lambda module: type(module).__name__,
)
def test_a_layer_that_states_no_lipschitz_constant_is_refused_when_built_and_when_added_later(stranger):
    rule = "every layer must state a Lipschitz constant"
    with pytest.raises(PromiseError, match=rule):
        LipschitzSequential(linear(), stranger, linear())
    g = LipschitzMLP(4, 4, (4,))
    g.layers.append(stranger)
    with pytest.raises(PromiseError, match=rule):
        g(torch.randn(2, 4))
    with pytest.raises(PromiseError, match=rule):
        _ = g.lipschitz_bound
    f = SlopeBounded(LipschitzMLP(4, 4, (4,)), two_sided(4))
    f.trunks[0].layers.insert(1, stranger)
    with pytest.raises(PromiseError, match=rule):
        f(torch.randn(2, 4))
    with pytest.raises(PromiseError, match=rule):
        f.eval().freeze()


def test_layers_changed_later_must_still_chain():
    g = LipschitzMLP(4, 4, (4,))
    g.layers.append(linear(norm=Norm.L1_TO_L1))
    with pytest.raises(NormChainError, match="make layer 2 LINF_TO_LINF"):
        g(torch.randn(2, 4))


def test_a_householder_put_in_later_is_still_paid_for():
    torch.manual_seed(0)
    g = LipschitzMLP(3, 1, (8,), dtype=torch.float64)
    g.layers[1] = Householder(8, 4, directions=torch.randn(2, 4, dtype=torch.float64))
    with torch.no_grad():
        g.layers[0].weight.normal_(0, 1e3)
        g.layers[2].weight.normal_(0, 1e3)
    assert jacobian(g, torch.randn(500, 3, dtype=torch.float64)).abs().max() <= 1 + 1e-9
    assert g.layers[2]._after == (g.layers[1],)


def test_one_layer_cannot_pay_for_two_householders():
    shared = linear()
    with pytest.raises(StructureError, match="give each its own LipschitzLinear"):
        LipschitzSequential(linear(), Householder(4), shared, Householder(4), shared)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (lambda: (linear(), Householder(4)), "end with a layer"),
        (lambda: (linear(), Householder(4), GroupSort(2), linear()), "put a LipschitzLinear there"),
        (lambda: (linear(), Householder(4), Householder(4), linear()), "put a LipschitzLinear there"),
        (lambda: (linear(), Householder(4), nn.Identity(), linear()), "put a LipschitzLinear there"),
        (lambda: (linear(), Householder(4), LipschitzConv2d(1, 1, 1)), "put a LipschitzLinear there"),
    ],
)
def test_a_householder_nobody_pays_for_is_refused(layers, message):
    with pytest.raises(PromiseError, match=message):
        LipschitzSequential(*layers())


@pytest.mark.parametrize("layers", [(), (GroupSort(2),), (nn.ReLU(), linear())])
def test_a_lipschitz_network_starts_with_a_constrained_layer(layers):
    with pytest.raises(StructureError, match="starts with a constrained layer"):
        LipschitzSequential(*layers)


def test_a_householder_of_another_width_or_before_a_projection_is_refused():
    with pytest.raises(StructureError, match="width 6 cannot feed 4 inputs"):
        LipschitzSequential(linear(4, 6), Householder(6), linear(4, 4))
    with pytest.raises(StructureError, match=r"use Rule\.CAP"):
        LipschitzSequential(linear(), Householder(4), linear(rule=Rule.PROJECT))


@pytest.mark.parametrize("bound", [0, 0.0, -1.0, math.nan, math.inf, -math.inf, True, "1", None])
def test_a_bound_must_be_a_positive_finite_number(bound):
    for build in (
        lambda: LipschitzMLP(3, bound=bound),
        lambda: linear(bound=bound),
        lambda: LipschitzConv2d(1, 1, 3, bound=bound),
    ):
        with pytest.raises(SlopeError, match="a bound must be positive and finite"):
            build()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group_size": 3}, "choose a divisor of 8"),
        ({"group_size": 0}, "must be a positive int"),
        ({"group_size": True}, "must be a positive int"),
        ({"group_size": 2.0}, "must be a positive int"),
        ({"activation": "householder", "group_size": 3}, "choose a divisor of 8"),
        ({"activation": "householder", "group_size": 1}, "at least 2 coordinates"),
        ({"activation": "swish"}, "activation must be"),
        ({"budget": "all"}, 'budget must be "input" or "layers"'),
        ({"gradient": "none"}, "gradient must be"),
        ({"enforce": "never"}, "enforce must be"),
        ({"rule": "cap"}, "use the enums"),
        ({"norms": "L1"}, "use the enums"),
        ({"norms": ["L1", "L1"]}, "use the enums"),
        ({"norms": [Norm.L1_TO_LINF]}, "one norm per layer; got 1 for 2"),
        ({"enforce": "step", "rule": Rule.CAP_THEN_SCALE}, r"use Rule\.CAP or Rule\.PROJECT"),
        ({"hidden": (0,)}, "widths must be positive ints"),
        ({"hidden": (8.0,)}, "widths must be positive ints"),
        ({"hidden": (True,)}, "widths must be positive ints"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(StructureError, match=message):
        LipschitzMLP(**{"in_features": 3, "hidden": (8,), **options})


@pytest.mark.parametrize(
    "directions", [torch.zeros(4, 2), torch.full((4, 2), math.nan), torch.ones(2, 4), [[1.0, 2.0]]]
)
def test_householder_directions_must_be_one_finite_vector_per_group(directions):
    with pytest.raises(StructureError, match="pass one vector per group"):
        Householder(8, directions=directions)


def test_the_lipschitz_bound_is_computed_never_passed():
    g = LipschitzSequential(linear(bound=2.0), GroupSort(2), linear(bound=0.25), nn.ReLU(), linear(4, 3, bound=3.0))
    assert g.lipschitz_bound == 1.5
    assert (g.domain, g.in_features, g.out_features) == (math.inf, 4, 3)
    assert LipschitzMLP(3, bound=7.0).lipschitz_bound == 7.0
    assert LipschitzMLP(3, bound=7.0, budget="layers").lipschitz_bound == pytest.approx(7.0, rel=1e-15)
