"""Theorem 2: paper form and convex form are the same function; what averages cannot express is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from monolip.conversion import can_be_convex, convex_to_paper, paper_to_convex
from monolip.errors import SlopeError, StructureError
from monolip.norms import Norm
from monolip.paper_form import PaperForm, Rectify, Sort
from monolip.slopes import SlopeBounds

from .make import convex, exact_convex, exact_paper, householder, paper

SLOPES = SlopeBounds([0.0, -2.0, -1.0, 0.5, -0.1], [2.0, 0.0, 1.5, 0.5, 0.3])  # the fourth has radius zero
GROUPS = [2, 3, 4, "full"]


def sizes(depth, outputs):
    return [5, *[12] * (depth - 1), outputs]


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("group_size", GROUPS)
@pytest.mark.parametrize("depth", range(1, 7))
def test_paper_to_convex_and_back_preserves_the_function(depth, group_size, outputs, rng):
    form = paper(rng, sizes(depth, outputs), group_size, SLOPES)
    there = paper_to_convex(form, SLOPES)
    back = convex_to_paper(there, SLOPES)
    x = rng.normal(size=(200, 5)) * 10.0 ** rng.uniform(-2, 2, (200, 1))
    tolerance = 1e-14 * depth * (10 + np.abs(x).sum(axis=1, keepdims=True))
    assert (np.abs(there.evaluate(x) - form.evaluate(x)) <= tolerance).all()
    assert (np.abs(back.evaluate(x) - form.evaluate(x)) <= tolerance).all()
    assert all(len(b) <= 2 * len(a) for a, b in zip(form.biases, there.biases, strict=True))


@pytest.mark.parametrize("group_size", GROUPS)
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_convex_to_paper_and_back_preserves_the_function(depth, group_size, rng):
    form = convex(rng, sizes(depth, 2), group_size, SLOPES)
    there = convex_to_paper(form, SLOPES)
    back = paper_to_convex(there, SLOPES)
    x = 10.0 * rng.normal(size=(200, 5))
    np.testing.assert_allclose(there.evaluate(x), form.evaluate(x), rtol=0, atol=1e-12)
    np.testing.assert_allclose(back.evaluate(x), form.evaluate(x), rtol=0, atol=1e-12)


def test_in_exact_arithmetic_the_two_differ_by_no_more_than_the_rounding_of_stored_weights(rng):
    form = paper(rng, sizes(3, 1), 3, SLOPES)
    there = paper_to_convex(form, SLOPES)
    for x in rng.normal(size=(5, 5)).tolist():
        assert abs(exact_paper(form, x)[0] - exact_convex(there, x)[0]) < Fraction(1, 10**14)


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(10))
def test_first_layer_rows_lie_inside_the_intervals_exactly(seed, scale):
    rng = np.random.default_rng(seed)
    slopes = SlopeBounds(*np.sort(rng.normal(size=(2, 5)) * 10.0 ** rng.uniform(-8, 8, 5), axis=0))
    there = paper_to_convex(paper(rng, sizes(3, 2), 2, slopes, scale=scale), slopes)
    assert slopes.contains(there.weights[0])


def test_degenerate_scales_convert(rng):
    fixed = SlopeBounds([0.5] * 5, [0.5] * 5)
    form = paper_to_convex(paper(rng, sizes(3, 1), 2, fixed), fixed)
    assert (form.weights[0] == 0.5).all()
    plain = paper(rng, sizes(2, 1), 2, SLOPES)
    silent = PaperForm(plain.weights, plain.biases, plain.activations, plain.norms, plain.center, plain.radius, [0.0])
    x = rng.normal(size=(9, 5))
    np.testing.assert_allclose(paper_to_convex(silent, SLOPES).evaluate(x), x @ SLOPES.center[:, None], atol=1e-14)


def test_other_first_norms_convert_and_one_layer_always_does(rng):
    plain = paper(rng, sizes(3, 1), 2, SLOPES)
    x = rng.normal(size=(9, 5))
    for first in (Norm.LINF_TO_LINF, Norm.L2_TO_LINF):
        weights = (plain.weights[0] / 5, *plain.weights[1:])
        norms = (first, *plain.norms[1:])
        form = PaperForm(weights, plain.biases, plain.activations, norms, plain.center, plain.radius, plain.scale)
        np.testing.assert_allclose(paper_to_convex(form, SLOPES).evaluate(x), form.evaluate(x), atol=1e-13)
    single = PaperForm(([[0.1] * 5],), ([0.3],), (), (Norm.L1_TO_L1,), SLOPES.center[None], SLOPES.radius, [1.0])
    np.testing.assert_allclose(paper_to_convex(single, SLOPES).evaluate(x), single.evaluate(x), atol=1e-14)


def refused(rng):
    plain = paper(rng, sizes(2, 2), 2, SLOPES)
    parts = {name: getattr(plain, name) for name in PaperForm.__dataclass_fields__}
    columns = (np.full((12, 5), 1 / 16), np.full((2, 12), 1 / 16))
    shifted = plain.center + np.array([[0.0], [1e-3]])
    return {
        "householder": householder(rng, 5, 2, 2, SLOPES),
        "L1 to L1": PaperForm(**{**parts, "weights": columns, "norms": (Norm.L1_TO_L1, Norm.L1_TO_L1)}),
        "L1 to Linf last": PaperForm(**{**parts, "weights": columns, "norms": (Norm.L1_TO_L1, Norm.L1_TO_LINF)}),
        "rectify": PaperForm(**{**parts, "activations": (Rectify(),)}),
        "residuals differ": PaperForm(**{**parts, "center": shifted}),
        "scales differ": PaperForm(**{**parts, "scale": [1.0, 0.5]}),
    }


@pytest.mark.parametrize("kind", refused(np.random.default_rng(0)))
def test_what_averages_cannot_express_is_refused(kind, rng):
    form = refused(rng)[kind]
    assert not can_be_convex(form)
    with pytest.raises(StructureError, match=r"convex form needs GroupSort.*keep it in paper form"):
        paper_to_convex(form, SLOPES)


def test_intervals_the_network_was_not_built_for_are_refused_instead_of_clipping_its_slopes(rng):
    form = paper(rng, sizes(3, 1), 2, SLOPES)
    narrow = SlopeBounds(SLOPES.lower + 0.01 * (SLOPES.radius > 0), SLOPES.upper)
    with pytest.raises(StructureError, match="must lie inside the intervals"):
        paper_to_convex(form, narrow)
    for wrong in (SlopeBounds([0.0], [1.0]), SlopeBounds(np.zeros((5, 2)), np.ones((5, 2)))):
        with pytest.raises(StructureError, match="one slope interval per feature"):
            paper_to_convex(form, wrong)


def test_back_to_paper_form_needs_intervals_that_hold_the_rows(rng):
    form = convex(rng, sizes(2, 1), 2, SLOPES)
    with pytest.raises(StructureError, match="must lie inside one slope interval per feature"):
        convex_to_paper(form, SlopeBounds(SLOPES.lower, SLOPES.upper - 0.1 * (SLOPES.radius > 0)))
    with pytest.raises(StructureError, match="one slope interval per feature"):
        convex_to_paper(form, SlopeBounds(np.zeros((5, 2)), np.ones((5, 2))))
    with pytest.raises(SlopeError, match="must end in shape"):
        convex_to_paper(form, SlopeBounds([0.0], [1.0]))


def test_the_back_conversion_is_a_chain_of_norms_at_most_one(rng):
    form = convex_to_paper(convex(rng, sizes(4, 1), 4, SLOPES), SLOPES)
    assert form.norms == (Norm.L1_TO_LINF, *[Norm.LINF_TO_LINF] * 3)
    assert all(isinstance(a, Sort) for a in form.activations)
    assert (form.radius == SLOPES.radius).all()
