"""A file below folders named key=value: what they say are columns, as they are when the whole folder is read."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from monolip.cli._data import Table, require_pyarrow
from monolip.estimators.stream._partitions import are_whole, folder_columns, value_of
from monolip.estimators.stream.scoring import text_columns

__all__ = ["with_folders"]


def with_folders(table: Table, path: Path, model: Any, wanted: Collection[str] | None = None) -> Table:
    """The table with a column for each folder key=value above its file, where it has none of that name.

    Args:
        table: read from path. model: an estimator, a network, or of others; a column that it knows as strings is read
            as such. wanted: the columns that are asked for; None for all.
    """
    if str(path) == "-":
        return table
    arrow, texts = require_pyarrow(), text_columns(model)
    for name, text in folder_columns(Path(os.path.abspath(path)).parts[:-1]).items():
        if name not in table.column_names and (wanted is None or name in wanted):
            value = value_of(text, name in texts or not are_whole([text]))
            kind = arrow.string() if isinstance(value, str) else arrow.int64() if value is not None else arrow.float64()
            table = table.append_column(name, arrow.array([value] * table.num_rows, kind))
    return table
