"""In eval mode effective weights are cached, and never stale: every way to change a parameter is seen at once."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.func import functional_call

from monolip import Norm, Rule, SlopeBounds, SlopeSet
from monolip.nn import (
    ConvexMLP,
    LipschitzConv2d,
    LipschitzLinear,
    LipschitzMLP,
    LipschitzSequential,
    MixingLinear,
    SlopeLinear,
)
from monolip.nn import snapshot as snapshots
from monolip.nn.constrained import ConstrainedLayer

from .attack import two_sided


def layers():
    torch.manual_seed(0)
    after = LipschitzMLP(4, 4, (4,), activation="householder")
    ordered = SlopeSet(SlopeBounds.from_monotonic_cst([1, 1, 0, 0], 2.0)).at_least(0, 1)
    return {
        **{f"linear {norm.name} {rule.name}": LipschitzLinear(4, 4, norm, rule=rule) for norm in Norm for rule in Rule},
        "linear step": LipschitzLinear(4, 4, Norm.LINF_TO_LINF, enforce="step"),
        "after householder": after.layers[2],
        "box": SlopeLinear(SlopeSet(two_sided(4)), 4),
        "slope set": SlopeLinear(ordered, 4),
        "mixing": MixingLinear(4, 4),
    }


WRITES = {
    "in-place": lambda w: w.mul_(-0.5),
    "one entry": lambda w: w.__setitem__((1, 2), 0.123),
    ".data in-place": lambda w: w.data.mul_(-0.5),
    ".data of one entry": lambda w: w.data.view(-1)[5].fill_(0.123),
    ".data assignment": lambda w: setattr(w, "data", w.data.flip(0).clone()),
    ".data assignment of a view": lambda w: setattr(w, "data", w.data.t()),
    "swap through .data": lambda w: w.data.copy_(w.data[:, [1, 0, 2, 3]].clone()),
    "numpy": lambda w: w.detach().numpy().__setitem__((1, 2), 0.123),
    "dlpack": lambda w: torch.from_dlpack(w.detach())[1].fill_(0.123),
    "storage": lambda w: w.untyped_storage().copy_(torch.rand(16).untyped_storage()),
    "copy_": lambda w: w.copy_(torch.rand(4, 4)),
    "foreach": lambda w: torch._foreach_mul_([w], -0.5),
    "init": lambda w: nn.init.uniform_(w),
    "last bit": lambda w: w.data[0, 0].copy_(torch.nextafter(w.data[0, 0], torch.tensor(9.0))),
}


def fresh(layer, x):
    """What the layer gives without any cache."""
    layer.train()
    y = layer(x).detach()
    layer.eval()
    return y


@pytest.mark.parametrize("kind", layers())
def test_the_cache_is_used_and_gives_the_same_numbers(kind, monkeypatch):
    layer, x = layers()[kind].eval(), torch.randn(3, 4)
    expected = fresh(layer, x)
    with torch.no_grad():
        first = layer(x)
        monkeypatch.setattr(type(layer), "constrain", lambda self, weight: pytest.fail("computed again"))
        second = layer(x)
    assert torch.equal(first, expected)
    assert torch.equal(second, expected)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("kind", layers())
@torch.no_grad()
def test_every_write_is_seen_at_once(kind, write):
    layer, x = layers()[kind].eval(), torch.randn(3, 4)
    layer.weight.mul_(0.5)
    layer(x)
    WRITES[write](layer.weight)
    seen = layer(x)
    assert torch.equal(seen, fresh(layer, x))


@pytest.mark.parametrize("write", ["numpy", ".data of one entry", "swap through .data", "last bit"])
@torch.no_grad()
def test_writes_through_aliases_that_were_taken_before_the_cache_was_filled_are_seen(write):
    layer, x = LipschitzLinear(4, 4, Norm.LINF_TO_LINF).eval(), torch.randn(3, 4)
    data, array, state = layer.weight.data, layer.weight.detach().numpy(), layer.state_dict()
    for k in range(3):
        layer(x)
        data[1, 2] = 0.1 + k
        assert torch.equal(layer(x), fresh(layer, x))
        array[2, 1] = -0.3 - k
        assert torch.equal(layer(x), fresh(layer, x))
        state["weight"][0, 0] = 0.2 + k
        assert torch.equal(layer(x), fresh(layer, x))
        WRITES[write](layer.weight)
        assert torch.equal(layer(x), fresh(layer, x))


@pytest.mark.parametrize("memory", ["shared", "numpy"])
@torch.no_grad()
def test_memory_torch_does_not_own_is_compared_byte_by_byte(memory):
    layer, x = LipschitzLinear(4, 4, Norm.LINF_TO_LINF).eval(), torch.randn(3, 4)
    if memory == "shared":
        layer.share_memory()
        alias = layer.weight.data
    else:
        array = np.eye(4, dtype=np.float32)
        layer.weight.data = alias = torch.from_numpy(array)
    for k in range(3):
        before = layer(x)
        assert torch.equal(layer(x), before)
        alias[0, 1] = 0.25 * (k + 1)
        assert not torch.equal(layer(x), before)
        assert torch.equal(layer(x), fresh(layer, x))
    if memory == "shared":
        assert layer.weight.is_shared()


@torch.no_grad()
def test_one_small_write_into_a_large_weight_is_seen():
    layer, x = LipschitzLinear(512, 512, Norm.LINF_TO_LINF).eval(), torch.zeros(1, 512)
    x[0, 77] = 1.0
    layer.weight.data.mul_(0.1)
    layer(x)
    layer.weight.data[3, 77] += 1e-7  # neither a sample nor a float32 sum would notice
    layer.weight.data[3, 78] -= 1e-7
    assert torch.equal(layer(x), fresh(layer, x))


def step(model, optimizer):
    model.train()
    optimizer.zero_grad()
    model(torch.randn(8, 4)).sum().backward()
    optimizer.step()
    model.eval()


CHANGES = {
    "optimiser": lambda m: step(m, torch.optim.SGD(m.parameters(), 0.1)),
    "fused optimiser": lambda m: step(m, torch.optim.Adam(m.parameters(), 0.1, fused=True)),
    "load_state_dict": lambda m: m.load_state_dict(LipschitzMLP(4, 4, (4,), activation="householder").state_dict()),
    "load assign": lambda m: m.load_state_dict(
        LipschitzMLP(4, 4, (4,), activation="householder").state_dict(), assign=True
    ),
    "to float64 and back": lambda m: m.double().float(),
    "new parameter": lambda m: setattr(m.layers[0], "weight", nn.Parameter(torch.rand(4, 4))),
    "directions": lambda m: m.layers[1].directions.data.copy_(torch.randn(2, 2)),
    "directions of numpy": lambda m: m.layers[1].directions.detach().numpy().__setitem__((0, 0), 0.3),
    "bias": lambda m: m.layers[0].bias.data.normal_(),
    "reset": lambda m: m.reset_parameters(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_network_is_seen_at_once(change):
    torch.manual_seed(1)
    model, x = LipschitzMLP(4, 4, (4,), activation="householder").eval(), torch.randn(5, 4)
    with torch.no_grad():
        before = model(x)
        model(x)
    CHANGES[change](model)
    with torch.no_grad():
        seen = model(x)
        assert torch.equal(seen, fresh(model, x))
        if change != "to float64 and back":
            assert not torch.equal(seen, before)


def test_moving_to_float64_computes_in_float64():
    model, x = LipschitzMLP(4).eval(), torch.randn(5, 4)
    with torch.no_grad():
        model(x)
        model.double()
        assert model(x).dtype == torch.float64


def test_parameters_can_be_differentiated_in_eval_mode():
    model, x = LipschitzMLP(4).eval(), torch.randn(5, 4)
    with torch.no_grad():
        model(x)
    model(x).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_inference_mode_then_normal_mode_and_gradients_to_inputs_through_a_frozen_model():
    model, x = LipschitzMLP(4).eval().requires_grad_(False), torch.randn(5, 4)
    with torch.inference_mode():
        inside = model(x)
    leaf = x.clone().requires_grad_()
    outside = model(leaf)
    assert torch.equal(outside.detach(), inside)
    outside.sum().backward()
    assert leaf.grad is not None
    assert not any(m._cache[1].is_inference() for m in model.modules() if isinstance(m, ConstrainedLayer))


def test_parameters_made_in_inference_mode_are_not_cached():
    with torch.inference_mode():
        model, x = LipschitzMLP(4).eval(), torch.randn(5, 4)
        model(x)
        model.layers[0].weight.mul_(0.1)
        assert torch.equal(model(x), fresh(model, x))


def test_a_copy_of_a_cached_model_is_independent_of_the_original():
    model, x = ConvexMLP(two_sided(4)).eval(), torch.randn(5, 4)
    with torch.no_grad():
        before = model(x)
        twin = copy.deepcopy(model)
        for parameter in model.parameters():
            parameter.data.add_(torch.rand_like(parameter))
        assert torch.equal(twin(x), before)
        assert not torch.equal(model(x), before)
        shallow = copy.copy(model)
        assert torch.equal(shallow(x), model(x))


def test_writing_into_the_effective_weight_changes_no_layer():
    layer, x = LipschitzLinear(4, 4, Norm.LINF_TO_LINF).eval(), torch.randn(3, 4)
    with torch.no_grad():
        before = layer(x)
        layer.effective_weight.mul_(100.0)
        layer.effective_weight.data.fill_(7.0)
        assert torch.equal(layer(x), before)


def test_transforms_neither_see_nor_fill_the_cache():
    model, x = LipschitzMLP(4).eval().requires_grad_(False), torch.randn(5, 4)
    expected = fresh(model, x)
    slopes = torch.func.vmap(torch.func.jacrev(model))(x)  # fills nothing that outlives the transform
    assert torch.equal(model(x), expected)
    assert torch.allclose(torch.func.vmap(torch.func.jacrev(model))(x), slopes)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    gradient = torch.func.grad(lambda p: functional_call(model, p, (x,)).sum())(parameters)
    assert float(gradient["layers.0.weight"].abs().sum()) > 0
    stacked = {name: torch.stack([p, 2 * p]) for name, p in parameters.items()}
    both = torch.func.vmap(lambda p: functional_call(model, p, (x,)))(stacked)
    assert torch.allclose(both[0], expected, atol=1e-6)


def test_functional_call_with_other_parameters_is_not_answered_from_the_cache():
    model, x = LipschitzMLP(4).eval(), torch.randn(5, 4)
    with torch.no_grad():
        own = model(x)
        others = {name: 0.3 * p.detach() for name, p in model.named_parameters()}
        called = functional_call(model, others, (x,))
        assert not torch.equal(called, own)
        assert torch.equal(model(x), own)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_forward_mode_derivatives_of_parameters_are_not_lost():
    layer, x = LipschitzLinear(4, 4, Norm.LINF_TO_LINF, gradient="exact").eval(), torch.randn(3, 4)
    layer.requires_grad_(False)
    layer.weight.data.mul_(0.1)
    layer(x)
    tangent = torch.randn(4, 4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(layer.weight.detach(), tangent)
        result = forward_ad.unpack_dual(functional_call(layer, {"weight": dual}, (x,)))
    assert result.tangent is not None
    assert torch.allclose(result.tangent, x @ tangent.T, atol=1e-5)
    assert torch.equal(layer(x), fresh(layer, x))


def test_without_lazy_clones_the_bytes_decide(monkeypatch):
    monkeypatch.setattr(snapshots, "_address", None)
    with torch.no_grad():
        layer, x = LipschitzLinear(4, 4, Norm.LINF_TO_LINF).eval(), torch.randn(3, 4)
        layer(x)
        for write in WRITES.values():
            write(layer.weight)
            assert torch.equal(layer(x), fresh(layer, x))


@torch.no_grad()
def test_convolutions_are_cached_and_never_stale():
    g = LipschitzSequential(LipschitzConv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), LipschitzLinear(8, 1, Norm.LINF_TO_LINF))
    x = torch.randn(2, 1, 4, 4)
    g.eval()
    before = g.layers[0](x)
    g(x)
    g.layers[0].weight.data[0, 0, 1, 1] += 0.5
    assert not torch.equal(g.layers[0](x), before)
    assert torch.equal(g(x), fresh(g, x))


def test_a_cached_model_trains_on_and_its_optimiser_state_stays_attached():
    torch.manual_seed(2)
    model = LipschitzMLP(4)
    twin = copy.deepcopy(model)
    x = torch.randn(16, 4)
    for m, cached in ((model, True), (twin, False)):
        optimizer = torch.optim.Adam(m.parameters(), 1e-2)
        for _ in range(5):
            if cached:
                m.eval()
                with torch.no_grad():
                    m(x)
                m.train()
            optimizer.zero_grad()
            m(x).square().mean().backward()
            optimizer.step()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(a, b)
