"""SlopeSet: the projection is the nearest point, what is called exact is exact, empty sets cannot be built."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from monolip.convex import ConvexForm
from monolip.errors import SlopeError
from monolip.slope_projection import project_rows
from monolip.slope_set import SlopeSet
from monolip.slopes import SlopeBounds

from .make import exact_convex, mixing

BOX = SlopeBounds([0.0, 0.0, -1.0], [2.0, 2.0, 1.0], ("dose", "age", "weight"))
SETS = {
    "box": SlopeSet(BOX),
    "dominance": SlopeSet(BOX).at_least("dose", "age"),
    "chain": SlopeSet(BOX).at_least("dose", "age").at_least("age", "weight"),
    "ball": SlopeSet(BOX).in_l2_ball(1.5),
    "sum": SlopeSet(BOX).at_most({"dose": 1.0, "age": 2.0, "weight": -0.5}, 1.0),
    "all": SlopeSet(BOX).at_least(0, 1).at_most({0: 1.0, 1: 1.0, 2: 1.0}, 1.5).in_l2_ball(1.2),
    "fixed": SlopeSet(SlopeBounds([0.5, 0.0, -1.0], [0.5, 2.0, 1.0])).at_least(0, 1),
}


def nearest(promise, row):
    """The projection by a general solver, as a reference."""
    matrix, limits = promise.inequalities
    rules = [{"type": "ineq", "fun": lambda w: limits - matrix @ w, "jac": lambda w: -matrix}] if limits.size else []
    if promise.l2_radius is not None:
        rules.append({"type": "ineq", "fun": lambda w: promise.l2_radius**2 - w @ w, "jac": lambda w: -2 * w})
    found = minimize(
        lambda w: ((w - row) ** 2).sum(),
        promise.anchor,
        jac=lambda w: 2 * (w - row),
        bounds=list(zip(promise.bounds.lower, promise.bounds.upper, strict=True)),
        constraints=rules,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return found.x


@pytest.mark.parametrize("name", SETS)
def test_project_is_the_nearest_point_of_the_set(name, rng):
    promise = SETS[name]
    rows = 2.0 * rng.normal(size=(40, 3))
    projected = promise.project(rows)
    assert promise.contains(projected, atol=1e-12)
    for row, near in zip(rows, projected, strict=True):
        assert np.linalg.norm(near - row) <= np.linalg.norm(nearest(promise, row) - row) + 1e-6


@pytest.mark.parametrize("name", SETS)
@settings(max_examples=15)
@given(data=st.data())
def test_exact_rows_lie_in_the_set_in_rational_arithmetic(name, data):
    promise = SETS[name]
    floats = st.floats(-1e6, 1e6)
    rows = np.array(data.draw(st.lists(st.tuples(floats, floats, floats), min_size=4, max_size=4)))
    exact = promise.exact(rows)
    assert promise.contains_exactly(exact)
    assert np.abs(exact - promise.project(rows)).max() < 1e-6
    matrix, limits = promise.inequalities
    for row in exact.tolist():
        w = list(map(Fraction, row))
        box = zip(promise.bounds.lower, w, promise.bounds.upper, strict=True)
        assert all(Fraction(a) <= v <= Fraction(b) for a, v, b in box)
        for plane, top in zip(matrix.tolist(), limits.tolist(), strict=True):
            assert sum(Fraction(a) * v for a, v in zip(plane, w, strict=True)) <= Fraction(top)
        if promise.l2_radius is not None:
            assert sum(v * v for v in w) <= Fraction(promise.l2_radius) ** 2


@pytest.mark.parametrize("name", SETS)
def test_points_inside_stay_where_they_are(name, rng):
    promise = SETS[name]
    inside = promise.project(rng.normal(size=(30, 3)))
    inside = promise.anchor + 0.99 * (inside - promise.anchor)
    np.testing.assert_allclose(promise.project(inside), inside, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", SETS)
def test_gradients_of_a_network_with_rows_in_the_set_lie_in_the_set(name, rng):
    promise = SETS[name]
    rows = promise.exact(2.0 * rng.normal(size=(8, 3)))
    form = ConvexForm(
        (rows, mixing(rng, 6, 8), mixing(rng, 1, 6)),
        (rng.normal(size=8), rng.normal(size=6), rng.normal(size=1)),
        (4, 2),
    )
    step = Fraction(1, 10**40)  # so small that it stays in its linear region
    for x in rng.normal(size=(20, 3)).tolist():
        point = list(map(Fraction, x))
        here = exact_convex(form, point)[0]
        moved = [exact_convex(form, [v + step * (i == j) for j, v in enumerate(point)])[0] for i in range(3)]
        gradient = [float((value - here) / step) for value in moved]
        assert promise.contains(gradient, atol=1e-12)
        hull = linprog(np.zeros(8), A_eq=np.vstack([rows.T, np.ones(8)]), b_eq=[*gradient, 1.0])
        assert hull.status == 0, "the gradient is a convex combination of first-layer rows"


def test_torch_and_numpy_project_alike(rng):
    torch = pytest.importorskip("torch")
    for promise in SETS.values():
        rows = rng.normal(size=(9, 3))
        *arrays, ball = promise.parts()
        tensors = [torch.tensor(array) for array in arrays]
        result = project_rows(torch.tensor(rows), *tensors, ball, torch.tensor(np.array(promise.anchor)), 1000)
        np.testing.assert_allclose(result.numpy(), promise.project(rows), atol=1e-12)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e5, 1e9])
def test_the_anchor_itself_is_projected_without_overflow_at_any_size(size):
    promise = SlopeSet(SlopeBounds([-size, 0.0], [size, size])).at_least(1, 0).in_l2_ball(size / 2)
    np.testing.assert_allclose(promise.project(promise.anchor), promise.anchor)
    assert promise.contains_exactly(promise.exact([[9 * size, -size], [0.0, 0.0]]))


def test_project_keeps_any_leading_shape_and_empty_batches(rng):
    promise = SETS["all"]
    assert promise.project(rng.normal(size=(2, 5, 3))).shape == (2, 5, 3)
    assert promise.project(rng.normal(size=3)).shape == (3,)
    assert promise.project(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SlopeSet(BOX).at_most({0: 1.0}, -1.0), "must have an inside.*loosen one"),
        (lambda: SlopeSet(BOX).at_least(0, 1).at_most({0: 1.0, 1: -1.0}, -0.5), "must have an inside"),
        (lambda: SlopeSet(SlopeBounds([0.0, 1.0], [0.0, 1.0])).at_least(0, 1), "must have an inside"),
        (lambda: SlopeSet(SlopeBounds([0.0, 1.0, 0.0], [0.0, 1.0, 1.0])).at_least(0, 1), "must have an inside"),
        (lambda: SlopeSet(SlopeBounds([3.0, 4.0], [3.0, 5.0])).in_l2_ball(4.0), "must have an inside"),
        (lambda: SlopeSet(SlopeBounds([-1e308], [1e308])).at_most({0: 1e308}, 1.0), "must have an inside"),
        (lambda: SlopeSet(BOX).in_l2_ball(0.0), "L2 radius must be positive"),
        (lambda: SlopeSet(BOX).in_l2_ball(float("nan")), "L2 radius must be positive"),
        (lambda: SlopeSet(BOX).in_l2_ball(float("inf")), "L2 radius must be positive"),
        (lambda: SlopeSet(BOX, l2_radius="big"), "L2 radius must be a number"),
        (lambda: SlopeSet(BOX).at_least("dose", "dose"), "compared with itself; got 'dose' twice"),
        (lambda: SlopeSet(BOX).at_least("dose", 0), "compared with itself"),
        (lambda: SlopeSet(BOX).at_least("dosis", "age"), "did you mean 'dose'"),
        (lambda: SlopeSet(BOX).at_most({"dose": 1.0, 0: 1.0}, 1.0), "given once"),
        (lambda: SlopeSet(BOX).at_most({}, 1.0), "must involve a slope"),
        (lambda: SlopeSet(BOX).at_most({"age": 0.0}, -1.0), "must involve a slope"),
        (lambda: SlopeSet(BOX).at_most({"age": float("nan")}, 1.0), "finite A"),
        (lambda: SlopeSet(BOX, matrix=np.ones((1, 2)), limits=[1.0]), r"shape \(m, 3\)"),
        (lambda: SlopeSet(BOX, matrix=np.ones((1, 3))), r"got \(1, 3\) and \(0,\)"),
        (lambda: SlopeSet(BOX, matrix=[[1.0], [1.0, 2.0]], limits=[1.0, 1.0]), "must be numbers"),
        (lambda: SlopeSet([0.0, 1.0]), "starts from one interval per feature; got list"),
        (lambda: SlopeSet(SlopeBounds(np.zeros((2, 2)), np.ones((2, 2)))), "one interval per feature"),
    ],
)
def test_a_set_without_an_inside_or_with_a_mistake_is_refused(build, message):
    with pytest.raises(SlopeError, match=message):
        build()


def test_fixed_features_stay_fixed_to_the_bit(rng):
    promise = SlopeSet(SlopeBounds([0.3, -1.0], [0.3, 1.0])).at_least(0, 1)
    rows = promise.exact(rng.normal(size=(50, 2)))
    assert (rows[:, 0] == 0.3).all()
    assert (rows[:, 1] <= 0.3).all()
    every = SlopeSet(SlopeBounds([0.3, 0.1], [0.3, 0.1])).at_least(0, 1)
    assert every.exact([[5.0, 5.0]]).tolist() == [[0.3, 0.1]]


def test_contains_checks_the_shape_and_refuses_nan():
    promise = SETS["all"]
    assert not promise.contains([np.nan, 0.0, 0.0])
    assert not promise.contains_exactly([np.nan, 0.0, 0.0])
    for wrong in (np.zeros(6), np.zeros((3, 2))):
        with pytest.raises(SlopeError, match=r"must end in shape \(3,\)"):
            promise.contains(wrong)
        with pytest.raises(SlopeError, match=r"must end in shape \(3,\)"):
            promise.contains_exactly(wrong)


def test_rows_that_cannot_be_rounded_in_are_an_error_not_a_wrong_row():
    with pytest.raises(SlopeError, match="could not be rounded"):
        SETS["all"].exact([[np.nan, 0.0, 0.0]])


def test_narrowing_returns_a_new_set_and_balls_only_shrink():
    narrow = SlopeSet(BOX).in_l2_ball(1.0)
    assert narrow.in_l2_ball(2.0).l2_radius == 1.0
    assert narrow.in_l2_ball(0.5).l2_radius == 0.5
    assert SlopeSet(BOX).is_box
    assert not narrow.is_box
    assert isinstance(SlopeSet(BOX, l2_radius=np.float32(1)).l2_radius, float)


def test_it_cannot_be_changed_and_stays_so_through_pickle_and_deepcopy():
    for promise in (SETS["all"], pickle.loads(pickle.dumps(SETS["all"])), copy.deepcopy(SETS["all"])):
        assert promise.l2_radius == 1.2
        for array in (*promise.inequalities, promise.anchor, promise.bounds.lower):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0


def test_inequalities_are_written_as_one_would_write_them():
    assert SETS["dominance"].inequality_text == "and slope(dose) >= slope(age)"
    assert SETS["chain"].inequality_text == "and slope(dose) >= slope(age)\nand slope(age) >= slope(weight)"
    assert SETS["sum"].inequality_text == "and slope(dose) + 2 slope(age) - 0.5 slope(weight) <= 1"
    assert SlopeSet(BOX).at_most({"dose": -1.0}, -0.1).inequality_text == "and -slope(dose) <= -0.1"
    assert SlopeSet(BOX).at_most({"dose": 1.0, "age": -1.0}, 0.5).inequality_text == (
        "and slope(dose) - slope(age) <= 0.5"
    )
