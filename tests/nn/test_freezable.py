"""What is frozen is what is computed: code in a live module is refused, and outputs that share a trunk fit exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune

from monolip import SlopeBounds
from monolip.errors import FreezeError
from monolip.nn import ConvexMLP, LipschitzMLP, SlopeBounded, WithFreeBranch
from monolip.nn.trunks import group_outputs

from .attack import two_sided


def hook(*args):
    return None


MODELS = {
    "convex": lambda: ConvexMLP(two_sided(2), hidden=(4,)),
    "paper": lambda: SlopeBounded.mlp(two_sided(2), hidden=(4,)),
    "lipschitz": lambda: LipschitzMLP(2, hidden=(4,)),
    "branch": lambda: WithFreeBranch(ConvexMLP(two_sided(2), hidden=(4,)), nn.Sequential(nn.Linear(2, 1)), 1),
}
NAMES = [(kind, name) for kind, build in MODELS.items() for name, _ in build().named_modules() if name != "branch"]


@pytest.mark.parametrize("way", ["forward hook", "forward pre-hook", "own forward"])
@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_hooks_anywhere_inside_are_refused(kind, name, way):
    model = MODELS[kind]()
    part = model.get_submodule(name)
    if way == "own forward":
        part.forward = lambda *args: torch.zeros(3, 1)
    else:
        handle = part.register_forward_hook(hook) if way == "forward hook" else part.register_forward_pre_hook(hook)
    with pytest.raises(FreezeError, match="has a forward hook or a forward pass of its own"):
        model.freeze()
    if way == "own forward":
        del part.forward
    else:
        handle.remove()
    model.freeze()


@pytest.mark.parametrize("base", [ConvexMLP, SlopeBounded, WithFreeBranch])
def test_subclasses_with_their_own_forward_are_refused_and_others_freeze(base):
    def build(cls):
        if base is ConvexMLP:
            return cls(two_sided(2))
        if base is SlopeBounded:
            return cls.mlp(two_sided(2))
        return cls(ConvexMLP(two_sided(2)), nn.Linear(2, 1), 1)

    halved = type("Halved", (base,), {"forward": lambda self, *x: base.forward(self, *x) / 2})
    with pytest.raises(FreezeError, match=f"only {base.__name__} can be frozen; got Halved"):
        build(halved).freeze()
    build(type("Named", (base,), {"title": "mine"})).freeze()


def layer_of(model):
    return model.trunks[0].layers[2] if hasattr(model, "trunks") else model.branch[0]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("kind", ["convex", "paper", "branch"])
def test_weights_that_are_computed_from_others_are_refused_until_they_are_parameters_again(kind):
    model = MODELS[kind]()
    prune.random_unstructured(layer_of(model), "weight", 0.5)
    with pytest.raises(FreezeError, match=r"prune\.remove"):
        model.freeze()
    prune.remove(layer_of(model), "weight")
    model.freeze()
    nn.utils.weight_norm(layer_of(model))
    with pytest.raises(FreezeError, match="remove_weight_norm"):
        model.freeze()
    nn.utils.remove_weight_norm(layer_of(model))
    model.freeze()
    layer_of(model)._parameters["weight_raw"] = layer_of(model)._parameters.pop("weight")
    layer_of(model).__dict__["weight"] = layer_of(model).weight_raw.detach()
    with pytest.raises(FreezeError, match="is computed from others"):
        model.freeze()


def test_a_parametrized_branch_is_refused():
    model = MODELS["branch"]()
    parametrizations.spectral_norm(model.branch[0])
    with pytest.raises(FreezeError):
        model.freeze()


@pytest.mark.parametrize("seed", range(20))
def test_outputs_share_a_trunk_only_if_the_scaled_interval_fits_exactly(seed):
    rng = np.random.default_rng(seed)
    lower = rng.choice([-1.0, 0.1, 0.3], (2, 1)) * np.array([1.0, 3.0, 0.1, 1.0 + 1e-13, 7.0])
    upper = np.abs(rng.normal(size=(2, 1))) * np.array([1.0, 3.0, 0.1, 1.0 - 1e-13, 7.0]) + np.maximum(lower, 0)
    for outputs, factors in group_outputs(lower, upper):
        for output, factor in zip(outputs, factors, strict=True):
            for i in range(2):
                reference = [Fraction(float(side[i, outputs[0]])) for side in (lower, upper)]
                assert Fraction(float(factor)) * reference[0] >= Fraction(float(lower[i, output]))
                assert Fraction(float(factor)) * reference[1] <= Fraction(float(upper[i, output]))


def test_intervals_that_differ_in_the_last_bits_get_trunks_of_their_own():
    up = 1.0 + 1e-13
    apart = ConvexMLP(SlopeBounds([[1.0, up]], [[2.0, 2.0 * up * (1 - 1e-13)]]), 2, hidden=(4,))
    assert len(apart.trunks) == 2
    assert len(ConvexMLP(SlopeBounds([[1.0, 2.0]], [[2.0, 4.0]]), 2).trunks) == 1
    assert len(ConvexMLP(SlopeBounds([[-2.0, -4.0]], [[-1.0, -2.0]]), 2).trunks) == 1


def test_factors_that_agree_in_float32_only_are_frozen_apart():
    torch.manual_seed(0)
    factors = np.array([1.0, 3.0, 3.0 * (1 + 1e-9)])
    slopes = SlopeBounds(-factors[None], factors[None])
    model = ConvexMLP(slopes, 3, hidden=(8,))
    assert len(model.trunks) == 1
    assert model.factors(0)[1] == model.factors(0)[2]
    with torch.no_grad():
        model.trunks[0].first.weight.mul_(1e3)
    frozen = model.freeze()
    assert len(frozen.members[0]) == 3
    x = torch.randn(50, 1)
    assert np.allclose(frozen.evaluate(x), model(x).detach().numpy(), atol=1e-5)
