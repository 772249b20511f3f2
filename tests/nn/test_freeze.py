"""What freezes, what does not and why, and that a frozen network is cut off from the live one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from monolip import FrozenNetwork, Norm
from monolip.errors import FreezeError
from monolip.nn import ConvexMLP, GroupSort, LipschitzLinear, LipschitzSequential, SlopeBounded

from .attack import two_sided


def network(*between):
    return LipschitzSequential(
        LipschitzLinear(3, 4, Norm.L1_TO_LINF), *between, LipschitzLinear(4, 1, Norm.LINF_TO_LINF)
    )


@pytest.mark.parametrize("activation", [nn.Tanh(), nn.Hardtanh(), nn.LeakyReLU(0.5), nn.Flatten()])
def test_activations_a_frozen_network_does_not_store_are_refused_by_name(activation):
    with pytest.raises(FreezeError, match=rf"layer 1 \({type(activation).__name__}\) cannot be frozen"):
        network(activation).freeze()


def test_two_activations_in_a_row_and_an_activation_last_are_refused():
    with pytest.raises(FreezeError, match="two activations in a row"):
        network(GroupSort(2), nn.ReLU()).freeze()
    ends = LipschitzSequential(LipschitzLinear(3, 4, Norm.L1_TO_LINF), GroupSort(2))
    with pytest.raises(FreezeError, match="must end with a linear layer"):
        ends.freeze()


@pytest.mark.parametrize("between", [(), (nn.Identity(),), (GroupSort(1),), (GroupSort(None),), (nn.ReLU(),)])
def test_layers_with_no_activation_or_a_trivial_one_freeze_to_the_same_function(between):
    torch.manual_seed(0)
    g = network(*between).double()
    x = torch.randn(50, 3, dtype=torch.float64)
    assert np.allclose(g.freeze().evaluate(x), g(x).detach().numpy(), rtol=1e-12, atol=1e-14)


def test_layers_without_bias_freeze():
    torch.manual_seed(0)
    g = LipschitzSequential(
        LipschitzLinear(3, 4, Norm.L1_TO_LINF, bias=False), GroupSort(2), LipschitzLinear(4, 2, Norm.LINF_TO_LINF)
    ).double()
    x = torch.randn(20, 3, dtype=torch.float64)
    assert np.allclose(g.freeze().evaluate(x), g(x).detach().numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("form", ["convex", "groupsort", "householder"])
def test_a_frozen_network_does_not_follow_the_live_one_and_survives_a_file(form, tmp_path):
    torch.manual_seed(0)
    options = {"hidden": (4, 4), "dtype": torch.float64}
    model = ConvexMLP(two_sided(), **options) if form == "convex" else None
    model = model or SlopeBounded.mlp(two_sided(), activation=form, **options)
    x = torch.randn(20, 3, dtype=torch.float64)
    frozen = model.freeze()
    before, digest = frozen.evaluate(x), frozen.digest
    frozen.save(tmp_path / "model.safetensors")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    assert np.array_equal(frozen.evaluate(x), before)
    assert model.freeze().digest != digest
    assert np.array_equal(FrozenNetwork.load(tmp_path / "model.safetensors").evaluate(x), before)


def test_training_mode_gradients_and_threads_do_not_matter_to_a_freeze():
    model = SlopeBounded.mlp(two_sided(), hidden=(4,))
    digest = model.freeze().digest
    assert model.eval().freeze().digest == digest
    assert model.requires_grad_(False).freeze().digest == digest
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode():
        assert model.freeze().digest == digest
