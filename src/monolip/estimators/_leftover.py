"""What a function leaves over in every row, and how much of a second one that learned it is worth adding."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import column_or_1d

from monolip.errors import InputError
from monolip.estimators._targets import read_offsets, read_weights
from monolip.input_columns import is_missing, plain_value

__all__ = ["Leftover", "best_share", "is_hopeless", "outputs_of", "read_groups"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]
SHARES = (0.25, 0.5, 0.75, 1.0)
FLATTEST = 0.02  # curvature of the log-loss by which a residual is divided, at least: sure rows would count for all
FEWEST = 4  # rows of a class in every part
FEWEST_ROWS = 16  # of a class in all
MOST_SAVED = 0.5  # part of the loss: what more trees are credited with at most
DOUBT = 2.0  # standard errors: one part of few rows may be unlucky


@dataclass(frozen=True)
class Leftover:
    """y: numbers, or 1 for rows of the second class; weight: of the rows; shift: added to every function of them."""

    y: FloatArray
    weight: FloatArray
    shift: FloatArray
    is_class: bool

    @classmethod
    def of(cls, f: Any, y: Any, sample_weight: Any, offset: Any) -> Leftover:
        """What there is to leave over for an estimator that was fitted to it: rows count as they do there."""
        labels, classes = column_or_1d(y), getattr(f, "classes_", None)
        weight, shift = read_weights(sample_weight, len(labels)), read_offsets(offset, len(labels))
        weight = np.ones(len(labels)) if weight is None else weight / weight.max()
        if classes is not None and f.class_weight is not None:
            balance = np.asarray(compute_sample_weight(f.class_weight, labels))
            weight = weight * (balance / (balance.max() or 1.0))
        values = np.asarray(labels if classes is None else labels == classes[1], dtype=np.float64)
        return cls(values, weight, np.zeros(len(labels)) if shift is None else shift, classes is not None)

    def at(self, rows: Rows | NDArray[np.bool_], weight: FloatArray | None = None) -> Leftover:
        """The same of some rows. weight: of these, where they count for something else."""
        return Leftover(self.y[rows], self.weight[rows] if weight is None else weight, self.shift[rows], self.is_class)

    @classmethod
    def joined(cls, parts: Sequence[Leftover]) -> Leftover:
        """One after the other."""
        y, weight, shift = (np.concatenate([getattr(part, n) for part in parts]) for n in ("y", "weight", "shift"))
        return cls(y, weight, shift, parts[0].is_class)

    def can_be_judged(self) -> bool:
        """Whether enough rows count, of each class, to tell a gain from chance."""
        y = self.y[self.weight > 0]
        fewest = min(np.count_nonzero(y), np.count_nonzero(y == 0)) if self.is_class else len(y)
        return bool(fewest >= FEWEST_ROWS)

    def after(self, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What f leaves over, and the weights to learn it by: of log-odds one Newton step each."""
        f = f + self.shift
        if not self.is_class:
            return self.y - f, self.weight
        p = 0.5 + 0.5 * np.tanh(0.5 * f)
        curvature = np.maximum(p * (1.0 - p), FLATTEST)
        return (self.y - p) / curvature, self.weight * curvature

    def losses(self, f: FloatArray, unit: float) -> FloatArray:
        """Of each row, weighted; a square is one of units."""
        f = f + self.shift
        each = np.logaddexp(0.0, (1.0 - 2.0 * self.y) * f) if self.is_class else np.square((self.y - f) / unit)
        return np.asarray(self.weight * each)

    def gains(
        self, f: FloatArray, one: FloatArray, two: FloatArray, more: float, shares: tuple[float, ...]
    ) -> tuple[FloatArray, list[FloatArray]]:
        """The losses without a forest, and what each row gains by each share of it.

        one, two: what its halves predict, each with twice the variance of both. more: the part of all trees that is yet
        to come; they save this part of what both halves together save over each alone, and no more than half of the
        loss. Squares are counted in the largest error, so that a target may have any unit.
        """
        largest = 1.0 if self.is_class else float(np.abs(self.y - f - self.shift).max(initial=0.0))
        unit = largest if 0.0 < largest < np.inf else 1.0
        without, found = self.losses(f, unit), []
        for share in shares:
            both = self.losses(f + share * (one / 2 + two / 2), unit)
            each = (self.losses(f + share * one, unit) + self.losses(f + share * two, unit)) / 2
            saved = np.maximum(more * (each - both), 0.0)  # a loss is convex: what is below is rounding
            total, most = float(saved.sum()), MOST_SAVED * float(both.sum())
            found.append(without - both + (saved * (most / total) if total > most else saved))
        return without, found

    def parts(self, cv: Any, X: Any, groups: NDArray[Any] | None, seed: int) -> list[tuple[Rows, Rows]]:
        """(rows kept, rows held out), once for every part; none where there are too few rows to judge by.

        cv: a number of parts, or what splits rows as scikit-learn's classes do, which may look at X. groups: rows of
        one stay together. A part that leaves nothing to learn from, or to judge by, is left out.
        """
        found = self._split_by(cv, X, groups) if hasattr(cv, "split") else self._dealt(cv, groups, seed)
        return [(kept, held) for kept, held in found if self._tells(kept) and self._tells(held)]

    def _tells(self, rows: Rows) -> bool:
        """Whether there is something to learn from these rows, or to judge by: both classes, and rows that count."""
        y = self.y[rows[self.weight[rows] > 0]]
        return len(np.unique(y)) == 2 if self.is_class else len(y) > 0

    def _split_by(self, cv: Any, X: Any, groups: NDArray[Any] | None) -> list[tuple[Rows, Rows]]:
        name = type(cv).__name__
        try:
            found = [(self._rows(kept), self._rows(held)) for kept, held in cv.split(X, self.y, groups)]
        except (ValueError, TypeError, IndexError, KeyError) as error:
            missing = groups is None and "groups" in str(error)
            remedy = "pass fit(groups=)" if missing else "pass another splitter"
            raise InputError(f"cv splits the rows; got {name}: {error}; {remedy}.") from None
        for kept, held in found:
            if np.isin(held, kept).any():
                raise InputError(f"cv holds rows out; got {name}, which keeps some of them; pass another splitter.")
            if groups is not None and np.isin(groups[held], groups[kept]).any():
                raise InputError(f"groups stay together; got {name}, which parts some; pass GroupKFold, or cv=None.")
        return found

    def _rows(self, given: Any) -> Rows:
        """Numbers of rows, from a mask, a slice or anything like a list of numbers."""
        every = np.arange(len(self.y))
        if isinstance(given, slice):
            return every[given]
        rows = np.asarray(given)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iub"):
            raise ValueError("rows that are not one column of numbers")
        return every[rows] if rows.size else every[:0]

    def _dealt(self, cv: int, groups: NDArray[Any] | None, seed: int) -> list[tuple[Rows, Rows]]:
        from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold  # slow to import

        rows = np.flatnonzero(self.weight > 0)  # others tell nothing
        y, several = self.y[rows], len(rows)
        if groups is not None:
            groups = np.unique(groups[rows], return_inverse=True)[1]  # without those that have no row left
            several = int(groups.max(initial=-1)) + 1
        fewest = min(np.count_nonzero(y), np.count_nonzero(y == 0)) if self.is_class else several
        if fewest < FEWEST * cv or several < cv:
            return []
        how = {"shuffle": True, "random_state": seed}
        if groups is None:
            found = (StratifiedKFold if self.is_class else KFold)(cv, **how).split(y, y)
        elif self.is_class:
            found = StratifiedGroupKFold(cv, **how).split(y, y, groups)
        else:
            found = GroupKFold(cv).split(y, y, groups)
        return [(rows[kept], rows[held]) for kept, held in found]


