"""Where pairs of tracks come from: decays of beauty and charm hadrons, and five kinds of background.

Each process draws n true vertices and track momenta and hands them to the detector. Masses, lifetimes and spectra are
those of textbooks, rounded; the fractions of the backgrounds are of pre-selected candidates (`sample.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .detector import PION, Candidates, Detector, reconstruct
from .kinematics import boost_decay, flight, momenta, random_directions, unit

__all__ = ["BACKGROUNDS", "HADRONS", "Lifetimes", "heavy_flavour"]

FloatArray = NDArray[np.float64]
Rng = np.random.Generator

# name: mass GeV, mean lifetime ps, share; beauty to charm as 25 to 17 simulated modes
HADRONS = {
    "B0": (5.280, 1.519, 0.22),
    "B+": (5.279, 1.638, 0.22),
    "Bs": (5.367, 1.516, 0.08),
    "Lb": (5.620, 1.471, 0.07),
    "D0": (1.865, 0.410, 0.15),
    "D+": (1.870, 1.033, 0.13),
    "Ds": (1.968, 0.504, 0.08),
    "Lc": (2.286, 0.203, 0.05),
}
# mass, lifetime, the two products, share
STRANGE = {"Lambda": (1.1157, 263.2, 0.93827, PION, 0.65), "KS": (0.4976, 89.54, PION, PION, 0.35)}


@dataclass(frozen=True)
class Lifetimes:
    """Proper decay times: exponential with each hadron's mean, or flat up to `flat` ps (for efficiency curves)."""

    flat: float | None = None
    least: float = 0.2  # the truth cut, ps

    def draw(self, rng: Rng, mean: FloatArray) -> FloatArray:
        if self.flat is None:
            return rng.exponential(mean)
        return rng.uniform(self.least, self.flat, len(mean))


def _hard_pt(rng: Rng, n: int, p0: FloatArray | float, k: FloatArray | float) -> FloatArray:
    """dN/dpT ~ pT / (1 + (pT/p0)^2)^k, by the inverse of its integral."""
    return np.asarray(p0 * np.sqrt((1.0 - rng.random(n)) ** (-1.0 / (np.asarray(k) - 1.0)) - 1.0))


_PT = np.geomspace(0.2, 30.0, 2000)
_PT_SHARE = np.cumsum(_PT * (1.0 + _PT / (6.5 * 0.28)) ** -6.5 * np.gradient(_PT))


def _soft_pt(rng: Rng, n: int) -> FloatArray:
    """Inclusive charged particles: dN/dpT ~ pT (1 + pT/(k T))^-k above 0.2 GeV, k = 6.5, T = 0.28 GeV."""
    return np.interp(rng.random(n), _PT_SHARE / _PT_SHARE[-1], _PT)


def _tracks(rng: Rng, pt: FloatArray) -> FloatArray:
    """Momenta with these pT inside the detector: 2 < eta < 5, peak near 2.9."""
    n = len(pt)
    return momenta(pt, 2.0 + 3.0 * rng.beta(1.7, 2.6, n), rng.uniform(0.0, 2.0 * np.pi, n))


def heavy_flavour(rng: Rng, n: int, detector: Detector, lifetimes: Lifetimes | None = None) -> Candidates:
    """H -> (12) X with two pions out of a partly reconstructed decay; one in ten is a decay to two tracks alone."""
    lifetimes = lifetimes or Lifetimes()
    mass, mean, share = np.array(list(HADRONS.values())).T
    which = rng.choice(len(mass), n, p=share / share.sum())
    m, beauty = mass[which], mass[which] > 4.0
    p = _tracks(rng, _hard_pt(rng, n, np.where(beauty, 6.5, 2.9), np.where(beauty, 3.2, 3.0)))
    time = lifetimes.draw(rng, mean[which])
    m_rest = rng.uniform(0.14, 0.75, n) * (m - 2.0 * PION - 0.15)
    m_pair = 2.0 * PION + rng.beta(1.6, 2.0, n) * (m - m_rest - 2.0 * PION)
    alone = rng.random(n) < 0.10
    p_pair = np.where(alone[:, None], p, boost_decay(rng, p, m, m_pair, m_rest)[0])
    p1, p2 = boost_decay(rng, p_pair, np.where(alone, m, m_pair), PION, PION)
    found = reconstruct(rng, flight(p, m, time), p1, p2, detector)
    accepted = (np.hypot(p[:, 0], p[:, 1]) > 2.0) & (time > lifetimes.least)
    return {**found, "lifetime": time, "beauty": beauty.astype(float), "accepted": accepted.astype(float)}


