"""Relativistic kinematics of many particles at once: arrays of shape (n, 3). Units GeV, mm, ps; c = 0.2998 mm/ps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["LIGHT", "boost_decay", "flight", "momenta", "random_directions", "transverse", "unit"]

FloatArray = NDArray[np.float64]

LIGHT = 0.299792458  # mm/ps


def unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def transverse(p: FloatArray) -> FloatArray:
    """pT, the part of a momentum at right angles to the beam (the z axis)."""
    return np.hypot(p[:, 0], p[:, 1])


def momenta(pt: FloatArray, eta: FloatArray, phi: FloatArray) -> FloatArray:
    """From transverse momentum, pseudorapidity and azimuth: pz = pT sinh(eta)."""
    return np.stack([pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)], axis=-1)


def random_directions(rng: np.random.Generator, n: int) -> FloatArray:
    """Unit vectors, uniform on the sphere."""
    cosine, phi = rng.uniform(-1.0, 1.0, n), rng.uniform(0.0, 2.0 * np.pi, n)
    sine = np.sqrt(1.0 - cosine**2)
    return np.stack([sine * np.cos(phi), sine * np.sin(phi), cosine], axis=-1)


def flight(p: FloatArray, mass: FloatArray, time: FloatArray) -> FloatArray:
    """Where a particle from the origin decays: L = (p/m) c t, since beta gamma = p/m."""
    return np.asarray(p / mass[:, None] * (LIGHT * time)[:, None])


def boost_decay(
    rng: np.random.Generator, p: FloatArray, mass: FloatArray, mass_1: FloatArray | float, mass_2: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Momenta of the two products of a decay, isotropic in the rest frame of the mother with lab momentum p.

    k = sqrt((M^2 - (m1+m2)^2)(M^2 - (m1-m2)^2)) / 2M, then p' = q + beta (gamma^2/(gamma+1) beta.q + gamma e).
    """
    inside = (mass**2 - (mass_1 + mass_2) ** 2) * (mass**2 - (mass_1 - mass_2) ** 2)
    k = np.sqrt(np.maximum(inside, 0.0)) / (2.0 * mass)
    q = random_directions(rng, len(p)) * k[:, None]
    energy = np.sqrt((p**2).sum(axis=-1) + mass**2)
    beta, gamma = p / energy[:, None], energy / mass
    along = (beta * q).sum(axis=-1)

    def to_lab(sign: float, m: FloatArray | float) -> FloatArray:
        shift = gamma**2 / (gamma + 1.0) * sign * along + gamma * np.sqrt(k**2 + np.square(m))
        return np.asarray(sign * q + beta * shift[:, None])

    return to_lab(1.0, mass_1), to_lab(-1.0, mass_2)
