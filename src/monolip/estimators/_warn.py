"""Warnings that point at the user's line, however deep in the library they are raised."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn_caller"]

_OWN = __name__.partition(".")[0]


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, naming the first line outside of this package that led here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (_OWN, "contextlib"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
