"""Files that a verb writes: their folder is looked at before any work, and they appear whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from monolip.errors import InputError

__all__ = ["beside", "require_place", "write_output"]


def beside(path: Path, ending: str) -> Path:
    """In the same folder, under the same name with another ending."""
    return path.parent / (path.stem + ending)


def require_place(*paths: Path | None, reads: Sequence[Path | None] = ()) -> None:
    """Each can be written: its folder exists and allows it, it is no folder, and none of the files that are read.

    None is nothing to write, or to read.
    """
    for path in paths:
        if path is None:
            continue
        if not path.parent.is_dir():
            raise InputError(f"a file is written into a folder that exists; got {str(path.parent)!r}; make it first.")
        if path.is_dir():
            raise InputError(f"a file is needed to write to; got {str(path)!r}, which is a folder; name a file in it.")
        if any(path.exists() and other is not None and other.exists() and path.samefile(other) for other in reads):
            raise InputError(f"what is read is not written over; got {str(path)!r} for both; choose another --output.")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "permission denied", str(path.parent))


def write_output(path: Path, data: bytes) -> None:
    """Atomically."""
    from monolip.estimators.checkpoint import write_whole

    write_whole(path, data)
