"""Norms: each is the operator norm it claims to be, every rule is feasible, chains compose or are refused."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from monolip.errors import NormChainError, SlopeError
from monolip.norms import Norm, Rule, check_chain, normalise, project_l1_ball

WEIGHTS = ("normal", "sparse", "huge", "tiny", "zero", "one row", "one column")


def weight_of(kind, rng):
    W = rng.normal(size={"one row": (1, 5), "one column": (5, 1)}.get(kind, (4, 6)))
    factor = {"huge": 1e30, "tiny": 1e-30, "zero": 0.0, "sparse": rng.random(W.shape) < 0.3}.get(kind, 1.0)
    return W * factor


def worst_vector(norm, W):
    """A unit vector of the domain that attains the norm."""
    if norm.domain == 1:
        return np.eye(W.shape[1])[np.argmax(norm.of_vectors(W).max(axis=0))]
    row = W[np.argmax(norm.of_vectors(W))]
    return np.sign(row) if norm.domain == math.inf else row / max(np.linalg.norm(row), 1e-300)


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("norm", Norm)
def test_the_norm_is_attained_and_never_exceeded(norm, kind, rng):
    W = weight_of(kind, rng)
    size = norm.of(W)
    z = rng.normal(size=(2000, W.shape[1]))
    z = np.vstack([z, np.sign(z), z * (np.abs(z) == np.abs(z).max(1, keepdims=True))])
    stretch = np.linalg.norm(z @ W.T, norm.codomain, axis=1) / np.linalg.norm(z, norm.domain, axis=1)
    assert stretch.max() <= size * (1 + 1e-12)
    attained = np.linalg.norm(W @ worst_vector(norm, W), norm.codomain)
    assert attained == pytest.approx(size, rel=1e-12)
    assert stretch.max() >= 0.5 * size  # the search is not blind


@pytest.mark.parametrize("per_vector", [True, False])
@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("norm", Norm)
def test_every_rule_gives_a_feasible_weight(norm, rule, per_vector, rng):
    for kind, bound in product(WEIGHTS, (1.0, 0.3, 17.0)):
        W = weight_of(kind, rng)
        result = normalise(W, norm, bound, rule=rule, per_vector=per_vector)
        assert result.shape == W.shape
        assert norm.of(result) <= bound * (1 + 1e-14)
        assert (np.sign(result) * np.sign(W) >= 0).all()  # no weight changes its sign


@pytest.mark.parametrize("norm", Norm)
def test_always_means_on_the_boundary(norm, rng):
    W = rng.normal(size=(4, 6))
    np.testing.assert_allclose(norm.of_vectors(normalise(W, norm, 3.0, rule=Rule.ALWAYS)), 3.0)
    assert norm.of(normalise(W, norm, 3.0, rule=Rule.ALWAYS, per_vector=False)) == pytest.approx(3.0)
    assert (normalise(0 * W, norm, 3.0, rule=Rule.ALWAYS) == 0).all()


@pytest.mark.parametrize("per_vector", [True, False])
@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("rule", [Rule.CAP, Rule.PROJECT])
def test_feasible_weights_are_left_alone_to_the_bit(rule, norm, per_vector, rng):
    W = rng.normal(size=(4, 6))
    W *= 0.999 / norm.of(W)
    assert normalise(W, norm, rule=rule, per_vector=per_vector).tobytes() == W.tobytes()


def test_the_two_halves_of_equation_9_differ_below_the_cap(rng):
    W = 0.1 * np.eye(2)
    assert normalise(W, Norm.L1_TO_L1, 4.0, rule=Rule.CAP, per_vector=False)[0, 0] == 0.1
    assert normalise(W, Norm.L1_TO_L1, 4.0, rule=Rule.CAP_THEN_SCALE, per_vector=False)[0, 0] == 0.4
    assert normalise(W, Norm.L1_TO_L1, 4.0, rule=Rule.ALWAYS, per_vector=False)[0, 0] == 4.0


def test_orientation_columns_are_inputs_of_torch_weights():
    W = np.array([[3.0, 0.0], [3.0, 1.0]])  # (out, in): input 0 feeds both outputs
    assert Norm.L1_TO_L1.of(W) == 6.0
    assert Norm.LINF_TO_LINF.of(W) == 4.0
    assert Norm.L1_TO_LINF.of(W) == 3.0
    np.testing.assert_array_equal(normalise(W, Norm.L1_TO_L1), [[0.5, 0.0], [0.5, 1.0]])


@pytest.mark.parametrize("bound", [0.0, -1.0, math.nan, math.inf])
def test_a_bound_must_be_positive(bound):
    with pytest.raises(SlopeError, match=r"a bound must be positive and finite; got .*; pass a number greater than 0"):
        normalise([[1.0]], Norm.L1_TO_L1, bound)


@pytest.mark.parametrize("bound", [1.0, 0.25, 3.0])
def test_the_projection_onto_the_l1_ball_satisfies_its_optimality_conditions(bound, rng):
    """p is the projection of v iff (v - p) . (q - p) <= 0 for every q in the ball, i.e. for its vertices."""
    for v in rng.normal(size=(300, 7)) * rng.choice([0.01, 1.0, 100.0], (300, 1)):
        p = project_l1_ball(v[None], bound)[0]
        assert np.abs(p).sum() <= bound * (1 + 1e-12) + 1e-13 * np.abs(v).max()
        if np.abs(v).sum() <= bound:
            assert (p == v).all()
            continue
        vertices = np.vstack([np.eye(7), -np.eye(7)]) * bound
        assert ((vertices - p) @ (v - p)).max() <= 1e-12 * (v @ v)


def test_the_projection_handles_ties_zeros_and_single_entries():
    np.testing.assert_array_equal(project_l1_ball([[1.0, 1.0], [0.0, 0.0], [-3.0, 0.0]]), [[0.5, 0.5], [0, 0], [-1, 0]])
    np.testing.assert_array_equal(project_l1_ball([[-7.0]], 2.0), [[-2.0]])
    assert np.abs(project_l1_ball([[1e300, 1e300]])).sum() <= 1.0


def test_a_chain_is_accepted_exactly_when_each_codomain_is_at_most_the_next_domain():
    for here, after in product(Norm, repeat=2):
        if here.codomain <= after.domain:
            check_chain([here, after])
            continue
        rule = rf"layer 2 \({after.name}\) needs an L[12] bound .* layer 1 \({here.name}\) bounds only the Linf norm"
        with pytest.raises(NormChainError, match=rule + r".*make layer 2 LINF_TO_LINF\."):
            check_chain([Norm.L1_TO_L1, here, after])
        check_chain([Norm.L1_TO_L1, here, Norm.LINF_TO_LINF])  # the fix in the message works


def test_the_chain_that_breaks_other_packages_is_refused():
    with pytest.raises(NormChainError):
        check_chain([Norm.L1_TO_LINF, Norm.L1_TO_L1])
    check_chain([])
    check_chain([Norm.L2_TO_LINF])
