"""A free branch carries no promise; the constrained features keep theirs, whatever the branch computes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from monolip import SlopeBounds
from monolip.errors import FreezeError, PromiseError, StructureError
from monolip.nn import ConvexMLP, LipschitzMLP, SlopeBounded, WithFreeBranch

from .attack import saturate_, slack, two_sided


def deep_branch(d_in=5, d_out=2, dtype=torch.float64):
    layers = []
    for width in (16, 16, 16):
        layers += [nn.Linear(d_in, width, dtype=dtype), nn.SiLU()]
        d_in = width
    branch = nn.Sequential(*layers, nn.Linear(d_in, d_out, dtype=dtype), nn.Tanh())
    with torch.no_grad():
        for parameter in branch.parameters():
            parameter.normal_(0.0, 3.0)
    return branch


def build(form, dtype=torch.float64, out_features=1):
    slopes = two_sided(5)
    if form == "convex":
        return ConvexMLP(slopes, out_features, (8, 8), dtype=dtype)
    return SlopeBounded.mlp(slopes, out_features, (8, 8), activation=form, dtype=dtype)


@pytest.mark.parametrize("form", ["convex", "groupsort", "householder"])
def test_constrained_features_keep_their_slopes_behind_a_random_deep_branch(form):
    torch.manual_seed(0)
    f = WithFreeBranch(saturate_(build(form), 1e3), deep_branch(), 2)
    assert f.slopes == SlopeBounds(two_sided(5).lower[:3], two_sided(5).upper[:3])
    x = torch.randn(200, 3, dtype=torch.float64, requires_grad=True)
    u = torch.randn(200, 5, dtype=torch.float64, requires_grad=True)
    by_x, by_u = torch.autograd.grad(f(x, u).sum(), (x, u))
    assert f.slopes.contains(by_x, atol=slack(f.slopes, torch.float64))
    assert by_u.abs().max() > 0


@pytest.mark.parametrize("form", ["convex", "groupsort", "householder"])
def test_a_dense_branch_freezes_to_the_same_function(form):
    torch.manual_seed(1)
    f = WithFreeBranch(build(form), deep_branch(), 2)
    x, u = torch.randn(100, 3, dtype=torch.float64), torch.randn(100, 5, dtype=torch.float64)
    frozen = f.freeze()
    y = f(x, u).detach().numpy()
    assert np.abs(frozen.evaluate(torch.cat([x, u], 1)) - y).max() <= 1e-12 * (1 + np.abs(y).max())
    assert frozen.n_features == 3
    assert frozen.n_free_features == 5
    assert frozen.slopes == f.slopes


@pytest.mark.parametrize(
    "branch",
    [nn.Linear(5, 2), nn.Linear(5, 2, bias=False), nn.Sequential(nn.Linear(5, 2), nn.Identity(), nn.ReLU())],
)
def test_small_branches_freeze_as_well(branch):
    torch.manual_seed(2)
    f = WithFreeBranch(build("convex"), branch.double(), 2)
    x, u = torch.randn(20, 3, dtype=torch.float64), torch.randn(20, 5, dtype=torch.float64)
    assert np.allclose(f.freeze().evaluate(torch.cat([x, u], 1)), f(x, u).detach().numpy(), rtol=1e-12, atol=1e-12)


class _Scaled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class _Residual(nn.Sequential):
    def forward(self, x):
        return x[..., :2] + super().forward(x)


@pytest.mark.parametrize(
    ("branch", "name"),
    [
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)), "Conv2d"),
        (nn.Sequential(nn.Linear(5, 2), nn.BatchNorm1d(2)), "BatchNorm1d"),
        (nn.Sequential(nn.Linear(5, 2), nn.Dropout()), "Dropout"),
        (nn.Sequential(nn.Tanh(), nn.Linear(5, 2)), "Tanh"),
        (_Scaled(5, 2), "_Scaled"),
        (_Residual(nn.Linear(5, 2)), "_Residual"),
        (nn.Embedding(5, 2), "Embedding"),
    ],
)
def test_a_branch_that_is_code_is_refused_with_the_reason_and_freezes_from_its_features(branch, name):
    f = WithFreeBranch(build("convex"), branch.double(), 2)
    with pytest.raises(FreezeError, match=rf"got {name}: convolutions and other code .* freeze\(from_features=True\)"):
        f.freeze()
    features = np.random.default_rng(0).normal(size=(10, 2))
    x = np.random.default_rng(1).normal(size=(10, 3))
    frozen = f.freeze(from_features=True)
    joined = np.hstack([x, features])
    assert np.allclose(frozen.evaluate(joined), f.network(torch.tensor(joined)).detach().numpy(), rtol=1e-12)


def test_an_image_backbone_joins_and_the_promise_holds():
    torch.manual_seed(3)
    backbone = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
    f = WithFreeBranch(build("convex", torch.float32), backbone, 2)
    x = torch.randn(16, 3, requires_grad=True)
    (slope,) = torch.autograd.grad(f(x, torch.randn(16, 1, 8, 8)).sum(), x)
    assert f.slopes.contains(slope, atol=slack(f.slopes, torch.float32))


def test_what_carries_no_slopes_or_does_not_fit_is_refused():
    with pytest.raises(PromiseError, match="must carry slopes; got LipschitzMLP"):
        WithFreeBranch(LipschitzMLP(5), nn.Linear(5, 2), 2)
    with pytest.raises(PromiseError, match="must carry slopes; got Linear"):
        WithFreeBranch(nn.Linear(5, 1), nn.Linear(5, 2), 2)
    for count in (0, 5, 6, -1):
        with pytest.raises(StructureError, match="must feed some of the 5 inputs"):
            WithFreeBranch(build("convex"), nn.Linear(5, 2), count)
    f = WithFreeBranch(build("convex", torch.float32), nn.Linear(5, 3), 2)
    with pytest.raises(StructureError, match="must give 2 features; got 3"):
        f(torch.randn(4, 3), torch.randn(4, 5))
