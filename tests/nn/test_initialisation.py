"""At initialisation slopes are a fair share of the bound, at any depth and bound (the paper's first limitation)."""

from __future__ import annotations

import pytest
import torch

from monolip import Norm, SlopeBounds
from monolip.nn import ConvexMLP, LipschitzMLP

from .attack import jacobian


@pytest.mark.parametrize("bound", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("depth", [2, 4, 8, 16])
@pytest.mark.parametrize("form", ["input", "layers", "householder", "L1", "convex"])
def test_the_mean_slope_is_at_least_a_tenth_of_the_bound(form, depth, bound):
    torch.manual_seed(depth)
    hidden = (64,) * (depth - 1)
    options = {
        "input": {}, "layers": {"budget": "layers"}, "householder": {"activation": "householder"},
        "L1": {"norms": Norm.L1_TO_L1},
    }  # fmt: skip
    means = []
    for _ in range(4):
        if form == "convex":
            model = ConvexMLP(SlopeBounds([-bound] * 4, [bound] * 4), hidden=hidden)
        else:
            model = LipschitzMLP(4, 1, hidden, bound=bound, **options[form])
        means.append(jacobian(model, torch.randn(100, 4)).abs().mean() / bound)
    mean = float(torch.stack(means).mean())
    if form == "L1":  # columns share their budget among outputs: not in the promise of 0.1, but alive
        assert mean > 0.01
    else:
        assert mean >= 0.1


def test_resetting_starts_afresh():
    model = LipschitzMLP(3)
    before = model.layers[0].weight.clone()
    model.reset_parameters()
    assert not torch.equal(before, model.layers[0].weight)