def prompt(rng: Rng, n: int, detector: Detector) -> Candidates:
    """Two tracks from the collision itself: their displacement is resolution alone."""
    p1, p2 = _tracks(rng, _soft_pt(rng, n)), _tracks(rng, _soft_pt(rng, n))
    vertex = np.zeros((n, 3))
    vertex[:, 2] = np.abs(rng.normal(0.0, 0.3, n))
    return reconstruct(rng, vertex, p1, p2, detector)


def unrelated(rng: Rng, n: int, detector: Detector) -> Candidates:
    """Two detached tracks that have nothing to do with each other: moderate displacement, a real distance between."""
    p1, p2 = _tracks(rng, _soft_pt(rng, n)), _tracks(rng, _soft_pt(rng, n))
    offset = rng.exponential(0.12, n) * rng.lognormal(0.0, 0.8, n)
    vertex = random_directions(rng, n) * offset[:, None]
    vertex[:, 2] = np.abs(vertex[:, 2]) + rng.exponential(1.5, n)
    return reconstruct(rng, vertex, p1, p2, detector, np.abs(rng.normal(0.0, 0.05, n)))


def strange(rng: Rng, n: int, detector: Detector) -> Candidates:
    """Lambda -> p pi and KS -> pi pi; half of them do not point back to the collision."""
    m, mean, m1, m2, share = np.array(list(STRANGE.values())).T
    k = rng.choice(len(m), n, p=share)
    p = _tracks(rng, _hard_pt(rng, n, 1.6, 3.6))
    vertex = flight(p, m[k], rng.exponential(mean[k]))
    offset = rng.exponential(0.4, n) * (rng.random(n) < 0.5)
    p1, p2 = boost_decay(rng, p, m[k], m1[k], m2[k])
    return reconstruct(rng, vertex + random_directions(rng, n) * offset[:, None], p1, p2, detector)


def material(rng: Rng, n: int, detector: Detector) -> Candidates:
    """Interactions in the foil (3.5 to 5 mm from the beam) and the modules behind it."""
    r = np.where(rng.random(n) < 0.6, rng.uniform(3.5, 5.0, n), 5.1 + rng.exponential(4.0, n))
    vertex = _tracks(rng, r)  # a point at radius r in a direction of the detector
    along = unit(vertex)
    p = [rng.lognormal(np.log(mean), 0.6, n)[:, None] * along for mean in (9.0, 8.0)]
    kicks = [random_directions(rng, n) * np.abs(rng.normal(0.0, 0.45, n))[:, None] for _ in p]
    return reconstruct(rng, vertex, p[0] + kicks[0], p[1] + kicks[1], detector, np.abs(rng.normal(0.0, 0.01, n)))


def ghosts(rng: Rng, n: int, detector: Detector) -> Candidates:
    """Tracks made of wrong hits: anywhere, with momenta that mean little and sometimes are very large."""
    shares = (0.40, 0.25)
    pts = [np.where(rng.random(n) < s, rng.exponential(2.5, n) + 0.3, _soft_pt(rng, n)) for s in shares]
    vertex = random_directions(rng, n) * (10.0 ** rng.uniform(-1.2, 1.2, n))[:, None]
    vertex[:, 2] = np.abs(vertex[:, 2]) * rng.uniform(1.0, 20.0, n)
    doca = np.abs(rng.normal(0.0, 0.06, n))
    return reconstruct(rng, vertex, _tracks(rng, pts[0]), _tracks(rng, pts[1]), detector, doca)


# process: how it is drawn, share among pre-selected minimum-bias candidates
BACKGROUNDS: dict[str, tuple[Callable[[Rng, int, Detector], Candidates], float]] = {
    "prompt": (prompt, 0.905),
    "unrelated": (unrelated, 0.055),
    "strange": (strange, 0.012),
    "material": (material, 0.020),
    "ghosts": (ghosts, 0.008),
}
