"""Where data sets are looked for, and what is said when one is not there."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

__all__ = ["DamagedDataError", "MissingDataError", "check_file", "data_file"]


class MissingDataError(FileNotFoundError):
    """A data set is not on this machine; the message says how to get it. The runner skips what needs it."""


class DamagedDataError(ValueError):
    """A data file is there and is not what it should be; the message says how to get it. The runner reports it."""


def check_file(path: Path, sha256: str, how: str) -> Path:
    """The path again; a file with another checksum is refused."""
    if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        raise DamagedDataError(f"a data file must have the known checksum; {path.name} has another one; {how}")
    return path


def data_file(name: str, how: str, sha256: str | None = None) -> Path:
    """The path of a data file, looked for in $MONOLIP_DATA and then in ~/.cache/monolip.

    `how` says in one sentence where to get the file; a file with another checksum than `sha256` is refused.
    """
    folders = [Path(os.environ[key]) for key in ("MONOLIP_DATA",) if os.environ.get(key)]
    for folder in [*folders, Path.home() / ".cache" / "monolip"]:
        path = folder / name
        if path.is_file():
            return path if sha256 is None else check_file(path, sha256, how)
    raise MissingDataError(f"the data file {name} is needed; it is not in $MONOLIP_DATA or ~/.cache/monolip; {how}")
