"""Where data sets are looked for, and what is said when one is not there."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

__all__ = ["MissingDataError", "data_file"]


class MissingDataError(FileNotFoundError):
    """A data set is not on this machine; the message says how to get it. The runner skips what needs it."""


def data_file(name: str, how: str, sha256: str | None = None) -> Path:
    """The path of a data file, looked for in $MONOLIP_DATA and then in ~/.cache/monolip.

    `how` says in one sentence where to get the file; a file with another checksum than `sha256` is refused.
    """
    folders = [Path(os.environ[key]) for key in ("MONOLIP_DATA",) if os.environ.get(key)]
    for folder in [*folders, Path.home() / ".cache" / "monolip"]:
        path = folder / name
        if path.is_file():
            if sha256 is not None and hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
                raise ValueError(f"a data file must have the known checksum; {path} has another one; {how}")
            return path
    raise MissingDataError(f"the data file {name} is needed; it is not in $MONOLIP_DATA or ~/.cache/monolip; {how}")
