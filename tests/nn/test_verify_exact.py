"""verify does not say "proved" wrongly: scalings, thin spikes, modules that do not compute what their weights say."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from torch import nn

from monolip.errors import InputError, StructureError
from monolip.nn import verify_exact, verify_milp
from monolip.nn.verify import verify
from monolip.nn.verify_exact import on_unit_box, region_of
from monolip.nn.verify_layers import exact_outputs, layers_of
from monolip.nn.verify_scaling import Scaling
from monolip.nn.verify_simplex import OutOfTimeError, inside

METHODS = [pytest.param(12, id="rational"), pytest.param(0, id="solver")]


@pytest.fixture(params=METHODS)
def method(request, monkeypatch):
    monkeypatch.setattr(verify_exact, "MAX_UNITS", request.param)
    return request.param


def spike(width, scale=1.0, dip=2.0):
    """x, then down between width and 2 width, then up."""
    net = nn.Sequential(nn.Linear(1, 3), nn.ReLU(), nn.Linear(3, 1)).double()
    with torch.no_grad():
        net[0].weight[:] = scale
        net[0].bias[:] = torch.tensor([0.0, -width, -2 * width], dtype=torch.float64) * scale
        net[2].weight[:] = torch.tensor([[1.0, -dip, dip]], dtype=torch.float64) / scale
        net[2].bias[:] = 0.0
    return net


def positive(*widths):
    torch.manual_seed(0)
    parts = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), nn.ReLU())][:-1]
    net = nn.Sequential(*parts)
    with torch.no_grad():
        for p in net.parameters():
            p.abs_()
    return net


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1e-6, 1e-3, 1e4, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("side", [1e-6, 1.0, 1e8])
def test_a_spike_is_found_however_the_network_is_scaled(method, scale, side):
    net = spike(0.1 * side, scale)
    (verdict,) = verify(net, [1], (-side, side)).verdicts
    assert verdict.answer == "counterexample"
    assert verdict.slope_bound == pytest.approx(-1.0, rel=1e-6)
    assert verdict.exact == (method == 12)
    low, high = (exact_outputs(layers_of(net), x)[0] for x in (verdict.counterexample.low, verdict.counterexample.high))
    assert high < low


@pytest.mark.parametrize("width", [1e-3, 1e-7, 1e-11, 1e-13, 1e-15])
@pytest.mark.parametrize("box", [(-1.0, 1.0), (-1e6, 1e6)])
def test_thin_spikes_are_not_called_proved(method, width, box):
    assert verify(spike(width), [1], box).answer == "counterexample"
    assert verify(spike(width, dip=0.5), [1], box).answer == "proved"


def test_zero_tolerance_is_decided_exactly():
    net = nn.Sequential(nn.Linear(1, 1)).double()
    with torch.no_grad():
        net[0].weight.fill_(-5e-7)
    assert verify(net, [1], (-1e6, 1e6)).answer == "counterexample"  # f falls by 1 over the box
    for dip, answer in [(1.0, "proved"), (float(np.nextafter(1, 2)), "counterexample")]:
        found = verify(spike(0.25, dip=dip), [1], (-1.0, 1.0), tolerance=0.0)
        assert found.answer == answer
        assert found.verdicts[0].exact
        assert "exactly" in str(found)
    for bad in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="tolerance"):
            verify(net, [1], (0.0, 1.0), tolerance=bad)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), exponents=st.tuples(*[st.integers(-30, 30)] * 4))
def test_both_methods_give_one_answer_at_any_scale(seed, exponents):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1)).double()
    side, *factors = (2.0**e for e in exponents)
    with torch.no_grad():
        if seed % 2:
            net[2].weight.abs_(), net[4].weight.abs_(), net[0].weight[:, 0].abs_()
        net[0].bias *= side
        for part, factor in zip(net[::2], factors, strict=True):
            part.weight *= factor
        net[0].bias *= factors[0]
        net[2].bias *= factors[0] * factors[1] * side
    exact = verify(net, [1, 0], (-side, side)).verdicts[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify_exact, "MAX_UNITS", 0)
        solved = verify(net, [1, 0], (-side, side)).verdicts[0]
    assert exact.answer == solved.answer
    assert exact.exact
    x = torch.tensor(np.random.default_rng(seed).uniform(-side, side, (500, 2)), requires_grad=True)
    slopes = torch.autograd.grad(net(x).sum(), x)[0][:, 0].numpy()
    assert slopes.min() >= exact.slope_bound - 1e-9 * exact.slope_unit
    assert np.abs(slopes).max() <= exact.slope_unit


def test_an_infeasible_program_proves_nothing(monkeypatch):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
    monkeypatch.setattr(verify_milp, "_solve", lambda *_: verify_milp.Minimum(np.inf, None, None, True))
    assert verify(net, [1, 0], (-1.0, 1.0)).answer != "proved"


def test_a_large_monotone_network_is_proved_exactly_by_intervals():
    (verdict,) = verify(positive(3, 30, 30, 1), [1, 0, 0], (-1.0, 1.0)).verdicts
    assert (verdict.answer, verdict.exact) == ("proved", True)


def test_a_far_box_keeps_its_digits():
    """Relative to 2^40 the box is thin; middle and bias cancel exactly in rational numbers."""
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1)).double()
    far = 2.0**40
    with torch.no_grad():
        net[0].weight[:] = 1.0
        net[0].bias[:] = torch.tensor([-far, -far - 0.5], dtype=torch.float64)
        net[2].weight[:] = torch.tensor([[1.0, -3.0]])
    assert verify(net, [1], (far, far + 0.5)).answer == "proved"
    assert verify(net, [1], (far, far + 1.0)).answer == "counterexample"


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_simplex_agrees_with_floating_point(data):
    d, m = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 6))
    rows = [[data.draw(st.integers(-5, 5)) for _ in range(d)] for _ in range(m)]
    offsets = [data.draw(st.integers(-6, 6)) for _ in range(m)]
    fractions = [[Fraction(v) for v in row] for row in rows], [Fraction(v) for v in offsets]
    for deep in (False, True):
        point = inside(*fractions, d, float("inf"), deep)
        A = [[*(-v for v in row), 1] for row in rows] or None
        best = linprog([0] * d + [-1], A_ub=A, b_ub=offsets if rows else None, bounds=[(-1, 1)] * d + [(None, 1)])
        assert (point is None) == (-best.fun < 1e-9)
        if point is not None:
            assert all(abs(v) < 1 for v in point)
            assert all(
                sum(r * v for r, v in zip(row, point, strict=True)) + o > 0
                for row, o in zip(rows, offsets, strict=True)
            )


def test_time_and_empty_regions():
    layers = on_unit_box(layers_of(spike(0.25)), np.array([[-1.0], [1.0]]))
    on = np.array([True])
    assert region_of(layers, (np.array([False, True, False]), on), float("inf")) is None
    found = region_of(layers, (np.array([True, True, False]), on), float("inf"))
    assert Fraction(1, 4) < found.point[0] < Fraction(1, 2)
    with pytest.raises(OutOfTimeError):
        region_of(layers, (np.array([True, True, False]), on), 0.0)


def test_scaled_weights_are_the_same_network():
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2)).double()
    with torch.no_grad():
        net[0].weight *= 1e200
        net[2].weight *= 1e150
    layers = layers_of(net)
    scaled = Scaling(on_unit_box(layers, np.array([[-1.0, -1.0], [1.0, 1.0]]))).of(0, 1.0)
    assert not scaled.finite  # a slope beyond the floats is not handed to the solver
    with torch.no_grad():
        net[2].weight *= 1e-300
    scaled = Scaling(on_unit_box(layers_of(net), np.array([[-1.0, -1.0], [1.0, 1.0]]))).of(0, 1.0)
    on = np.ones(4)
    slope = scaled.layers[1].slopes @ (on * scaled.layers[0].slopes[:, 0]) * scaled.slope_units
    wanted = (net[2].weight @ net[0].weight)[:, 0].detach().numpy()
    np.testing.assert_allclose(slope, wanted, rtol=1e-12)
    assert all(np.abs(part).max() <= 2 for layer in scaled.layers for part in (layer.weight, layer.bias, layer.slopes))


class Negative(nn.Sequential):
    def forward(self, x):
        return -super().forward(x)


class Doubled(nn.Linear):
    pass


def hooked(kind):
    net = positive(2, 4, 1)
    getattr(net[2], kind)(lambda module, given, *out: None)
    return net


def other_forward():
    net = positive(2, 4, 1)
    net[1].forward = lambda x: -x
    return net


def weight_norm():
    net = positive(2, 4, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nn.utils.weight_norm(net[0])
    return net


def parametrized():
    net = positive(2, 4, 1)
    nn.utils.parametrizations.weight_norm(net[0])
    return net


def pruned():
    from torch.nn.utils import prune

    net = positive(2, 4, 1)
    prune.l1_unstructured(net[0], "weight", 0.5)
    return net


REFUSED = {
    "subclass": lambda: Negative(*positive(2, 4, 1)),
    "linear subclass": lambda: nn.Sequential(Doubled(2, 1)),
    "hook": lambda: hooked("register_forward_hook"),
    "pre-hook": lambda: hooked("register_forward_pre_hook"),
    "other forward": other_forward,
    "weight_norm": weight_norm,
    "parametrized": parametrized,
    "pruned": pruned,
    "rows mixed": lambda: nn.Sequential(nn.Flatten(0), nn.Linear(2, 1)),
    "sizes": lambda: nn.Sequential(nn.Linear(2, 3), nn.Linear(2, 1)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_computes_something_else_than_its_weights_is_refused(case):
    with pytest.raises(StructureError) as raised:
        verify(REFUSED[case](), [1, 0], (-1.0, 1.0))
    assert str(raised.value).count(";") >= 2
