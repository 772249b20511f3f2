"""What is measured of a fitted classifier: ranking, efficiency at 660 kHz, the boundary, and how smearing moves it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from .boundary import Limits, boundary, falling_steps, grid, turning
from .lifetime_bins import BINS, EARLY, LATE
from .models import Model
from .sample import Sample
from .smearing import certified_slopes, moves, outside_exactly, rounding_error
from .working_point import cut_for_rate, rate_above, share_to_keep

__all__ = ["densities", "map_of", "measure", "smearing_of"]

FloatArray = NDArray[np.float64]


def measure(model: Model, n_features: int, rate: Sample, natural: Sample, flat: Sample) -> dict[str, Any]:
    """Ranking and efficiencies. Where a plateau straddles the cut, the share of it that fills 660 kHz is counted."""
    assert rate.event is not None
    assert flat.lifetime is not None
    below, signal = model.score(rate.table(n_features)), model.score(natural.table(n_features))
    late = model.score(flat.table(n_features))
    cut = cut_for_rate(below, rate.event)
    share = share_to_keep(cut, below, rate.event)

    def efficiency(scores: FloatArray) -> float:
        return float(np.mean(scores > cut) + share * np.mean(scores == cut))

    def between(low: float, high: float) -> float:
        return efficiency(late[(flat.lifetime >= low) & (flat.lifetime < high)])

    labels = np.repeat([0.0, 1.0], [len(below), len(signal)])
    return {
        "auc": float(roc_auc_score(labels, np.concatenate([below, signal]))),
        "cut": cut,
        "rate_khz": rate_above(cut, below, rate.event),
        "levels": len(np.unique(below)),
        "efficiency": efficiency(signal),
        "efficiency_strict": float(np.mean(signal > cut)),
        "by_lifetime": [round(between(a, b), 5) for a, b in pairwise(BINS)],
        "early": between(*EARLY),
        "late": between(*LATE),
        "late_over_early": between(*LATE) / between(*EARLY),
        "seconds": round(model.seconds, 2),
        "parameters": model.n_parameters,
    }


def _limits(rate: Sample, natural: Sample) -> Limits:
    both = np.concatenate([rate.table(2)[: len(natural.table(2))], natural.table(2)])
    low, high = np.quantile(both, [0.02, 0.98], axis=0)
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


def densities(rate: Sample, natural: Sample) -> dict[str, Any]:
    """Where candidates of both classes are, as counts on the area of the maps; rows are values of the momentum."""
    limits = _limits(rate, natural)
    counts = {
        name: np.histogram2d(*sample.table(2).T, bins=40, range=limits)[0].T.astype(int).tolist()
        for name, sample in (("background", rate), ("signal", natural))
    }
    return {"limits": [list(limit) for limit in limits], **counts}


def map_of(model: Model, rate: Sample, natural: Sample, *, keep: bool) -> dict[str, Any]:
    """Score and boundary over the middle 96 % of candidates of both classes, as in Figure 3; keep: the map too."""
    assert rate.event is not None
    limits = _limits(rate, natural)
    cut = cut_for_rate(model.score(rate.table(2)), rate.event)
    fine = grid(model.score, limits, 400)
    lines = boundary(fine, limits, cut)
    found: dict[str, Any] = {
        "limits": [list(limit) for limit in limits],
        "turning": turning(lines, limits),
        "falls_in_displacement": falling_steps(fine, axis=1),
        "falls_in_momentum": falling_steps(fine, axis=0),
        "boundary": [np.round(line, 3).tolist() for line in lines],
    }
    if keep:
        coarse = grid(model.score, limits, 100)
        found["map_permille"] = np.rint(1000.0 / (1.0 + np.exp(-coarse))).astype(int).tolist()
    return found


def smearing_of(
    model: Model, n_features: int, smeared: tuple[Sample, Sample], exact: int, *, keep: bool
) -> dict[str, Any]:
    """Moves of the score in an unstable detector: of every candidate, against what the certificate allows."""
    before = np.concatenate([sample.table(n_features) for sample in smeared])
    after = np.concatenate([sample.table(n_features, smeared=True) for sample in smeared])
    scores = model.score(before), model.score(after)
    shift = after - before
    found: dict[str, Any] = {
        "smeared": {
            "candidates": len(before),
            "largest_move": float(np.abs(scores[1] - scores[0]).max()),
            "steepest": float((np.abs(scores[1] - scores[0]) / np.abs(shift).sum(axis=1)).max()),
        }
    }
    if model.frozen is None:
        return found
    slopes = certified_slopes(model.frozen)
    moved, least, most = moves(*scores, shift, slopes)
    error = np.zeros(len(moved))
    if model.name == "lmn":
        error = rounding_error(model.frozen, before) + rounding_error(model.frozen, after)
        chosen = np.linspace(0, len(before) - 1, exact).astype(int)
        wrong = outside_exactly(model.frozen, before[chosen], after[chosen])
        found["smeared"] |= {"in_rationals": exact, "outside_in_rationals": wrong}
    allowed = np.maximum(np.abs(least), np.abs(most))
    found["smeared"] |= {
        "slopes": [[float(low), float(high)] for low, high in zip(*slopes, strict=True)],
        "outside": int(np.sum((moved - error < least) | (moved + error > most))),
        "largest_rounding_error": float(error.max()),
        "largest_share_of_allowed": float((np.abs(moved) / allowed).max()),
    }
    if keep:
        some = np.linspace(0, len(moved) - 1, 1500).astype(int)
        found["smeared"]["pairs"] = np.round(np.stack([allowed, np.abs(moved)], axis=1)[some], 4).tolist()
    return found
