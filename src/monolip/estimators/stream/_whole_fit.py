"""Few rows: the files are read whole, and fitted as the table they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from monolip.estimators._targets import with_name
from monolip.estimators.stream._batch import Layout, read_batch
from monolip.estimators.stream._one_type import alike
from monolip.estimators.stream._schedule import read_groups
from monolip.estimators.stream.source import Source

__all__ = ["fit_whole"]


def fit_whole(model: Any, files: Source, layout: Layout, callback: Callable[[dict[str, Any]], Any] | None) -> Any:
    """Few rows: the very fit of the table. callback: see `fit`."""
    parts: list[tuple[Any, Any]] = []
    position = 0
    for group, rows in read_groups(files, layout.names, 2**16):
        before = files.row(group) + position - group.first
        batch = read_batch(rows, position, layout, files.kinds, files.path(group), before)  # what is wrong is told
        use = layout.used(np.arange(position, position + rows.num_rows, dtype=np.uint64))
        parts.append((rows if use.all() else rows.filter(files.arrow.array(use)), batch.target))
        position += rows.num_rows
    table = files.arrow.Table.from_batches(alike([rows for rows, _ in parts], files))
    more: dict[str, Any] = {
        what: None if name is None else table.column(name).to_numpy()
        for what, name in (("sample_weight", layout.weight), ("offset", layout.offset))
    }
    y = np.concatenate([y for _, y in parts])
    labels = with_name(y, layout.target) if layout.is_class else y
    return model.fit(table.select(list(layout.features)), labels, **more, callbacks=callback)
