"""SlopeBounded promises only for modules that state their bound, for any number of outputs and trunks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from monolip import SlopeBounds
from monolip.errors import FreezeError, PromiseError, StructureError
from monolip.nn import LipschitzMLP, LipschitzModule, SlopeBounded

from .attack import jacobian, saturate_, two_sided


@pytest.mark.parametrize(
    "module",
    [nn.Linear(3, 1), nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)), nn.Identity(), nn.ReLU()],
    ids=lambda module: type(module).__name__,
)
def test_a_plain_module_is_refused(module):
    with pytest.raises(PromiseError, match="must state lipschitz_bound, domain and out_features"):
        SlopeBounded(module, two_sided())


class _Sine(nn.Module):
    """A LipschitzModule by protocol: |sin a - sin b| <= |a - b|, bound and all scaled by a weight that may change."""

    domain, out_features = 1.0, 1

    def __init__(self, weight=3.0):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(weight, dtype=torch.float64))

    @property
    def lipschitz_bound(self):
        return self.weight.detach().abs()

    def forward(self, x):
        return self.weight * x.sum(-1, keepdim=True).sin()


def test_any_module_of_the_protocol_is_given_slopes_and_its_bound_is_asked_at_every_call():
    f = SlopeBounded(_Sine(), two_sided())
    assert isinstance(f.trunks[0], LipschitzModule)
    x = torch.randn(500, 3, dtype=torch.float64)
    for weight in (0.1, 3.0, 1e3):
        f.trunks[0].weight.data.fill_(weight)
        assert f.slopes.contains(jacobian(f, x), atol=1e-9)
    with pytest.raises(FreezeError, match="its forward pass is code"):
        f.freeze()


@pytest.mark.parametrize(("bound", "domain"), [(0.0, 1), (-1.0, 1), (math.inf, 1), (math.nan, 1), (1.0, 0.5)])
def test_a_module_that_states_an_impossible_bound_is_refused(bound, domain):
    module = LipschitzMLP(3)
    stated = type("Stated", (nn.Module,), {"lipschitz_bound": bound, "domain": domain, "out_features": 1})()
    with pytest.raises(PromiseError, match="positive and finite and domain at least 1"):
        SlopeBounded(stated, two_sided())
    assert SlopeBounded(module, two_sided()).out_features == 1


def test_a_subclass_with_its_own_forward_is_not_frozen_as_something_else():
    class Halved(LipschitzMLP):
        def forward(self, x):
            return super().forward(x) / 2

    with pytest.raises(FreezeError, match="only LipschitzMLP and LipschitzSequential"):
        SlopeBounded(Halved(3), two_sided()).freeze()
    with pytest.raises(FreezeError, match="only LipschitzMLP and LipschitzSequential"):
        Halved(3).freeze()


def test_intervals_and_outputs_must_match():
    columns = SlopeBounds(np.zeros((3, 2)), np.ones((3, 2)))
    with pytest.raises(StructureError, match="got 2 for 1 outputs"):
        SlopeBounded(LipschitzMLP(3, 1), columns)
    with pytest.raises(StructureError, match="got 2 for 3 outputs"):
        SlopeBounded.mlp(columns, 3)
    with pytest.raises(StructureError, match="got 3 intervals for 4 inputs"):
        SlopeBounded(LipschitzMLP(4, 1), two_sided(3))


def test_radii_that_do_not_factor_are_refused_with_what_to_pass():
    columns = SlopeBounds(np.zeros((2, 3)), np.array([[1.0, 2.0, 1.0], [1.0, 2.0, 3.0]]))
    with pytest.raises(StructureError, match=r"need trunks with \[2, 1\] outputs \(for outputs \[\[0, 1\], \[2\]\]\)"):
        SlopeBounded(LipschitzMLP(2, 3), columns)
    with pytest.raises(StructureError, match=r"SlopeBounded\.mlp\(slopes, 3\)"):
        SlopeBounded(LipschitzMLP(2, 3), columns)
    assert len(SlopeBounded([LipschitzMLP(2, 2), LipschitzMLP(2, 1)], columns).trunks) == 2


@pytest.mark.parametrize("activation", ["groupsort", "householder"])
@pytest.mark.parametrize("shared", [True, False])
def test_every_output_keeps_its_own_intervals_with_shared_and_separate_trunks(shared, activation):
    torch.manual_seed(0)
    base = two_sided(4)
    factors = np.array([1.0, 0.1, 3.0, 1.0 / 3.0])
    lower, upper = base.lower[:, None] * factors, base.upper[:, None] * factors
    lower[:, 3], upper[:, 3] = -upper[:, 3], -lower[:, 3].copy()  # same radius, other direction
    if not shared:
        lower[0, 2] -= 1.0
    slopes = SlopeBounds(lower, upper)
    f = SlopeBounded.mlp(slopes, 4, (12, 12), activation=activation, bound=4.0, dtype=torch.float64)
    assert len(f.trunks) == (1 if shared else 2)
    saturate_(f)
    x = torch.randn(200, 4, dtype=torch.float64)
    assert slopes.contains(jacobian(f, x), atol=1e-9)
    y = f(x).detach().numpy()
    assert np.abs(f.freeze().evaluate(x) - y).max() <= 1e-12 * np.abs(y).max()


def test_the_papers_architecture_is_lambda_times_the_sum_plus_g():
    torch.manual_seed(0)
    lam = 1.5
    g = LipschitzMLP(3, bound=lam, dtype=torch.float64)
    f = SlopeBounded(g, SlopeBounds.from_paper(lam, [1, 0, -1]))
    x = torch.randn(50, 3, dtype=torch.float64)
    expected = g(lam * x) / lam + lam * (x[:, :1] - x[:, 2:])
    assert torch.allclose(f(x), expected, atol=1e-12)
