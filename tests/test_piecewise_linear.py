"""A monotone piecewise-linear map: attacked at its knots, one ulp at a time."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from monolip.errors import InputError, StructureError
from monolip.piecewise_linear import PiecewiseLinear

finite = st.floats(-1e6, 1e6)
MAX = float(np.finfo(np.float64).max)


def random_map(rng, n, scale=1.0):
    knots = np.unique(rng.normal(size=n) * scale)
    values = np.cumsum(rng.random(knots.size) * (rng.random(knots.size) < 0.7)) * rng.choice([1e-3, 1.0, 1e6])
    return PiecewiseLinear(knots, values, *rng.choice([0.0, 0.1, 3.0], 2))


def exact(phi, x):
    """The real function, without rounding."""
    x, knots, values = Fraction(x), [Fraction(k) for k in phi.knots], [Fraction(v) for v in phi.values]
    piece = sum(k <= x for k in knots)
    anchor = max(piece - 1, 0)
    return values[anchor] + (x - knots[anchor]) * phi.slopes[piece]


@pytest.mark.parametrize("scale", [1e-290, 1e-9, 1.0, 1e9, 1e300])
def test_no_one_ulp_step_falls_anywhere_least_of_all_across_a_knot(rng, scale):
    for _ in range(40):
        phi = random_map(rng, 12, scale)
        near = np.concatenate([phi.knots, rng.choice(phi.knots, 300) * (1 + rng.normal(size=300) * 1e-15)])
        x = np.concatenate([near, rng.normal(size=300) * scale * 2])
        for step in (np.nextafter(x, np.inf), np.nextafter(np.nextafter(x, np.inf), np.inf), x + np.abs(x) * 1e-12):
            assert (phi.evaluate(step) >= phi.evaluate(x)).all()


@given(hnp.arrays(np.float64, st.integers(1, 8), elements=finite, unique=True), st.data())
def test_values_are_the_real_function_up_to_rounding(knots, data):
    knots = np.sort(knots)
    values = np.sort(data.draw(hnp.arrays(np.float64, knots.size, elements=finite)))
    knots += np.arange(knots.size)  # knots closer than about 1e-300 are refused
    phi = PiecewiseLinear(knots, values, data.draw(st.floats(0, 10)), data.draw(st.floats(0, 10)))
    x = data.draw(finite)
    got, real = float(phi.evaluate(x)), float(exact(phi, x))
    assert abs(got - real) <= 1e-14 * (np.abs(values).max() + abs(real) + 1) * 10


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=20), st.integers(0, 2**32 - 1))
def test_order_is_kept_from_minus_infinity_to_infinity_and_nothing_overflows(points, seed):
    phi = random_map(np.random.default_rng(seed), 6, 1e2)
    y = phi.evaluate(np.sort(points))
    assert np.isfinite(y).all()
    assert (np.diff(y) >= 0).all()


def test_knots_at_the_ends_of_the_number_line():
    phi = PiecewiseLinear([-MAX, MAX], [-1.0, 1.0], 5.0, 5.0)
    assert phi.evaluate([-np.inf, -MAX, 0.0, MAX, np.inf]) == pytest.approx([-1.0, -1.0, 0.0, 1.0, 1.0])


def test_slopes_are_exact_rationals():
    phi = PiecewiseLinear([0.0, 3.0], [0.0, 1.0], 0.1, 2.0)
    assert phi.slopes == (Fraction(0.1), Fraction(1, 3), Fraction(2))


def test_survives_pickling_read_only(rng):
    phi = random_map(rng, 5)
    again = pickle.loads(pickle.dumps(phi))
    assert np.array_equal(again.pieces, phi.pieces)
    assert not again.knots.flags.writeable


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0, 0.0], [0.0, 1.0]), "strictly increasing"),
        (([0.0, 1.0], [1.0, 0.0]), "non-decreasing values"),
        (([0.0, 1.0], [0.0, 1.0], -1.0), "tail slopes >= 0"),
        (([0.0], [0.0, 1.0]), "one value per knot"),
        (([], []), "one value per knot"),
        (([0.0, np.inf], [0.0, 1.0]), "finite numbers"),
        (([0.0, 5e-324], [0.0, 1.0]), "too close together; merge"),
        ((["a"], [0.0]), "must be numbers"),
    ],
)
def test_what_is_not_such_a_map_cannot_be_built(arguments, words):
    with pytest.raises(StructureError, match=words):
        PiecewiseLinear(*arguments)


def test_nan_and_strings_are_refused():
    phi = PiecewiseLinear([0.0], [0.0])
    with pytest.raises(InputError, match="NaN has no place"):
        phi.evaluate([np.nan])
    with pytest.raises(InputError, match="takes numbers"):
        phi.evaluate(["x"])


@pytest.mark.parametrize("seed", range(20))
def test_one_number_has_the_bits_of_an_array(seed):
    rng = np.random.default_rng(seed)
    knots = np.unique(rng.normal(size=8) * 10.0 ** rng.integers(0, 300))
    tails = rng.choice([0.0, 1.0, 1e300], 2)
    phi = PiecewiseLinear(knots, np.sort(rng.choice([0.0, 1.0, 1e290, -1e-320], knots.size)), *tails)
    points = [*knots, *np.nextafter(knots, np.inf), *np.nextafter(knots, -np.inf), 0.0, -0.0, 1e308, -np.inf, np.inf]
    assert [phi.at(float(x)) for x in points] == phi.evaluate(points).tolist()
    with pytest.raises(InputError, match="NaN has no place"):
        phi.at(float("nan"))


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-290, 1e-9, 1.0, 1e9, 1e300]))
def test_parts_of_a_map_are_what_the_constructor_makes_of_them_to_the_bit(seed, scale):
    rng = np.random.default_rng(seed)
    phi = random_map(rng, 12, scale)
    places = np.unique(rng.integers(phi.knots.size, size=5)).tolist()
    if len(places) < 2:
        return
    for (first, last), part in zip(pairwise(places), phi.cut(places), strict=True):
        inside = slice(first, last + 1)
        built = PiecewiseLinear(phi.knots[inside], phi.values[inside] - (phi.values[first] + phi.values[last]) / 2)
        for name in ("knots", "values", "pieces"):
            mine, expected = getattr(part, name), getattr(built, name)
            assert mine.tobytes() == expected.tobytes()
            assert not mine.flags.writeable
        assert (part.left_slope, part.right_slope, part.slopes) == (0.0, 0.0, built.slopes)
        assert pickle.loads(pickle.dumps(part)).pieces.tobytes() == built.pieces.tobytes()


def test_parts_that_would_overflow_are_refused_by_the_constructor():
    with pytest.raises(StructureError, match="finite"), np.errstate(over="ignore"):
        PiecewiseLinear([-1.0, 0.0, 1.0], [MAX / 2, MAX, MAX]).cut([0, 1, 2])
    narrow = PiecewiseLinear([0.0, 1e-300, 1.0], [0.0, 1e-5, 2.0])  # near the smallest floats: checked like any other
    assert narrow.cut([0, 1])[0].values.tolist() == [-5e-6, 5e-6]


@pytest.mark.parametrize("places", [[], [1], [1, 1], [2, 0], [0, 3], [-1, 1]])
def test_a_map_is_cut_at_rising_numbers_of_its_knots(places):
    with pytest.raises(StructureError, match="rising numbers of its 3 knots"):
        PiecewiseLinear([0.0, 1.0, 2.0], [0.0, 1.0, 2.0]).cut(places)