def outputs_of(f: Any, X: Any) -> FloatArray:
    """Of an estimator, in the units that a forest is added in."""
    return np.asarray(f.decision_function(X) if hasattr(f, "classes_") else f.predict(X))


def read_groups(groups: Any, y: Any) -> NDArray[np.int64] | None:
    """The number of its group for each row of y, or None."""
    if groups is None:
        return None
    whole = np.asarray(groups) if hasattr(groups, "columns") or getattr(groups, "ndim", 1) != 1 else None
    if isinstance(groups, str | bytes) or not np.iterable(groups) or (whole is not None and whole.shape[1:] != (1,)):
        raise InputError(f"groups are one column, a name for each row; got {reprlib.repr(groups)}; pass one column.")
    labels = [plain_value(label) for label in (groups if whole is None else whole[:, 0])]
    if np.ndim(y) and len(labels) != len(y):
        raise InputError(f"groups have a name for each row; got {len(labels)} for {len(y)} rows; match them.")
    gone = next((row for row, label in enumerate(labels) if is_missing(label)), None)
    if gone is not None:
        raise InputError(f"groups have a name for each row; got none for row {gone}; give it a name of its own.")
    try:
        known = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    except TypeError as error:
        raise InputError(f"groups have a name for each row, a string or a number; got {error}; name them.") from None
    return np.array([known[label] for label in labels], dtype=np.int64)


def best_share(
    left: Leftover, f: FloatArray, one: FloatArray, two: FloatArray, more: float = 0.0
) -> tuple[float, float]:
    """(share, part of the loss gained): the share of a forest with the least loss, if that is no chance; else nothing.

    one, two, more: as in `gains`.
    """
    without, found = left.gains(f, one, two, more, SHARES)
    sums = [float(gain.sum()) for gain in found]
    best = int(np.argmax(sums))
    if not (_effective(left.weight) >= FEWEST_ROWS and sums[best] > _standard_error(found[best])):  # or no number
        return 0.0, 0.0
    return SHARES[best], sums[best] / float(without.sum())


def is_hopeless(left: Leftover, f: FloatArray, one: FloatArray, two: FloatArray, more: float = 0.0) -> bool:
    """Whether these rows alone say that even the least share of a forest does harm."""
    _, (gain,) = left.gains(f, one, two, more, SHARES[:1])
    return float(gain.sum()) < -DOUBT * _standard_error(gain)


def _standard_error(gain: FloatArray) -> float:
    """Of the sum."""
    return float(np.std(gain, ddof=1) * np.sqrt(len(gain))) if len(gain) > 1 else np.inf


def _effective(weight: FloatArray) -> float:
    """Rows of equal weight that tell as much: one that weighs more than all others tells what one does."""
    part = weight / (weight.max(initial=0.0) or 1.0)
    return float(part.sum() ** 2 / (np.square(part).sum() or 1.0))
