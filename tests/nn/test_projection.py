"""enforce="step": stored weights are feasible whenever a step has returned, the last step included."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch

from monolip import Norm, Rule
from monolip.nn import Householder, LipschitzLinear, LipschitzMLP, project_

OPTIMISERS = {
    "SGD": lambda p: torch.optim.SGD(p, 5.0),
    "momentum": lambda p: torch.optim.SGD(p, 5.0, momentum=0.9, nesterov=True),
    "Adam": lambda p: torch.optim.Adam(p, 1.0),
    "fused Adam": lambda p: torch.optim.Adam(p, 1.0, fused=True),
    "AdamW": lambda p: torch.optim.AdamW(p, 1.0),
}


def network(norms=None, rule=Rule.CAP, **options):
    torch.manual_seed(0)
    return LipschitzMLP(3, 1, (6, 6), norms=norms, rule=rule, enforce="step", **options)


def is_feasible(model):
    """The stored weights themselves, read as they lie there; Householder counted where there is one."""
    return all(
        torch.allclose(layer.weight, layer.constrain(layer.weight), rtol=1e-5, atol=1e-6)
        and layer.norm.of(layer.weight.detach()) <= layer.bound * (1 + 1e-5)
        for layer in model.constrained_layers()
    )


def steps(model, optimizer, n=5):
    for _ in range(n):
        optimizer.zero_grad()
        (-model(torch.randn(16, 3))).sum().backward()
        optimizer.step()
        assert is_feasible(model)


@pytest.mark.parametrize("rule", [Rule.CAP, Rule.PROJECT, Rule.ALWAYS])
@pytest.mark.parametrize("norms", [None, Norm.L1_TO_L1, Norm.L2_TO_LINF, Norm.LINF_TO_LINF])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_weights_are_feasible_after_every_step(name, norms, rule):
    model = network(norms, rule)
    assert is_feasible(model)
    steps(model, OPTIMISERS[name](model.parameters()))


def test_with_forward_enforcement_the_same_steps_leave_the_ball():
    torch.manual_seed(0)
    model = LipschitzMLP(3, 1, (6, 6))
    optimizer = torch.optim.SGD(model.parameters(), 5.0)
    (-model(torch.randn(16, 3)).mean()).backward()
    optimizer.step()
    assert not is_feasible(model)


@pytest.mark.parametrize(
    "copied",
    [
        copy.deepcopy,
        lambda m: pickle.loads(pickle.dumps(m)),
        lambda m: torch.load(_saved(m), weights_only=False),
        lambda m: m.double().float(),
        lambda m: m.double(),
    ],
    ids=["deepcopy", "pickle", "torch.save", "to and back", "float64"],
)
def test_copies_are_followed_as_well(copied):
    model = network(activation="householder")
    optimizer = torch.optim.SGD(model.parameters(), 5.0)
    steps(model, optimizer, 2)
    twin = copied(model)
    assert is_feasible(twin)
    steps(twin, torch.optim.Adam(twin.parameters(), 1.0), 3)


def _saved(model):
    stream = io.BytesIO()
    torch.save(model, stream)
    stream.seek(0)
    return stream


def test_a_checkpoint_with_infeasible_weights_is_projected_when_loaded():
    made = LipschitzMLP(3, 1, (6, 6))
    for parameter in made.parameters():
        parameter.data.mul_(1e3)
    model = network()
    model.load_state_dict(made.state_dict())
    assert is_feasible(model)


def test_weights_written_by_hand_are_feasible_in_the_state_dict_and_after_project():
    model = network()
    with torch.no_grad():
        for layer in model.constrained_layers():
            layer.weight -= 100.0 * torch.randn_like(layer.weight)
    assert not is_feasible(model)
    state = model.state_dict()
    assert is_feasible(model)
    for k, layer in enumerate(model.constrained_layers()):
        assert layer.norm.of(state[f"layers.{2 * k}.weight"]) <= 1 + 1e-5
    model.layers[0].weight.data.fill_(9.0)
    project_(model)
    assert is_feasible(model)


def test_reading_a_state_dict_between_forward_and_backward_does_not_break_the_backward_pass():
    model = network()
    loss = model(torch.randn(4, 3)).sum()
    model.state_dict()
    loss.backward()


def test_two_models_with_one_optimiser_and_one_model_with_two_are_followed():
    first, second = network(), network(Norm.L1_TO_L1)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], 1.0)
    for _ in range(3):
        optimizer.zero_grad()
        (first(torch.randn(16, 3)) - second(torch.randn(16, 3))).sum().backward()
        optimizer.step()
        assert is_feasible(first)
        assert is_feasible(second)
    weights = [p for n, p in first.named_parameters() if n.endswith("weight")]
    biases = [p for n, p in first.named_parameters() if n.endswith("bias")]
    for optimizer in (torch.optim.SGD(weights, 5.0), torch.optim.SGD(biases, 5.0)):
        steps(first, optimizer, 2)


def test_a_step_on_householder_directions_alone_projects_the_layer_that_pays_for_them():
    model = network(activation="householder")
    directions = [m.directions for m in model.modules() if isinstance(m, Householder)]
    steps(model, torch.optim.SGD(directions, 5.0), 3)


def test_a_layer_that_nobody_needs_is_forgotten():
    import gc

    from monolip.nn.projection import _WATCHED

    gc.collect()
    before = len(_WATCHED)
    layer = LipschitzLinear(2, 2, Norm.L1_TO_LINF, enforce="step")
    assert len(_WATCHED) == before + 1
    del layer
    gc.collect()
    assert len(_WATCHED) == before


@pytest.mark.parametrize("name", ["own hook", "closure"])
def test_while_a_step_is_under_way_what_is_computed_with_is_feasible_and_afterwards_what_is_stored(name):
    model, x = network(), torch.randn(16, 3)
    seen = []

    def look(*args):
        seen.append(
            all(layer.norm.of(layer.effective_weight.detach()) <= 1 + 1e-5 for layer in model.constrained_layers())
        )

    def closure():
        optimizer.zero_grad()
        loss = (model(x) - 5 * x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        look()
        return loss

    optimizer = (
        torch.optim.LBFGS(model.parameters(), 0.5) if name == "closure" else torch.optim.SGD(model.parameters(), 5.0)
    )
    optimizer.register_step_post_hook(look)
    for _ in range(2):
        optimizer.step(closure)
        assert is_feasible(model)
    assert len(seen) >= 4
    assert all(seen)
