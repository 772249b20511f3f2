"""The working point of a trigger line: the cut on the best candidate of an event that keeps the rate within 660 kHz."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["RATE", "cut_for_rate", "rate_above", "share_to_keep"]

FloatArray = NDArray[np.float64]

RATE = 660.0  # kHz
CROSSINGS = 30_000.0  # kHz of collisions
WITH_CANDIDATE = 0.35  # share of them with at least one pre-selected candidate


def best_of_event(score: FloatArray, event: NDArray[np.int64]) -> FloatArray:
    """The largest score of each event."""
    best = np.full(int(event.max()) + 1, -np.inf)
    np.maximum.at(best, event, score)
    return best


def rate_above(cut: float, score: FloatArray, event: NDArray[np.int64]) -> float:
    """kHz of events with a candidate that scores above the cut."""
    return float(CROSSINGS * WITH_CANDIDATE * np.mean(best_of_event(score, event) > cut))


def cut_for_rate(score: FloatArray, event: NDArray[np.int64], rate: float = RATE) -> float:
    """The lowest cut whose rate is at most `rate`: `score > cut` selects. Plateaus of a score are kept whole or not."""
    best = np.sort(best_of_event(score, event))[::-1]
    allowed = int(rate / (CROSSINGS * WITH_CANDIDATE) * len(best))
    return float(best[allowed])


def share_to_keep(cut: float, score: FloatArray, event: NDArray[np.int64], rate: float = RATE) -> float:
    """The share of events whose best score is the cut itself that a coin would have to keep to fill the rate.

    0 in effect for a continuous score, where one event has it; a plateau of a boosted tree holds many.
    """
    at = CROSSINGS * WITH_CANDIDATE * float(np.mean(best_of_event(score, event) == cut))
    return (rate - rate_above(cut, score, event)) / at
