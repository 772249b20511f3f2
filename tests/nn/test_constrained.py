"""A checkpoint made under another promise is an error, not a silent change of promise."""

from __future__ import annotations

import pytest
import torch

from monolip import Norm, Rule, SlopeBounds, SlopeSet
from monolip.errors import CheckpointError
from monolip.nn import (
    ConvexMLP,
    GroupSort,
    LipschitzConv2d,
    LipschitzLinear,
    LipschitzMLP,
    LipschitzSequential,
    SlopeBounded,
    WithFreeBranch,
)

from .attack import two_sided

BOX = SlopeBounds.from_monotonic_cst([1, 1], 1.0)


def named(*names):
    return SlopeBounds.from_monotonic_cst([1, 1], 1.0, feature_names=names)


def pair(between):
    return LipschitzLinear(2, 4, Norm.L1_TO_LINF), between, LipschitzLinear(4, 1, Norm.LINF_TO_LINF)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("saved", "model", "names"),
    [
        (lambda: LipschitzMLP(2, bound=1.0), lambda: LipschitzMLP(2, bound=5.0), "bound: checkpoint 1.0, model 5.0"),
        (
            lambda: LipschitzMLP(2, bound=5.0),
            lambda: LipschitzMLP(2, bound=5.0, budget="layers"),
            "budget: checkpoint 'input', model 'layers'",
        ),
        (lambda: LipschitzMLP(2), lambda: LipschitzMLP(2, norms=Norm.L1_TO_L1), "norms: checkpoint"),
        (lambda: LipschitzMLP(2), lambda: LipschitzMLP(2, rule=Rule.ALWAYS), "rule: checkpoint 'CAP', model 'ALWAYS'"),
        (lambda: LipschitzMLP(2), lambda: LipschitzMLP(2, per_vector=False), "per_vector"),
        (
            lambda: LipschitzLinear(2, 2, Norm.L1_TO_LINF),
            lambda: LipschitzLinear(2, 2, Norm.LINF_TO_LINF),
            "norm: checkpoint 'L1_TO_LINF', model 'LINF_TO_LINF'",
        ),
        (lambda: LipschitzConv2d(1, 1, 3), lambda: LipschitzConv2d(1, 1, 3, bound=2.0), "bound"),
        (
            lambda: SlopeBounded.mlp(two_sided(2, 1.0)),
            lambda: SlopeBounded.mlp(two_sided(2, 5.0)),
            "build the model with the checkpoint's arguments",
        ),
        (lambda: ConvexMLP(two_sided(2, 1.0)), lambda: ConvexMLP(two_sided(2, 5.0)), "lower: .* upper:"),
        (lambda: ConvexMLP(BOX), lambda: ConvexMLP(SlopeSet(BOX).at_least(0, 1)), "limits: .*, matrix:"),
        (lambda: ConvexMLP(SlopeSet(BOX).in_l2_ball(1.0)), lambda: ConvexMLP(BOX), "l2_radius"),
        (lambda: LipschitzMLP(2, group_size=2), lambda: LipschitzMLP(2, group_size=4), "activations: .*group_size=4"),
        (
            lambda: LipschitzMLP(2),
            lambda: LipschitzMLP(2, activation="relu"),
            "activations: checkpoint .* model .*ReLU",
        ),
        (
            lambda: LipschitzMLP(2, activation="householder"),
            lambda: LipschitzMLP(2, activation="householder", group_size=4),
            "activations",
        ),
        (
            lambda: LipschitzSequential(*pair(GroupSort(2))),
            lambda: LipschitzSequential(*pair(GroupSort(4))),
            "GroupSort",
        ),
        (lambda: ConvexMLP(BOX, group_size=2), lambda: ConvexMLP(BOX, group_size=4), "group_sizes: checkpoint"),
        (lambda: ConvexMLP(named("a", "b")), lambda: ConvexMLP(named("b", "a")), "feature_names: checkpoint"),
        (lambda: SlopeBounded.mlp(named("a", "b")), lambda: SlopeBounded.mlp(named("b", "a")), "feature_names"),
        (
            lambda: WithFreeBranch(ConvexMLP(two_sided(2, 1.0)), torch.nn.Linear(3, 1), 1),
            lambda: WithFreeBranch(ConvexMLP(two_sided(2, 2.0)), torch.nn.Linear(3, 1), 1),
            "'network' differs",
        ),
    ],
)
def test_a_checkpoint_of_another_promise_is_an_error_and_changes_nothing(saved, model, names, strict):
    state, target = saved().state_dict(), model()
    before = {name: parameter.clone() for name, parameter in target.named_parameters()}
    with pytest.raises(CheckpointError, match=names):
        target.load_state_dict(state, strict=strict)
    assert all(torch.equal(parameter, before[name]) for name, parameter in target.named_parameters())


def test_a_layer_that_is_refused_leaves_the_layers_before_it_as_they_were():
    saved, target = LipschitzMLP(2), LipschitzMLP(2)
    state = saved.state_dict()
    state["layers.4._extra_state"] = LipschitzLinear(2, 2, Norm.L1_TO_L1).get_extra_state()
    before = [parameter.clone() for parameter in target.parameters()]
    with pytest.raises(CheckpointError, match=r"'layers\.4' differs"):
        target.load_state_dict(state)
    assert all(map(torch.equal, target.parameters(), before))


@pytest.mark.parametrize("strict", [True, False])
def test_a_checkpoint_without_its_promise_is_an_error(strict):
    model = SlopeBounded.mlp(two_sided())
    for missing in [key for key in model.state_dict() if key.endswith("_extra_state")]:
        state = model.state_dict()
        del state[missing]
        with pytest.raises(CheckpointError, match="must carry the promise it was trained under"):
            model.load_state_dict(state, strict=strict)
    with pytest.raises(CheckpointError, match="must carry the promise"):
        model.load_state_dict({}, strict=strict)


@pytest.mark.parametrize(
    "record", [torch.tensor([1, 2, 255], dtype=torch.uint8), torch.tensor(list(b"[1]"), dtype=torch.uint8), "text", 3]
)
def test_a_damaged_record_is_an_error_that_says_so(record):
    model = LipschitzMLP(2)
    state = model.state_dict()
    state["_extra_state"] = record
    with pytest.raises(CheckpointError, match="record of the whole model cannot be read"):
        model.load_state_dict(state)


def test_a_checkpoint_of_the_same_promise_loads_whatever_the_training_options_were():
    torch.manual_seed(0)
    made = LipschitzMLP(3, gradient="exact")
    other = LipschitzMLP(3, enforce="step")
    other.load_state_dict(made.state_dict())
    x = torch.randn(20, 3)
    assert torch.allclose(other(x), made(x), atol=1e-6)


def test_missing_weights_are_still_reported_by_torch():
    model = LipschitzMLP(2)
    state = model.state_dict()
    del state["layers.0.weight"]
    with pytest.raises(RuntimeError, match=r"layers\.0\.weight"):
        model.load_state_dict(state)
