"""Public names of a package, loaded on first use, so that importing it costs nothing.

A package that uses this imports the same names under `if TYPE_CHECKING:` as well and lists them in `__all__`: type
checkers and editors read those, and would take a name that only `__getattr__` knows for `Any`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_name"]


def lazy_name(package: str, homes: Mapping[str, str], name: str) -> Any:
    """What the `__getattr__` of a package answers: `name` from the module that is its home, or a refusal.

    homes: where each name lives; "" for a module of the package itself.

    >>> lazy_name("monolip", {"SlopeBounds": "slopes"}, "SlopeBounds").__name__
    'SlopeBounds'
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    if not homes[name]:
        return import_module(f".{name}", package)
    return getattr(import_module(f".{homes[name]}", package), name)
