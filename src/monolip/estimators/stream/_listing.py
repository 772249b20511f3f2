"""Which files a stream is: one file, a list, a glob, a directory, with columns from key=value folders."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from monolip.errors import InputError
from monolip.estimators.stream._address import is_address, refuse_address
from monolip.estimators.stream._arrow import refuse_file
from monolip.estimators.stream._folder import SUFFIXES, files_below, is_hidden, would_list
from monolip.estimators.stream._partitions import Partition, folder_columns

__all__ = ["SUFFIXES", "ListedFile", "list_files", "listing", "refuse_own_place"]

_MOST = 2**26  # bytes of a footer that are read


@dataclass(frozen=True)
class ListedFile:
    """name: below the directory (or glob) it was found by; partition: what the folders below it say, {column: text}.

    above: what the other folders of its path say. They are columns only for those who ask for them by name: a model
    fitted on bank/ knows a year, and finds it in bank/year=2025/ too.
    """

    path: Path
    name: str
    partition: Partition
    above: Partition


def list_files(source: Any) -> list[ListedFile]:
    """A path, a directory (searched through), a glob, or a list of these; sorted, but for the order of a list."""
    if isinstance(source, str | PathLike):
        return _expand(_text(source))
    if not isinstance(source, Iterable) or isinstance(source, bytes):
        raise InputError(
            f"a stream is a file, a directory, a glob or a list of these; got a {type(source).__name__}; pass paths, "
            "or call fit with a table."
        )
    found = [file for item in source for file in _expand(_text(item))]
    if not found:
        raise InputError("a stream has files; got an empty list; name some.")
    return found


def _expand(text: str) -> list[ListedFile]:
    path = Path(text)
    if path.is_dir():
        files = [_listed(p, path) for p in files_below(path)]
        if not files:
            raise InputError(f"a directory of a stream has files {', '.join(SUFFIXES)}; {text} has none; name another.")
        return files
    if path.exists():
        return [_listed(path, path.parent)]
    if glob.has_magic(text) and not is_address(text):
        root = Path(re.split(r"[*?\[]", text)[0] + "x").parent  # the part before the first wildcard
        inside = [Path(p) for p in sorted(glob.glob(text, recursive=True))]
        asked = any(part.startswith(("_", ".")) for part in Path(text).parts[len(root.parts) :])
        names = [Path(p.name) if asked or "**" not in text else p.relative_to(root) for p in inside]
        files = [_listed(p, root) for p, name in zip(inside, names, strict=True) if p.is_file() and not is_hidden(name)]
        if files:
            return files
        raise InputError(f"a glob matches files; {text} matches none; correct it.")
    refuse_address(text)
    raise InputError(f"a file of a stream exists; {text} does not; correct the path.")


def refuse_own_place(source: Any, path: Path) -> None:
    """What is written is not among the files that are read the next time."""
    for item in [source] if isinstance(source, str | PathLike) else source:
        if would_list(_text(item), path):
            raise InputError(
                f"predictions lie outside of the folder or pattern they are made of, which would read them the next "
                f"time; got {str(path)!r}; name another place."
            )


def _text(item: Any) -> str:
    text = fspath(item) if isinstance(item, str | PathLike) else None
    if not isinstance(text, str):
        raise InputError(f"the files of a stream are named by text or paths; got {item!r:.60}; pass str or Path.")
    return os.path.expanduser(text)  # as `named_path`, but a pattern stays text


def _listed(path: Path, root: Path) -> ListedFile:
    below, root = path.relative_to(root), Path(os.path.abspath(root))  # as it is named: links are not followed
    return ListedFile(path, below.as_posix(), folder_columns(below.parts[:-1]), folder_columns(root.parts))


def listing(files: list[ListedFile]) -> dict[str, str]:
    """Of each file its size and a sha256 of its footer: schema, row groups, and in Parquet the ends of every column.

    No pass is needed. A damaged file that is replaced by a good copy of itself has the same footer: a fit can go on
    with it. Files of one name, from folders that a list names, are told apart by their number.
    """
    found: dict[str, str] = {}
    for number, file in enumerate(files):
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
        words = f"{size} bytes, footer {hashlib.sha256(footer).hexdigest()[:20]}"
        for key, value in sorted(file.partition.items()):
            if file.above.get(key) == value:  # columns of folders above: not in the name
                words += f", {key}={value}"
        found[f"file {file.name}" if f"file {file.name}" not in found else f"file {file.name} ({number})"] = words
    return found
