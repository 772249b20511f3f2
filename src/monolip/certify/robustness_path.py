"""F along one raw feature: what it costs to cross each stretch, and its value at any point with a proved error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.certify.robustness_drop import Drops
from monolip.certify.robustness_enclosure import output_enclosure
from monolip.certify.robustness_inputs import Movable, Samples, move_to
from monolip.frozen import FrozenNetwork

__all__ = ["Path", "paths_of"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """One feature in one direction. costs, gains: (n, P), the steepest fall and rise of F on every stretch."""

    network: FrozenNetwork
    drops: Drops
    feature: Movable
    number: int
    side: int = 1
    costs: FloatArray | None = None
    gains: FloatArray | None = None

    def facing(self, side: int, signs: FloatArray) -> Path:
        """The same feature, moved up (side 1) or down (-1), for these multiples of the outputs."""
        low, high = np.zeros((2, len(signs), len(self.feature.slopes)))
        for part, plus, minus in self.drops.shares(signs):
            least, most = part.moves.low[self.number].min(axis=1), part.moves.high[self.number].max(axis=1)
            low = low + part.share * (plus[:, None] * least - minus[:, None] * most)
            high = high + part.share * (plus[:, None] * most - minus[:, None] * least)
        fall, rise = (-low, high) if side > 0 else (high, -low)
        widened = 1 + 2.0**-40
        costs, gains = np.maximum(fall, 0.0) * widened, np.maximum(rise, 0.0) * widened
        return Path(self.network, self.drops, self.feature, self.number, side, costs, gains)

    def only_falls(self) -> NDArray[np.bool_]:
        """Whether F never rises in this direction (and somewhere falls), whatever the other features are."""
        assert self.costs is not None
        assert self.gains is not None
        return np.asarray((self.gains == 0).all(axis=1) & (self.costs > 0).any(axis=1))

    def never_falls(self) -> NDArray[np.bool_]:
        """Whether moving this way can only help."""
        assert self.costs is not None
        return np.asarray((self.costs == 0).all(axis=1))

    def next_stretch(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Steepest fall on the stretch that begins at y, and the knot where it ends (infinite at the last)."""
        assert self.costs is not None
        knots, side = self.feature.knots, "right" if self.side > 0 else "left"
        at = np.searchsorted(knots, y, side)  # type: ignore[call-overload]
        ends = np.concatenate([knots, [np.inf]]) if self.side > 0 else np.concatenate([[-np.inf], knots])
        return self.costs[np.arange(len(y)), at], ends[at]

    def beyond(self, y: FloatArray) -> FloatArray:
        """The last knot in this direction; y itself where all knots are behind it."""
        if not len(self.feature.knots):
            return y.copy()
        knots = self.feature.knots
        return np.asarray(np.maximum(knots[-1], y) if self.side > 0 else np.minimum(knots[0], y))

    def flat_tail(self) -> NDArray[np.bool_]:
        assert self.costs is not None
        return np.asarray(self.costs[:, -1 if self.side > 0 else 0] == 0)

    def margin_at(self, samples: Samples, signs: FloatArray, y: FloatArray) -> FloatArray:
        """A lower bound of sum_k signs_k f_k with the feature at y; (n,)."""
        f, error = output_enclosure(self.network, move_to(self.network, samples, self.feature, y))
        size = (np.abs(signs) * (error + 2.0**-50 * np.abs(f))).sum(axis=1) * (1 + 2.0**-40)
        value = (signs * f).sum(axis=1) - size
        return np.where(np.isnan(value), -np.inf, value)


def paths_of(network: FrozenNetwork, features: Sequence[Movable]) -> Iterator[Path]:
    """One for each feature that moves."""
    drops = Drops(network, features, "hull")
    for number, feature in enumerate(features):
        yield Path(network, drops, feature, number)
