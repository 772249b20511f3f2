"""What a function leaves over in every row, and how much of a second one that learned it is worth adding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.estimators._targets import Target

__all__ = ["SHARES", "Leftover", "Worth", "is_hopeless", "worth_of"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]
SHARES = (0.25, 0.5, 0.75, 1.0)
FLATTEST = 0.02  # curvature of the log-loss by which a residual is divided, at least: sure rows would count for all
SURE = 1e-12  # of a class, at most this far from certain
FEWEST_ROWS = 16  # of a class in all
MOST_SAVED = 0.5  # part of the loss: what more trees are credited with at most
DOUBT = 2.0  # standard errors: one part of few rows may be unlucky


@dataclass(frozen=True)
class Leftover:
    """y: as a target has it, in the units of training, 1 for rows of the second class; weight: of the rows; groups:
    what belongs together tells once."""

    y: FloatArray
    weight: FloatArray
    is_class: bool
    groups: Rows | None = None

    @classmethod
    def of(cls, target: Target) -> Leftover:
        weight = np.ones(len(target.y)) if target.weight is None else target.weight / target.weight.max()
        return cls(target.y, weight, target.classes is not None, target.groups)

    def at(self, rows: Rows) -> Leftover:
        """The same of some rows."""
        groups = None if self.groups is None else self.groups[rows]
        return Leftover(self.y[rows], self.weight[rows], self.is_class, groups)

    @classmethod
    def joined(cls, parts: Sequence[Leftover]) -> Leftover:
        """One after the other."""
        y, weight = (np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "weight"))
        groups = [part.groups for part in parts if part.groups is not None]
        return cls(y, weight, parts[0].is_class, np.concatenate(groups) if groups else None)

    def of_groups(self, values: FloatArray) -> FloatArray:
        """Sums of the rows of each group; without groups the values themselves."""
        if self.groups is None:
            return values
        return np.asarray(np.bincount(np.unique(self.groups, return_inverse=True)[1], values))

    def can_be_judged(self) -> bool:
        """Whether there are enough rows, of each class, to tell a gain from chance."""
        fewest = min(np.count_nonzero(self.y), np.count_nonzero(self.y == 0)) if self.is_class else len(self.y)
        return bool(fewest >= FEWEST_ROWS)

    def after(self, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What f leaves over, and the weights to learn it by: of log-odds one Newton step each."""
        if not self.is_class:
            return self.y - f, self.weight
        p = 0.5 + 0.5 * np.tanh(0.5 * f)
        curvature = np.maximum(p * (1.0 - p), FLATTEST)
        return (self.y - p) / curvature, self.weight * curvature

    def losses(self, f: FloatArray) -> FloatArray:
        """Of each row, weighted."""
        each = np.logaddexp(0.0, (1.0 - 2.0 * self.y) * f) if self.is_class else np.square(self.y - f)
        return np.asarray(self.weight * each)

    def without_features(self) -> float:
        """The loss of the best constant."""
        mean = float(np.average(self.y, weights=self.weight))
        if self.is_class:
            mean = min(max(mean, SURE), 1.0 - SURE)
        return float(self.losses(np.full(len(self.y), np.log(mean / (1.0 - mean)) if self.is_class else mean)).sum())

    def gains(
        self, f: FloatArray, one: FloatArray, two: FloatArray, more: float, shares: tuple[float, ...]
    ) -> tuple[FloatArray, list[FloatArray]]:
        """The losses without a forest, and what each row gains by each share of it.

        one, two: what its halves predict, each with twice the variance of both. more: the part of all trees that is yet
        to come; they save this part of what both halves together save over each alone, and no more than half of the
        loss.
        """
        without, found = self.losses(f), []
        for share in shares:
            both = self.losses(f + share * (one / 2 + two / 2))
            each = (self.losses(f + share * one) + self.losses(f + share * two)) / 2
            saved = np.maximum(more * (each - both), 0.0)  # a loss is convex: what is below is rounding
            total, most = float(saved.sum()), MOST_SAVED * float(both.sum())
            found.append(without - both + (saved * (most / total) if total > most else saved))
        return without, found


@dataclass(frozen=True)
class Worth:
    """share: of a forest with the least loss, 0 where that is chance. gain, error: part of the loss that it gains, and
    the standard error of that; of_constant: the same gain as a part of a constant's loss."""

    share: float
    gain: float = 0.0
    error: float = 0.0
    of_constant: float = 0.0


def worth_of(left: Leftover, f: FloatArray, one: FloatArray, two: FloatArray, more: float = 0.0) -> Worth:
    """What a forest is worth on these rows. one, two, more: as in `gains`."""
    without, found = left.gains(f, one, two, more, SHARES)
    sums, total = [float(gain.sum()) for gain in found], float(without.sum())
    best = int(np.argmax(sums))
    gain, error = sums[best], _standard_error(left.of_groups(found[best]))
    if not (_effective(left.of_groups(left.weight)) >= FEWEST_ROWS and gain > error):  # or no number
        return Worth(0.0)
    return Worth(SHARES[best], gain / total, error / total, gain / left.without_features())


def is_hopeless(left: Leftover, f: FloatArray, one: FloatArray, two: FloatArray, more: float = 0.0) -> bool:
    """Whether these rows alone say that even the least share of a forest does harm."""
    _, (gain,) = left.gains(f, one, two, more, SHARES[:1])
    return float(gain.sum()) < -DOUBT * _standard_error(left.of_groups(gain))


def _standard_error(gain: FloatArray) -> float:
    """Of the sum."""
    return float(np.std(gain, ddof=1) * np.sqrt(len(gain))) if len(gain) > 1 else np.inf


def _effective(weight: FloatArray) -> float:
    """Rows of equal weight that tell as much: one that weighs more than all others tells what one does."""
    part = weight / (weight.max(initial=0.0) or 1.0)
    return float(part.sum() ** 2 / (np.square(part).sum() or 1.0))
