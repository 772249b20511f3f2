"""Which files a stream is: one file, a list, a glob, a directory, with columns from key=value folders."""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from monolip.errors import InputError
from monolip.estimators.stream._arrow import refuse_file

__all__ = ["ListedFile", "list_files", "listing_digest"]

SUFFIXES = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
_NOBODY = "__HIVE_DEFAULT_PARTITION__"
_MOST = 2**26  # bytes of a footer that are read


@dataclass(frozen=True)
class ListedFile:
    """name: below the directory (or glob) it was found by; partition: what its folders say, {column: text or None}."""

    path: Path
    name: str
    partition: dict[str, str | None]


def list_files(source: Any) -> list[ListedFile]:
    """A path, a directory (searched through), a glob, or a list of these; sorted, but for the order of a list."""
    if isinstance(source, str | PathLike):
        return _expand(fspath(source))
    if not isinstance(source, Iterable):
        raise InputError(
            f"a stream is a file, a directory, a glob or a list of these; got a {type(source).__name__}; pass paths, "
            "or call fit with a table."
        )
    found = [file for item in source for file in _expand(fspath(item))]
    if not found:
        raise InputError("a stream has files; got an empty list; name some.")
    return found


def _expand(text: str) -> list[ListedFile]:
    path = Path(text)
    if path.is_dir():
        inside = [p for p in sorted(path.rglob("*")) if p.suffix.lower() in SUFFIXES and p.is_file()]
        files = [_listed(p, path) for p in inside if not _hidden(p.relative_to(path))]
        if not files:
            raise InputError(f"a directory of a stream has files {', '.join(SUFFIXES)}; {text} has none; name another.")
        return files
    if path.exists():
        return [ListedFile(path, path.name, {})]
    if glob.has_magic(text):
        root = Path(re.split(r"[*?\[]", text)[0] + "x").parent  # the part before the first wildcard
        inside = [Path(p) for p in sorted(glob.glob(text, recursive=True))]
        files = [_listed(p, root) for p in inside if p.is_file() and not _hidden(Path(p.name))]
        if files:
            return files
        raise InputError(f"a glob matches files; {text} matches none; correct it.")
    raise InputError(f"a file of a stream exists; {text} does not; correct the path.")


def _hidden(path: Path) -> bool:
    """_SUCCESS, _metadata, .crc: what writers leave beside the data."""
    return any(part.startswith((".", "_")) and "=" not in part for part in path.parts)


def _listed(path: Path, root: Path) -> ListedFile:
    below = path.relative_to(root)
    pairs = [part.partition("=") for part in below.parts[:-1] if "=" in part]
    return ListedFile(path, below.as_posix(), {key: None if value == _NOBODY else value for key, _, value in pairs})


def listing_digest(files: list[ListedFile]) -> str:
    """sha256 of names, sizes and footers: schema, row groups, and in Parquet the ends of every column; no pass needed.

    A damaged file that is replaced by a good copy of itself has the same footer: a fit can go on with it.
    """
    digest = hashlib.sha256()
    for file in files:
        try:
            with file.path.open("rb") as data:
                size = data.seek(0, 2)
                data.seek(max(0, size - 10))
                end = data.read(10)
                length = int.from_bytes(end[2:6] if end.endswith(b"PAR1") else end[:4], "little") + 10
                data.seek(max(0, size - min(length, _MOST)))
                footer = data.read()
        except OSError as error:
            refuse_file(file.path, error)
        digest.update(f"{file.name}|{size}|{hashlib.sha256(footer).hexdigest()}\n".encode())
    return digest.hexdigest()
