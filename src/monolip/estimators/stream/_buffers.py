"""Buffers of shuffled rows as learning problems, made ahead of training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monolip.cached import cached_property
from monolip.engine.architecture import Architecture
from monolip.engine.problem import Problem
from monolip.estimators._fast_inputs import FastInputs
from monolip.estimators._model_rows import ModelRows
from monolip.estimators._tables import RawTable
from monolip.estimators.inputs import bin_ranges
from monolip.estimators.stream._batch import Batch, Layout
from monolip.estimators.stream._bottom import keys_of
from monolip.estimators.stream._plan import Plan
from monolip.estimators.stream._sample_fit import Columns, SampleFit
from monolip.estimators.stream._schedule import buffers, prefetched, read_stretches, shuffled
from monolip.estimators.stream._stream_target import StreamTarget
from monolip.estimators.stream.sample import EXTRA, SAMPLE_SALT, Sample
from monolip.estimators.stream.source import Source

__all__ = ["Buffers"]

FloatArray = NDArray[np.float64]


class _Rows(ModelRows):
    """Rows that no target mean was learned from; far values count as they did in the sample."""

    def __init__(self, fast: FastInputs, table: RawTable, reach: FloatArray | None) -> None:
        self.inputs, self.raw, self.fast = fast.inputs, table, fast
        self.reach, self.codes = reach, fast.codes(table)
        self.honest = {}


@dataclass
class Buffers:
    """Learning problems of further rows, in the units of the fit of the sample."""

    source: Source
    layout: Layout
    plan: Plan
    sample: Sample
    fit: SampleFit
    target: StreamTarget
    columns: Columns
    hidden: tuple[int, ...]
    seed: int

    @cached_property
    def _fast(self) -> FastInputs:
        return FastInputs(self.fit.inputs)

    @cached_property
    def _sampled(self) -> NDArray[np.uint64]:
        """Keys of the sample's rows, sorted, where their target means would tell them their own targets."""
        keys = [bottom.taken()[0] for bottom in self.sample.strata.values()] if self.fit.honest else []
        return np.sort(np.concatenate([np.zeros(0, np.uint64), *keys]))

    def problem(self, cells: FloatArray) -> Problem:
        """Of some rows, given by their cells."""
        fit, target = self.fit, self.target.of(cells)
        with np.errstate(over="ignore"):
            lower, upper = fit.boxes.lower / target.scale, fit.boxes.upper / target.scale
        return Problem(
            _Rows(self._fast, self.columns.table(cells), fit.reach),
            target.y,
            lower,
            upper,
            loss=target.loss,
            architecture=Architecture(hidden=self.hidden),
            sample_weight=target.weight,
            offset=target.offset,
            bins=bin_ranges(fit.inputs),
        )

    def problems(self, start: int) -> Iterator[Problem | None]:
        """From buffer number `start` on, pass after pass; None for a buffer without a row to learn from."""
        return prefetched(self._made(start), ahead=1)

    def _made(self, start: int) -> Iterator[Problem | None]:
        first, skip = divmod(start, self.plan.n_buffers)
        for number in range(first, self.plan.n_passes):
            rng = np.random.default_rng([self.seed, 31, number])
            parts = buffers(shuffled(self.source, rng, self.plan.batch_rows), self.plan.per_buffer)
            parts, skip = parts[skip:], 0
            batches = read_stretches(
                self.source, self.layout, [piece for part in parts for piece in part], self.plan.batch_rows
            )
            for part in parts:
                cells = np.concatenate([self._cells(next(batches)) for _ in part])
                yield self.problem(cells) if len(cells) else None

    def _cells(self, batch: Batch) -> FloatArray:
        """As Sample has them, without the rows held out."""
        sample, positions = self.sample, batch.positions
        cells = np.empty((batch.n_rows, len(sample.labelled) + EXTRA))
        for j, column in enumerate(batch.table.columns):
            cells[:, j] = sample.codes(j, column) if sample.labelled[j] else column.values
        cells[:, -4] = sample.class_codes(batch.target) if sample.is_class else batch.target
        cells[:, -3], cells[:, -2], cells[:, -1] = batch.weight, batch.offset, positions
        use = batch.weight > 0
        if sample.held_out:
            use &= ~sample.is_held_out(positions)
        if len(self._sampled):
            keys = keys_of(positions, 2 * sample.seed + SAMPLE_SALT)
            at = np.minimum(self._sampled.searchsorted(keys), len(self._sampled) - 1)
            use &= self._sampled[at] != keys
        return cells[use]
