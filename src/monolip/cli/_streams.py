"""Tables that are streamed: directories, globs, files too large to read whole; and the target of one."""

from __future__ import annotations

import glob
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from monolip.cli._target import MOST_CLASSES, _refuse_continuous
from monolip.errors import InputError
from monolip.estimators.stream._address import refuse_address

__all__ = ["is_stream", "refuse_csv_options", "stream_labels"]

LARGE_CELLS = 2**27  # of one file: 1 GiB in double precision
_NUMBERS = "numbers"
_CSV_DEFAULTS = {"encoding": "utf-8", "separator": None, "decimal": "."}


def is_stream(path: Path) -> bool:
    """A directory, a pattern that is no file, or a Parquet or Arrow file that is large. Decided by names and footers:
    the same on every machine, so that the same command gives the same model."""
    if path.is_dir():
        return True
    if not path.exists():
        refuse_address(str(path))
        return glob.has_magic(str(path))
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(b"ARROW1"):
        return path.stat().st_size > 8 * LARGE_CELLS
    if not head.startswith(b"PAR1"):
        return False
    try:
        footer = import_module("pyarrow.parquet").read_metadata(path)
    except Exception:  # whoever reads the file tells what is wrong with it
        return False
    return bool(footer.num_rows * footer.num_columns > LARGE_CELLS)


def refuse_csv_options(reading: dict[str, Any], path: Path) -> None:
    for name, usual in _CSV_DEFAULTS.items():
        if reading.get(name, usual) != usual:
            raise InputError(
                f"--{name} is for CSV files; got it for {path}, whose files are Parquet or Arrow; leave it out."
            )


def stream_labels(source: Any, name: str, task: str) -> tuple[Any, ...] | None:
    """The classes in order, or None for a regression; task "auto" as for a table: text, booleans and two values.

    Only the target's column is read, and of a regression only until a third value is seen.
    """
    arrow, compute = source.arrow, import_module("pyarrow.compute")
    text = source.kinds[name] != _NUMBERS
    if task == "regression":
        if text:
            raise InputError(f"regression predicts numbers; {name!r} holds text; pass --task classification.")
        return None
    distinct: set[Any] = set()
    for group in source.groups:
        for rows in source.read(group, [name], 2**16):
            column = rows.column(0)
            found = compute.unique(column).to_pylist()
            if any(value is None or value != value for value in found):
                raise InputError(
                    f"the target is known in every row; {source.path(group)} has missing values in {name!r}; remove "
                    "those rows."
                )
            distinct.update(found)
            text = text or arrow.types.is_boolean(column.type)
            if task == "auto" and not text and len(distinct) > 2:
                return None
            if len(distinct) > MOST_CLASSES:
                raise InputError(
                    f"classes are few; {name!r} has more than {MOST_CLASSES} different values; choose another, or "
                    "merge rare ones."
                )
    if len(distinct) < 2:
        raise InputError(f"a target has different values; {name!r} is {distinct.pop()!r} in every row; choose another.")
    if not text:
        _refuse_continuous(distinct, name)
        distinct = {int(value) for value in distinct}
    return tuple(np.unique(np.array(list(distinct))).tolist())
