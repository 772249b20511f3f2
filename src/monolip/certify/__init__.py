"""Proofs about frozen networks: exact bounds, and the certificates that carry them.

>>> from monolip.certify import certify
>>> certify.__name__
'certify'
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Where each public name lives. Loaded on first use, so that a fit does not pay for what only an audit needs.
_HOMES = {
    "Certificate": "certificate",
    "Claim": "certificate",
    "certify": "certificate",
    "checker_path": "checker",
    "require_certifiable": "certificate",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
