"""Where predictions of a stream go: to one Parquet file, whose place is looked at before any row is read."""

from __future__ import annotations

from pathlib import Path

from monolip.errors import InputError

__all__ = ["PARQUET", "is_parquet", "require_folder", "require_parquet"]

PARQUET = (".parquet", ".pq")


def is_parquet(path: Path) -> bool:
    """Whether a name ends as that of a Parquet file does."""
    return path.suffix.lower() in PARQUET


def require_parquet(path: Path) -> None:
    """A name that says what is in the file, and no folder."""
    if path.is_dir():
        raise InputError(f"predictions are one file; got {str(path)!r}, which is a folder; name a file in it.")
    if not is_parquet(path):
        raise InputError(
            f"predictions of a stream are a Parquet file, {' or '.join(PARQUET)}; got {path.name!r}; name it "
            f"{path.with_suffix(PARQUET[0]).name!r}."
        )


def require_folder(path: Path) -> None:
    """A file needs a folder to lie in."""
    if not path.parent.is_dir():
        raise InputError(
            f"predictions are written into a folder that exists; got {str(path.parent)!r}; make it first, or name "
            "another place."
        )
