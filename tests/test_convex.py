"""Convex form: gradients are averages of first-layer rows, and the evaluated function keeps its order to the bit."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from monolip.convex import ConvexForm, on_simplex
from monolip.errors import InputError, StructureError
from monolip.slopes import SlopeBounds

from .make import convex, exact_convex, mixing

SLOPES = SlopeBounds([0.0, -2.0, -1.0, 0.5, 0.0], [2.0, 0.0, 1.0, 0.5, 0.0])  # up, down, free, fixed, flat
GROUPS = [2, 3, 4, "full"]
STRENGTHS = st.floats(min_value=0.0, allow_nan=False, allow_infinity=False)


def form_of(rng, depth, group_size, outputs=1, bias=1.0):
    return convex(rng, [5, *[12] * (depth - 1), outputs] if depth > 1 else [5, outputs], group_size, SLOPES, bias)


@settings(max_examples=300)
@given(st.lists(STRENGTHS, min_size=1, max_size=9).filter(any))
@example([5e-324, 5e-324, 0.0])
@example([1.7976931348623157e308] * 9)
@example([1e308, 5e-324])
@example([0.1, 0.2, 0.7])
@example([1 / 3] * 3)
def test_rows_on_the_simplex_add_up_to_exactly_one(strengths):
    row = on_simplex([strengths])[0]
    assert sum(map(Fraction, row.tolist())) == 1
    assert (row >= 0).all()
    assert all(r == 0 for r, s in zip(row, strengths, strict=True) if s == 0)
    assert on_simplex(row[None]).tobytes() == row.tobytes()
    total = sum(map(Fraction, strengths))
    largest = max(abs(Fraction(r) - Fraction(s) / total) for r, s in zip(row.tolist(), strengths, strict=True))
    assert largest <= Fraction(len(strengths) + 2, 2**53)


@pytest.mark.parametrize("width", [2, 100, 4096])
def test_wide_rows_are_exact_too(width, rng):
    rows = on_simplex(rng.random((5, width)) * 10.0 ** rng.uniform(-20, 20, (5, width)))
    assert all(sum(map(Fraction, row)) == 1 for row in rows.tolist())
    even = on_simplex(np.ones((1, width)))[0]
    assert np.abs(even - 1 / width).max() <= 2.0**-52 * width


def test_rows_know_nothing_of_each_other(rng):
    rows = rng.random((40, 30)) ** 9 * 10.0 ** rng.integers(-290, 290, (40, 1)) * rng.integers(0, 2, (40, 30))
    rows[:, 3] += rows.max(axis=1) == 0
    rows[5] = on_simplex(rows[5:6])[0]  # exact already, between others that are not
    together = on_simplex(rows)
    assert together.tobytes() == b"".join(on_simplex(row[None]).tobytes() for row in rows)
    assert together[5].tobytes() == rows[5].tobytes()


@pytest.mark.parametrize(
    "rows",
    [
        [[0.0, 0.0]],
        [[-1e-300, 1.0]],
        [[math.nan, 1.0]],
        [[math.inf, 1.0]],
        [0.5, 0.5],
        [[]],
        [[1.0], [1.0, 2.0]],
        [["a"]],
    ],
)
def test_rows_that_are_no_weights_are_refused(rows):
    with pytest.raises(StructureError, match=r"mixing rows must be .*; pass"):
        on_simplex(rows)


@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("group_size", GROUPS)
def test_the_exact_function_moves_between_its_flattest_and_steepest_row(depth, group_size, rng):
    """Theorem 1 in rational arithmetic: min_k W1[k].(y - x) <= f(y) - f(x) <= max_k W1[k].(y - x)."""
    form = form_of(rng, depth, group_size, outputs=2)
    rows = [[Fraction(v) for v in row] for row in form.weights[0].tolist()]
    for _ in range(4):
        x, y = rng.normal(size=(2, 5)) * 10.0 ** rng.uniform(-3, 3)
        step = [Fraction(b) - Fraction(a) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        moves = [sum(w * d for w, d in zip(row, step, strict=True)) for row in rows]
        for before, after in zip(exact_convex(form, x.tolist()), exact_convex(form, y.tolist()), strict=True):
            assert min(moves) <= after - before <= max(moves)


@pytest.mark.parametrize("group_size", GROUPS)
def test_gradients_are_convex_combinations_of_first_layer_rows(group_size, rng):
    form = form_of(rng, 4, group_size)
    rows = form.weights[0]
    tiny = Fraction(1, 10**60)
    for x in rng.normal(size=(3, 5)).tolist():
        point = list(map(Fraction, x))
        here = exact_convex(form, point)[0]
        slopes = [
            (exact_convex(form, [v + tiny * (i == j) for j, v in enumerate(point)])[0] - here) / tiny for i in range(5)
        ]
        low, high = form.slope_range
        assert all(Fraction(a) <= s <= Fraction(b) for a, s, b in zip(low, slopes, high, strict=True))
        hull = linprog(np.zeros(12), A_eq=np.vstack([rows.T, np.ones(12)]), b_eq=[*map(float, slopes), 1.0])
        assert hull.status == 0


@pytest.mark.parametrize("group_size", GROUPS)
def test_evaluation_agrees_with_exact_arithmetic_up_to_rounding(group_size, rng):
    form = form_of(rng, 4, group_size, outputs=3)
    x = rng.normal(size=(4, 5))
    exact = [[float(v) for v in exact_convex(form, row)] for row in x.tolist()]
    np.testing.assert_allclose(form.evaluate(x), exact, rtol=0, atol=1e-13)


def steps_of_one_ulp(rng, n, scale):
    """Points and their neighbours: up in feature 0, down in feature 1, one ulp, at random and on ties."""
    x = scale * rng.normal(size=(n, 5))
    x[: n // 4] = scale * rng.integers(-3, 4, (n // 4, 5))  # integer points: exact ties between units
    y = x.copy()
    y[:, 0] = np.nextafter(x[:, 0], np.inf)
    y[::2, 1] = np.nextafter(x[::2, 1], -np.inf)
    y[::5, 4] = -x[::5, 4]  # a flat feature may move anywhere
    return x, y


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e12, 1e300])
@pytest.mark.parametrize("group_size", GROUPS)
@pytest.mark.parametrize("depth", range(1, 9))
def test_one_ulp_steps_never_go_the_wrong_way(depth, group_size, scale, rng):
    """Theorem 4. 160 networks of 4000 steps each; zero is the only number of violations that is allowed."""
    form = form_of(rng, depth, group_size, bias=scale)
    x, y = steps_of_one_ulp(rng, 4000, scale)
    assert (form.evaluate(y) >= form.evaluate(x)).all()


@pytest.mark.parametrize("group_size", GROUPS)
def test_networks_made_of_exact_ties_never_go_the_wrong_way(group_size, rng):
    weight = rng.integers(0, 3, (12, 5)) * np.array([1.0, -1.0, 1.0, 0.0, 0.0])
    form = ConvexForm(
        (weight, mixing(rng, 12, 12), mixing(rng, 1, 12)),
        (rng.integers(-1, 2, 12), np.zeros(12), np.zeros(1)),
        (12, 12) if group_size == "full" else (group_size, group_size),
    )
    x, y = steps_of_one_ulp(rng, 20_000, 1.0)
    assert (form.evaluate(y) >= form.evaluate(x)).all()


@pytest.mark.parametrize("depth", [1, 2, 8])
def test_order_survives_from_minus_infinity_to_infinity_without_overflow(depth, rng):
    form = form_of(rng, depth, 2)
    ladder = np.array([-np.inf, -1.7e308, -1e300, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1e300, 1.7e308, np.inf])
    for feature, sign in ((0, 1), (1, -1)):
        x = np.tile(rng.normal(size=5), (len(ladder), 1))
        x[:, feature] = ladder
        values = form.evaluate(x)
        assert np.isfinite(values).all()
        assert (sign * np.diff(values, axis=0) >= 0).all()
    corners = np.array(np.meshgrid(*[[-np.inf, 1.7e308]] * 5)).reshape(5, -1).T
    assert np.isfinite(form.evaluate(corners)).all()
    assert (form.evaluate([[np.inf] * 5]) == form.evaluate([[form.clamp_limit] * 5])).all()


def test_the_same_row_gives_the_same_bits_in_any_batch(rng):
    form = form_of(rng, 4, 3, outputs=2)
    x = rng.normal(size=(5000, 5))
    together = form.evaluate(x)
    for place in (0, 1, 2500, 4999):
        assert form.evaluate(x[place : place + 1]).tobytes() == together[place].tobytes()
    assert form.evaluate(x[100:107]).tobytes() == together[100:107].tobytes()
    assert form.evaluate(np.zeros((0, 5))).shape == (0, 2)


def test_nan_is_refused(rng):
    with pytest.raises(InputError, match="NaN"):
        form_of(rng, 2, 2).evaluate([[0.0, 0.0, np.nan, 0.0, 0.0]])


GOOD = {"weights": ([[1.0], [-1.0]], [[0.25, 0.75]]), "biases": ([0.0, 0.0], [0.0]), "group_sizes": (2,)}
ULP = math.ulp(0.75)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": ([[1.0], [-1.0]], [[0.25, 0.75 + ULP]])}, "sum exactly 1; row 0 of layer 1"),
        ({"weights": ([[1.0], [-1.0]], [[0.25, 0.75 - ULP]])}, "pass it through on_simplex"),
        ({"weights": ([[1.0], [-1.0]], [[-0.25, 1.25]])}, "has minimum -0.25"),
        ({"weights": ([[1.0], [-1.0]], [[-5e-324, 1.0]])}, "must be >= 0"),
        ({"weights": ([[1.0], [-1.0]], [[1e308, 1e308]])}, "sum exactly 1"),
        ({"weights": ([[1.0], [-1.0]], [[math.nan, 1.0]])}, "must be finite; layer 1"),
        ({"weights": ([[math.inf], [-1.0]], [[0.25, 0.75]])}, "must be finite; layer 0"),
        ({"biases": ([0.0, math.nan], [0.0])}, "must be finite; layer 0"),
        ({"weights": ([[1.0], [-1.0]], [[1.0]])}, "layer 1 must take what layer 0 gives; got 1 inputs for 2 outputs"),
        ({"weights": ([1.0, -1.0], [[0.25, 0.75]])}, r"must have a weight \(out, in\)"),
        ({"weights": (np.zeros((2, 0)), [[0.25, 0.75]])}, "not empty"),
        ({"biases": ([0.0], [0.0])}, r"got \(2, 1\) and \(1,\)"),
        ({"biases": ([0.0, 0.0],)}, "as many biases as weights; got 1 and 2"),
        ({"weights": (), "biases": (), "group_sizes": ()}, "as many biases as weights"),
        ({"group_sizes": ()}, r"one group size per hidden layer; got \(\) for 1"),
        ({"group_sizes": (2, 2)}, r"got \(2, 2\) for 1"),
        ({"group_sizes": 2}, "one group size per hidden layer; got 2"),
        ({"group_sizes": (3,)}, "must divide the width"),
        ({"group_sizes": (0,)}, "positive int"),
        ({"weights": (["a"], ["b"])}, "must be arrays of numbers"),
        ({"weights": None}, "must be arrays of numbers"),
        ({"weights": ([[1e308], [1e308]], [[0.25, 0.75]]), "biases": ([1e308, 0.0], [1e308])}, "small enough"),
        ({"weights": ([[1e308, 1e308]], [[1.0]]), "biases": ([0.0], [0.0]), "group_sizes": (1,)}, "small enough"),
    ],
)
def test_what_is_not_convex_form_cannot_be_constructed(change, message):
    ConvexForm(**GOOD)
    with pytest.raises(StructureError, match=message):
        ConvexForm(**{**GOOD, **change})


def test_the_smallest_excess_over_one_is_found():
    row = [1.0, 5e-324]  # their float sum is 1.0
    assert sum(row) == 1.0
    with pytest.raises(StructureError, match="sum exactly 1"):
        ConvexForm(([[1.0], [-1.0]], [row]), GOOD["biases"], (2,))


def test_it_cannot_be_changed_and_stays_so_through_pickle_and_deepcopy(rng):
    original = form_of(rng, 3, 2)
    x = rng.normal(size=(9, 5))
    for form in (original, pickle.loads(pickle.dumps(original)), copy.deepcopy(original)):
        assert form.evaluate(x).tobytes() == original.evaluate(x).tobytes()
        for array in (*form.weights, *form.biases):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0
        with pytest.raises(FrozenInstanceError):
            form.weights = ()
    source = np.ones((1, 1))
    form = ConvexForm((source,), ([0.0],), ())
    source[0, 0] = -5.0
    assert form.evaluate([[1.0]]) == 1.0


def test_slopes_are_read_off_the_columns(rng):
    form = form_of(rng, 3, 4)
    low, high = form.slope_range
    assert SLOPES.contains(low)
    assert SLOPES.contains(high)
    assert (low[3], high[3], low[4], high[4]) == (0.5, 0.5, 0.0, 0.0)
