"""What a fit of a stream will do, from its size: how many rows are sampled and held out, buffers, passes."""

from __future__ import annotations

from dataclasses import dataclass

from monolip.estimators import _sampling
from monolip.estimators.fit import Settings
from monolip.estimators.stream import _schedule
from monolip.estimators.stream.source import Source

__all__ = ["Plan"]

PER_BUFFER = 8  # batches; more of them where no row group fills half a batch
BATCH_CELLS = 2**21  # of a batch at most: wide tables are read fewer rows at a time
HELD_OUT_ROWS = 2**16
VISITS = 2**22  # rows that are visited at least: few rows are read several times


@dataclass(frozen=True)
class Plan:
    """capacity: rows of the sample; a stream of no more rows is read whole and fitted as a table."""

    capacity: int
    held_out: float
    batch_rows: int
    n_passes: int
    per_buffer: int  # batches
    n_buffers: int  # of one pass

    @classmethod
    def of(cls, source: Source, n_features: int, settings: Settings) -> Plan:
        capacity = min(_sampling.MAX_ROWS, max(256, _sampling.MAX_CELLS // (10 * n_features)))
        held_out = 0.0
        if settings.early_stopping:
            held_out = min(settings.options.validation_fraction, HELD_OUT_ROWS / source.n_rows)
        rows = min(_schedule.BATCH_ROWS, max(1024, BATCH_CELLS // n_features))
        n_batches = sum(-(-group.n_rows // rows) for group in source.groups)
        passes = settings.max_iter or max(1, -(-VISITS // source.n_rows))
        largest = min(rows, max(group.n_rows for group in source.groups))
        per_buffer = PER_BUFFER * (rows // largest)  # never more rows than eight full batches have
        return cls(capacity, held_out, rows, passes, per_buffer, -(-n_batches // per_buffer))
