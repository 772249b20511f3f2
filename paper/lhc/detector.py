"""What a vertex detector measures of a pair of tracks: significances of displacement, vertex quality, momenta.

A simple parametrised detector with the resolutions of a forward vertex locator; the primary vertex is the origin.
`Detector()` is the one the samples are made with. Others stand for instabilities while data are taken: their noise is
larger, their vertex detector shifted, their momentum scale off, but the *assumed* errors in every chi2 stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .kinematics import transverse, unit

__all__ = ["PION", "Candidates", "Detector", "reconstruct"]

FloatArray = NDArray[np.float64]
Candidates = dict[str, NDArray[np.float64]]  # one array of length n for each measured quantity

PION = 0.13957
WIDE, FAR = (0.06, 3.0), (0.004, 9.0)  # non-Gaussian tails: share of tracks, factor of their noise


@dataclass(frozen=True)
class Detector:
    """noise: factor on every measurement error; shift: of the vertex detector against the primary vertex, mm; scale:
    of momenta. Only the truth changes: the reconstruction still believes in (1, 0, 1)."""

    noise: float = 1.0
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)
    scale: float = 1.0


def assumed_error(pt: FloatArray) -> FloatArray:
    """Impact parameter resolution per component in mm: (12 + 14/pT) um of the track and 10 um of the vertex."""
    return np.hypot(0.012 + 0.014 / np.maximum(pt, 0.2), 0.010)


def tail_factor(rng: np.random.Generator, n: int) -> FloatArray:
    u = rng.random(n)
    return np.where(u < FAR[0], FAR[1], np.where(u < FAR[0] + WIDE[0], WIDE[1], 1.0))


def frame(direction: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two unit vectors at right angles to each direction and to each other."""
    axis = np.where(np.abs(direction[:, [2]]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    first = unit(np.cross(direction, axis))
    return first, np.cross(direction, first)


def _ip_chi2(rng: np.random.Generator, origin: FloatArray, p: FloatArray, detector: Detector) -> FloatArray:
    """Impact parameter chi2, 2 degrees of freedom: sum over both normals of (IP_k / s + noise)^2."""
    error, factor = assumed_error(transverse(p)), detector.noise * tail_factor(rng, len(p))
    parts = [(origin * axis).sum(axis=-1) / error + factor * rng.normal(size=len(p)) for axis in frame(unit(p))]
    return np.asarray(parts[0] ** 2 + parts[1] ** 2)


def reconstruct(
    rng: np.random.Generator,
    vertex: FloatArray,
    p1: FloatArray,
    p2: FloatArray,
    detector: Detector,
    doca: FloatArray | float = 0.0,
) -> Candidates:
    """Measured quantities of two tracks p1, p2 from a true vertex; doca: true distance between the tracks, mm."""
    n = len(vertex)
    vertex = vertex + np.asarray(detector.shift)
    ip = np.minimum(_ip_chi2(rng, vertex, p1, detector), _ip_chi2(rng, vertex, p2, detector))
    opening = np.arccos(np.clip((unit(p1) * unit(p2)).sum(axis=-1), -1.0, 1.0))
    across = np.hypot(assumed_error(transverse(p1)), assumed_error(transverse(p2))) / np.sqrt(2.0)
    along = across * np.sqrt(2.0) / np.maximum(opening, 1e-3)
    n1, n2 = frame(unit(p1 + p2))
    axes = (unit(p1 + p2), n1, n2)
    factor = detector.noise * tail_factor(rng, n)
    noise = factor * rng.normal(size=(3, n))
    errors = (along, across, across)
    fd_chi2 = sum(((vertex * a).sum(axis=-1) / s + z) ** 2 for a, s, z in zip(axes, errors, noise, strict=True))
    seen = vertex + sum(a * (s * z)[:, None] for a, s, z in zip(axes, errors, noise, strict=True))
    vertex_chi2 = (doca / across + factor * rng.normal(size=n)) ** 2 * rng.lognormal(0.0, 0.25, n)
    p1, p2 = detector.scale * p1, detector.scale * p2
    return {
        "min_ip_chi2": ip,
        "fd_chi2": np.asarray(fd_chi2),
        "vertex_chi2": vertex_chi2,
        "sum_pt": transverse(p1) + transverse(p2),
        "min_pt": np.minimum(transverse(p1), transverse(p2)),
        "sv_pt": transverse(p1 + p2),
        "corrected_mass": _corrected_mass(p1, p2, seen),
        "eta": np.arcsinh((p1 + p2)[:, 2] / transverse(p1 + p2)),
        "z": seen[:, 2],
        "r": np.hypot(seen[:, 0], seen[:, 1]),
    }


def _corrected_mass(p1: FloatArray, p2: FloatArray, seen: FloatArray) -> FloatArray:
    """sqrt(m^2 + q^2) + q with q the momentum across the flight line: the mass with the least that was missed added."""
    p = p1 + p2
    energy = np.sqrt((p1**2).sum(axis=-1) + PION**2) + np.sqrt((p2**2).sum(axis=-1) + PION**2)
    mass2 = np.maximum(energy**2 - (p**2).sum(axis=-1), 0.0)
    missed = np.linalg.norm(np.cross(p, unit(seen)), axis=-1)
    return np.asarray(np.sqrt(mass2 + missed**2) + missed)
