"""Values to move a feature to: observed ones, between them, beyond them, where trees split, and single ulps away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.certify.audit_table import Steps

__all__ = ["Feature", "common_grid", "local_grid", "zoom"]

FloatArray = NDArray[np.float64]

_BEYOND = (0.1, 0.5, 1.0)  # ranges beyond the data on either side
_ULPS = (1, 2, 16, 2**10, 2**20)
_PARTS = (1e-6, 1e-4, 1e-2, 0.1, 1.0)  # of the feature's spread


@dataclass(frozen=True)
class Feature:
    """A feature that has a direction. observed: its distinct values in X; thresholds: where the model splits it."""

    position: int
    steps: Steps
    observed: FloatArray
    thresholds: FloatArray
    beyond_range: bool

    @property
    def spread(self) -> float:
        return float(self.observed[-1] - self.observed[0]) or max(1.0, abs(float(self.observed[0])))

    def limits(self) -> tuple[float, float]:
        """Where values may go."""
        if self.beyond_range:
            return self.steps.low, self.steps.high
        return float(self.observed[0]), float(self.observed[-1])


def common_grid(feature: Feature, size: int, rng: np.random.Generator) -> FloatArray:
    """Up to about `size` sorted values for every row alike; a random part where there are more.

    A tree is constant between thresholds, so the thresholds and one value beyond them show all it does along a row.
    """
    steps, observed = feature.steps, feature.observed
    low, high = float(observed[0]), float(observed[-1])
    beyond = np.array([low - part * feature.spread for part in _BEYOND] + [high + p * feature.spread for p in _BEYOND])
    if steps.whole:
        beyond = np.append(beyond, [low - 1, high + 1])
    splits = _some(feature.thresholds, size // 2, rng)
    near = _some(splits, size // 8, rng)
    around = np.concatenate([steps.moved(steps.snap(near), -1), steps.moved(steps.snap(near), 1)])
    above = steps.moved(steps.snap(feature.thresholds[-1:]), 1)
    seen = _spread_out(observed, max(8, (size - len(splits) - len(around)) // 2), rng)
    middle = (seen[:-1] + seen[1:]) / 2
    values = steps.snap(np.concatenate([seen, middle, beyond, splits, around, above]))
    return np.unique(values[_allowed(feature, values)])


def local_grid(feature: Feature, own: FloatArray) -> FloatArray:
    """Values close to each row's own, shape (n, m), sorted in each row: single ulps, and parts of the spread."""
    steps = feature.steps
    columns = [own]
    for count in (1, 2, 3) if steps.whole else _ULPS:
        columns += [steps.moved(own, -count), steps.moved(own, count)]
    for part in () if steps.whole else _PARTS:
        columns += [steps.snap(own - part * feature.spread), steps.snap(own + part * feature.spread)]
    low, high = feature.limits()
    return np.sort(np.clip(np.stack(columns, axis=1), low, high), axis=1)


def zoom(feature: Feature, values: FloatArray, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Nine values inside one interval of each row's sweep, where a fall may hide between two values that rise.

    A third of the rows takes its flattest interval, a third the flattest of those that rise, a third any one.
    values (n, m); scores (m, n), in the sense in which they should not fall.
    """
    if values.shape[1] < 2:
        return values
    widths = np.diff(values, axis=1)
    with np.errstate(all="ignore"):
        slopes = np.where(widths > 0, np.diff(scores, axis=0).T / widths, np.inf)
    slopes = np.nan_to_num(slopes, nan=np.inf, posinf=np.inf, neginf=-np.inf)
    rises = np.where(slopes > 0, slopes, np.inf)
    anything = np.where(widths > 0, rng.random(slopes.shape), np.inf)
    chosen = np.stack([slopes, rises, anything])[rng.integers(3, size=len(values)), np.arange(len(values))]
    at = np.argmin(chosen, axis=1)
    rows = np.arange(len(values))
    low, high = values[rows, at], values[rows, at + 1]
    parts = np.linspace(0.0, 1.0, 9)
    inside = feature.steps.snap(low[:, None] * (1 - parts) + high[:, None] * parts)
    return np.sort(np.clip(inside, low[:, None], high[:, None]), axis=1)


def _allowed(feature: Feature, values: FloatArray) -> NDArray[np.bool_]:
    low, high = feature.limits()
    return np.isfinite(values) & (values >= low) & (values <= high)


def _some(values: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    return values if len(values) <= count else np.sort(rng.choice(values, count, replace=False))


def _spread_out(values: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """The ends and a random one of each of `count` parts between them."""
    if len(values) <= count:
        return values
    edges = np.linspace(0, len(values) - 1, count - 1)
    inside = rng.uniform(edges[:-1], edges[1:]).astype(np.int64)
    return np.asarray(values[np.unique(np.concatenate([[0], inside, [len(values) - 1]]))])
