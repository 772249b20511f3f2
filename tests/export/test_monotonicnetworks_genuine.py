"""A verdict holds for what runs: hooks, classes of the same name and other forward passes are refused."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.errors import FreezeError
from monolip.export import from_monotonicnetworks, monotonicnetworks_verdict
from monolip.export.monotonicnetworks_genuine import require_same_outputs
from monolip.export.monotonicnetworks_layers import layers_of

torch = pytest.importorskip("torch")
lmn = pytest.importorskip("monotonicnetworks")


def model(sort=None):
    torch.manual_seed(0)
    layers = [lmn.LipschitzLinear(2, 4, lipschitz_const=0.9, kind="one-inf"), sort or lmn.GroupSort(2)]
    trunk = torch.nn.Sequential(*layers, lmn.LipschitzLinear(4, 1, lipschitz_const=0.9, kind="inf"))
    return lmn.MonotonicWrapper(trunk, 1.0, [1, 0])


class GroupSort(torch.nn.Module):
    """The name of the package's, and the opposite of it."""

    n_groups, axis = 2, -1

    def forward(self, x):
        return -10 * x


class Falling(lmn.GroupSort):
    def forward(self, x):
        return -10 * super().forward(x)


Falling.__name__ = "GroupSort"


def test_without_any_of_it_the_model_is_guaranteed():
    assert from_monotonicnetworks(model()).slopes.lower[0] >= 0


def test_hooks_are_refused_wherever_they_are():
    def turned(module, inputs):
        return (inputs[0] * -10,)

    def negated(module, inputs, output):
        return -10 * output

    for place in (lambda m: m, lambda m: m.nn, lambda m: m.nn[0], lambda m: m.nn[1]):
        for register, hook in (("register_forward_pre_hook", turned), ("register_forward_hook", negated)):
            net = model()
            getattr(place(net), register)(hook)
            with pytest.raises(FreezeError, match="hook"):
                from_monotonicnetworks(net)
    handle = torch.nn.modules.module.register_module_forward_hook(negated)
    try:
        with pytest.raises(FreezeError, match="hook"):
            from_monotonicnetworks(model())
    finally:
        handle.remove()


@pytest.mark.parametrize("sort", [GroupSort, lambda: Falling(2)])
def test_a_class_of_the_same_name_is_refused(sort):
    with pytest.raises(FreezeError, match="a GroupSort with a forward pass of its own"):
        from_monotonicnetworks(model(sort()))


def test_a_forward_pass_of_one_object_is_refused(monkeypatch):
    net = model()
    net.nn.forward = lambda x: -10 * x.sum(1, keepdim=True)
    with pytest.raises(FreezeError, match="forward pass of its own"):
        from_monotonicnetworks(net)
    monkeypatch.setattr(lmn.GroupSort, "forward", lambda self, x: -10 * x)
    with pytest.raises(FreezeError, match="forward pass of its own"):
        from_monotonicnetworks(model())


@pytest.mark.parametrize("part", ["_effective", "_sort"])
def test_other_outputs_are_refused_whatever_the_reason(monkeypatch, part):
    """The last resort: the model itself is run. Here the reader is broken, a weight by 1e-3 or a sort."""
    from monolip.export import monotonicnetworks_layers as reader
    from monolip.paper_form import Sort

    effective = reader._effective
    broken = {"_effective": lambda layer: effective(layer) * 1.001, "_sort": lambda part, width: Sort(4)}
    monkeypatch.setattr(reader, part, broken[part])
    with pytest.raises(FreezeError, match="other outputs"):
        monotonicnetworks_verdict(model())


def test_the_comparison_leaves_the_model_as_it_was():
    layer = torch.nn.Linear(2, 4)
    lmn.project_norm(layer, kind="one-inf", max_norm=0.1)
    net = torch.nn.Sequential(layer, torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1), torch.nn.Sigmoid())
    net[2].eval()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    verdict = monotonicnetworks_verdict(net)
    require_same_outputs(net, layers_of(net), verdict.network)
    assert [module.training for module in net] == [True, True, False, True, True]
    assert all(np.array_equal(before[name], value) for name, value in net.state_dict().items())
