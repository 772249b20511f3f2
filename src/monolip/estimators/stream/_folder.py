"""Files of a stream in a folder and the folders below it; what looks like data and cannot be read is told."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NoReturn

from monolip.errors import InputError
from monolip.estimators.stream._place import PARQUET

__all__ = ["SUFFIXES", "files_below", "is_hidden", "would_list"]

SUFFIXES = (*PARQUET, ".arrow", ".feather", ".ipc")
_OTHER = (".csv", ".tsv", ".orc", ".avro", ".jsonl", ".ndjson")
_PACKED = (".gz", ".zst", ".bz2", ".xz", ".lz4", ".snappy", ".zip")


def files_below(folder: Path) -> list[Path]:
    """Sorted; links to folders are followed. Files without an ending are known by their first bytes."""
    found: list[Path] = []
    for at, folders, names in os.walk(folder, followlinks=True, onerror=_refuse_folder):
        inside = [Path(at), *Path(at).parents][: len(Path(at).relative_to(folder).parts) + 1]
        if any(os.path.samefile(at, above) for above in inside[1:]):
            raise InputError(f"a folder of a stream does not hold itself; {at} links to one above; remove the link.")
        folders[:] = sorted(name for name in folders if not is_hidden(Path(name)))
        for name in sorted(names):
            path = Path(at) / name
            if not is_hidden(Path(name)) and _is_data(path, folder):
                found.append(path)
    return sorted(found)


def is_hidden(path: Path) -> bool:
    """_SUCCESS, _metadata, .crc: what writers leave beside the data."""
    return any(part.startswith((".", "_")) and "=" not in part for part in path.parts)


def _is_data(path: Path, folder: Path) -> bool:
    endings = [ending.lower() for ending in path.suffixes]
    last = endings[-1] if endings else ""
    if last in SUFFIXES:
        if not path.is_file():
            raise InputError(f"a file of a stream is an ordinary file; {path} is none; replace it, or move it away.")
        return True
    inner = endings[-2] if last in _PACKED and len(endings) > 1 else last
    if inner in (*SUFFIXES, *_OTHER):
        raise InputError(
            f"the files of a folder are Parquet, Arrow or Feather, all of them; {folder} also holds {path}, whose rows "
            "would be left out; convert or move it, or name the files by a pattern such as *.parquet."
        )
    if last or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(6).startswith((b"PAR1", b"ARROW1"))


def _refuse_folder(error: OSError) -> NoReturn:
    raise InputError(
        f"a folder of a stream can be read; {error.filename} cannot: {error.strerror}; allow it, or move it away."
    ) from None


def would_list(source: str, path: Path) -> bool:
    """Whether a file of this name would be read where a folder or a pattern is."""
    if is_hidden(Path(path.name)):
        return False
    if os.path.isdir(source):
        return path.suffix.lower() in SUFFIXES and Path(source).resolve() in path.resolve().parents
    return not os.path.exists(source) and _matches(Path(os.path.abspath(path)).parts, _pattern(source))


def _pattern(source: str) -> tuple[str, ...]:
    return Path(os.path.abspath(source)).parts


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or _matches(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
