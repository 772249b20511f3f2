"""Whose probability the claims of a certificate are about: f is the log-odds of the second of two classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["claims_about"]


def claims_about(document: Any) -> str:
    """A sentence where there are two classes, else "". A person who asked about the first class would misread it.

    >>> claims_about({"structure": {"ends": {"link": {"name": "logit", "labels": ["bad", "good"]}}}})
    "Claims are about the log-odds of 'good', so about P('good'); of P('bad') each holds the other way round."
    >>> claims_about({"structure": {"ends": {"link": None}}})
    ''
    """
    structure = _part(document, "structure")
    link = _part(_part(structure, "ends"), "link") or _part(structure, "link")
    labels = link.get("labels")
    if not isinstance(labels, list | tuple) or len(labels) != 2:
        return ""
    first, second = labels
    return (
        f"Claims are about the log-odds of {second!r}, so about P({second!r}); of P({first!r}) each holds the other "
        "way round."
    )


def _part(found: Any, name: str) -> Mapping[str, Any]:
    part = found.get(name) if isinstance(found, Mapping) else None
    return part if isinstance(part, Mapping) else {}
