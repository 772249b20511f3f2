"""pyarrow, imported when it is needed; and files it cannot read, called by name."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import Any, NoReturn

from monolip.errors import InputError, MissingExtraError

__all__ = ["is_number", "kind_of", "open_parquet", "refuse_file", "require_pyarrow"]

NUMBER, LABEL, NOTHING = "numbers", "strings or categories", "nothing but nulls"


def require_pyarrow(module: str = "pyarrow") -> Any:
    """A module of pyarrow, or the line that installs it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError("pyarrow", "stream") from None


def open_parquet(source: Any, **options: Any) -> Any:
    """A ParquetFile that compares every page it reads with its checksum, where the writer stored one: without that,
    a byte changed on the disk is another number, and is learned from."""
    return require_pyarrow("pyarrow.parquet").ParquetFile(source, page_checksum_verification=True, **options)


def refuse_file(path: str | PathLike[str], reason: object) -> NoReturn:
    """What is wrong with a file, in one line."""
    text = " ".join(str(reason).split()).rstrip(".;") or type(reason).__name__
    raise InputError(
        f"a file of a stream is Parquet, Arrow or Feather, and whole; {path} cannot be read: {text[:300]}; replace it, "
        "or leave it out."
    ) from None


def kind_of(field: Any) -> str:
    """Numbers, labels, nothing but nulls, or the name of a type that is none of these."""
    types, kind = require_pyarrow().types, field.type
    if types.is_null(kind):
        return NOTHING
    if is_number(kind):
        return NUMBER
    label = kind.value_type if types.is_dictionary(kind) else kind
    is_text = types.is_string(label) or types.is_large_string(label) or "string_view" in str(label)
    if is_text or (types.is_dictionary(kind) and (is_number(label) or types.is_null(label))):
        return LABEL
    return str(kind)


def is_number(kind: Any) -> bool:
    """Whether a type of Arrow is one of numbers, decimals and booleans among them."""
    types = require_pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))
