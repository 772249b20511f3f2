"""SlopeBounds: center +- radius inside the interval exactly, rescaling inwards exactly, nothing half-refused."""

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

from monolip.errors import SlopeError
from monolip.slopes import SlopeBounds

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TINY = st.integers(-9, 9).map(lambda k: k * 5e-324)  # multiples of the smallest subnormal, where halving rounds
INTERVALS = st.tuples(FLOATS | TINY, FLOATS | TINY).map(sorted)
SCALES = st.floats(min_value=5e-324, allow_nan=False, allow_infinity=False)
TOP = 1.7976931348623157e308


@settings(max_examples=400)
@given(st.lists(INTERVALS, min_size=1, max_size=4))
@example([(5e-324, 5e-324)])
@example([(1.5e-323, 1.5e-323)])
@example([(-TOP, TOP)])
@example([(TOP, TOP)])
@example([(-TOP, 5e-324)])
def test_center_plus_minus_radius_lies_inside_the_interval_exactly(intervals):
    lower, upper = np.transpose(intervals)
    slopes = SlopeBounds(lower, upper)
    assert np.isfinite(slopes.center).all()
    assert np.isfinite(slopes.radius).all()
    for a, b, c, r in zip(lower, upper, slopes.center, slopes.radius, strict=True):
        low, high, center, radius = map(Fraction, map(float, (a, b, c, r)))
        assert radius >= 0
        assert low <= center - radius
        assert center + radius <= high
        half = (high - low) / 2  # and no more of the interval is given away than rounding costs
        assert half - radius <= Fraction(math.ulp(c)) + Fraction(math.ulp(r))


@settings(max_examples=400)
@given(INTERVALS, SCALES, SCALES)
@example((0.0, 1e300), 1e300, 1.0)
@example((1e300, 1e301), 1e300, 1.0)
@example((-TOP, TOP), TOP, 5e-324)
@example((1.0, 1.0), 3.0, 1.0)
def test_rescaling_rounds_inwards_and_as_little_as_possible(interval, feature_scale, output_scale):
    factor = Fraction(feature_scale) / Fraction(output_scale)
    low, high = (Fraction(v) * factor for v in interval)
    try:
        scaled = SlopeBounds([interval[0]], [interval[1]]).rescaled([feature_scale], output_scale)
    except SlopeError:  # only where no finite float lies inside
        nearest = float(low) if abs(low) <= Fraction(TOP) else (math.inf if low > 0 else -math.inf)
        around = (math.nextafter(nearest, -math.inf), nearest, math.nextafter(nearest, math.inf))
        assert not any(math.isfinite(v) and low <= Fraction(v) <= high for v in around)
        return
    lower, upper = float(scaled.lower[0]), float(scaled.upper[0])
    assert low <= Fraction(lower) <= Fraction(upper) <= high
    before, after = math.nextafter(lower, -math.inf), math.nextafter(upper, math.inf)
    assert before == -math.inf or Fraction(before) < low
    assert after == math.inf or Fraction(after) > high


def test_rescaling_keeps_names_outputs_and_directions():
    slopes = SlopeBounds.from_monotonic_cst([[1, -1], [0, 1]], 3.0, feature_names=["a", "b"])
    scaled = slopes.rescaled({"a": 2.0, "b": 0.5}, 4.0)
    assert scaled.feature_names == ("a", "b")
    assert scaled.upper.tolist() == [[1.5, 0.0], [0.375, 0.375]]
    assert (scaled.directions == slopes.directions).all()
    assert "-0," not in str(scaled)
    assert "-0]" not in str(scaled)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_scales_must_be_positive(scale):
    slopes = SlopeBounds([0.0], [1.0])
    with pytest.raises(SlopeError, match="feature_scale must be positive and finite"):
        slopes.rescaled([scale])
    with pytest.raises(SlopeError, match="output_scale must be positive and finite"):
        slopes.rescaled([1.0], scale)


def test_a_cap_turns_directions_into_intervals():
    slopes = SlopeBounds.from_monotonic_cst([1, -1, 0], [1.0, 2.0, 3.0])
    assert slopes.lower.tolist() == [0.0, -2.0, -3.0]
    assert slopes.upper.tolist() == [1.0, 0.0, 3.0]
    assert slopes.directions.tolist() == [1, -1, 0]


def test_none_means_unconstrained_not_increasing():
    slopes = SlopeBounds.from_monotonic_cst(None, 2.0, n_features=2)
    assert slopes.lower.tolist() == [-2.0, -2.0]


