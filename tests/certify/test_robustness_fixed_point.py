"""Radii of compiled networks, attacked through the integers that run."""

from __future__ import annotations

import numpy as np
import pytest

from monolip.certify.fixed_point import compile_fixed_point
from monolip.certify.robustness import certified_radius
from monolip.certify.robustness_fixed_point import fixed_point_radius
from monolip.errors import InputError

from .fixed_point_networks import random_network, table_network

RANGES = [(-4.0, 4.0)] * 3


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("preset", ["wide", "narrow"])
def test_no_change_within_a_radius_flips_the_deployed_decision(norm, n_outputs, preset, rng):
    fixed = compile_fixed_point(random_network(rng, n_outputs=n_outputs, members=2), preset, input_ranges=RANGES)
    X = rng.uniform(-3.5, 3.5, (40, 3))
    scale = np.array([0.5, 1.0, 2.0])
    found = fixed_point_radius(fixed, X, norm=norm, scale=scale)
    decided = fixed.decide(fixed.evaluate_raw(X))
    assert (found.decision == decided).all()
    assert (found.radius > 0).mean() > 0.5
    for k in range(60):
        d = rng.choice([-1.0, 1.0], X.shape) if k % 2 else rng.normal(size=X.shape) ** 3
        d *= np.minimum(found.radius, 1e3)[:, None] / np.linalg.norm(d, ord=norm, axis=1, keepdims=True)
        assert (fixed.decide(fixed.evaluate_raw(X + d * scale)) == decided).all()


def test_the_margin_of_the_grid_is_subtracted(rng):
    net = random_network(rng)
    X = rng.uniform(-3.0, 3.0, (30, 3))
    real = certified_radius(net, X, scale=1.0, method="slopes").radius
    wide, narrow = (
        fixed_point_radius(compile_fixed_point(net, preset, input_ranges=RANGES), X, scale=1.0).radius
        for preset in ("wide", "narrow")
    )
    assert (narrow <= wide * (1 + 1e-2)).all()
    np.testing.assert_allclose(wide, real, rtol=0.05, atol=1e-3)


@pytest.mark.parametrize("link", ["logit", "softmax"])
def test_raw_columns_with_categories_and_missing_values(link, rng):
    fixed = compile_fixed_point(table_network(rng, link))
    n = 30
    X = {
        "amount": rng.normal(0, 30, n),
        "level": list(rng.choice(["low", "mid", "high"], n)),
        "kind": list(rng.choice(["a", "b"], n)),
        "pace": rng.normal(1, 2, n),
    }
    X["amount"][:3] = np.nan
    found = fixed_point_radius(fixed, X, norm=1, scale={"amount": 10.0, "pace": 1.0})
    assert found.held == ("level", "kind")
    assert found.moved == ("amount", "pace")
    decided = fixed.decide(fixed.evaluate_raw(X))
    for _ in range(40):
        part = rng.uniform(size=n) * np.minimum(found.radius, 100.0)
        signs = rng.choice([-1.0, 1.0], (2, n))
        rest = np.minimum(found.radius, 100.0) - part
        moved = {**X, "amount": X["amount"] + signs[0] * part * 10.0, "pace": X["pace"] + signs[1] * rest}
        assert (fixed.decide(fixed.evaluate_raw(moved)) == decided).all()


def test_infinite_values_are_refused(rng):
    fixed = compile_fixed_point(random_network(rng), input_ranges=RANGES)
    with pytest.raises(InputError):
        fixed_point_radius(fixed, np.array([[np.inf, 0.0, 0.0]]), scale=1.0)
