"""Whose probability the claims of a certificate are about: of two classes f is the log-odds of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monolip.output_link import probability_of

__all__ = ["claims_about"]


def claims_about(document: Any) -> str:
    """A sentence where there are two classes, else "".

    >>> link = {"name": "logit", "labels": ["bad", "good"], "positive": 0, "target": "loan"}
    >>> claims_about({"structure": {"ends": {"link": link}}})
    'Claims are about P(loan = bad): slopes are of its log-odds.'
    >>> claims_about({"structure": {"ends": {"link": None}}})
    ''
    """
    structure = _part(document, "structure")
    link = _part(_part(structure, "ends"), "link") or _part(structure, "link")
    labels, positive, target = link.get("labels"), link.get("positive"), link.get("target")
    if not isinstance(labels, list | tuple) or positive not in (0, 1):
        return ""
    return f"Claims are about {probability_of(labels[positive], target)}: slopes are of its log-odds."


def _part(found: Any, name: str) -> Mapping[str, Any]:
    part = found.get(name) if isinstance(found, Mapping) else None
    return part if isinstance(part, Mapping) else {}
