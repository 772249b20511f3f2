"""Constants of a promise are computed from it after every move and load; they are never rounded out or left empty."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch

from monolip import SlopeBounds, SlopeSet
from monolip.nn import ConvexMLP, LipschitzMLP, SlopeBounded, SlopeLinear, WithFreeBranch

from .attack import jacobian, saturate_, two_sided

ORDERED = SlopeSet(SlopeBounds.from_monotonic_cst([1, 1], 2.0)).at_least(0, 1).in_l2_ball(1.5)
COLUMNS = SlopeBounds(np.zeros((2, 3)), np.array([[0.1, 0.3, 1.0], [0.2, 0.6, 1.0]]))
MODELS = {
    "convex": lambda: ConvexMLP(two_sided(2), hidden=(8, 8)),
    "convex columns": lambda: ConvexMLP(COLUMNS, 3, hidden=(8,)),
    "convex set": lambda: ConvexMLP(ORDERED, hidden=(8,)),
    "paper": lambda: SlopeBounded.mlp(two_sided(2), hidden=(8,)),
    "paper columns": lambda: SlopeBounded.mlp(COLUMNS, 3, hidden=(8,)),
    "branch": lambda: WithFreeBranch(ConvexMLP(two_sided(2), hidden=(8,)), torch.nn.Linear(2, 1), 1),
}


def call(model, x):
    return model(x[:, :1], x) if isinstance(model, WithFreeBranch) else model(x)


def buffers(model):
    return {name: value for name, value in model.named_buffers() if not value.is_meta}


@pytest.mark.parametrize("way", ["to_empty", "assign", "to_empty, nothing loaded"])
@pytest.mark.parametrize("kind", MODELS)
def test_a_model_from_the_meta_device_has_its_constants(kind, way):
    made, x = MODELS[kind](), torch.randn(50, 2)
    with torch.device("meta"):
        model = MODELS[kind]()
    assert all(tensor.is_meta for tensor in (*model.parameters(), *model.buffers()))
    if way != "assign":
        model.to_empty(device="cpu")
        for value in model.parameters():
            value.data.fill_(torch.nan)
    if way != "to_empty, nothing loaded":
        model.load_state_dict(made.state_dict(), assign=way == "assign")
        assert torch.equal(call(model, x), call(made, x))
    expected = buffers(made)
    assert buffers(model).keys() == expected.keys()
    assert all(torch.equal(value, expected[name]) for name, value in buffers(model).items())


def test_a_meta_model_stays_meta():
    with torch.device("meta"):
        model = ConvexMLP(ORDERED)
    assert all(tensor.is_meta for tensor in (*model.double().parameters(), *model.buffers()))
    assert model.to(torch.float32).trunks[0].first._matrix.dtype == torch.float64


@pytest.mark.parametrize("move", [lambda m: m.float(), lambda m: m.to(torch.float32), lambda m: m.float().double()])
def test_bounds_are_rounded_inwards_by_every_move(move):
    slopes = SlopeBounds([0.1, -1e39, 0.3], [0.7, 1e39, 1e39])
    layer = move(SlopeLinear(SlopeSet(slopes), 8, dtype=torch.float64))
    assert (layer._lower.double().numpy() >= slopes.lower).all()
    assert (layer._upper.double().numpy() <= slopes.upper).all()
    layer.weight.data.uniform_(-1e30, 1e30)
    assert slopes.contains(layer.effective_weight.detach().double().numpy())
    if layer.weight.dtype == torch.float64:
        assert np.array_equal(layer._upper.numpy(), slopes.upper), "nothing was lost on the way"


@pytest.mark.parametrize("kind", ["paper columns", "convex columns"])
def test_radii_and_factors_are_never_rounded_up(kind):
    wide, model = MODELS[kind]().double(), MODELS[kind]().double().float()
    for name, value in wide.named_buffers():
        if "center" not in name and "lower" not in name:
            assert (dict(model.named_buffers())[name].double() <= value).all(), name


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_rebuilds_its_own_constants(copied):
    model = MODELS["convex columns"]()
    twin = copied(model).double()
    assert twin.trunks[0].first._lower.dtype == torch.float64
    assert model.trunks[0].first._lower.dtype == torch.float32
    twin.load_state_dict(twin.state_dict())


def test_a_checkpoint_of_another_type_that_is_assigned_takes_the_constants_along():
    model = ConvexMLP(COLUMNS, 3)
    model.load_state_dict(ConvexMLP(COLUMNS, 3, dtype=torch.float64).state_dict(), assign=True)
    assert {tensor.dtype for tensor in (*model.parameters(), *model.buffers())} == {torch.float64}


@pytest.mark.parametrize(
    "promise",
    [
        SlopeSet(SlopeBounds([0.0, 0.0], [1.0, 1.0])).at_most({0: 1.0, 1: -1.0}, 1e-4).at_most({0: -1.0, 1: 1.0}, 0.0),
        SlopeSet(SlopeBounds([0.0, 0.0], [1.0, 1.0])).at_most({0: 1e39, 1: -1e39}, 0.0),
        SlopeSet(SlopeBounds([0.0, 0.0], [1.0, 1.0])).at_most({0: 1e-150, 1: -1e-150}, 0.0),
    ],
    ids=["thin", "1e39", "1e-150"],
)
def test_thin_sets_and_extreme_coefficients_are_kept_in_float32(promise):
    torch.manual_seed(0)
    model = saturate_(ConvexMLP(promise, hidden=(8,)))
    found = jacobian(model, torch.randn(50, 2)).double().numpy()
    assert np.isfinite(found).all()
    assert (found[..., 0] - found[..., 1]).max() <= 1e-6
    assert promise.bounds.contains(found, atol=1e-6)


def test_in_place_writes_to_a_constant_are_seen_and_the_next_move_repairs_them():
    layer, x = SlopeLinear(SlopeSet(two_sided(2)), 4).eval(), torch.randn(5, 2)
    with torch.no_grad():
        layer.weight.fill_(100.0)
        before = layer(x)
        layer._upper.mul_(0.5)
        assert not torch.equal(layer(x), before)
        assert torch.equal(layer.float()(x), before)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_slope_bounded_takes_the_type_of_the_first_floating_parameter(dtype):
    class Counted(LipschitzMLP):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self.bits = torch.nn.Parameter(torch.zeros(2, dtype=torch.int8), requires_grad=False)  # comes first

    assert SlopeBounded(Counted(2, dtype=torch.float64), two_sided(2))._center.dtype == torch.float64
    half = torch.nn.Linear(2, 1, dtype=dtype)
    half.lipschitz_bound, half.domain = 1.0, 1.0
    with pytest.raises(TypeError, match="float32 or float64"):
        SlopeBounded(half, two_sided(2))
    none = torch.nn.Identity()
    none.lipschitz_bound, none.domain, none.out_features = 1.0, 1.0, 1
    assert SlopeBounded(none, two_sided(2))._center.dtype == torch.float32
    assert SlopeBounded(none, two_sided(2)).double()._center.dtype == torch.float64
