"""The fit of the sample: the recipe of `fit`, with ends, labels and missing values of the whole stream."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine.additive import Additive
from monolip.engine.trainer import NetworkArrays
from monolip.estimators._bounds import Boxes, make_boxes
from monolip.estimators._model_rows import ModelRows
from monolip.estimators._promises import Promises
from monolip.estimators._raw_column import array_of
from monolip.estimators._schema import Schema
from monolip.estimators._tables import RawColumn, RawTable
from monolip.estimators._targets import Target
from monolip.estimators.fit import Settings, marked_history, train_groups
from monolip.estimators.folds import make_folds
from monolip.estimators.inputs import FEW_BINS, fit_inputs
from monolip.estimators.stream.sample import Sample
from monolip.input_transform import InputTransform

__all__ = ["Columns", "SampleFit", "fit_sample"]

FloatArray = NDArray[np.float64]

MEMBERS = 2


@dataclass(frozen=True)
class Columns:
    """How cells become raw columns again: names, labels (None: numbers), and what a table's own type said of them."""

    names: tuple[str, ...]
    labels: tuple[NDArray[Any] | None, ...]
    declared: tuple[tuple[Any, ...] | None, ...]

    @classmethod
    def of(cls, sample: Sample, names: tuple[str, ...], declared: tuple[tuple[Any, ...] | None, ...]) -> Columns:
        labels = [
            array_of([*known, None]) if labelled else None
            for known, labelled in zip(sample.labels, sample.labelled, strict=True)
        ]
        return cls(names, tuple(labels), declared)

    def table(self, cells: FloatArray) -> RawTable:
        """Raw columns of cells; a missing label is the last one of its list."""
        found = []
        for j, name in enumerate(self.names):
            labels = self.labels[j]
            if labels is None:
                found.append(RawColumn(name, np.ascontiguousarray(cells[:, j])))
                continue
            codes = cells[:, j].astype(np.intp)
            codes[codes < 0] = len(labels) - 1
            found.append(_labelled(name, labels, codes, self.declared[j]))
        return RawTable(tuple(found), True, len(cells))

    def every_label(self, table: RawTable, sample: Sample) -> RawTable:
        """A table to learn a schema from: the sample's numbers, and every label of the stream once."""
        columns = list(table.columns)
        for j, labels in enumerate(self.labels):
            if labels is not None:
                every = np.arange(len(labels) - (sample.missing[j] == 0), dtype=np.intp)
                columns[j] = _labelled(self.names[j], labels, every, self.declared[j])
        return RawTable(tuple(columns), True, table.n_rows)


def _labelled(name: str, labels: NDArray[Any], codes: NDArray[np.intp], declared: tuple[Any, ...] | None) -> RawColumn:
    known = [label for label in labels.tolist() if label is not None]
    if known and not any(isinstance(label, str) for label in known):  # numbers that were called categories
        numbers = np.array([*map(float, known), np.nan])
        exact = any(isinstance(label, int) for label in known)
        column = RawColumn(name, numbers[codes], declared, exact=labels[codes] if exact else None)
        column.__dict__["factors"] = labels if exact else numbers.astype(object), codes
        return column
    column = RawColumn(name, labels[codes], declared)
    column.__dict__["factors"] = labels, codes
    return column


@dataclass(frozen=True)
class SampleFit:
    """starts, networks: of each member the additive model it is anchored to and g around it (None: the model alone)."""

    inputs: InputTransform
    boxes: Boxes
    target: Target
    reach: FloatArray | None
    honest: bool  # some column holds target means of the sample's rows
    starts: tuple[Additive | None, ...]
    networks: tuple[NetworkArrays | None, ...]
    linear: tuple[NetworkArrays, ...]
    batch_size: int
    slope_rate: float
    decay: float
    steps: int
    history: tuple[dict[str, Any], ...]
    stopped: str


def fit_sample(
    table: RawTable, cells: FloatArray, columns: Columns, sample: Sample, schema: Schema, promises: Promises,
    target: Target, settings: Settings, on_progress: Callable[..., None] | None,
) -> SampleFit:  # fmt: skip
    """As `fit_network` does it; calibrations also know the stream's ends, and whether anything is missing anywhere.

    Members are few, and of one kind with few bins, so that predictions of a stream are quick.
    """
    wider, started = columns.table(np.concatenate([cells, _ends(cells, sample)])), time.perf_counter()
    options = replace(settings.options, bin_kinds=(None,), n_bins=(FEW_BINS, FEW_BINS))
    inputs = fit_inputs(wider, schema, promises, _longer(target, wider.n_rows), settings.n_bins, options)
    boxes = make_boxes(inputs, promises, table, target.scale, target.deviation)
    settings = replace(settings, options=options, n_members=settings.n_members or MEMBERS)
    rng = np.random.default_rng(settings.seed)
    folds = make_folds(target, options, rng) if settings.early_stopping else None
    trained, plan = train_groups(
        inputs, boxes, table, target, folds, settings, started, on_progress, must_bend=bool(promises.intervals)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # make_problem has said it
        rows = ModelRows(inputs, table, target, settings.seed)
    group = trained.groups[0]
    best = group.best
    decay = plan.stages[max(best - 1, 0)].decay if plan.stages else options.unvalidated_decay
    return SampleFit(
        inputs,
        boxes,
        target,
        rows.reach,
        bool(rows.honest),
        tuple(member.anchored.start for member in group.members),
        tuple(member.networks[best] if member.refitted is None else member.refitted for member in group.members),
        tuple(member.anchored.linear() for member in group.members),
        plan.batch_size,
        plan.slope_rate,
        decay,
        sum(stage.steps for stage in plan.stages[:best]),
        marked_history(trained.history, trained),
        trained.stopped,
    )


def _ends(cells: FloatArray, sample: Sample) -> FloatArray:
    """Three rows: least values, largest values, and a missing one in every column where some are missing."""
    rows = np.repeat(cells[:1], 3, axis=0)
    for j, labelled in enumerate(sample.labelled):
        if not labelled:
            some = cells[~np.isnan(cells[:, j]), j]
            middle = np.sort(some)[some.size // 2] if some.size else np.nan
            known = sample.largest[j] >= sample.least[j]
            rows[:, j] = [sample.least[j], sample.largest[j], middle] if known else np.nan
        if sample.missing[j]:
            rows[2, j] = -1 if labelled else np.nan
    return rows


def _longer(target: Target, n_rows: int) -> Target:
    """The same target for a table with more rows, which count for nothing."""
    n = len(target.y)
    more = target.take(np.concatenate([np.arange(n), np.zeros(n_rows - n, np.int64)]))
    weight = np.ones(n) if target.weight is None else target.weight
    return replace(more, weight=np.concatenate([weight, np.zeros(n_rows - n)]))
