"""Models of the reference package: judged by their weights, in exact arithmetic, whatever they say of themselves."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from monolip.certify.certificate import certify
from monolip.errors import CertificateError, FreezeError, InputError
from monolip.export import from_monotonicnetworks, monotonicnetworks_verdict
from monolip.output_link import OutputLink

torch = pytest.importorskip("torch")
lmn = pytest.importorskip("monotonicnetworks")

SOUND = [["one-inf", "inf", "inf"], ["one", "one", "one"], ["one", "inf", "inf"], ["inf", "inf", "inf"]]
BROKEN = [["inf", "one", "one"], ["one-inf", "one", "one"], ["one-inf"] * 3]


def model(kinds, *, constant=1.0, wrapper=1.0, constraints=(1, -1, 0), sizes=None, seed=0, grow=10.0):
    """Saturated layers, as training makes them."""
    torch.manual_seed(seed)
    sizes = sizes or [3, *[8] * (len(kinds) - 1), 1]
    parts = []
    for kind, (fan, out) in zip(kinds, pairwise(sizes), strict=True):
        layer = lmn.LipschitzLinear(fan, out, lipschitz_const=constant, kind=kind)
        with torch.no_grad():
            layer.parametrizations.weight.original.mul_(grow)
        parts += [layer, lmn.GroupSort(out // 2 or 1)]
    return lmn.MonotonicWrapper(torch.nn.Sequential(*parts[:-1]), wrapper, constraints)


def gradients(net, n=400):
    x = torch.randn(n, 3, dtype=torch.float32, requires_grad=True)
    return torch.autograd.grad(net(x).sum(), x)[0].double().numpy()


@pytest.mark.parametrize("kinds", SOUND + BROKEN, ids=" ".join)
@pytest.mark.parametrize("seed", range(3))
def test_the_proved_slopes_hold_every_gradient_and_the_values_agree(kinds, seed):
    net = model(kinds, seed=seed)
    verdict = monotonicnetworks_verdict(net)
    found, slopes = gradients(net), verdict.network.slopes
    assert (found >= slopes.lower - 1e-5).all()
    assert (found <= slopes.upper + 1e-5).all()
    x = np.random.default_rng(seed).normal(size=(200, 3)).astype(np.float32)
    with torch.no_grad():
        assert np.allclose(verdict.network.evaluate(x), net(torch.from_numpy(x)).numpy(), rtol=1e-5, atol=1e-5)
    certify(verdict.network).check()


@pytest.mark.parametrize("kinds", SOUND, ids=" ".join)
def test_sound_chains_are_guaranteed_or_miss_it_by_float32_rounding(kinds):
    for seed in range(5):
        net = model(kinds, seed=seed)
        verdict = monotonicnetworks_verdict(net)
        assert verdict.guaranteed or verdict.repairable
        network = from_monotonicnetworks(net, repair=True)
        assert network.slopes.lower[0] >= 0
        assert network.slopes.upper[1] <= 0
        x = torch.randn(100, 3)
        with torch.no_grad():
            assert np.allclose(network.evaluate(x.numpy()), net(x).numpy(), atol=5e-6)


def test_the_excess_is_exact():
    """(1, inf)-then-inf by hand: the largest entry of a column times the largest row sums, minus the residual."""
    net = model(SOUND[0])
    layers = [part.weight.detach().tolist() for part in net.nn if hasattr(part, "weight")]
    rows = [[[abs(Fraction(v)) for v in row] for row in layer] for layer in layers]
    product = max(map(sum, rows[1])) * max(map(sum, rows[2]))
    for feature in monotonicnetworks_verdict(net).features[:2]:
        reach = max(row[int(feature.feature)] for row in rows[0]) * product
        assert feature.excess == max(reach - 1, 0)


def test_half_of_float32_models_have_no_guarantee_until_repaired():
    """Trap 5: after float32 normalisation rows end above their bound; the message has the number and the way out."""
    verdicts = [monotonicnetworks_verdict(model(SOUND[0], seed=seed)) for seed in range(12)]
    missing = [v for v in verdicts if not v.guaranteed]
    assert missing
    assert all(max(f.excess for f in v.features) < Fraction(1, 10**6) for v in missing)
    seed = next(seed for seed, v in enumerate(verdicts) if not v.guaranteed)
    with pytest.raises(CertificateError, match=r"exceeds the residual by .*e-0[678].*repair=True multiplies g by 0"):
        from_monotonicnetworks(model(SOUND[0], seed=seed))


@pytest.mark.parametrize("kinds", BROKEN, ids=" ".join)
def test_chains_that_do_not_chain_are_refused_and_not_repaired(kinds):
    net = model(kinds)
    with pytest.raises(CertificateError, match=r"layers say .* <= 1.*no rounding.*train again"):
        from_monotonicnetworks(net, repair=True)
    assert "NOT guaranteed" in str(monotonicnetworks_verdict(net))


def test_the_default_of_the_released_package_really_falls():
    """kind="one-inf" in every layer: the bound allows it, and the gradient does it."""
    net = model(["one-inf"] * 3, seed=1)
    assert gradients(net)[:, 0].min() < -1.0
    assert monotonicnetworks_verdict(net).network.slopes.lower[0] < -1.0


def test_a_trained_model_of_the_default_kind_falls_where_it_was_to_rise():
    """sin(3x) under "increasing", by the released package: it fits, it falls, and the verdict says so."""
    torch.manual_seed(0)
    layers = [lmn.LipschitzLinear(a, b) for a, b in ((1, 16), (16, 16), (16, 1))]
    parts = [layers[0], lmn.GroupSort(8), layers[1], lmn.GroupSort(8), layers[2]]
    net = lmn.MonotonicWrapper(torch.nn.Sequential(*parts), 1.0, [1])
    x = torch.linspace(-2, 2, 100)[:, None]
    for step in range(100):
        gradient = torch.autograd.grad(((net(x) - torch.sin(3 * x)) ** 2).mean(), list(net.parameters()))
        with torch.no_grad():
            for parameter, g in zip(net.parameters(), gradient, strict=True):
                parameter -= 0.02 * 0.98**step * torch.sign(g)
    with torch.no_grad():
        assert (torch.diff(net(x)[:, 0]) < -0.01).any()
    verdict = monotonicnetworks_verdict(net)
    assert not verdict.guaranteed
    assert not verdict.repairable
    steepest = float(np.diff(verdict.network.evaluate(x.numpy())[:, 0]).min()) / 0.0405
    assert verdict.features[0].lower < steepest < 0


def test_the_published_topological_recipe_has_no_guarantee():
    """Constant 2 in each of 8 layers and in the wrapper; the last is "one", which bounds entries, not their sum."""
    kinds = ["one-inf", *["inf"] * 6, "one"]
    net = model(kinds, constant=2.0, wrapper=2.0, sizes=[3, *[16] * 7, 1])
    verdict = monotonicnetworks_verdict(net)
    assert not verdict.repairable
    assert float(1 / verdict.shrink) > 64  # 2^8 * (row sum of the last layer) / 2, or what another chain proves
    with pytest.raises(CertificateError, match=r"one-inf <= 2, inf <= 2, .*, one <= 2; no rounding"):
        from_monotonicnetworks(net)


def test_a_layer_constant_that_is_not_the_wrappers_is_seen():
    with pytest.raises(CertificateError, match=r"one-inf <= 5, inf <= 5.*shrink by (19|2[0-5])"):
        from_monotonicnetworks(model(["one-inf", "inf"], constant=5.0))
    verdict = monotonicnetworks_verdict(model(["one-inf", "inf"], constant=0.5))
    assert verdict.guaranteed
    assert verdict.trained == ("one-inf <= 0.5", "inf <= 0.5")


def test_several_outputs_have_a_verdict_each():
    net = model(["one-inf", "inf", "inf"], constraints=[[1, 0], [0, -1], [0, 1]], sizes=[3, 8, 8, 2])
    verdict = monotonicnetworks_verdict(net)
    wanted = {(f.feature, f.output): f.wanted for f in verdict.features}
    assert wanted[("0", 0)] == "increasing"
    assert wanted[("1", 1)] == "decreasing"
    assert wanted[("0", 1)] == "free"
    network = from_monotonicnetworks(net, repair=True, feature_names=["a", "b", "c"])
    assert network.slopes.for_output(1).lower[2] >= 0
    assert network.slopes.feature_names == ("a", "b", "c")


def test_fractional_and_broadcast_constraints_mean_what_the_forward_pass_does():
    net = model(["one-inf", "inf"], constraints=[0.5, 2.0, 0.0])
    verdict = monotonicnetworks_verdict(net)
    assert verdict.features[0].excess > 0  # half the residual, the whole bound
    assert verdict.features[1].excess == 0
    wide = model(["one-inf", "inf"], constraints=[1])
    assert [f.wanted for f in monotonicnetworks_verdict(wide).features] == ["increasing"] * 3


@pytest.mark.parametrize("wrapper", [0.0, -1.0])
def test_a_wrapper_constant_that_is_not_positive_keeps_no_direction(wrapper):
    """lipschitz_const=0 leaves layers at bound 1 (a falsy constant is replaced) and takes the residual away."""
    net = model(["one-inf", "inf"], constant=0.0, wrapper=wrapper)
    with pytest.raises(CertificateError, match="the residual does not rise"):
        from_monotonicnetworks(net, repair=True)
    assert [f.wanted for f in monotonicnetworks_verdict(net).features] == ["increasing", "decreasing", "free"]


def test_project_norm_is_applied_and_undone():
    layer = torch.nn.Linear(3, 4)
    with torch.no_grad():
        layer.weight.mul_(10)
    lmn.project_norm(layer, kind="one-inf", always_norm=False)
    last = torch.nn.Linear(4, 1)
    lmn.project_norm(last, kind="inf", always_norm=False)
    before = layer.weight.detach().clone()
    net = lmn.MonotonicWrapper(torch.nn.Sequential(layer, lmn.GroupSort(2), last), 1.0, [1, 1, 1])
    verdict = monotonicnetworks_verdict(net)
    assert torch.equal(layer.weight, before)
    assert verdict.trained == ("one-inf <= 1", "inf <= 1")
    assert np.abs(verdict.network.slopes.upper).max() < 2 + 1e-6
    x = torch.randn(50, 3)
    with torch.no_grad():
        assert np.allclose(verdict.network.evaluate(x.numpy()), net(x).numpy(), atol=1e-5)


def test_a_sigmoid_becomes_a_link_and_sigmanet_is_known():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        inner = lmn.SigmaNet(model(["one-inf", "inf"], constant=0.9).nn, 1.0, [1, 0, 0])
    network = from_monotonicnetworks(torch.nn.Sequential(inner, torch.nn.Sigmoid()))
    assert network.link == OutputLink("logit", (0, 1))
    alone = from_monotonicnetworks(inner.nn)
    assert (alone.slopes.upper <= 0.9**2 + 1e-6).all()


def test_what_is_no_such_model_is_refused_with_the_reason():
    linear = lmn.LipschitzLinear(3, 4)
    cases = [
        (FreezeError, "RMSNorm", torch.nn.Sequential(linear, lmn.GroupSort(2), lmn.RMSNorm(4), torch.nn.Linear(4, 1))),
        (FreezeError, "MonotonicLayer", lmn.MonotonicLayer(3, 1)),
        (FreezeError, "in a row", torch.nn.Sequential(linear, torch.nn.Linear(4, 1))),
        (InputError, "Tanh", torch.nn.Sequential(linear, torch.nn.Tanh(), torch.nn.Linear(4, 1))),
        (InputError, "begins and ends", torch.nn.Sequential(linear, lmn.GroupSort(2))),
        (InputError, "last axis", torch.nn.Sequential(linear, lmn.GroupSort(2, axis=0), torch.nn.Linear(4, 1))),
        (InputError, "torch module", object()),
    ]
    for error, reason, net in cases:
        with pytest.raises(error, match=reason):
            from_monotonicnetworks(net)
    with pytest.raises(InputError, match="constraints have"):
        from_monotonicnetworks(model(["one-inf", "inf"], constraints=[1, 1]))
    with pytest.raises(InputError, match="feature_names"):
        from_monotonicnetworks(model(["one-inf", "inf"], constant=0.5), feature_names=["a"])
    bad = model(["one-inf", "inf"])
    with torch.no_grad():
        bad.nn[0].bias[0] = torch.nan
    with pytest.raises(InputError, match="finite"):
        from_monotonicnetworks(bad)
