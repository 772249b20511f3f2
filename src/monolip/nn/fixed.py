"""Options a promise rests on are set once: a layer that was checked when built cannot become another one later."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import nn

__all__ = ["FixedOptions"]


class FixedOptions(nn.Module):
    """A module whose options named in `_fixed` are read-only once they are set."""

    _fixed: ClassVar[frozenset[str]] = frozenset()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._fixed and (name in self.__dict__ or hasattr(type(self), name)):
            raise AttributeError(_message(self, name, f"a new value ({_short(value)})"))
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._fixed:
            raise AttributeError(_message(self, name, "a deletion"))
        super().__delattr__(name)


def _message(module: nn.Module, name: str, got: str) -> str:
    return (
        f"{name} of {type(module).__name__} is fixed when it is built, since its promise was checked with it; got "
        f"{got}; build a new {type(module).__name__}."
    )


def _short(value: Any) -> str:
    text = repr(value)
    return type(value).__name__ if "\n" in text or len(text) > 60 else text
