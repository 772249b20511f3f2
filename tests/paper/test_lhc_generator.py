"""The generator of two-track vertices obeys the physics it states."""

from __future__ import annotations

import numpy as np
import pytest
from paper.lhc.detector import PION, Detector, assumed_error, frame, reconstruct
from paper.lhc.kinematics import LIGHT, boost_decay, flight, momenta, random_directions, transverse, unit
from paper.lhc.processes import BACKGROUNDS, HADRONS, Lifetimes, heavy_flavour
from paper.lhc.sample import CANDIDATES_MORE, DIRECTIONS, background, signal
from paper.lhc.working_point import CROSSINGS, RATE, WITH_CANDIDATE, cut_for_rate, rate_above, share_to_keep
from scipy import stats


def energy(p: np.ndarray, m: np.ndarray | float) -> np.ndarray:
    return np.sqrt((p**2).sum(axis=1) + np.square(m))


def test_decays_conserve_energy_and_momentum_and_are_isotropic(rng: np.random.Generator) -> None:
    n = 20_000
    p = momenta(rng.exponential(5.0, n), rng.uniform(2, 5, n), rng.uniform(0, 2 * np.pi, n))
    mass, m1, m2 = np.full(n, 5.28), 0.94, rng.uniform(0.2, 3.0, n)
    p1, p2 = boost_decay(rng, p, mass, m1, m2)
    np.testing.assert_allclose(p1 + p2, p, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(energy(p1, m1) + energy(p2, m2), energy(p, mass), rtol=1e-12)
    at_rest, _ = boost_decay(rng, np.zeros((n, 3)), mass, m1, m2)
    assert stats.kstest(unit(at_rest)[:, 2], stats.uniform(-1, 2).cdf).pvalue > 1e-3


def test_flight_is_proper_time_times_beta_gamma() -> None:
    p, mass, time = np.array([[0.0, 3.0, 4.0]]), np.array([2.5]), np.array([1.5])
    assert np.linalg.norm(flight(p, mass, time)) == pytest.approx(2.0 * LIGHT * 1.5)


def test_directions_and_frames(rng: np.random.Generator) -> None:
    d = random_directions(rng, 1000)
    a, b = frame(d)
    for pair in ((d, a), (d, b), (a, b)):
        np.testing.assert_allclose((pair[0] * pair[1]).sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(np.stack([d, a, b]), axis=-1), 1.0, rtol=1e-12)


def test_significances_of_prompt_tracks_are_chi2_with_their_tails(rng: np.random.Generator) -> None:
    """Two tracks from the origin: the minimum of two chi2(2), which is exponential with mean 1, but for the tails."""
    n = 100_000
    p1, p2 = (momenta(rng.uniform(0.5, 3, n), rng.uniform(2.5, 4, n), rng.uniform(0, 2 * np.pi, n)) for _ in "12")
    found = reconstruct(rng, np.zeros((n, 3)), p1, p2, Detector())
    tail = lambda t: 0.936 * np.exp(-t / 2) + 0.06 * np.exp(-t / 18) + 0.004 * np.exp(-t / 162)  # noqa: E731
    for t in (0.5, 2.0, 8.0):
        assert np.mean(found["min_ip_chi2"] > t) == pytest.approx(tail(t) ** 2, abs=0.006)
    mass = 2 * PION
    assert (found["corrected_mass"] >= mass * (1 - 1e-6)).all()
    np.testing.assert_allclose(found["sum_pt"], transverse(p1) + transverse(p2))
    assert assumed_error(np.array([1.0]))[0] == pytest.approx(np.hypot(0.026, 0.010))


def test_signal_lives_as_long_as_its_hadrons() -> None:
    drawn = heavy_flavour(np.random.default_rng(0), 100_000, Detector())
    beauty = drawn["beauty"] > 0
    mean = lambda keep: np.average([v[1] for v in keep], weights=[v[2] for v in keep])  # noqa: E731
    expected = [mean([v for v in HADRONS.values() if (v[0] > 4) is kind]) for kind in (True, False)]
    assert drawn["lifetime"][beauty].mean() == pytest.approx(expected[0], rel=0.02)
    assert drawn["lifetime"][~beauty].mean() == pytest.approx(expected[1], rel=0.03)
    flat = heavy_flavour(np.random.default_rng(0), 20_000, Detector(), Lifetimes(20.0))["lifetime"]
    assert stats.kstest(flat, stats.uniform(0.2, 19.8).cdf).pvalue > 1e-3


def test_samples_are_preselected_reproducible_and_dealt_to_events() -> None:
    sample, again = background([0, 5], 3000), background([0, 5], 3000)
    assert list(sample.columns) == list(DIRECTIONS)
    np.testing.assert_array_equal(sample.table(4), again.table(4))
    assert (sample.columns["log min IP chi2"] > np.log(4.0)).all()
    assert sample.event is not None
    assert sample.process is not None
    assert np.mean(sample.process == "prompt") == pytest.approx(BACKGROUNDS["prompt"][1], abs=1e-3)
    assert len(sample.event) / (sample.event[-1] + 1) == pytest.approx(1 + CANDIDATES_MORE, rel=0.1)
    assert sum(share for _, share in BACKGROUNDS.values()) == pytest.approx(1.0)


def test_a_stable_detector_smears_nothing_and_an_unstable_one_every_candidate() -> None:
    still = signal([0, 6], 500, unstable=Detector())
    np.testing.assert_array_equal(still.table(4), still.table(4, smeared=True))
    moved = signal([0, 6], 500, unstable=Detector(noise=1.2, scale=1.005))
    np.testing.assert_array_equal(moved.table(4), still.table(4))
    assert (moved.table(4, smeared=True) != moved.table(4)).all()


def test_the_working_point_is_the_rate_of_events() -> None:
    rng = np.random.default_rng(0)
    event = np.repeat(np.arange(20_000), 2)
    score = rng.normal(size=40_000)
    cut = cut_for_rate(score, event)
    per_event = CROSSINGS * WITH_CANDIDATE / 20_000
    assert RATE - per_event <= rate_above(cut, score, event) <= RATE
    assert rate_above(np.nextafter(cut, -np.inf), score, event) > RATE - per_event
    plateaus = np.floor(4 * score) / 4  # a boosted tree's score: whole plateaus pass or fail
    cut = cut_for_rate(plateaus, event)
    passing = rate_above(cut, plateaus, event)
    assert passing < 0.9 * RATE
    share = share_to_keep(cut, plateaus, event)
    assert 0.0 < share < 1.0
    at = rate_above(np.nextafter(cut, -np.inf), plateaus, event) - passing
    assert passing + share * at == pytest.approx(RATE)
