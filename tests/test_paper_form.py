"""Paper form: every norm is decided exactly, and exact difference quotients never leave center +- scale * radius."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from monolip.errors import InputError, NormChainError, StructureError
from monolip.norms import Norm
from monolip.paper_form import PaperForm, Rectify, Reflect, Sort, exact_norm, norm_is_at_most_one
from monolip.slopes import SlopeBounds

from .make import exact_paper, householder, paper, signed_rows

SLOPES = SlopeBounds([0.0, -2.0, -1.0, 0.5], [2.0, 0.0, 1.5, 0.5])


def reflections(directions):
    """Every pattern of passed and reflected groups, as an exact block-diagonal matrix."""
    size = directions.shape[1]
    blocks = []
    for v in directions.tolist():
        v = list(map(Fraction, v))
        square = sum(c * c for c in v)
        identity = [[Fraction(i == j) for j in range(size)] for i in range(size)]
        blocks.append((identity, [[(i == j) - 2 * a * b / square for j, b in enumerate(v)] for i, a in enumerate(v)]))
    for pattern in product(*blocks):
        whole = [[Fraction(0)] * (size * len(blocks)) for _ in range(size * len(blocks))]
        for g, block in enumerate(pattern):
            for i, j in product(range(size), repeat=2):
                whole[g * size + i][g * size + j] = block[i][j]
        yield whole


def operator_norm(rows, norm):
    sizes = [[abs(v) for v in row] for row in rows]
    if norm is Norm.L1_TO_LINF:
        return max(map(max, sizes))
    return max(map(sum, sizes)) if norm is Norm.LINF_TO_LINF else max(map(sum, zip(*sizes, strict=True)))


@pytest.mark.parametrize("norm", [Norm.L1_TO_L1, Norm.L1_TO_LINF, Norm.LINF_TO_LINF])
@pytest.mark.parametrize(("groups", "size"), [(1, 2), (2, 2), (3, 2), (2, 3), (1, 5)])
def test_the_norm_after_a_reflection_is_the_worst_over_every_pattern(norm, groups, size, rng):
    reflect = Reflect(rng.normal(size=(groups, size)))
    weight = rng.normal(size=(3, groups * size))
    rows = [[Fraction(v) for v in row] for row in weight.tolist()]
    worst = max(
        operator_norm(
            [[sum(a * b for a, b in zip(row, c, strict=True)) for c in zip(*R, strict=True)] for row in rows], norm
        )
        for R in reflections(reflect.directions)
    )
    assert exact_norm(weight, norm, reflect) == worst
    assert worst >= exact_norm(weight, norm)
    assert exact_norm(weight, Norm.L2_TO_LINF, reflect) == exact_norm(weight, Norm.L2_TO_LINF)  # an isometry of L2


@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("before", [None, Sort(2), Rectify()])
def test_without_a_reflection_the_exact_norm_is_the_norm(norm, before, rng):
    weight = rng.normal(size=(3, 4))
    size = float(exact_norm(weight, norm, before))
    assert (math.sqrt(size) if norm is Norm.L2_TO_LINF else size) == pytest.approx(norm.of(weight), rel=1e-14)


@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("before", [None, Sort(2), Reflect([[1.0, 0.0], [0.0, -3.0]])], ids=["none", "sort", "reflect"])
def test_one_is_allowed_and_one_ulp_more_is_not(norm, before):
    weight = np.full((4, 4), 0.25)
    if norm is Norm.L1_TO_LINF:
        weight = np.ones((4, 4))
    elif norm is Norm.L2_TO_LINF:
        weight = np.full((4, 4), 0.5)
    assert norm_is_at_most_one(weight, norm, before)
    for where in np.ndindex(4, 4):
        for sign in (1.0, -1.0):
            worse = weight.copy()
            worse[where] = sign * np.nextafter(weight[where], 2.0)
            assert not norm_is_at_most_one(worse, norm, before)
            assert exact_norm(worse, norm, before) > 1


def test_an_excess_far_below_rounding_is_found():
    weight = np.array([[1.0, 5e-324]])
    assert Norm.LINF_TO_LINF.of(weight) == 1.0
    assert not norm_is_at_most_one(weight, Norm.LINF_TO_LINF)
    assert not norm_is_at_most_one(np.array([[1e308, 1e308]]), Norm.LINF_TO_LINF)


def random_forms(rng):
    yield from (paper(rng, [4, *[6] * (depth - 1), 2], size, SLOPES) for depth in (2, 4) for size in (2, 3, "full"))
    yield paper(rng, [4, 6, 1], 2, SLOPES, scale=0.5)
    yield householder(rng, 4, 3, 2, SLOPES)
    yield householder(rng, 4, 2, 3, SLOPES)
    columns = signed_rows(rng, 4, 6, slack=False).T
    yield PaperForm(
        (columns, signed_rows(rng, 1, 6, slack=False)),
        (rng.normal(size=6), rng.normal(size=1)),
        (Rectify(),),
        (Norm.L1_TO_L1, Norm.L1_TO_LINF),
        SLOPES.center[None],
        SLOPES.radius,
        [1.0],
    )


def test_exact_difference_quotients_never_leave_their_interval(rng):
    for form in random_forms(rng):
        radius = [[Fraction(float(s)) * Fraction(float(r)) for r in form.radius] for s in form.scale]
        center = [[Fraction(c) for c in row] for row in form.center.tolist()]
        for _ in range(6):
            x, y = rng.normal(size=(2, 4)) * 10.0 ** rng.uniform(-2, 2)
            if rng.random() < 0.5:
                y[1:] = x[1:]  # a step in one feature: its own slope
            step = [Fraction(b) - Fraction(a) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
            rise = [b - a for a, b in zip(exact_paper(form, x.tolist()), exact_paper(form, y.tolist()), strict=True)]
            for k in range(form.n_outputs):
                steady = sum(c * d for c, d in zip(center[k], step, strict=True))
                assert abs(rise[k] - steady) <= sum(r * abs(d) for r, d in zip(radius[k], step, strict=True))


def test_evaluation_agrees_with_exact_arithmetic_up_to_rounding(rng):
    for form in random_forms(rng):
        x = rng.normal(size=(3, 4))
        exact = [[float(v) for v in exact_paper(form, row)] for row in x.tolist()]
        np.testing.assert_allclose(form.evaluate(x), exact, rtol=0, atol=1e-13)


def test_extreme_inputs_stay_finite_and_nan_is_refused(rng):
    corners = np.array(np.meshgrid(*[[-np.inf, 1.7e308]] * 4)).reshape(4, -1).T
    for form in random_forms(rng):
        assert np.isfinite(form.evaluate(corners)).all()
        assert form.evaluate(np.zeros((0, 4))).shape == (0, form.n_outputs)
        with pytest.raises(InputError, match="NaN"):
            form.evaluate([[np.nan] * 4])


@pytest.mark.parametrize("length", [1e-300, 1e-150, 1.0, 1e160, 1e300])
def test_a_reflection_does_not_depend_on_the_length_of_its_direction(length, rng):
    v, z = rng.normal(size=(3, 2)), rng.normal(size=(50, 6))
    np.testing.assert_allclose(Reflect(v * length).apply(z), Reflect(v).apply(z), rtol=1e-13)
    wide = Reflect(np.full((1, 256), length))
    assert np.isfinite(wide.apply(np.full((2, 256), -1e304))).all()


def test_a_reflection_is_its_equation():
    v = np.array([[3.0, 4.0]])
    z = np.array([[1.0, 1.0], [-3.0, -4.0], [4.0, -3.0]])
    np.testing.assert_allclose(Reflect(v).apply(z), [[1.0, 1.0], [3.0, 4.0], [4.0, -3.0]])


GOOD = {
    "weights": ([[1.0], [-1.0]], [[0.25, -0.75]]),
    "biases": ([0.0, 0.0], [0.0]),
    "activations": (Sort(2),),
    "norms": (Norm.L1_TO_LINF, Norm.LINF_TO_LINF),
    "center": [[1.0]],
    "radius": [1.0],
    "scale": [1.0],
}


class Square:
    def apply(self, z):
        return z * z


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": ([[np.nextafter(1, 2)], [-1.0]], [[0.25, -0.75]])}, r"layer 0 \(L1_TO_LINF\) exceeds it"),
        ({"weights": ([[1.0], [-1.0]], [[0.25, -np.nextafter(0.75, 1)]])}, r"norm at most 1, exactly; layer 1"),
        ({"weights": ([[1.0], [-1.0]], [[1e308, 1e308]])}, "norm at most 1"),
        ({"activations": (Reflect([[1.0, 0.5]]),)}, "layer 1"),
        ({"activations": ()}, "2 layers need 2 norms and 1 activations; got 2 and 0"),
        ({"norms": (Norm.L1_TO_LINF,)}, "got 1 and 1"),
        ({"activations": (Square(),)}, "activations must be Rectify or Reflect or Sort objects"),
        ({"activations": Sort(2), "norms": Norm.L1_TO_L1}, "2 layers need"),
        ({"norms": ("L1_TO_LINF", "LINF_TO_LINF")}, "norms must be Norm objects; got 'L1_TO_LINF'"),
        ({"activations": (Sort(3),)}, "must divide the width"),
        ({"activations": (Sort(0),)}, "positive int"),
        ({"activations": (Reflect([[1.0, 0.0, 0.0]]),)}, "got 3 entries for width 2"),
        ({"radius": [-1.0]}, "radius must be finite, >= 0"),
        ({"scale": [-1.0]}, "scale must be finite, >= 0"),
        ({"scale": [math.nan]}, "scale must be finite"),
        ({"center": [1.0]}, r"center must be finite and of shape \(1, 1\); got \(1,\)"),
        ({"center": [[math.inf]]}, "center must be finite"),
        ({"center": [[1.0], [1.0, 2.0]]}, "center must be numbers"),
        ({"center": [[1.7e308]]}, "small enough to evaluate"),
        ({"scale": [1e308]}, "small enough to evaluate"),
        ({"scale": [1e300], "biases": ([1e300, 0.0], [0.0])}, "small enough to evaluate"),
    ],
)
def test_what_is_not_paper_form_cannot_be_constructed(change, message):
    PaperForm(**GOOD)
    with pytest.raises(StructureError, match=message):
        PaperForm(**{**GOOD, **change})


def test_norms_that_do_not_chain_cannot_be_constructed():
    with pytest.raises(NormChainError, match="make layer 1 LINF_TO_LINF"):
        PaperForm(**{**GOOD, "norms": (Norm.L1_TO_LINF, Norm.L1_TO_L1)})


@pytest.mark.parametrize("directions", [[[0.0, 0.0]], [[math.nan, 1.0]], [[math.inf, 1.0]], [1.0, 2.0], [[]]])
def test_directions_that_reflect_nothing_are_refused(directions):
    with pytest.raises(StructureError, match="Householder directions must be finite and not zero"):
        Reflect(directions)


def test_it_cannot_be_changed_and_stays_so_through_pickle_and_deepcopy(rng):
    original = householder(rng, 4, 2, 2, SLOPES)
    x = rng.normal(size=(9, 4))
    for form in (original, pickle.loads(pickle.dumps(original)), copy.deepcopy(original)):
        assert form.evaluate(x).tobytes() == original.evaluate(x).tobytes()
        arrays = (*form.weights, *form.biases, form.center, form.radius, form.scale, form.activations[0].directions)
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0
        with pytest.raises(FrozenInstanceError):
            form.radius = 1.0
    activations, norms = [Sort(2)], [Norm.L1_TO_LINF, Norm.LINF_TO_LINF]
    form = PaperForm(**{**GOOD, "activations": activations, "norms": norms})
    activations[0], norms[0] = Rectify(), Norm.L1_TO_L1
    assert form.activations == (Sort(2),)
    assert form.norms == (Norm.L1_TO_LINF, Norm.LINF_TO_LINF)
