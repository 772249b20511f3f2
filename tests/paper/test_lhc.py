"""The claims about the LHC example: a small run, the committed one, and that a broken claim raises."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from paper.lhc.boundary import boundary, falling_steps, grid, turning
from paper.lhc.claims import check_claims
from paper.lhc.experiment import Size, run
from paper.lhc.models import LAMBDA
from paper.lhc.smearing import certified_slopes, exact_value, moves, outside_exactly, rounding_error
from paper.results_file import read_results

SQUARE = ((0.0, 1.0), (0.0, 1.0))


def test_turning_counts_right_angles() -> None:
    x = np.linspace(0, 1, 300)
    straight = np.stack([x, 1 - x], axis=1)
    bend = np.stack([np.cos(x * np.pi / 2), np.sin(x * np.pi / 2)], axis=1)
    stairs = np.array([[0, 1], [0, 0.75], [0.5, 0.75], [0.5, 0.25], [1, 0.25], [1, 0]])
    assert turning([straight], SQUARE) == pytest.approx(0.0, abs=1e-9)
    assert turning([bend], SQUARE) == pytest.approx(1.0, abs=0.02)
    assert turning([stairs], SQUARE) == pytest.approx(4.0)
    assert turning([straight, stairs], SQUARE) == pytest.approx(4.0)


def test_a_staircase_score_has_a_staircase_boundary_and_a_plane_a_straight_one() -> None:
    plane = grid(lambda at: at.sum(axis=1), SQUARE, 200)
    stairs = grid(lambda at: np.floor(10 * at).sum(axis=1), SQUARE, 200)
    assert turning(boundary(plane, SQUARE, 1.01), SQUARE) < 0.1
    assert turning(boundary(stairs, SQUARE, 9.5), SQUARE) > 10
    assert falling_steps(plane, axis=0) == falling_steps(stairs, axis=1) == 0.0
    assert falling_steps(-plane, axis=1) == 1.0


def _network(seed: int) -> Any:
    import torch

    from monolip import SlopeBounds
    from monolip.nn import LipschitzMLP, SlopeBounded

    torch.manual_seed(seed)
    return SlopeBounded(LipschitzMLP(2, hidden=(8, 8)), SlopeBounds.from_paper(LAMBDA, [1, 0])).freeze()


def test_the_rounding_error_of_evaluation_is_bounded_by_what_is_added() -> None:
    frozen, rng = _network(0), np.random.default_rng(0)
    x = rng.normal(size=(30, 2)) * 10.0 ** rng.uniform(-3, 3, (30, 1))
    error = rounding_error(frozen, x)
    for row, value, bound in zip(x, frozen.evaluate(x)[:, 0], error, strict=True):
        assert abs(exact_value(frozen, row) - Fraction(float(value))) <= Fraction(float(bound))
    assert (error < 1e-12 * (1 + np.abs(x).max(axis=1))).all()


def test_moves_of_a_network_stay_inside_and_of_a_steeper_one_do_not() -> None:
    frozen, rng = _network(1), np.random.default_rng(1)
    lower, upper = certified_slopes(frozen)
    assert lower[0] >= 0.0
    x = rng.normal(size=(40, 2)) * 3
    y = x + rng.normal(size=x.shape)
    moved, least, most = moves(frozen.evaluate(x)[:, 0], frozen.evaluate(y)[:, 0], y - x, (lower, upper))
    assert ((least <= moved) & (moved <= most)).all()
    assert outside_exactly(frozen, x, y) == 0
    shift = y - x
    steepest = (shift * np.where(shift > 0, upper, lower)).sum(axis=1)
    _, _, most = moves(np.zeros(40), steepest, shift, (lower, upper))
    assert (steepest <= most).all()
    assert (steepest + 1e-12 > most).all()  # hardly more is allowed than the slopes say


def test_a_small_run_keeps_every_claim() -> None:
    pytest.importorskip("lightgbm")
    size = Size(seeds=1, train=5000, rate=8000, test=5000, smeared=400, steps=600, exact=4, features=(2,))
    numbers = run(size)
    row = numbers["seeds"][0]["2"]
    assert numbers["claims"]["2"]["smeared_candidates"] == 2 * 800
    assert row["lmn"]["smeared"]["slopes"][0][1] <= 2 * LAMBDA
    assert row["lmn"]["rate_khz"] > 0.99 * 660.0


def test_committed_results_keep_every_claim() -> None:
    numbers = read_results("lhc")["numbers"]
    assert numbers["size"]["seeds"] >= 5
    assert check_claims(numbers) == numbers["claims"]


def _late(numbers: dict[str, Any]) -> None:
    for one in numbers["seeds"]:
        one["4"]["lmn"]["late_over_early"] = 0.5


def _auc(numbers: dict[str, Any]) -> None:
    numbers["seeds"][2]["2"]["convex"]["auc"] -= 0.02


def _outside(numbers: dict[str, Any]) -> None:
    numbers["seeds"][4]["4"]["lmn"]["smeared"]["outside"] = 1


def _jagged(numbers: dict[str, Any]) -> None:
    for one in numbers["seeds"]:
        one["2"]["lmn"]["turning"] = one["2"]["trees"]["turning"]


def _falls(numbers: dict[str, Any]) -> None:
    numbers["seeds"][0]["2"]["trees"]["falls_in_momentum"] = 1e-6


@pytest.mark.parametrize("spoil", [_late, _auc, _outside, _jagged, _falls])
def test_a_claim_that_does_not_hold_raises(spoil: Any) -> None:
    numbers = copy.deepcopy(read_results("lhc")["numbers"])
    spoil(numbers)
    with pytest.raises(AssertionError):
        check_claims(numbers)


@pytest.mark.slow
def test_the_whole_experiment_keeps_its_claims_in_four_features_too() -> None:
    pytest.importorskip("lightgbm")
    size = Size(seeds=2, train=20_000, rate=30_000, test=20_000, smeared=2000, steps=1500, exact=10)
    assert set(run(size)["claims"]) == {"2", "4"}
