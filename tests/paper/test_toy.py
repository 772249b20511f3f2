"""The toy example: its noise, its promises at any seed and stage of training, and its committed claims."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from paper.results_file import read_results
from paper.toy.claims import check_claims
from paper.toy.data import SUPPORT, edge_trend, noise_level, realisation, realisation_with_trend, truth
from paper.toy.experiment import ROWS, Size, describe, run
from paper.toy.models import LAMBDA, fit
from paper.toy.noise import noise_report


def test_the_truth_is_increasing_and_within_the_promise() -> None:
    x = np.linspace(-3, 3, 10_001)
    slope = np.diff(truth(x)) / np.diff(x)
    assert slope.min() > 0.0
    assert slope.max() < 2 * LAMBDA


def test_the_noise_is_gaussian_and_depends_on_x() -> None:
    report = noise_report()
    assert report["p_constant"] < 1e-6
    assert report["p_normal"] > 1e-3
    assert report["sd_edge"] > 4 * report["sd_middle"]
    assert noise_level(np.array(SUPPORT)).min() > 7 * noise_level(np.array([0.0]))[0]


def test_realisations_are_chosen_by_a_rule() -> None:
    for sign in (+1, -1):
        seed = realisation_with_trend(sign, ROWS)
        assert sign * edge_trend(*realisation(seed, ROWS)) > 0.75
        assert all(sign * edge_trend(*realisation(k, ROWS)) <= 0.75 for k in range(seed))


@pytest.mark.parametrize("steps", [1, 150])
def test_an_lmn_never_falls_outside_the_support_however_long_it_is_trained(steps: int) -> None:
    x, y = realisation(realisation_with_trend(-1, ROWS), ROWS)
    curve = fit("lmn", x, y, seed=steps, steps=steps)
    found = describe(curve, x, y)
    lower, upper = found["certified"]
    assert 0.0 <= lower <= upper <= 2 * LAMBDA
    assert found["falling_ulp_steps"] == 0
    assert not found["falls_outside"]
    far = np.sort(np.concatenate([x[0] - np.geomspace(1e-9, 1e6, 500), x[-1] + np.geomspace(1e-9, 1e6, 500)]))
    assert (np.diff(curve.score(far)) >= 0.0).all()


def test_the_default_estimator_keeps_the_same_promise() -> None:
    x, y = realisation(realisation_with_trend(-1, ROWS), ROWS)
    found = describe(fit("convex", x, y, seed=0, steps=0), x, y)
    assert 0.0 <= found["certified"][0] <= found["certified"][1] <= 2 * LAMBDA
    assert not found["falls_outside"]
    assert found["falling_ulp_steps"] == 0


def test_committed_results_keep_every_claim() -> None:
    numbers = read_results("toy")["numbers"]
    assert numbers["seeds"] == 10
    assert check_claims(numbers) == numbers["claims"]


def _falling_seed(numbers: dict[str, Any]) -> None:
    numbers["realisations"][1]["lmn"][7]["falls_outside"] = True


def _negative_slope(numbers: dict[str, Any]) -> None:
    numbers["realisations"][0]["lmn"][3]["certified"][0] = -1e-300


def _constant_noise(numbers: dict[str, Any]) -> None:
    numbers["noise"]["p_constant"] = 0.2


def _moved(numbers: dict[str, Any]) -> None:
    for one in numbers["outlier"]["lmn"]:
        one["curve"] = [value + 2.0 for value in one["curve"]]


@pytest.mark.parametrize("spoil", [_falling_seed, _negative_slope, _constant_noise, _moved])
def test_a_claim_that_does_not_hold_raises(spoil: Any) -> None:
    numbers = copy.deepcopy(read_results("toy")["numbers"])
    spoil(numbers)
    with pytest.raises(AssertionError):
        check_claims(numbers)


@pytest.mark.slow
def test_the_whole_experiment_keeps_its_claims_with_fewer_seeds() -> None:
    assert run(Size(seeds=3, steps=2000))["claims"]["monotone_fits"] == 18
