"""Finds a data file, or downloads it from its public source; what was read is checked by a digest of its numbers."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from paper.missing_data import MissingDataError, data_file

__all__ = ["check_digest", "digest", "find"]

SECONDS = 60


def find(name: str, how: str, url: str | None = None, opener: Callable[..., Any] = urllib.request.urlopen) -> Path:
    """The path of a data file: in $MONOLIP_DATA, in ~/.cache/monolip, or downloaded from `url` into that cache.

    Without a url, or where it cannot be reached, a MissingDataError says `how` to get the file. Set
    MONOLIP_OFFLINE=1 to never download.
    """
    try:
        return data_file(name, how)
    except MissingDataError:
        if url is None or os.environ.get("MONOLIP_OFFLINE"):
            raise
    goal = Path.home() / ".cache" / "monolip" / name
    try:
        return _download(url, goal, opener)
    except OSError as error:
        raise MissingDataError(
            f"the data file {name} is needed; it is not in $MONOLIP_DATA or ~/.cache/monolip and {url} gave "
            f"{type(error).__name__}; {how}"
        ) from None


def _download(url: str, goal: Path, opener: Callable[..., Any]) -> Path:
    """Whole or not at all: a broken transfer leaves nothing behind."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=goal.parent, delete=False) as part:
        try:
            with opener(url, timeout=SECONDS) as answer:
                shutil.copyfileobj(answer, part)
        except BaseException:
            Path(part.name).unlink()
            raise
    return Path(part.name).replace(goal)


def digest(values: Any) -> str:
    """sha256 of a table of numbers (as float64, row by row): the same for a CSV file and a stripped copy of it."""
    numbers = np.ascontiguousarray(np.asarray(values, dtype=np.float64))
    return hashlib.sha256(repr(numbers.shape).encode() + numbers.astype("<f8").tobytes()).hexdigest()


def check_digest(name: str, values: Any, known: str) -> None:
    """Refuse other numbers than those the results were made from."""
    found = digest(values)
    if found != known:
        raise ValueError(
            f"{name} must hold the known numbers; got a table of shape {np.shape(values)} with digest {found[:12]}, "
            f"not {known[:12]}; get the file again."
        )
