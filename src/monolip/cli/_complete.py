"""Column names for the shell, from the header of the table that is already on the command line."""

from __future__ import annotations

import csv
import os
import shlex
from pathlib import Path
from typing import Any

import click

__all__ = ["complete_columns"]

_LONGEST = 2**16
_MODELS = (".safetensors", ".onnx", ".txt", ".json", ".ubj", ".toml", ".html")


def complete_columns(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Those that begin with what is typed; after a comma the next one. Never an error: a shell waits for it."""
    try:
        names = next((_names(path) for path in _tables(ctx)), [])
    except Exception:  # nothing to suggest
        return []
    done, comma, begun = incomplete.rpartition(",")
    return [done + comma + name for name in names if name.startswith(begun)]


def _tables(ctx: click.Context) -> list[Path]:
    """What was parsed as the table; else files among the words: an option without its value ends the parsing."""
    found = ctx.params.get("table") or ctx.params.get("data")
    words = [found] if found else shlex.split(os.environ.get("COMP_WORDS", ""))[1:]
    named = [Path(os.path.expanduser(word)) for word in words]
    files = [path for path in named if path.is_file()]
    return [path for path in files if path.suffix not in _MODELS] or files


def _names(path: Path) -> list[str]:
    with path.open("rb") as file:
        head = file.read(_LONGEST)
    if not head.startswith((b"PAR1", b"ARROW1")):
        first = head.decode("utf-8-sig", errors="replace").splitlines()[0]
        separator = max(",;\t|", key=first.count)
        return next(csv.reader([first], delimiter=separator))
    from importlib import import_module  # only these formats need a library to be looked at

    schema: Any
    if head.startswith(b"PAR1"):
        schema = import_module("pyarrow.parquet").read_schema(path)
    else:
        schema = import_module("pyarrow.ipc").open_file(path).schema
    return list(schema.names)
