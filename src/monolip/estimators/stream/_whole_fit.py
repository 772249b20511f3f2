"""Few rows: the files are read whole, and fitted as the table they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from monolip.estimators.stream._batch import Layout, read_batch, target_values
from monolip.estimators.stream._schedule import read_groups
from monolip.estimators.stream.source import Source

__all__ = ["alike", "fit_whole"]


def fit_whole(model: Any, files: Source, layout: Layout) -> Any:
    """Few rows: the very fit of the table."""
    batches, position = [], 0
    for group, rows in read_groups(files, layout.names, 2**16):
        read_batch(rows, position, layout, files.kinds, files.path(group))  # what is wrong is told with its file
        target = target_values(rows.column(layout.target), layout)
        batches.append(layout.without_left_out(rows, target, position)[:2])
        position += len(target)
    table = files.arrow.Table.from_batches(alike([rows for rows, _ in batches], files))
    more = {
        what: None if name is None else table.column(name).to_numpy()
        for what, name in (("sample_weight", layout.weight), ("offset", layout.offset))
    }
    return model.fit(table.select(list(layout.features)), np.concatenate([y for _, y in batches]), **more)


def alike(batches: list[Any], files: Source) -> list[Any]:
    """One schema for all: int32 in one file and float64 in another are both numbers."""
    arrow = files.arrow
    if all(rows.schema.equals(batches[0].schema) for rows in batches):
        return batches
    tables = [arrow.Table.from_batches([rows]) for rows in batches]
    return list(arrow.concat_tables(tables, promote_options="permissive").combine_chunks().to_batches())
