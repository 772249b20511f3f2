"""Names that people type: the nearest known one is suggested."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from monolip.errors import InputError

__all__ = ["nearest", "require_columns", "split_names"]

ALIKE = 0.66  # one wrong letter of three; what is less alike is no typing error


def nearest(name: str, known: Sequence[str]) -> str:
    """'did you mean ...?', or some of the known names."""
    lowered = {other.lower(): other for other in known}
    near = [lowered[name.lower()]] if name.lower() in lowered else difflib.get_close_matches(name, known, 3, ALIKE)
    alike = [difflib.SequenceMatcher(None, other, name).ratio() for other in near]
    near = [other for other, ratio in zip(near, alike, strict=True) if ratio > alike[0] - 0.1]
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    return f"there are {', '.join(map(repr, known[:8]))}{', ...' if len(known) > 8 else ''}."


def require_columns(names: Iterable[str], known: Sequence[str], what: str) -> None:
    """Every name is a column. what: who asked for it."""
    for name in names:
        if name not in known:
            raise InputError(f"{what} names a column of the table; got {name!r}; {nearest(name, known)}")


def split_names(given: Iterable[str], known: Sequence[str]) -> list[str]:
    """Names, where commas separate several unless a column's own name holds one."""
    found = []
    for text in given:
        found += [text] if text in known else [part.strip() for part in text.split(",") if part.strip()]
    return list(dict.fromkeys(found))
