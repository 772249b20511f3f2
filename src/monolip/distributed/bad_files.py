"""Which file of a Ray Dataset it was: Ray Data says that a read failed, and not where."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from monolip.errors import InputError

__all__ = ["what_is_wrong_with_files"]

_BATCH_ROWS = 2**16
_READERS = ("Read", "ReadFiles", "ListFiles")


def what_is_wrong_with_files(dataset: Any, names: Sequence[str]) -> str | None:
    """The first file that is damaged, lacks a column or holds another type, in words; None where none is found.

    Asked after a failure only: files are read to the end. Those of other formats, that this machine does not see, or
    whose columns are made into others before they are used, are not judged.

    Args:
        dataset: ray.data.Dataset. names: the columns that are needed.
    """
    from monolip.estimators.stream._listing import SUFFIXES
    from monolip.estimators.stream.source import Source

    try:
        paths = [Path(path) for path in dataset.input_files() or _paths_of(dataset)]
    except Exception:  # a dataset that does not know its files, or a Ray that is built otherwise
        return None
    if not paths or not all(path.is_dir() or (path.suffix.lower() in SUFFIXES and path.is_file()) for path in paths):
        return None
    try:
        source = Source(sorted(paths), list(names))
        source.require(list(names), "the fit")
        for group in source.groups:
            for _ in source.read(group, list(names), _BATCH_ROWS):
                pass
    except InputError as error:
        return str(error).rstrip(".")
    return None


def _paths_of(dataset: Any) -> list[str]:
    """Ray 2.60 lists files while it reads; until then its plan holds what `read_parquet` was given."""
    found, step = [], dataset._logical_plan.dag
    while True:
        if type(step).__name__ not in _READERS:
            return []
        found += list(getattr(step, "paths", None) or [])
        before = step.input_dependencies
        if len(before) != 1:
            return found
        step = before[0]
