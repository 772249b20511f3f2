"""Steps of additive starts that lead too far: what a Newton step does where its curvature says nothing."""

import numpy as np
import pytest

from monolip.engine._newton import derivatives, of_loss
from monolip.engine._newton_steps import newton_steps

N = 50


def stepped(constant, middle, offset=0.0, y=1.0, weight=None, loss="poisson"):
    """Of a start of one column of zeros: its constant after a step whose least-squares problem has another one."""
    slopes, constants = np.zeros((1, 1)), np.array([constant])
    newton_steps(
        *of_loss(loss, 1.5), np.zeros((1, N), np.float32), np.full(N, y), np.full(N, offset),
        np.ones((1, N)) if weight is None else weight[None], np.zeros((1, 1, 1), np.float32), np.zeros((1, 1)),
        np.zeros((1, 1)), np.array([middle]), 1.0, np.ones(1), -np.ones(1), np.ones(1), np.zeros(1), np.array([1e-3]),
        slopes, constants, np.empty(N, np.float32), np.empty((2, N)), np.zeros((4, 1)),
    )  # fmt: skip
    assert slopes[0, 0] == 0.0
    return constants[0]


@pytest.mark.parametrize("offset", [0.0, 1.5])
def test_a_step_that_overshoots_is_halved_until_things_are_better(offset):
    """exp(f) - f at f = -3 is 3.05; from there to 16 it is worse down to a quarter of the way (4.0), better at an
    eighth (1.2)."""
    assert stepped(-3.0 - offset, 16.0 - offset, offset) == pytest.approx(-3.0 + 19.0 / 8 - offset)


def test_a_step_that_is_not_far_is_made_unasked():
    assert stepped(0.0, 1.9) == 1.9


def test_a_step_that_makes_things_better_is_made_however_far():
    assert stepped(10.0, 0.0) == 0.0


def test_a_step_that_only_makes_things_worse_is_not_made():
    """Also beyond the exponents that floats can tell apart."""
    assert stepped(0.0, -1e6) == 0.0
    assert stepped(35.0, 80.0) == 35.0


def test_rows_without_weight_have_no_say():
    """A row that would not let it pass: -3 to 2 is worse for y = 1 by far, and better for y = 20."""
    y, weight = np.full(N, 20.0), np.ones(N)
    y[0], weight[0] = 1e6, 0.0
    assert stepped(-3.0, 2.0, y=y, weight=weight) == 2.0
    assert stepped(-3.0, -9.0, y=y, weight=weight) == -3.0


@pytest.mark.parametrize(("loss", "power"), [("logistic", None), ("poisson", 1.0), ("gamma", 2.0), ("tweedie", 1.5)])
def test_derivatives_are_those_of_the_loss(loss, power):
    """Against double precision, written down once more."""
    f, y = np.linspace(-8, 8, 161)[None], np.where(np.arange(161) % 2 == 0, 1.0, 0.25 if power else 0.0)
    slope, curve = np.empty_like(f), np.empty_like(f)
    derivatives(*of_loss(loss, 1.5), f, y, slope, curve)
    if power is None:
        p = 1 / (1 + np.exp(-f))
        wanted = p - y, np.maximum(p * (1 - p), 1e-3)
    else:
        wanted = np.exp((2 - power) * f) - y * np.exp((1 - power) * f), np.exp((2 - power) * f)
    np.testing.assert_allclose(slope, wanted[0], rtol=2e-6, atol=2e-6 * np.exp(8.0) if power else 1e-6)
    np.testing.assert_allclose(curve, wanted[1], rtol=2e-6)
