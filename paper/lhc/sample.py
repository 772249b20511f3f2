"""Pre-selected samples with features: signal, and background in events of minimum-bias collisions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .detector import Candidates, Detector
from .processes import BACKGROUNDS, Lifetimes, heavy_flavour

__all__ = ["DIRECTIONS", "FEATURES", "Sample", "background", "preselected", "signal"]

FloatArray = NDArray[np.float64]

# What LHCb's two-track line feeds its network, and the direction of each input.
DIRECTIONS = {"log FD chi2": 1, "sum pT": 1, "vertex chi2": 0, "log min IP chi2": 1}
FEATURES = {2: ("log min IP chi2", "sum pT"), 4: tuple(DIRECTIONS)}
CHUNK = 100_000
CANDIDATES_MORE = 2.0  # an event with a candidate has 1 + Poisson(2) of them


@dataclass(frozen=True)
class Sample:
    """Rows are candidates. columns: feature -> values; lifetime: ps (signal); event: numbers (background).

    smeared: the same candidates in an unstable detector, where one was asked for.
    """

    columns: dict[str, FloatArray]
    lifetime: FloatArray | None = None
    event: NDArray[np.int64] | None = None
    process: NDArray[np.str_] | None = None
    smeared: dict[str, FloatArray] | None = None

    def table(self, n_features: int, *, smeared: bool = False) -> FloatArray:
        columns = self.smeared if smeared else self.columns
        assert columns is not None
        return np.stack([columns[name] for name in FEATURES[n_features]], axis=1)


def preselected(found: Candidates) -> NDArray[np.bool_]:
    """LHCb's cuts before its two-track network, and a fiducial volume."""
    return np.asarray(
        (found["min_pt"] > 0.2)
        & (found["sv_pt"] > 1.0)
        & (found["eta"] > 2.0)
        & (found["eta"] < 5.0)
        & (found["corrected_mass"] > 1.0)
        & (found["vertex_chi2"] < 20.0)
        & (found["min_ip_chi2"] > 4.0)
        & (found["z"] > 0.0)
        & (found["z"] < 600.0)
        & (found["r"] < 30.0)
        & (found.get("accepted", 1.0) > 0.0)
    )


def _features(found: Candidates) -> dict[str, FloatArray]:
    """Logarithms of displacement significances, momenta in GeV up to 100, vertex chi2 as it is."""
    return {
        "log FD chi2": np.log(np.maximum(found["fd_chi2"], 1e-10)),
        "sum pT": np.minimum(found["sum_pt"], 100.0),
        "vertex chi2": np.maximum(found["vertex_chi2"], 1e-10),
        "log min IP chi2": np.log(np.maximum(found["min_ip_chi2"], 1e-10)),
    }


def _collect(draw: partial[Candidates], seed: list[int], n: int, unstable: Detector | None) -> Sample:
    """n pre-selected candidates. The unstable detector sees the same decays with the same random numbers."""
    parts: list[tuple[Candidates, Candidates | None]] = []
    count, chunk = 0, min(CHUNK, 40 * n)
    while count < n:
        again = [*seed, len(parts)]
        found = draw(np.random.default_rng(again), chunk, Detector())
        keep = preselected(found)
        other = draw(np.random.default_rng(again), chunk, unstable) if unstable else None
        parts.append(({k: v[keep] for k, v in found.items()}, other and {k: v[keep] for k, v in other.items()}))
        count += int(keep.sum())
    joined = {k: np.concatenate([part[k] for part, _ in parts])[:n] for k in parts[0][0]}
    smeared = None
    if unstable:
        smeared = _features({k: np.concatenate([p[k] for _, p in parts if p])[:n] for k in parts[0][0]})
    return Sample(_features(joined), lifetime=joined.get("lifetime"), smeared=smeared)


def signal(seed: list[int], n: int, *, flat: float | None = None, unstable: Detector | None = None) -> Sample:
    """Decays of beauty and charm hadrons with natural lifetimes, or with flat ones up to `flat` ps."""
    return _collect(partial(heavy_flavour, lifetimes=Lifetimes(flat)), [*seed, 0], n, unstable)


def background(seed: list[int], n: int, *, unstable: Detector | None = None) -> Sample:
    """Minimum-bias candidates of all processes, shuffled and dealt out to events."""
    counts = {name: round(n * share) for name, (_, share) in BACKGROUNDS.items()}
    counts["prompt"] += n - sum(counts.values())
    parts = [
        _collect(partial(BACKGROUNDS[name][0]), [*seed, 1 + k], count, unstable)
        for k, (name, count) in enumerate(counts.items())
    ]
    rng = np.random.default_rng([*seed, 99])
    order = rng.permutation(n)
    sizes = 1 + rng.poisson(CANDIDATES_MORE, n)

    def join(values: list[dict[str, FloatArray] | None]) -> dict[str, FloatArray] | None:
        there = [v for v in values if v is not None]
        return {k: np.concatenate([v[k] for v in there])[order] for k in there[0]} if there else None

    columns = join([part.columns for part in parts])
    assert columns is not None
    return Sample(
        columns,
        event=np.repeat(np.arange(n), sizes)[:n],
        process=np.repeat(list(counts), list(counts.values()))[order],
        smeared=join([part.smeared for part in parts]),
    )