def test_the_papers_lambda_is_half_the_cap_of_a_monotone_feature():
    slopes = SlopeBounds.from_paper(1.5, [1, -1, 0])
    assert slopes.lower.tolist() == [0.0, -3.0, -1.5]
    assert slopes.upper.tolist() == [3.0, 0.0, 1.5]
    assert slopes.center.tolist() == [1.5, -1.5, 0.0]
    assert slopes.radius.tolist() == [1.5, 1.5, 1.5]
    named = SlopeBounds.from_paper(1.0, {"b": 1}, feature_names=["a", "b"])
    assert named.upper.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("lambda_", "message"),
    [(0, "lambda must be positive"), (float("nan"), "lambda must be positive"), (1e308, "must be finite")],
)
def test_a_lambda_that_gives_no_interval_is_refused(lambda_, message):
    with pytest.raises(SlopeError, match=message):
        SlopeBounds.from_paper(lambda_, [1])


def test_explicit_intervals_replace_those_of_the_cap():
    slopes = SlopeBounds.from_monotonic_cst([1, 0], 1.0, slopes={1: (-0.5, 0.25)})
    assert slopes.lower.tolist() == [0.0, -0.5]
    assert slopes.upper.tolist() == [1.0, 0.25]
    wide = SlopeBounds.from_monotonic_cst([[1, 0], [0, 0]], 1.0, slopes={1: (2.0, 3.0)})
    assert wide.lower.tolist() == [[0.0, -1.0], [2.0, 2.0]]


@pytest.mark.parametrize(
    ("slopes", "message"),
    [
        ({"agee": (0, 1)}, "did you mean 'age'"),
        ({"age": (1, 0)}, "slope interval of 'age' is empty: lower=1.0 > upper=0.0; swap them"),
        ({"age": (0, float("inf"))}, "must be finite"),
        ({"age": (0, float("nan"))}, "must be finite"),
        ({"age": 1.0}, r"slopes\['age'\] must be a pair"),
        ({"age": (0, 1, 2)}, r"slopes\['age'\] must be a pair"),
        ({"age": ("a", "b")}, r"slopes\['age'\] must be a pair"),
        ({"age": (0, 1), 1: (0, 2)}, "given once"),
    ],
)
def test_explicit_intervals_are_checked(slopes, message):
    with pytest.raises(SlopeError, match=message):
        SlopeBounds.from_monotonic_cst([1, 0], 1.0, feature_names=["income", "age"], slopes=slopes)


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([1.0], [0.0], "slope interval of feature 0 is empty: lower=1.0 > upper=0.0; swap them"),
        ([0.0, math.nan], [1.0, 1.0], r"must be finite; got \[nan, 1.0\] for feature 1; choose a finite cap"),
        ([0.0], [math.inf], r"must be finite; got \[0.0, inf\]"),
        ([-math.inf], [0.0], r"must be finite; got \[-inf, 0.0\]"),
        ([0.0, 0.0], [1.0], r"same shape.*got \(2,\) and \(1,\)"),
        ([], [], "not be empty"),
        (0.0, 1.0, r"got \(\) and \(\)"),
        ([[[0.0]]], [[[1.0]]], r"got \(1, 1, 1\)"),
        ([[0.0, 2.0]], [[1.0, 1.0]], "feature 0 -> output 1 is empty"),
        (["x"], [1.0], "lower must be numbers; got .*; pass an array of floats"),
        ([0.0], [None, [1]], "upper must be numbers"),
        ([0.0], [10**400], "upper must be numbers"),
    ],
)
def test_an_interval_that_cannot_be_promised_is_refused(lower, upper, message):
    with pytest.raises(SlopeError, match=message):
        SlopeBounds(lower, upper)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"monotonic_cst": {"a": 1}, "max_slope": 1.0}, "number of features must be known"),
        ({"monotonic_cst": {0: 1}, "max_slope": 1.0, "n_features": 0}, "positions run from 0 to -1"),
        ({"monotonic_cst": None, "max_slope": 1.0, "n_features": 0}, "not be empty"),
        ({"monotonic_cst": None, "max_slope": 1.0, "n_features": -1}, "not be empty"),
        ({"monotonic_cst": [1], "max_slope": 1.0, "feature_names": ["a", "b"]}, "got 1 for 2 features"),
        ({"monotonic_cst": [1, 1], "max_slope": 1.0, "feature_names": ["a", "a"]}, "distinct"),
        ({"monotonic_cst": [1], "max_slope": 0}, "max_slope must be positive"),
        ({"monotonic_cst": [1], "max_slope": {}}, r"must name every feature; \[0\] missing"),
    ],
)
def test_the_grammar_reports_its_mistakes(arguments, message):
    with pytest.raises(SlopeError, match=message):
        SlopeBounds.from_monotonic_cst(**arguments)


