"""Files that a verb writes: their folder is looked at before any work, and they appear whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from monolip.errors import InputError

__all__ = ["beside", "lock_output", "require_place", "through_links", "write_output"]


def beside(path: Path, ending: str) -> Path:
    """In the same folder, under the same name with another ending."""
    return path.parent / (path.stem + ending)


def through_links(path: Path) -> Path:
    """The file that a symbolic link leads to: it is replaced, and the link stays."""
    return Path(os.path.realpath(path))


def require_place(*paths: Path | None, reads: Sequence[Path | None] = (), streams: bool = False) -> None:
    """Each can be written: its folder exists and allows it, it is no folder, and none of the files that are read.

    None is nothing to write, or to read. streams: whether it may be a device or a pipe, such as /dev/stdout.
    """
    for at, path in enumerate(paths):
        if path is None:
            continue
        if not path.parent.is_dir():
            raise InputError(f"a file is written into a folder that exists; got {str(path.parent)!r}; make it first.")
        if path.is_dir():
            raise InputError(f"a file is needed to write to; got {str(path)!r}, which is a folder; name a file in it.")
        if any(other is not None and _is_same(path, other) for other in reads):
            raise InputError(f"what is read is not written over; got {str(path)!r} for both; choose another --output.")
        if any(other is not None and _is_same(path, other) for other in paths[:at]):
            raise InputError(f"two files have two names; got {str(path)!r} for both; choose another for one.")
        if _is_stream(path):
            if not streams:
                raise InputError(f"a file is needed to write to; got {str(path)!r}, which is none; name a file.")
        else:
            _require_room(through_links(path).parent, path)


def _require_room(folder: Path, path: Path) -> None:
    """A new file can be made in a folder: that is tried, as permissions do not tell it of /proc or a full disk."""
    from tempfile import TemporaryFile

    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "permission denied", str(path.parent))
    try:
        with TemporaryFile(dir=folder):
            pass
    except FileNotFoundError:
        raise InputError(
            f"an output is a new file; none can be made in {str(path.parent)!r}; choose another folder with --output."
        ) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path.parent)) from None


def write_output(path: Path, data: bytes) -> None:
    """Atomically; to a device or a pipe as it comes."""
    from monolip.sealed_file import write_whole

    if _is_stream(path):
        with path.open("wb") as file:
            file.write(data)
        return
    write_whole(through_links(path), data)


@contextmanager
def lock_output(path: Path) -> Iterator[None]:
    """One process at a time works towards a file; a lock ends with its process, however that ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    real = through_links(path)
    place = real.with_name(f".{real.name}.lock")
    with place.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"one fit at a time writes a file; another one is writing {path} now; wait for it, or choose another "
                "--output."
            ) from None
        try:
            yield
        finally:
            place.unlink(missing_ok=True)


def _is_stream(path: Path) -> bool:
    """Whether it is there and no ordinary file: a device, a pipe, or what a process has open."""
    return path.exists() and (not path.is_file() or path.parts[:2] in (("/", "dev"), ("/", "proc")))


def _is_same(one: Path, two: Path) -> bool:
    if one.exists() and two.exists():
        return one.samefile(two)
    return str(one) != "-" and through_links(one) == through_links(two)
