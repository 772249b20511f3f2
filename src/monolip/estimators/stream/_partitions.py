"""Columns that folders named key=value make: what they say, whether it is numbers, and that files do not contradict."""

from __future__ import annotations

import re
from collections.abc import Iterable
from os import PathLike
from typing import Any
from urllib.parse import unquote

from monolip.errors import InputError

__all__ = ["Partition", "are_whole", "folder_columns", "refuse_contradiction", "value_of"]

Partition = dict[str, str | None]
_NOBODY = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)  # all of these fit into 64 bits


def folder_columns(folders: Iterable[str]) -> Partition:
    """What the names of folders say; %20 and the like are decoded, as Spark, Hive and pyarrow write and read them.

    Example:
        >>> folder_columns(["bank", "year=2025", "town=New%20York", "branch=__HIVE_DEFAULT_PARTITION__"])
        {'year': '2025', 'town': 'New York', 'branch': None}
    """
    pairs = [folder.partition("=") for folder in folders if "=" in folder.strip("=")]
    return {unquote(key): None if value == _NOBODY else unquote(value) for key, _, value in pairs if key}


def are_whole(values: Iterable[str | None]) -> bool:
    """Whether all that are known are whole numbers.

    Example:
        >>> are_whole(["2024", "07", "-5", None]), are_whole(["2024", "--5"]), are_whole([None])
        (True, False, False)
    """
    known = [value for value in values if value is not None]
    return bool(known) and all(_WHOLE.fullmatch(value) for value in known)


def value_of(text: str | None, is_text: bool) -> str | int | None:
    return text if text is None or is_text else int(text)


def refuse_contradiction(path: str | PathLike[str], name: str, text: str | None, stored: Any) -> None:
    """A column may stand in a file and in the name of its folder, where both say the same."""
    for value in stored.unique().to_pylist():
        same = value is text if value is None or text is None else _same(value, text)
        if not same:
            raise InputError(
                f"a column that stands in a file and in the name of its folder says the same in both; {path} holds "
                f"{value!r} in {name!r}, its folder {text!r}; rename one of them, or drop the column of the file."
            )


def _same(value: Any, text: str) -> bool:
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    return str(value) == text or (_WHOLE.fullmatch(text) is not None and bool(value == int(text)))
