"""Columns whose type differs between files, as one type: int32 and float64 are both numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from monolip.errors import InputError
from monolip.estimators.stream._arrow import LABEL, NUMBER, require_pyarrow
from monolip.estimators.stream.source import Source

__all__ = ["alike", "common_type", "kept_types"]


def common_type(kinds: Sequence[Any]) -> Any:
    """The narrowest type that holds all values of these, as pyarrow has it; None where there is none."""
    arrow, types = require_pyarrow(), require_pyarrow().types
    schemas = [arrow.schema([("c", kind)]) for kind in dict.fromkeys(kinds)]
    try:
        return arrow.unify_schemas(schemas, promote_options="permissive").field("c").type
    except arrow.ArrowException:
        texts = [kind for kind in kinds if not types.is_null(kind)]
        return arrow.string() if all(_is_text(kind) for kind in texts) else None


def _is_text(kind: Any) -> bool:
    types = require_pyarrow().types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or "string_view" in str(kind)


def alike(batches: list[Any], files: Source) -> list[Any]:
    """Record batches of one schema. Numbers that no exact type holds together are doubles, as a batch of a long stream
    reads them; strings that some files hold as dictionaries are what the first file has."""
    arrow = files.arrow
    if all(rows.schema.equals(batches[0].schema) for rows in batches):
        return batches
    found: dict[str, list[Any]] = {}
    for name in batches[0].schema.names:
        found[name] = _one_type([rows.column(name) for rows in batches], name, files.kinds.get(name))
    return [arrow.record_batch({name: parts[k] for name, parts in found.items()}) for k in range(len(batches))]


def _one_type(parts: list[Any], name: str, kind: str | None) -> list[Any]:
    arrow, own = require_pyarrow(), [part.type for part in parts]
    if all(one.equals(own[0]) for one in own):
        return parts
    exact = common_type(own)
    try:
        if exact is not None:
            return [part.cast(exact) for part in parts]
    except arrow.ArrowException:  # whole numbers beyond 2^53 beside doubles
        exact = None
    try:
        if kind == NUMBER:
            return [part.cast(arrow.float64(), safe=False) for part in parts]
        if kind == LABEL and arrow.types.is_dictionary(own[0]):
            return [part.cast(arrow.string()).dictionary_encode() for part in parts]
    except arrow.ArrowException:
        pass
    other = next(one for one in own if not one.equals(own[0]))
    raise InputError(
        f"a column has one type in all files; {name!r} holds {own[0]} in one and {other} in another; convert one of "
        "them."
    )


def kept_types(files: Source, names: Sequence[str]) -> dict[str, Any]:
    """Of columns that are copied, one type that changes no value; where files differ in one, a row of each is read."""
    found: dict[str, dict[Any, str]] = {name: {} for name in names}
    looked: set[int] = set()
    for group in files.groups if names else []:
        if group.file not in looked:
            looked.add(group.file)
            rows = next(iter(files.read(group, list(names), 1)))
            for name in names:
                found[name].setdefault(rows.column(name).type, files.path(group))
    chosen = {}
    for name, where in found.items():
        chosen[name] = kind = next(iter(where)) if len(where) == 1 else common_type(list(where))
        if kind is None:
            (one, first), (two, second) = [*where.items()][:2]
            raise InputError(
                f"a column that is kept has one type in all files; {name!r} holds {two} in {second} and {one} in "
                f"{first}; convert one of them, or do not keep it."
            )
    return chosen
