"""verify against an oracle that enumerates every activation pattern, and its witnesses in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from torch import nn

from monolip.errors import InputError, SlopeError, StructureError
from monolip.nn.verify import verify
from monolip.nn.verify_layers import exact_outputs, layers_of


def network(seed, widths=(2, 4, 1), bias=1.0):
    torch.manual_seed(seed)
    parts = []
    for k in range(len(widths) - 1):
        parts += [nn.Linear(widths[k], widths[k + 1]), nn.ReLU()]
    net = nn.Sequential(*parts[:-1])
    with torch.no_grad():
        for part in net:
            if isinstance(part, nn.Linear):
                part.weight.normal_()
                part.bias.normal_().mul_(bias)
    return net


def smallest_slope_by_enumeration(net, j, low, high):
    """Every pattern of the units; those whose region has an inside in the box count. An oracle without big-M."""
    layers = layers_of(net)
    d, sizes = layers[0].weight.shape[1], [len(layer.bias) for layer in layers if layer.relu]
    best = np.inf
    for bits in product([0, 1], repeat=sum(sizes)):
        slope, value, rows, at = np.eye(d), np.zeros(d), [], 0
        for layer in layers:
            slope, value = layer.weight @ slope, layer.weight @ value + layer.bias
            if layer.relu:
                on = np.array(bits[at : at + len(value)])
                at += len(value)
                rows += [(-s * (2 * o - 1), v * (2 * o - 1)) for s, v, o in zip(slope, value, on, strict=True)]
                slope, value = on[:, None] * slope, on * value
        A = np.array([np.append(row, 1.0) for row, _ in rows])
        b = np.array([v for _, v in rows])
        found = linprog([0] * d + [-1], A_ub=A, b_ub=b, bounds=[(low, high)] * d + [(None, 1)])
        if found.status == 0 and found.x[-1] > 1e-9:
            best = min(best, slope[0, j])
    return best


@pytest.mark.parametrize("widths", [(2, 4, 1), (3, 3, 3, 1)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_smallest_slope_is_that_of_all_patterns(seed, widths):
    net = network(seed, widths)
    for j in range(2):
        wanted = smallest_slope_by_enumeration(net, j, -1.5, 1.5)
        cst = np.zeros(widths[0], int)
        cst[j] = 1
        (verdict,) = verify(net, cst, (-1.5, 1.5)).verdicts
        assert verdict.slope_bound <= wanted + 1e-6
        assert verdict.answer == ("proved" if wanted >= -1e-6 else "counterexample")
        if verdict.answer == "counterexample":
            assert verdict.slope_bound == pytest.approx(wanted, abs=1e-5)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), sign=st.sampled_from([1, -1]))
def test_every_answer_agrees_with_the_function(seed, sign):
    net = network(seed, (2, 6, 1))
    result = verify(net, [sign, 0], (-2.0, 2.0))
    (verdict,) = result.verdicts
    layers = layers_of(net)
    if verdict.counterexample is not None:
        low, high = verdict.counterexample.low, verdict.counterexample.high
        assert low[0] < high[0]
        assert low[1] == high[1]
        assert (np.abs([low, high]) <= 2).all()
        assert sign * (exact_outputs(layers, high)[0] - exact_outputs(layers, low)[0]) < 0
    else:
        assert verdict.answer == "proved"
        grid = torch.tensor(np.random.default_rng(seed).uniform(-2, 2, (200, 2)))
        x = grid.clone().requires_grad_()
        slope = torch.autograd.grad(net.double()(x).sum(), x)[0][:, 0]
        assert (sign * slope >= -1e-5).all()


def test_positive_weights_are_proved_and_a_negative_one_is_found():
    net = network(3, (3, 8, 8, 1))
    with torch.no_grad():
        for p in net.parameters():
            if p.ndim == 2:
                p.abs_()
    assert verify(net, [1, 1, 1], (-1.0, 1.0)).answer == "proved"
    assert "proved" in str(verify(net, {"a": 1}, (-1.0, 1.0), feature_names=["a", "b", "c"]))
    with torch.no_grad():
        net[0].weight[:, 1] = -0.1
    result = verify(net, [1, 1, 1], (-1.0, 1.0))
    assert [v.answer for v in result.verdicts].count("counterexample") == 1
    assert result.verdicts[1].counterexample.drop > 0
    assert "wrong way" in str(result)


def test_a_box_decides():
    """f = relu(x) - 2 relu(x - 1) rises on [-1, 1] and falls beyond."""
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1)).double()
    with torch.no_grad():
        net[0].weight[:] = 1.0
        net[0].bias[:] = torch.tensor([0.0, -1.0])
        net[2].weight[:] = torch.tensor([[1.0, -2.0]])
        net[2].bias[:] = 0.0
    assert verify(net, [1], (-1.0, 0.999)).answer == "proved"
    found = verify(net, [1], (-1.0, 3.0)).verdicts[0]
    assert found.answer == "counterexample"
    assert found.slope_bound == pytest.approx(-1.0, abs=1e-6)
    assert found.counterexample.drop == pytest.approx(2.0, abs=1e-6)
    assert isinstance(found.counterexample.f_low, Fraction)


def test_a_region_without_an_inside_is_no_counterexample():
    """relu(0 x) is off and on at once for the program; f = x has no negative slope."""
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1)).double()
    with torch.no_grad():
        net[0].weight[:] = torch.tensor([[1.0], [1.0]])
        net[0].bias[:] = torch.tensor([2.0, -1.0])
        net[2].weight[:] = torch.tensor([[1.0, -5.0]])
        net[2].bias[:] = 0.0
    assert verify(net, [1], (-1.0, 1.0)).answer == "proved"  # the second unit wakes at x = 1, the corner of the box


def test_several_outputs_are_decided_one_by_one():
    net = network(5, (2, 5, 2))
    both = verify(net, [[1, -1], [0, 0]], (-1.0, 1.0))
    assert [(v.feature, v.output, v.direction) for v in both.verdicts] == [("x0", 0, 1), ("x0", 1, -1)]


def test_time_ends_in_undecided_not_in_a_claim():
    net = network(7, (6, 48, 48, 48, 1), bias=0.3)
    result = verify(net, [1, 1, 0, 0, 0, 0], (-3.0, 3.0), max_seconds=0.0)
    assert result.answer == "counterexample"  # found at random points, and proved there
    assert all(v.slope_bound == -np.inf for v in result.verdicts)
    assert all(v.counterexample.drop > 0 for v in result.verdicts if v.answer == "counterexample")
    with torch.no_grad():
        for p in net.parameters():
            p.abs_()
        net[0].weight[:, 1:] *= -1  # increasing in the first feature; nothing can be found, and there is no time
    rising = verify(net, [1, 0, 0, 0, 0, 0], (-3.0, 3.0), max_seconds=0.0)
    assert rising.answer == "undecided"
    assert "undecided" in str(rising)


def test_what_is_no_relu_network_is_refused():
    with pytest.raises(StructureError, match="Tanh"):
        verify(nn.Sequential(nn.Linear(2, 2), nn.Tanh()), [1, 0], (0, 1))
    with pytest.raises(StructureError, match="ReLU first"):
        verify(nn.Sequential(nn.ReLU(), nn.Linear(2, 1)), [1, 0], (0, 1))
    bad = nn.Sequential(nn.Linear(2, 1))
    with torch.no_grad():
        bad[0].weight[0, 0] = float("nan")
    with pytest.raises(StructureError, match="finite"):
        verify(bad, [1, 0], (0, 1))
    for box in [3, (0.0, np.inf), (1.0, 0.0), ([0, 0, 0], [1, 1, 1])]:
        with pytest.raises(InputError, match="box"):
            verify(network(0), [1, 0], box)
    with pytest.raises(SlopeError, match="at least one"):
        verify(network(0), [0, 0], (0, 1))


def test_dropout_and_nested_sequentials_are_read_as_in_eval_mode():
    net = nn.Sequential(nn.Flatten(), nn.Sequential(network(2), nn.Identity()), nn.Dropout(0.3))
    plain = verify(network(2), [1, 0], (-1.0, 1.0))
    assert verify(net, [1, 0], (-1.0, 1.0)).verdicts[0].slope_bound == plain.verdicts[0].slope_bound
    x = torch.tensor([[0.25, -0.5]], dtype=torch.float64)
    exact = float(exact_outputs(layers_of(net), x[0].tolist())[0])
    assert net.double().eval()(x).item() == pytest.approx(exact, rel=1e-12)