def test_contains_has_no_slack_by_default_and_never_holds_nan():
    slopes = SlopeBounds([0.0, -1.0], [1.0, 0.0])
    assert slopes.contains([0.0, 0.0])
    assert slopes.contains(np.zeros((3, 4, 2)))
    assert slopes.contains(np.zeros((0, 2)))
    assert not slopes.contains([-5e-324, 0.0])
    assert not slopes.contains([math.nextafter(1.0, 2.0), 0.0])
    assert slopes.contains([1.0 + 1e-9, 0.0], atol=1e-8)
    assert not slopes.contains([math.nan, 0.0])
    assert not slopes.contains([math.nan, 0.0], atol=math.inf)
    for wrong in ([0.0], 0.0, np.zeros((2, 3)), ["a", "b"], [[0.0], [0.0, 1.0]]):
        with pytest.raises(SlopeError):
            slopes.contains(wrong)


def test_contains_reads_jacobians_with_outputs_before_features():
    slopes = SlopeBounds.from_monotonic_cst([[1, -1], [0, 0], [0, 0]], 1.0)
    jacobian = np.zeros((5, 2, 3))
    jacobian[:, 0, 0], jacobian[:, 1, 0] = 0.5, -0.5
    assert slopes.contains(jacobian)
    assert not slopes.contains(-jacobian)
    with pytest.raises(SlopeError, match=r"must end in shape \(2, 3\)"):
        slopes.contains(np.zeros((5, 3, 2)))


def test_contains_takes_torch_tensors_of_any_precision():
    torch = pytest.importorskip("torch")
    slopes = SlopeBounds([0.0, -1.0], [1.0, 0.0])
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        assert slopes.contains(torch.zeros(3, 2, dtype=dtype, requires_grad=True))
        assert not slopes.contains(torch.full((3, 2), 0.5, dtype=dtype))
        assert not slopes.contains(torch.full((2,), math.nan, dtype=dtype))


def test_one_interval_per_output_is_picked_by_for_output():
    slopes = SlopeBounds.from_monotonic_cst([[1, -1], [0, 1]], 2.0, feature_names=["a", "b"])
    assert slopes.n_outputs == 2
    assert slopes.for_output(1) == SlopeBounds([-2.0, 0.0], [0.0, 2.0], ("a", "b"))
    single = SlopeBounds([0.0], [1.0])
    assert single.n_outputs is None
    assert single.for_output(7) is single
    assert slopes.center.shape == slopes.radius.shape == (2, 2)


def test_it_cannot_be_changed_and_stays_so_through_pickle_and_deepcopy():
    given = np.zeros(2)
    original = SlopeBounds(given, np.ones(2), ["a", "b"])
    given[0] = 7.0
    assert original.lower[0] == 0.0
    for slopes in (original, pickle.loads(pickle.dumps(original)), copy.deepcopy(original), copy.copy(original)):
        assert slopes == original
        assert slopes.feature_names == ("a", "b")
        for array in (slopes.lower, slopes.upper, slopes.center, slopes.radius):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 3.0
        with pytest.raises(FrozenInstanceError):
            slopes.lower = np.ones(2)


def test_equal_bounds_have_equal_hashes_even_with_negative_zeros():
    one, other = SlopeBounds([0.0], [1.0]), SlopeBounds([-0.0], [1.0])
    assert one == other
    assert hash(one) == hash(other)
    assert str(one) == str(other)
    assert len({one, other}) == 1
    assert one != SlopeBounds([0.0], [1.0], ("a",))
    assert one != SlopeBounds([0.0], [2.0])
    assert one != SlopeBounds([[0.0]], [[1.0]])
    assert one != "not bounds"


def test_the_table_names_what_is_promised():
    table = str(SlopeBounds([0, -1, -1, 0], [1, 0, 1, 0], ("up", "down", "any", "none")))
    words = [line.split()[:2] for line in table.splitlines()[1:]]
    assert words == [["up", "increasing"], ["down", "decreasing"], ["any", "bounded"], ["none", "flat"]]
    assert table.splitlines()[0].split() == ["feature", "promised", "slope", "interval"]
    assert "up -> output 1" in str(SlopeBounds(np.zeros((1, 2)), np.ones((1, 2)), ("up",)))
