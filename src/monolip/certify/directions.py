"""The direction of a raw feature, from those of the model columns that move with it: for floats and integers alike."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["joined"]


def joined(words: Iterable[str]) -> str:
    """The direction of model columns that move up together."""
    moving = set(words) - {"flat"}
    return "flat" if not moving else moving.pop() if len(moving) == 1 else "none"
