"""Every scheme of section 3.2 keeps its slope interval at saturated weights, by autograd and in exact arithmetic."""

from __future__ import annotations

from itertools import cycle, product

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from monolip import Norm, Rule, norms
from monolip.nn import LipschitzMLP, SlopeBounded
from monolip.nn.normalise import normalise, project_l1_ball, sizes

from ..nn.attack import ROUNDING, jacobian, saturate_, slack, two_sided

SCHEMES = {"one-inf": None, "L1": Norm.L1_TO_L1, "Linf": Norm.LINF_TO_LINF, "L2": Norm.L2_TO_LINF}
ACTIVATIONS = ("groupsort", "householder", "relu")
DTYPES = (torch.float32, torch.float64)
GROUPS = (2, 3, 4, None)


def keeps_its_promise(model, dtype):
    """Slopes by autograd, then the frozen network: proved exactly on construction, and the same function."""
    x = 2 * torch.randn(64, model.in_features, dtype=dtype)
    assert model.slopes.contains(jacobian(model, x), atol=slack(model.slopes, dtype))
    frozen = model.freeze()
    y = model(x).detach().double().numpy()
    assert np.abs(frozen.evaluate(x) - y).max() <= (1e-12 if dtype == torch.float64 else 1e-4) * (1 + np.abs(y).max())
    return frozen


def pruned_product():
    """All schemes x rules x per_vector x budgets x activations x dtypes; depth, width and group size take turns."""
    depth, group, width = cycle(range(1, 9)), cycle(GROUPS), cycle((12, 24, 12))
    settings = product(SCHEMES, Rule, (True, False), ("input", "layers"), ACTIVATIONS, DTYPES)
    for scheme, rule, per_vector, budget, activation, dtype in settings:
        if rule is Rule.PROJECT and (activation == "householder" or not per_vector):
            continue  # refused, and without a meaning: see tests/nn/test_misuse.py
        yield scheme, rule, per_vector, budget, activation, dtype, next(depth), next(width), next(group)


