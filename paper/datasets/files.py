"""Finds a data file, or downloads it from its public source; what was read is checked by a digest of its numbers.

`read` does all of it: a file that cannot be read, or holds other numbers, is a DamagedDataError that says how to get
the right one.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from paper.missing_data import DamagedDataError, MissingDataError, data_file

__all__ = ["check_digest", "digest", "find", "first_found", "read"]

T = TypeVar("T")

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
    except (OSError, http.client.HTTPException) as error:
        raise MissingDataError(
            f"the data file {name} is needed; it is not in $MONOLIP_DATA or ~/.cache/monolip and {url} gave "
            f"{type(error).__name__}; {how}"
        ) from None


def read(
    name: str, how: str, reader: Callable[[Path], T], url: str | None = None,
    opener: Callable[..., Any] = urllib.request.urlopen,
) -> T:  # fmt: skip
    """reader(path) of the file that `find` finds; whatever the reader dislikes is a DamagedDataError with `how`.

    A file that was downloaded for this call and turns out to be damaged does not stay in the cache.
    """
    goal = Path.home() / ".cache" / "monolip" / name
    was_there = goal.exists()
    path = find(name, how, url, opener)
    try:
        return reader(path)
    except Exception as error:  # a broken archive, Parquet file or table: each library has errors of its own
        if path == goal and not was_there:
            goal.unlink()
        said = str(error).split(chr(10), maxsplit=1)[0].rstrip(".")
        raise DamagedDataError(
            f"the data file {name} must be the one the results were made from; reading it gave "
            f"{type(error).__name__}: {said}; {how}"
        ) from error


def first_found(name: str, original: Callable[[], T], substitute: Callable[[], T]) -> T:
    """original(), or where its files are not on this machine, substitute(); where neither is, how to get both.

    A damaged original is not replaced in silence: its error is raised.
    """
    try:
        return original()
    except MissingDataError as missing:
        print(f"[data] {name}: the paper's files are not here ({missing}); the substitute is used", flush=True)
        try:
            return substitute()
        except MissingDataError as neither:
            raise MissingDataError(f"{neither} The paper's own: {missing}") from None


def _download(url: str, goal: Path, opener: Callable[..., Any]) -> Path:
    """Whole or not at all: a broken transfer leaves nothing behind."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=goal.parent, delete=False) as part:
        try:
            with opener(url, timeout=SECONDS) as answer:
                length = getattr(answer, "length", None)  # as announced; a short answer is no error by itself
                shutil.copyfileobj(answer, part)
            if length is not None and part.tell() != length:
                raise OSError(f"{part.tell()} of {length} bytes")
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
        raise DamagedDataError(
            f"{name} must hold the known numbers; got a table of shape {np.shape(values)} with digest {found[:12]}, "
            f"not {known[:12]}; get the file again."
        )
