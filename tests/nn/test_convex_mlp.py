"""ConvexMLP: gradients are convex combinations of first-layer rows, so they never leave the promised set."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from monolip import Norm, SlopeBounds, SlopeSet
from monolip.errors import FreezeError, SlopeError, StructureError
from monolip.nn import ConvexMLP, SlopeBounded, init

from .attack import jacobian, saturate_, slack, two_sided

DTYPES = (torch.float32, torch.float64)


def agrees_with_frozen(model, x):
    y = model(x).detach().double().numpy()
    rounding = 1e-12 if x.dtype == torch.float64 else 1e-4
    return np.abs(model.freeze().evaluate(x) - y).max() <= rounding * (1 + np.abs(y).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("group", [2, 3, 4, None])
@pytest.mark.parametrize("depth", range(1, 9))
def test_slopes_stay_in_their_interval_at_saturated_weights(depth, group, dtype):
    torch.manual_seed(depth)
    slopes = two_sided(4)
    model = ConvexMLP(slopes, 2, (12, 24, 12, 12, 24, 12, 12)[:depth], group_size=group, dtype=dtype)
    x = 3 * torch.randn(100, 4, dtype=dtype)
    for scale in (1.0, 1e3):
        saturate_(model, scale)
        assert slopes.contains(jacobian(model, x), atol=slack(slopes, dtype))
        assert agrees_with_frozen(model, x)
        assert model.freeze().is_convex


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shared", [True, False])
def test_every_output_keeps_its_own_intervals_with_shared_and_separate_trunks(shared, dtype):
    torch.manual_seed(0)
    base = two_sided(3)
    factors = np.array([1.0, 0.1, 3.0, 1.0 / 3.0])
    lower, upper = base.lower[:, None] * factors, base.upper[:, None] * factors
    if not shared:
        lower[0, 1], upper[1, 2] = -1.0, 5.0
    slopes = SlopeBounds(lower, upper)
    model = ConvexMLP(slopes, 4, (12, 12), dtype=dtype)
    assert len(model.trunks) == (1 if shared else 3)
    x = torch.randn(100, 3, dtype=dtype)
    for scale in (1.0, 1e3):
        saturate_(model, scale)
        assert slopes.contains(jacobian(model, x), atol=slack(slopes, dtype))
        assert agrees_with_frozen(model, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "promise",
    [
        SlopeSet(SlopeBounds.from_monotonic_cst([1, 1, 0], 2.0)).at_least(0, 1),
        SlopeSet(SlopeBounds.from_monotonic_cst([1, 1, 0], 2.0)).at_least(0, 1).at_least(1, 2).in_l2_ball(1.5),
        SlopeSet(SlopeBounds.from_monotonic_cst([0, 0, 0], 2.0)).in_l2_ball(1.0),
        SlopeSet(SlopeBounds.from_monotonic_cst([1, 0, 0], 2.0)).at_most({0: 1.0, 1: 2.0, 2: -1.0}, 0.5),
    ],
)
def test_jacobians_stay_in_a_slope_set(promise, dtype):
    torch.manual_seed(0)
    model = ConvexMLP(promise, 2, (12, 12), dtype=dtype)
    x = torch.randn(200, 3, dtype=dtype)
    for scale in (1.0, 1e3):
        saturate_(model, scale)
        found = jacobian(model, x)
        assert promise.contains(found.double().numpy(), atol=3 * slack(promise.bounds, dtype))
        y = model(x).detach().double().numpy()
        frozen = model.freeze()
        assert promise.contains_exactly(frozen.members[0][0].form.weights[0])
        rounding = 1e-12 if dtype == torch.float64 else 1e-4
        assert np.abs(frozen.evaluate(x) - y).max() <= rounding * (1 + np.abs(y).max())


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_gradients_lie_in_the_convex_hull_of_first_layer_rows(depth):
    torch.manual_seed(depth)
    model = ConvexMLP(two_sided(3), 2, (6,) * depth, group_size=3, dtype=torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 2.0)
    rows = model.trunks[0].first.effective_weight.detach().numpy()
    equations = np.vstack([rows.T, np.ones(len(rows))])
    for gradient in jacobian(model, torch.randn(10, 3, dtype=torch.float64)).flatten(0, 1).numpy():
        found = linprog(np.zeros(len(rows)), A_eq=equations, b_eq=np.append(gradient, 1.0), bounds=(0, None))
        assert found.status == 0, "no mixture of rows gives this gradient"
    outside = rows.max(0) + 0.1
    assert linprog(np.zeros(len(rows)), A_eq=equations, b_eq=np.append(outside, 1.0), bounds=(0, None)).status == 2


def fit(model, x, y, steps=150, rate=0.05):
    optimizer = torch.optim.Adam(model.parameters(), rate)
    for _ in range(steps):
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()
    return model


@pytest.mark.parametrize("form", ["convex", "paper", "paper, householder", "paper, L1", "paper, step"])
def test_a_network_forced_to_fit_a_decreasing_target_ends_flat_never_below_its_interval(form):
    torch.manual_seed(0)
    slopes = SlopeBounds([0.0, -2.0], [2.0, 2.0])
    options = {
        "paper, householder": {"activation": "householder"},
        "paper, L1": {"norms": Norm.L1_TO_L1},
        "paper, step": {"enforce": "step"},
    }
    if form == "convex":
        model = ConvexMLP(slopes, hidden=(16, 16))
    else:
        model = SlopeBounded.mlp(slopes, hidden=(16, 16), **options.get(form, {}))
    x = torch.randn(400, 2)
    target = -x[:, :1] + x[:, 1:].sin()
    fit(model, x, target, steps=400, rate=0.03)
    found = jacobian(model, x)
    assert slopes.contains(found, atol=slack(slopes, torch.float32))
    if form != "paper, L1":
        assert float(found[:, 0, 0].mean()) < 0.15, "flat"
    frozen = model.freeze()
    assert slopes.contains(np.array(frozen.slope_range))


def test_init_is_steep_only_as_far_as_asked_and_the_lattice_keeps_the_promise():
    torch.manual_seed(0)
    slopes = two_sided(2, 50.0)
    model = ConvexMLP(slopes, hidden=(16, 16), initial_slope=1.0)
    x = torch.randn(100, 2)
    assert jacobian(model, x).abs().max() <= 1 + 1e-5
    init.lattice_(model, x)
    assert slopes.contains(jacobian(model, x), atol=slack(slopes, torch.float32))


def test_a_fixed_slope_is_kept_and_a_flat_feature_has_no_influence():
    torch.manual_seed(0)
    slopes = SlopeBounds([0.1, 0.0, -1.0], [0.1, 0.0, 1.0])
    for model in (ConvexMLP(slopes, hidden=(8,)), SlopeBounded.mlp(slopes, hidden=(8,))):
        saturate_(model)
        found = jacobian(model, torch.randn(50, 3))
        assert torch.allclose(found[..., 0], torch.tensor(0.1), atol=1e-6)
        assert (found[..., 1].abs() < 1e-7).all()
        assert slopes.contains(np.array(model.freeze().slope_range))


def test_what_is_no_promise_is_refused():
    with pytest.raises(SlopeError, match="slopes must be SlopeBounds or a SlopeSet"):
        ConvexMLP([1, 0, -1])
    with pytest.raises(StructureError, match="got 2 for 3 outputs"):
        ConvexMLP(SlopeBounds(np.zeros((3, 2)), np.ones((3, 2))), 3)
    with pytest.raises(StructureError, match="choose a divisor of 9"):
        ConvexMLP(two_sided(), hidden=(8, 9))
    with pytest.raises(StructureError, match="gradient must be"):
        ConvexMLP(two_sided(), gradient="none")


def test_parameters_that_are_not_finite_cannot_be_frozen():
    for model in (ConvexMLP(two_sided(), hidden=(4,)), SlopeBounded.mlp(two_sided(), hidden=(4,))):
        next(model.parameters()).data.view(-1)[0] = torch.nan
        with pytest.raises(FreezeError, match="parameters must be finite"):
            model.freeze()
