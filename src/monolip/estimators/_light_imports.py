"""scikit-learn without what it loads for helpers that nobody here calls: two thirds of its import time.

`sklearn.base` imports scipy.stats and, where installed, pandas (and with it pyarrow), each for one function of
sklearn.utils.fixes. This module loads it with stand-ins for the two, which fetch the real module when an
attribute is asked for. They leave sys.modules at once: what is imported afterwards, by anyone, is the real thing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["deferred"]


class _Later(ModuleType):
    """A module that is imported when something is asked of it."""

    def __getattr__(self, name: str) -> Any:
        _withdraw(self)
        return getattr(import_module(self.__name__), name)


def _withdraw(stand_in: ModuleType) -> None:
    if sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]


@contextmanager
def deferred(*names: str) -> Iterator[None]:
    """While it lasts, importing one of these modules for the first time loads nothing; one that is absent stays so.

    >>> import sys
    >>> with deferred("this"):
    ...     import this
    >>> "this" in sys.modules
    False
    """
    stand_ins = [_Later(name) for name in names if name not in sys.modules and _is_installed(name)]
    for stand_in in stand_ins:
        sys.modules[stand_in.__name__] = stand_in
    try:
        yield
    finally:
        for stand_in in stand_ins:
            _withdraw(stand_in)


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # no parent package, or a module that others put there by hand
        return False


if "sklearn.base" not in sys.modules:
    with deferred("scipy.stats", "pandas"):
        import_module("sklearn.base")
