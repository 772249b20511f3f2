"""Directed rounding never crosses the bound, and sums of floats are compared as the rationals they are."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monolip.rounding import (
    digits_down,
    digits_up,
    exact_sum_is,
    exact_sum_is_at_most,
    interval_text,
    round_down,
    round_up,
    score_text,
    share_text,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
RATIONALS = st.builds(lambda a, b, c: Fraction(a) * Fraction(b) + Fraction(c), FLOATS, FLOATS, FLOATS)


@given(RATIONALS)
def test_round_down_is_the_largest_float_that_is_not_above(value):
    low = round_down(value)
    assert low == -math.inf or Fraction(low) <= value
    above = math.nextafter(low, math.inf)
    assert above == math.inf or Fraction(above) > value


@given(RATIONALS)
def test_round_up_is_the_smallest_float_that_is_not_below(value):
    high = round_up(value)
    assert high == math.inf or Fraction(high) >= value
    below = math.nextafter(high, -math.inf)
    assert below == -math.inf or Fraction(below) < value


@given(FLOATS)
def test_floats_are_left_alone(value):
    assert round_down(Fraction(value)) == value == round_up(Fraction(value))


def test_numbers_out_of_range_saturate_on_the_side_of_the_promise():
    huge = 2 * Fraction(sys.float_info.max)
    assert round_down(huge) == sys.float_info.max
    assert round_up(huge) == math.inf
    assert round_up(-huge) == -sys.float_info.max
    assert round_down(-huge) == -math.inf


def test_zero_is_plus_zero():
    assert math.copysign(1.0, round_up(Fraction(0))) == 1.0
    assert math.copysign(1.0, round_down(Fraction(0))) == 1.0


@given(st.lists(FLOATS, max_size=8), FLOATS)
def test_sums_are_compared_exactly_even_where_partial_sums_overflow(terms, bound):
    total = sum(map(Fraction, terms), Fraction(0))
    assert exact_sum_is_at_most(terms, bound) == (total <= Fraction(bound))
    assert exact_sum_is(terms, bound) == (total == Fraction(bound))


@pytest.mark.parametrize("terms", [[1.0, 2.0**-1074], [1e308, 1e308, -1e308], [0.1] * 10])
def test_the_smallest_excess_counts(terms):
    assert not exact_sum_is_at_most(terms, 1.0)
    assert not exact_sum_is(terms, 1.0)


def test_a_sum_that_overflows_on_the_way_can_still_be_exact():
    assert exact_sum_is([1e308, 1e308, -1e308, -1e308, 1.0], 1.0)
    assert exact_sum_is_at_most([1e308, 1e308, -1e308, -1e308, 1.0], 1.0)


@given(st.floats(allow_nan=False), st.integers(1, 15))
def test_printed_bounds_stay_bounds_and_are_as_near_as_the_digits_allow(value, digits):
    low, high = digits_down(value, digits), digits_up(value, digits)
    assert low <= value <= high
    shown = interval_text(value, value, digits)[1:-1].split(", ")
    assert float(shown[0]) <= value <= float(shown[1])
    if 1e-290 < abs(value) < 1e290:
        assert high - low <= abs(value) * 10.0 ** (1 - digits) * (1 + 1e-9)
        assert [float(text) for text in shown] == [low, high]


@given(st.integers(-9999, 9999), st.integers(-8, 8))
def test_a_number_of_few_digits_is_printed_as_it_is(whole, power):
    value = float(f"{whole}e{power}")
    assert digits_down(value, 4) == value == digits_up(value, 4)
    assert "-0," not in interval_text(-0.0, value, 4)


@given(st.floats(0, 1, exclude_max=True), st.integers(2, 6))
def test_a_score_below_one_is_never_printed_as_perfect(value, digits):
    shown = float(score_text(value, digits))
    assert shown < 1
    assert abs(shown - value) <= max(10.0 ** (1 - digits) * value, 1e-9)
    if shown > value:
        assert score_text(value, digits) == f"{value:.{digits}g}"  # rounded as ever


@given(st.floats(0, 1, exclude_min=True, exclude_max=True), st.integers(0, 2))
def test_a_share_of_some_is_neither_none_nor_all(share, decimals):
    shown = share_text(share, decimals)
    assert shown.endswith("%")
    assert 0 < float(shown[:-1]) < 100 or share < 1e-300
    assert abs(float(shown[:-1]) - 100 * share) <= 10.0**-decimals


def test_what_is_perfect_or_no_number_is_printed_so():
    assert [score_text(value) for value in (1.0, -0.00123, math.nan, 1.00001, 12345.0)] == [
        "1", "-0.00123", "nan", "1", "1.234e+04"
    ]  # fmt: skip
    assert [share_text(share, 0) for share in (0.0, 1.0, 0.004, 0.9961)] == ["0%", "100%", "0.4%", "99.6%"]
