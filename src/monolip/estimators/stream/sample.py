"""Sample: what one pass learns about a stream: ends, missing values, labels, counts, and rows to fit and judge on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import InputError
from monolip.estimators._tables import RawColumn
from monolip.estimators.stream._batch import Batch
from monolip.estimators.stream._bottom import Bottom, keys_of
from monolip.input_columns import is_missing, plain_label

__all__ = ["Sample"]

FloatArray = NDArray[np.float64]

HELD_OUT_SALT, SAMPLE_SALT = 1, 2
MAX_LABELS = 2**20
MANY_KINDS = 4
EXTRA = 4  # after the features in a row: target, weight, offset, position


class Sample:
    """One pass over batches in any order; `merge` joins the passes over two parts of a stream without loss.

        exact      least and largest value, count, missing values of every number; every label of every category;
                   every class and its rows; rows of positive weight
        sampled    `capacity` rows for each kind of target (see _bottom), and the rows held out

    Args:
        labelled: for each feature whether its values are labels. capacity: rows of the sample.
        held_out: the share of rows that are held out: those whose position has a small hash, in every pass.
        is_class: whether targets are labels of classes; each class then is a kind of target.
    """

    def __init__(self, labelled: tuple[bool, ...], capacity: int, held_out: float, seed: int, is_class: bool) -> None:
        self.labelled, self.capacity, self.seed, self.is_class = labelled, capacity, seed, is_class
        self.held_out = int(held_out * 2.0**64)
        d = len(labelled)
        self.labels: list[dict[Any, int]] = [{} for _ in labelled]
        self.classes: dict[Any, int] = {}
        self.class_rows: list[int] = []  # every row, whatever its weight: what "balanced" counts
        self.least, self.largest = np.full(d, np.inf), np.full(d, -np.inf)
        self.missing = np.zeros(d, np.int64)
        self.strata: dict[int, Bottom] = {}
        self.there: dict[int, int] = {}  # rows of each kind that could have been sampled
        self.kept: list[FloatArray] = []
        self.n_rows = 0

    def is_held_out(self, positions: NDArray[np.uint64]) -> NDArray[np.bool_]:
        return np.asarray(keys_of(positions, 2 * self.seed + HELD_OUT_SALT) < np.uint64(self.held_out))

    def add(self, batch: Batch, kinds: NDArray[np.int64] | None = None) -> None:
        """kinds: of each row, where rare kinds are to be kept whole; None for the classes, or all alike."""
        codes = self._target(batch.target)
        counts = batch.weight > 0
        cells = np.empty((batch.n_rows, len(self.labelled) + EXTRA))
        for j, column in enumerate(batch.table.columns):
            cells[:, j] = self._labels(j, column) if self.labelled[j] else self._numbers(j, column, counts)
        cells[:, -4], cells[:, -3], cells[:, -2] = codes, batch.weight, batch.offset
        cells[:, -1] = batch.positions
        held = self.is_held_out(batch.positions) if self.held_out else np.zeros(batch.n_rows, bool)
        self.kept.append(cells[held & counts])
        keys = keys_of(batch.positions, 2 * self.seed + SAMPLE_SALT)
        free = ~held & counts
        kinds = (
            (codes.astype(np.int64) if self.is_class else np.zeros(batch.n_rows, np.int64)) if kinds is None else kinds
        )
        for kind in np.unique(kinds[free]).tolist():
            here = np.flatnonzero(free & (kinds == kind))
            self.there[kind] = self.there.get(kind, 0) + len(here)
            bottom = self._stratum(kind)
            here = here[bottom.wanted(keys[here])]
            bottom.add(keys[here], cells[here])
        self.n_rows += int(counts.sum())

    def _stratum(self, kind: int) -> Bottom:
        """Of many kinds each keeps fewer rows, so that all of them together stay within four samples."""
        if kind not in self.strata:
            self.strata[kind] = Bottom(self.capacity, len(self.labelled) + EXTRA)
            room = self.capacity * MANY_KINDS // max(MANY_KINDS, len(self.strata))
            for bottom in self.strata.values():
                bottom.shrink(room)
        return self.strata[kind]

    def _target(self, target: NDArray[Any]) -> FloatArray:
        if not self.is_class:
            return np.asarray(target, np.float64)
        distinct, number = np.unique(target, return_inverse=True)
        codes = [self.classes.setdefault(label, len(self.classes)) for label in distinct.tolist()]
        self.class_rows += [0] * (len(self.classes) - len(self.class_rows))
        for code, rows in zip(codes, np.bincount(number).tolist(), strict=True):
            self.class_rows[code] += rows
        if len(self.classes) > 1000:
            raise InputError(f"a classifier has at most 1000 classes here; got {len(self.classes)}; fit a regressor.")
        return np.array(codes, np.float64)[number]

    def _numbers(self, j: int, column: RawColumn, counts: NDArray[np.bool_]) -> FloatArray:
        if not column.is_numeric:
            raise InputError(f"strings in numeric column {column.name!r}; convert it to numbers.")
        values: FloatArray = column.values
        present = values if counts.all() else values[counts]
        gone = int(np.isnan(present).sum())
        self.missing[j] += gone
        if gone < len(present):
            self.least[j] = min(self.least[j], np.fmin.reduce(present))
            self.largest[j] = max(self.largest[j], np.fmax.reduce(present))
        return values

    def _labels(self, j: int, column: RawColumn) -> FloatArray:
        """Numbers of labels in the order they were first seen; -1 for a missing one."""
        known = self.labels[j]
        for label in column.factors[0].tolist():
            if not is_missing(label):
                known.setdefault(plain_label(label), len(known))
        if len(known) > MAX_LABELS:
            raise InputError(
                f"a column of categories has at most {MAX_LABELS} of them; {column.name!r} has more; leave such an "
                "identifier out by features=."
            )
        found = self.codes(j, column)
        self.missing[j] += int((found < 0).sum())
        return found

    def codes(self, j: int, column: RawColumn) -> FloatArray:
        """Numbers of labels that are known; -1 for a missing one."""
        distinct, number = column.factors
        labels = (None if is_missing(label) else plain_label(label) for label in distinct.tolist())
        codes = [-1 if label is None else _number(self.labels[j], label, column.name) for label in labels]
        return np.array(codes, np.float64)[number]

    def class_codes(self, target: NDArray[Any]) -> FloatArray:
        """Numbers of classes that are known."""
        distinct, number = np.unique(target, return_inverse=True)
        codes = [_number(self.classes, label, "target") for label in distinct.tolist()]
        return np.array(codes, np.float64)[number]

    def merge(self, other: Sample) -> None:
        """What one pass over both parts would have found; positions must be those in the whole stream."""
        moved = [
            np.array([own.setdefault(v, len(own)) for v in more] or [0])
            for own, more in zip(self.labels, other.labels, strict=True)
        ]
        classes = np.array([self.classes.setdefault(label, len(self.classes)) for label in other.classes] or [0])
        self.class_rows += [0] * (len(self.classes) - len(self.class_rows))
        for code, count in zip(classes.tolist(), other.class_rows, strict=False):
            self.class_rows[code] += count

        def translated(rows: FloatArray) -> FloatArray:
            rows = rows.copy()
            for j in np.flatnonzero(self.labelled):
                codes = rows[:, j].astype(np.int64)
                rows[:, j] = np.where(codes < 0, -1, moved[j][codes])
            if self.is_class:
                rows[:, -4] = classes[rows[:, -4].astype(np.int64)]
            return rows

        self.least, self.largest = np.minimum(self.least, other.least), np.maximum(self.largest, other.largest)
        self.missing = self.missing + other.missing
        self.kept += [translated(rows) for rows in other.kept]
        self.n_rows += other.n_rows
        for kind, bottom in other.strata.items():
            to = int(classes[kind]) if self.is_class else kind
            keys, rows = bottom.taken()
            self.there[to] = self.there.get(to, 0) + other.there[kind]
            self._stratum(to).add(keys, translated(rows))

    def held_out_rows(self) -> FloatArray:
        """Cells of the rows held out, in order of position."""
        rows = np.concatenate([np.zeros((0, len(self.labelled) + EXTRA)), *self.kept])
        return np.asarray(rows[np.argsort(rows[:, -1], kind="stable")])


def _number(known: dict[Any, int], label: Any, name: str) -> int:
    if label not in known:
        raise InputError(
            f"files stay as they are while they are fitted; got {label!r} in column {name!r}, which was not there in "
            "the first pass; start again."
        )
    return known[label]
