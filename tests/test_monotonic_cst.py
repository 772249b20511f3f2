"""scikit-learn's grammar: what is accepted, and that every mistake gets the rule, the evidence and the remedy."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.errors import MonolipError, SlopeError
from monolip.monotonic_cst import by_position, check_names, feature_index, read_directions, read_per_feature

NAMES = ("income", "age", "debt")


def test_none_leaves_every_feature_free():
    assert read_directions(None, None, 3).tolist() == [0, 0, 0]
    assert read_directions(None, NAMES, None).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "cst",
    [[1, 0, -1], (1.0, 0.0, -1.0), np.array([1, 0, -1], dtype=np.int8), {"income": 1, "debt": -1}, {0: 1, 2: -1}],
)
def test_every_spelling_gives_the_same_directions(cst):
    assert read_directions(cst, NAMES, None).tolist() == [1, 0, -1]


def test_directions_may_differ_between_outputs():
    assert read_directions([[1, 0], [0, -1]], None, 2).tolist() == [[1, 0], [0, -1]]


@pytest.mark.parametrize("value", [True, np.True_, "1", "increasing", 3, -2, 0.5, float("nan"), None, [1], 1j, 10**400])
def test_a_direction_is_minus_one_zero_or_one(value):
    rule = r"a direction is -1 \(decreasing\), 0 \(free\) or \+1 \(increasing\); got .*; use one of the three"
    with pytest.raises(SlopeError, match=rule):
        read_directions({"age": value}, NAMES, None)
    given = np.zeros(3, dtype=object)
    given[1] = value
    with pytest.raises(SlopeError, match=rule):
        read_directions(given, NAMES, None)


@pytest.mark.parametrize(
    ("cst", "message"),
    [
        ([1, 0], "one entry per feature; got 2 for 3 features; write 0 for features without a direction"),
        ([], r"one entry per feature, shape .* got shape \(0,\)"),
        (1, r"got shape \(\); pass None"),
        ("abc", r"got shape \(\)"),
        (np.zeros((3, 1, 1)), r"got shape \(3, 1, 1\)"),
        ([[1, 0], [1], [0, 0]], r"a direction is .* got \[1, 0\]"),
        ({"incom": 1}, "got 'incom'; did you mean 'income'"),
        ({"come": 1}, r"got 'come'; did you mean 'income'\?$"),
        ({"Deb": 1}, r"got 'Deb'; did you mean 'debt'\?$"),
        ({"zzz": 1}, r"got 'zzz'; the features are 'income', 'age', 'debt'\.$"),
        ({3: 1}, "positions run from 0 to 2; got 3"),
        ({-1: 1}, "positions run from 0 to 2; got -1"),
        ({1.0: 1}, "a name or a position; got 1.0"),
        ({True: 1}, "a name or a position; got True"),
        ({"income": 1, 0: -1}, "each feature may be given once; got 0 again"),
    ],
)
def test_a_mistake_says_the_rule_what_it_got_and_what_to_do(cst, message):
    with pytest.raises(SlopeError, match=message):
        read_directions(cst, NAMES, None)


def test_regular_arrays_of_arrays_are_required():
    with pytest.raises(SlopeError, match="must be a regular array"):
        read_directions([np.zeros((2, 2)), np.zeros((2, 3))], None, None)


def test_the_number_of_features_must_be_known():
    for cst in (None, {}, {0: 1}):
        with pytest.raises(SlopeError, match=r"number of features must be known .* pass one of them"):
            read_directions(cst, None, None)
    for n_features in (True, 2.5, "3"):
        with pytest.raises(SlopeError, match="n_features must be an int"):
            read_directions(None, None, n_features)


def test_a_name_without_names_says_how_to_give_them():
    with pytest.raises(SlopeError, match=r"'age' was given by name .* pass feature_names"):
        feature_index("age", None, 3)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "a"], r"must be distinct; got \['a'\] more than once; rename"),
        (["a", "b"], "got 2 names for 3 features"),
        ("abc", "sequence of strings; got 'abc'"),
        (["a", 1, "c"], "sequence of strings"),
        (5, "sequence of strings; got 5"),
    ],
)
def test_names_are_distinct_strings_one_per_feature(names, message):
    with pytest.raises(SlopeError, match=message):
        check_names(names, 3)


def test_a_long_list_of_features_is_cut_in_messages():
    with pytest.raises(SlopeError, match=r"'f0', 'f1', 'f2', 'f3', 'f4' and \d+ more\.$"):
        feature_index("zzz", tuple(f"f{i}" for i in range(9)), 9)


@pytest.mark.parametrize(
    "value", [2, 2.0, np.float32(2), [2, 2, 2], {"income": 2, "age": 2, "debt": 2}, {0: 2, 1: 2, 2: 2}]
)
def test_a_cap_is_one_number_or_one_per_feature(value):
    assert read_per_feature(value, "max_slope", NAMES, 3).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "must be positive and finite; got 0.0; pass a number greater than 0"),
        (-1.0, "must be positive and finite; got -1.0"),
        (float("nan"), "must be positive and finite; got nan"),
        (float("inf"), "must be positive and finite; got inf"),
        ([1, 2], r"one number or one per feature; got shape \(2,\) for 3 features"),
        ([[1, 2, 3]], r"got shape \(1, 3\)"),
        ([], r"got shape \(0,\)"),
        ([[1], [1, 2]], "max_slope must be a number"),
        ({"income": 1}, r"must name every feature; \['age', 'debt'\] missing"),
        ({"income": 1, "age": float("nan"), "debt": 1}, "must be positive and finite; got nan"),
        ({"income": 1, "age": "x", "debt": 1}, "max_slope of 'age' must be a number; got 'x'"),
        ({"incme": 1}, "did you mean 'income'"),
        (True, "must be a number; got True"),
        ("2", "must be a number; got '2'"),
        (None, "must be a number; got None"),
        (10**400, "must be a number"),
    ],
)
def test_a_cap_that_cannot_be_promised_is_refused(value, message):
    with pytest.raises(SlopeError, match=message):
        read_per_feature(value, "max_slope", NAMES, 3)


def test_positions_are_found_by_name_and_by_number():
    assert by_position({"debt": "a", 0: "b"}, NAMES, 3) == {2: "a", 0: "b"}
    assert by_position({np.int64(1): "c"}, None, 3) == {1: "c"}


def test_every_error_is_a_monolip_error_and_a_value_error():
    assert issubclass(SlopeError, MonolipError)
    assert issubclass(SlopeError, ValueError)
