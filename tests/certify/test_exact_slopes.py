"""Exact slope intervals: equal to a naive program of rational numbers, never crossed, tighter than columns alone."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from monolip.certify.exact_slopes import ExactSlopes, layer_norms
from monolip.convex import ConvexForm
from monolip.errors import CertificateError
from monolip.frozen import FrozenNetwork, Trunk
from monolip.norms import Norm
from monolip.paper_form import PaperForm, Rectify, Sort, exact_norm
from monolip.slopes import SlopeBounds

from ..checker.documents import networks
from ..make import convex, exact_convex, exact_paper, frozen_networks, paper

BOX = SlopeBounds([0.0, -1.5, -1.0], [2.0, 0.0, 1.0])


def naive_shares(form, row):
    """Intervals of the shares of first-layer units, with nothing but Fractions."""
    low = high = [Fraction(k == row) for k in range(form.n_outputs)]
    for weight, size in zip(form.weights[:0:-1], form.group_sizes[::-1], strict=True):
        rows = [[Fraction(w) for w in line] for line in weight.tolist()]
        low = [sum(w[j] * s for w, s in zip(rows, low, strict=True)) for j in range(len(rows[0]))]
        high = [sum(w[j] * s for w, s in zip(rows, high, strict=True)) for j in range(len(rows[0]))]
        low = [min(low[k - k % size : k - k % size + size]) for k in range(len(low))]
        high = [max(high[k - k % size : k - k % size + size]) for k in range(len(high))]
    return low, high


def naive_range(form, row, values):
    """Extremes of sum share * value: an LP has an optimum where all shares but one are at an end of their interval."""
    low, high = naive_shares(form, row)
    found = []
    for k in range(len(values)):
        others = [j for j in range(len(values)) if j != k]
        for ends in product((0, 1), repeat=len(others)):
            shares = {j: (low, high)[end][j] for j, end in zip(others, ends, strict=True)}
            shares[k] = 1 - sum(shares.values())
            if low[k] <= shares[k] <= high[k]:
                found.append(sum(share * values[j] for j, share in shares.items()))
    return min(found), max(found)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**31), depth=st.integers(1, 8), group=st.sampled_from([1, 2, 4, "full"]))
def test_convex_form_equals_a_naive_program(seed, depth, group):
    rng = np.random.default_rng(seed)
    form = convex(rng, [3, *[4] * (depth - 1), 2], group, BOX)
    slopes = ExactSlopes.of(FrozenNetwork(BOX, ((Trunk(form, (1, 0)),),)))
    for j in range(3):
        values = [Fraction(w) for w in form.weights[0][:, j].tolist()]
        found = slopes.of_column(j)
        for row, output in ((0, 1), (1, 0)):
            assert found[output] == naive_range(form, row, values)
            assert min(values) <= found[output][0] <= found[output][1] <= max(values)


def test_a_linear_program_agrees():
    form = convex(np.random.default_rng(1), [3, 8, 8, 1], 2, BOX)
    low, high = naive_shares(form, 0)
    found = ExactSlopes.of(FrozenNetwork(BOX, ((Trunk(form, (0,)),),))).of_column(2)[0]
    values = form.weights[0][:, 2]
    bounds = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    for sign, exact in ((1, found[0]), (-1, found[1])):
        best = linprog(sign * values, A_eq=np.ones((1, 8)), b_eq=[1.0], bounds=bounds)
        assert sign * best.fun == pytest.approx(float(exact), abs=1e-9)


@pytest.mark.parametrize("name", ["convex", "ensemble", "per output", "two outputs", "L1 to L1", "raw, classes"])
def test_no_secant_leaves_its_interval_in_exact_arithmetic(name):
    network = networks()[name]
    slopes, rng = ExactSlopes.of(network), np.random.default_rng(2)
    d = network.n_features
    for _ in range(40):
        x = [Fraction(int(v), 8) for v in rng.integers(-40, 40, d)]
        j = int(rng.integers(d))
        step = Fraction(int(rng.integers(1, 64)), int(rng.integers(1, 64)))
        y = [v + step * (i == j) for i, v in enumerate(x)]
        found = slopes.of_column(j)
        for k, (a, b) in enumerate(zip(exact_value(network, x), exact_value(network, y), strict=True)):
            assert found[k][0] * step <= b - a <= found[k][1] * step


def exact_value(network, x):
    total = [Fraction(0)] * network.n_outputs
    for weight, member in zip(network.member_weights.tolist(), network.members, strict=True):
        for trunk in member:
            exact = exact_convex if isinstance(trunk.form, ConvexForm) else exact_paper
            for k, value in zip(trunk.outputs, exact(trunk.form, x), strict=True):
                total[k] += Fraction(weight) * value
    return total


def test_raw_slopes_are_never_crossed_on_any_stretch():
    network = networks()["raw"]
    slopes, rng = ExactSlopes.of(network), np.random.default_rng(3)
    inputs = network.inputs
    for i in inputs.numeric:
        (low, high), seen = slopes.of_raw(i)[0], []
        for _ in range(200):
            row = [Fraction(int(v), 16) for v in rng.integers(-32, 80, 3)]
            x, y = row[i], row[i] + Fraction(1, int(rng.integers(1, 40)))
            others = rng.integers(0, 3), rng.integers(0, 2)
            values = [exact_value(network, exact_columns(inputs, [*row[:i], v, *row[i + 1 :]], others)) for v in (x, y)]
            seen.append((values[1][0] - values[0][0]) / (y - x))
        assert low <= min(seen) <= max(seen) <= high


def exact_columns(inputs, numbers, codes):
    out = []
    for column, value in zip(inputs.columns, [*numbers, *codes], strict=True):
        if not hasattr(column, "maps"):
            out += [Fraction(v) for v in column.table[int(value)].tolist()]
            continue
        for phi in column.maps:
            k, v = ([Fraction(a) for a in array.tolist()] for array in (phi.knots, phi.values))
            piece = sum(value >= knot for knot in k)
            at = max(piece - 1, 0)
            out.append(v[at] + (value - k[at]) * phi.slopes[piece])
        out += [] if column.present is None else [Fraction(column.present)]
    return out


def test_an_average_of_both_units_has_one_slope_only():
    form = ConvexForm(([[0.0], [3.0]], [[0.5, 0.5]]), ([0.0, 0.0], [0.0]), (2,))
    slopes = ExactSlopes.of(FrozenNetwork(SlopeBounds([0.0], [3.0]), ((Trunk(form, (0,)),),)))
    assert slopes.of_column(0) == [(Fraction(3, 2), Fraction(3, 2))]


def test_paper_form_is_the_product_of_norms():
    form = paper(np.random.default_rng(4), [3, 6, 6, 1], 2, BOX)
    found = ExactSlopes.of(FrozenNetwork(BOX, ((Trunk(form, (0,)),),)))
    later = np.prod([exact_norm(w, Norm.LINF_TO_LINF) for w in form.weights[1:]])
    for j in range(3):
        cap = max(abs(Fraction(w)) for w in form.weights[0][:, j].tolist())
        reach = Fraction(form.radius[j]) * cap * later
        center = Fraction(form.center[0, j])
        assert found.of_column(j) == [(center - reach, center + reach)]
    assert layer_norms(form) == [1.0, 1.0, 1.0]


def test_raw_slopes_are_inside_those_of_columns_alone():
    for name in ("raw", "raw, classes"):
        network = networks()[name]
        slopes, loose = ExactSlopes.of(network), network.raw_slopes
        for at, i in enumerate(network.inputs.numeric):
            for k, (low, high) in enumerate(slopes.of_raw(i)):
                assert loose.for_output(k).lower[at] <= low <= high <= loose.for_output(k).upper[at]


def test_what_the_checker_does_not_repeat_has_no_certificate():
    network = frozen_networks(np.random.default_rng(0))["householder"]
    with pytest.raises(CertificateError, match="Householder"):
        ExactSlopes.of(network)
    form = PaperForm(
        ([[0.5], [0.5]], [[0.5, 0.5]]), ([0.0, 0.0], [0.0]), (Sort(2),), (Norm.L1_TO_LINF, Norm.LINF_TO_LINF),
        [[0.0]], [1.0], [1.0],
    )  # fmt: skip
    assert layer_norms(form) == [0.5, 1.0]
    two = PaperForm(([[0.5]],), ([0.0],), (), (Norm.L2_TO_LINF,), [[0.0]], [1.0], [1.0])
    with pytest.raises(CertificateError, match="L2"):
        layer_norms(two)


def test_rectified_paper_form():
    form = PaperForm(
        ([[1.0], [-1.0]], [[0.5, 0.5]]), ([0.0, 0.0], [0.0]), (Rectify(),), (Norm.L1_TO_LINF, Norm.LINF_TO_LINF),
        [[1.0]], [1.0], [1.0],
    )  # fmt: skip
    slopes = ExactSlopes.of(FrozenNetwork(SlopeBounds([0.0], [2.0]), ((Trunk(form, (0,)),),)))
    assert slopes.of_column(0) == [(0, 2)]