@pytest.mark.parametrize(
    ("scheme", "rule", "per_vector", "budget", "activation", "dtype", "depth", "width", "group"), [*pruned_product()]
)
def test_slopes_stay_in_their_interval_at_saturated_weights(
    scheme, rule, per_vector, budget, activation, dtype, depth, width, group
):
    torch.manual_seed(depth * 100 + width)
    model = SlopeBounded.mlp(
        two_sided(),
        hidden=(width,) * (depth - 1),
        bound=5.0,
        norms=SCHEMES[scheme],
        rule=rule,
        per_vector=per_vector,
        budget=budget,
        activation=activation,
        group_size=group,
        dtype=dtype,
    )
    keeps_its_promise(saturate_(model), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("activation", ["groupsort", "householder"])
@pytest.mark.parametrize("depth", range(1, 9))
def test_the_default_scheme_keeps_its_interval_at_every_depth_group_size_and_random_rows(
    depth, activation, group, dtype
):
    torch.manual_seed(depth)
    hidden = (12, 24, 12, 12, 24, 12, 12)[: depth - 1]
    model = SlopeBounded.mlp(two_sided(4), 2, hidden, activation=activation, group_size=group, dtype=dtype)
    with torch.no_grad():
        for parameter in model.parameters():  # rows of mixed signs instead of near-permutations
            parameter.normal_(0.0, 1e3 if parameter.ndim == 2 else 1.0)
    keeps_its_promise(model, dtype)


@pytest.mark.parametrize("activation", ["groupsort", "householder"])
def test_the_whole_interval_is_used_so_that_the_contract_is_not_vacuous(activation):
    torch.manual_seed(0)
    slopes = two_sided()
    model = SlopeBounded.mlp(slopes, 24, hidden=(24, 24), activation=activation, dtype=torch.float64)
    with torch.no_grad():
        for layer in model.trunks[0].constrained_layers():  # hand every sorted unit on to an output of its own
            layer.weight.copy_(1e3 * torch.eye(*layer.weight.shape))
        model.trunks[0].layers[0].weight.copy_(1e3 * torch.randn(24, 3))
        model.trunks[0].layers[0].bias.normal_()
    found = jacobian(model, 3 * torch.randn(500, 3, dtype=torch.float64)).flatten(0, 1)
    assert np.allclose(found.amin(0), slopes.lower, atol=1e-9)
    assert np.allclose(found.amax(0), slopes.upper, atol=1e-9)


@pytest.mark.parametrize("norms", [(Norm.L1_TO_L1, Norm.L2_TO_LINF, Norm.LINF_TO_LINF), (Norm.L1_TO_L1,) * 3])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_mixed_chains_keep_their_interval(norms, activation):
    torch.manual_seed(1)
    model = SlopeBounded.mlp(two_sided(), hidden=(8, 8), norms=norms, activation=activation, dtype=torch.float64)
    keeps_its_promise(saturate_(model), torch.float64)


@pytest.mark.parametrize("budget", ["input", "layers"])
@pytest.mark.parametrize("bound", [0.01, 1.0, 100.0])
def test_a_frozen_lipschitz_network_without_residual_is_the_same_function(bound, budget):
    torch.manual_seed(2)
    model = saturate_(LipschitzMLP(3, 2, (8, 8), bound=bound, budget=budget, dtype=torch.float64))
    x = torch.randn(50, 3, dtype=torch.float64)
    y = model(x).detach().numpy()
    frozen = model.freeze()
    assert np.abs(frozen.evaluate(x) - y).max() <= 1e-12 * np.abs(y).max()
    assert frozen.slopes.upper == pytest.approx([bound] * 3, rel=1e-12)
    assert frozen.is_convex


def test_freezing_gives_convex_form_where_it_exists_and_paper_form_elsewhere():
    for scheme, activation, convex in (
        (None, "groupsort", True), (Norm.LINF_TO_LINF, "groupsort", True), (Norm.L2_TO_LINF, "groupsort", True),
        (Norm.L1_TO_L1, "groupsort", False), (None, "householder", False), (None, "relu", False),
    ):  # fmt: skip
        model = SlopeBounded.mlp(two_sided(), hidden=(4, 4), norms=scheme, activation=activation)
        assert model.freeze().is_convex is convex, (scheme, activation)


def weights_of_every_kind(norm):
    """Feasible, infeasible, saturated and zero vectors in one matrix, whichever way vectors run."""
    rng = np.random.default_rng(7)
    weight = rng.normal(size=(6, 6))
    weight[1] *= 1e3
    weight[2] *= 1e-3
    weight[3] = 0.0
    weight[:, 4] = 0.0
    weight[4, 1] = 1e6
    return weight


@pytest.mark.parametrize("per_vector", [True, False])
@pytest.mark.parametrize("bound", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("norm", Norm)
def test_torch_normalisation_equals_the_numpy_reference(norm, rule, bound, per_vector):
    weight = weights_of_every_kind(norm)
    for straight_through in (True, False):
        ours = normalise(
            torch.tensor(weight), norm, bound, rule=rule, per_vector=per_vector, straight_through=straight_through
        )
        assert_close(
            ours.numpy(), norms.normalise(weight, norm, bound, rule=rule, per_vector=per_vector), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 3e-23, 1.0, 1e8, 1e19, 1e38])
@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("norm", Norm)
def test_effective_weights_are_feasible_and_finite_at_any_magnitude_float32_can_hold(norm, rule, scale):
    torch.manual_seed(3)
    weight = (torch.rand(5, 64) * 2 - 1) * scale
    effective = normalise(weight, norm, 1.0, rule=rule)
    assert torch.isfinite(effective).all()
    assert norm.of(effective) <= 1 + ROUNDING[torch.float32]


@pytest.mark.parametrize("norm", [Norm.LINF_TO_LINF, Norm.L1_TO_L1])
def test_the_l1_projection_keeps_the_ball_where_long_rows_cancel(norm):
    weight = 1e6 + torch.rand(40, 40)
    assert norm.of(normalise(weight, norm, rule=Rule.PROJECT)) <= 1 + ROUNDING[torch.float32]


def test_the_projection_is_the_nearest_point_of_the_ball():
    torch.manual_seed(4)
    rows = 3 * torch.randn(20, 6, dtype=torch.float64)
    nearest = project_l1_ball(rows)
    for _ in range(200):
        other = project_l1_ball(torch.randn(20, 6, dtype=torch.float64))
        assert ((rows - nearest).norm(dim=1) <= (rows - other).norm(dim=1) + 1e-12).all()


@pytest.mark.parametrize("norm", [Norm.L1_TO_L1, Norm.L1_TO_LINF, Norm.LINF_TO_LINF])
def test_the_norm_after_a_reflection_covers_every_pattern_of_passed_and_reflected_groups(norm):
    torch.manual_seed(5)
    weight, v = torch.randn(3, 6, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    effective = normalise(weight, norm, directions=v)
    largest = 0.0
    for pattern in product((False, True), repeat=2):
        blocks = [
            torch.eye(3, dtype=v.dtype) - 2 * torch.outer(u, u) / u.dot(u) * turned
            for u, turned in zip(v, pattern, strict=True)
        ]
        largest = max(largest, norm.of(effective @ torch.block_diag(*blocks)))
    assert largest <= 1 + 1e-12
    assert norm.of(effective) <= 1 + 1e-12
    assert sizes(weight, norm, v).shape in [(3, 1), (1, 6), (3, 6)]
