"""Sealed files: safetensors whose header says what they are, under a digest of all they hold. Data, never code.

    file   = length of the header (8 bytes) + header (JSON) + numbers
    header = {"__metadata__": {entry: JSON text}, name of a tensor: {dtype, shape, data_offsets}, ...}
    seal   = sha256 over the words (canonical JSON), then name, shape and little-endian numbers of every tensor

Whoever reads one looks at its size before reading, then at header and seal, and only then builds anything from it.
These are the parts: sealed_format.py puts them together for networks, checkpoints for what they keep. Which file of
which format is wrong, and what to do about it, is said there.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

__all__ = [
    "entry_of",
    "header_length",
    "named_path",
    "ordinary_size",
    "parts_of",
    "read_first",
    "require_folder",
    "require_replaceable",
    "seal_of",
    "strict_json",
    "tensors_of",
    "write_whole",
    "writing_to",
]

Tensor = TypeVar("Tensor")


def seal_of(words: Any, tensors: Mapping[str, NDArray[Any]]) -> str:
    """sha256 over canonical words and the little-endian bytes of every tensor (64 bits a number), in name order."""
    sha = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name]
        sha.update(f"|{name}|{array.shape}|".encode())
        sha.update(np.ascontiguousarray(array, dtype="<f8" if array.dtype.kind == "f" else "<i8").tobytes())
    return sha.hexdigest()


def parts_of(data: bytes, entry: str, load: Callable[[bytes], dict[str, Tensor]]) -> tuple[Any, dict[str, Tensor]]:
    """The words under an entry of the metadata, and the tensors; whatever is wrong with them is a ValueError."""
    tensors = tensors_of(data, load)
    try:
        return entry_of(data, entry), tensors
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def tensors_of(data: bytes, load: Callable[[bytes], dict[str, Tensor]]) -> dict[str, Tensor]:
    """load: of safetensors.numpy or safetensors.torch."""
    from safetensors import SafetensorError

    try:
        return load(data)
    except (SafetensorError, KeyError, TypeError, OverflowError) as error:
        raise ValueError(str(error)) from error


def entry_of(data: bytes, entry: str) -> Any:
    """What the JSON text under an entry of the metadata says."""
    return strict_json(strict_json(data[8 : 8 + header_length(data)]).get("__metadata__", {})[entry])


def header_length(data: bytes) -> int:
    """As the file claims."""
    return int.from_bytes(data[:8], "little")


def strict_json(text: str | bytes) -> Any:
    """JSON in which no key stands twice: readers must not differ in what they see."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a key stands twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)


def named_path(path: str | os.PathLike[str]) -> Path:
    """The place that a user named: ~ is the home, which a shell does not say of a quoted pattern or of --output=~/x.

    >>> named_path("~/a") == Path.home() / "a", named_path("a/~") == Path("a/~")
    (True, True)
    """
    found: Any = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(found, str) or "\0" in found or not found:
        raise InputError(f"a place is named by a path; got {path!r}; pass a string or a pathlib.Path.")
    return Path(os.path.expanduser(found))


def ordinary_size(path: Path) -> int | None:
    """Bytes of an ordinary file, or of one that a link leads to; a pipe, a device or a folder has none to check."""
    found = path.stat()
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def read_first(path: Path, size: int) -> bytes:
    """No more than was checked, should the file grow meanwhile."""
    with path.open("rb") as file:
        return file.read(size)


def require_replaceable(path: Path) -> None:
    """Nothing there yet, or an ordinary file: a rename over a pipe or a device would put a file in its place."""
    try:
        mode = path.stat().st_mode
    except OSError:  # nothing there, or nothing to be seen: whoever writes is told
        return
    system = path.is_symlink() and path.parts[:2] in (("/", "dev"), ("/", "proc"))  # /dev/stdout, redirected
    if system or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(
            f"a file is written beside its place and then renamed; got {str(path)!r}, a pipe or a device, which that "
            "would replace; name an ordinary file."
        )


def require_folder(path: Path) -> None:
    """Where a user has named a file: the error of the system would name the temporary one beside it."""
    if not path.parent.is_dir():
        words = "a file is written into a folder that exists; there is none of this name; make it first"
        raise FileNotFoundError(errno.ENOENT, words, str(path.parent))
    if path.is_dir():
        words = "a file is written under a name of its own; this is a folder; name a file in it"
        raise IsADirectoryError(errno.EISDIR, words, str(path))


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Around the writing of a file that a user has named: whatever the system refuses is told of that name."""
    require_folder(path)
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error) or type(error).__name__).lower()
        remedy = "free some space, change permissions, or name another place"
        words = f"the system must let this file be written; got {reason!r}; {remedy}"
        raise OSError(error.errno, words, str(path)) from error


def write_whole(path: Path, data: bytes) -> None:
    """A temporary file beside the target, then one rename: no reader, and no kill -9, sees half a file."""
    require_replaceable(path)
    temporary = path.parent / f".monolip-{secrets.token_hex(8)}.part"
    try:
        with temporary.open("xb") as file:  # an ordinary new file, with the permissions the user's umask gives
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
